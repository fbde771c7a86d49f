import { styleText } from 'node:util'

type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan'

/** Colours a text, or leaves it as it is. */
export type Paint = (style: Style, text: string) => string

export const plainPaint: Paint = (_, text) => text

/** Colours for what is written to `stream`: none unless it is a terminal that shows them, and none with NO_COLOR. */
export function createPaint(stream: NodeJS.WriteStream): Paint {
  return (style, text) => styleText(style, text, { stream })
}
