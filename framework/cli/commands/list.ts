import { relative } from 'node:path'
import { messageOf } from '../../errors.ts'
import { cleanText } from '../clean.ts'
import { alignColumns } from '../columns.ts'
import { commandLine } from '../command-line.ts'
import { createPaint } from '../paint.ts'
import { constructSpider, findProject, listSpiders, loadSpider, type SpiderFile } from '../project.ts'

export interface ListCommandOptions {
  readonly json?: boolean
  readonly project?: string
}

interface ListedSpider {
  readonly name: string
  /** Relative to the project's folder. */
  readonly file: string
  readonly startUrls: readonly string[]
  /** Why it can't be used. */
  readonly error?: string
}

/** `crawl list` */
export async function showSpiders({ json, project }: ListCommandOptions): Promise<number> {
  const root = findProject(project)
  const spiders: ListedSpider[] = []
  for (const file of listSpiders(root)) spiders.push(await describeSpider(root, file))
  if (json === true) {
    process.stdout.write(`${JSON.stringify(spiders)}\n`)
    return 0
  }
  if (spiders.length === 0) {
    process.stderr.write(`There are no spiders in ${root} yet. Write spiders/<site>.ts; its name is what \`${commandLine('run')}\` is given.\n`)
    return 0
  }
  const paint = createPaint(process.stdout)
  const rows = spiders.map(({ name, file, startUrls, error }) => {
    const [first = 'no start URLs: it has a start() of its own, or needs -a', ...others] = startUrls
    const what = error === undefined ? `${cleanText(first, 80)}${others.length > 0 ? ` and ${others.length} more` : ''}` : paint('red', cleanText(error))
    return [paint('bold', cleanText(name)), cleanText(file), what]
  })
  process.stdout.write(`${alignColumns(rows).join('\n')}\n`)
  return 0
}

async function describeSpider(root: string, file: SpiderFile): Promise<ListedSpider> {
  const listed = { name: file.name, file: relative(root, file.path) }
  try {
    const { startUrls } = constructSpider(await loadSpider(root, file), file.name)
    return { ...listed, startUrls: [...startUrls] }
  } catch (error) {
    return { ...listed, startUrls: [], error: messageOf(error) }
  }
}
