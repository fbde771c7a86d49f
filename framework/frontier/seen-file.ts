import { createReadStream, statSync } from 'node:fs'
import { messageOf, SettingsError } from '../errors.ts'

/** What fingerprints of a job were made with. */
export interface SeenHeader {
  readonly bits: 64 | 128
  readonly seed: bigint
}

/** A text of fingerprints, one a line. */
export interface SeenFile {
  readonly path: string
  /** Undefined for Scrapy's `requests.seen`. */
  readonly header: SeenHeader | undefined
  /** Lines with a fingerprint. */
  readonly count: number
}

const formatVersion = 1
const scrapyDigits = 40
/** Of a longer line the rest is passed over: it is no fingerprint. */
const maxLine = 200

/** The first line of a file of fingerprints. */
export function renderHeader({ bits, seed }: SeenHeader): string {
  return `# orbweaver seen ${formatVersion} bits=${bits} seed=${seed.toString(16).padStart(16, '0')}`
}

/**
 * Reads a file once, and says what it is. It may be what `crawl seen export` writes, or Scrapy's `requests.seen`: 40
 * hexadecimal digits a line. Line ends are those of any system; blank lines count for nothing.
 * @throws SettingsError when it can't be read, or a line is no fingerprint: with the first of these and their number.
 */
export async function checkSeenFile(path: string): Promise<SeenFile> {
  let header: SeenHeader | undefined
  let line = 0
  let count = 0
  let bad = 0
  let firstBad = ''
  let isDigits = digitsOf(scrapyDigits)
  for await (const lines of linesOf(path)) {
    for (const text of lines) {
      line++
      if (line === 1 && text.startsWith('# orbweaver seen ')) {
        header = parseHeader(path, text)
        isDigits = digitsOf(header.bits / 4)
      } else if (isDigits.test(text)) count++
      else if (text !== '' && ++bad === 1) firstBad = `line ${line} is ${JSON.stringify(text.slice(0, 60))}`
    }
  }
  if (bad === 0) return { path, header, count }
  const lines = bad === 1 ? 'a line that is' : `${bad} lines that are`
  const wanted = header === undefined
    ? `${scrapyDigits} hexadecimal digits, as in Scrapy's requests.seen, and the first line isn't that of \`crawl seen export\``
    : `${header.bits / 4} hexadecimal digits, as its first line says`
  throw new SettingsError(`${path} has ${lines} no fingerprint of ${wanted}: ${firstBad}. Nothing was imported.`)
}

/** The fingerprints of a file that was checked, as they come. */
export async function* fingerprintsOf({ path, header }: SeenFile): AsyncGenerator<readonly string[]> {
  const isDigits = digitsOf(header === undefined ? scrapyDigits : header.bits / 4)
  for await (const lines of linesOf(path)) yield lines.filter((text) => isDigits.test(text))
}

const digitsOf = (count: number): RegExp => new RegExp(`^[0-9a-f]{${count}}$`, 'i')

function parseHeader(path: string, text: string): SeenHeader {
  const [, version, bits, seed = ''] = /^# orbweaver seen (\d+) bits=(64|128) seed=([0-9a-f]{16})$/.exec(text) ?? []
  if (version === undefined) {
    const example = renderHeader({ bits: 64, seed: 0n })
    const shown = JSON.stringify(text.slice(0, 80))
    throw new SettingsError(`The first line of ${path} is damaged: ${shown}. It must be as ${example}`)
  }
  if (Number(version) !== formatVersion) {
    const what = `${path} has format ${version} of \`crawl seen export\``
    throw new SettingsError(`${what}, and this orbweaver knows ${formatVersion}: export it with this one.`)
  }
  return { bits: bits === '64' ? 64 : 128, seed: BigInt(`0x${seed}`) }
}

/** Lines without the space around them, as many at a time as one reading gives. */
async function* linesOf(path: string): AsyncGenerator<string[]> {
  let rest = ''
  let isFirst = true
  try {
    if (!statSync(path).isFile()) throw new SettingsError(`${path} is no file.`)
    for await (const chunk of createReadStream(path, { encoding: 'latin1', highWaterMark: 1 << 18 })) {
      const text: string = rest + (isFirst ? (chunk as string).replace(/^ï»¿/, '') : chunk)
      isFirst = false
      // A carriage return at the end may be the first half of a line's end.
      const end = text.endsWith('\r') ? text.length - 1 : text.length
      const lines = text.slice(0, end).split(/\r\n|\n|\r/)
      rest = (lines.pop() ?? '').slice(0, maxLine) + text.slice(end)
      yield lines.map((line) => line.trim())
    }
  } catch (cause) {
    if (cause instanceof SettingsError) throw cause
    throw new SettingsError(`${path} can't be read: ${messageOf(cause)}`, { cause })
  }
  if (rest !== '') yield [rest.trim()]
}
