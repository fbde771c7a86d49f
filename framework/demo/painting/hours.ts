import { type Canvas, type Colour, mix } from './canvas.ts'
import type { Light, Sky } from './nature.ts'
import { between, type Random } from './random.ts'

/** The light of a time of day. */
export interface Hour {
  readonly top: Colour
  readonly bottom: Colour
  readonly cloudColour: Colour
  readonly cloudShade: Colour
  readonly sun: Colour
  /** 0: night, 1: noon. */
  readonly brightness: number
}

export const dawn: Hour = {
  top: [86, 110, 165], bottom: [250, 196, 150], cloudColour: [255, 214, 190], cloudShade: [140, 116, 150],
  sun: [255, 214, 150], brightness: 0.75,
}
export const noon: Hour = {
  top: [36, 96, 178], bottom: [186, 216, 236], cloudColour: [255, 255, 255], cloudShade: [150, 166, 190],
  sun: [255, 250, 226], brightness: 1,
}
export const evening: Hour = {
  top: [44, 46, 100], bottom: [250, 140, 70], cloudColour: [255, 150, 96], cloudShade: [82, 54, 92],
  sun: [255, 170, 80], brightness: 0.55,
}
export const overcast: Hour = {
  top: [112, 128, 146], bottom: [206, 212, 216], cloudColour: [226, 230, 234], cloudShade: [96, 108, 124],
  sun: [240, 240, 236], brightness: 0.8,
}

/** The sky of that hour, with its own clouds and its sun somewhere in it; `horizon` in pixels from the top. */
export function createSky(canvas: Canvas, random: Random, hour: Hour, horizon: number): Sky {
  const light: Light = {
    x: canvas.width * between(random, 0.08, 0.92),
    y: horizon * between(random, 0.25, 0.85),
    radius: canvas.width * between(random, 0.018, 0.032),
    colour: hour.sun,
    reach: between(random, 0.06, 0.14),
  }
  return {
    top: hour.top, bottom: hour.bottom, horizon, light, clouds: between(random, 0.5, 1),
    cloudColour: hour.cloudColour, cloudShade: hour.cloudShade,
  }
}

/** What a colour looks like in that light: 1 as it is, 0 black as night. */
export const dim = (colour: Colour, brightness: number): Colour => mix([10, 12, 26], colour, brightness)
