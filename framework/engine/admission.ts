import type { Frontier, NewRequest } from '../frontier/frontier.ts'
import type { Request } from '../http/request.ts'
import type { Log } from '../log.ts'
import type { Stats } from '../stats.ts'
import type { Fingerprinter } from './fingerprinter.ts'
import { scrapyFingerprint } from './scrapy-fingerprint.ts'

export interface AdmissionOptions {
  readonly frontier: Frontier
  readonly fingerprinter: Fingerprinter
  readonly stats: Stats
  readonly log: Log
}

/** Decides whether the run has met a request. Duplicates are counted, and the first is logged. */
export class Admission {
  readonly #options: AdmissionOptions
  #isLogged = false

  constructor(options: AdmissionOptions) {
    this.#options = options
  }

  /** The request with its fingerprint; undefined when the run has met it, unless it isn't to be filtered. */
  admit(request: Request): NewRequest | undefined {
    const fingerprint = this.#options.fingerprinter.ofRequest(request)
    if (!request.dontFilter && this.#isKnown(fingerprint, request)) return undefined
    return { request, fingerprint }
  }

  /** The fingerprint of an image; undefined when the run has met it. */
  admitImage(url: string): string | undefined {
    const fingerprint = this.#options.fingerprinter.ofImage(url)
    return this.#isKnown(fingerprint, { url, method: 'GET', body: undefined, keepFragment: false }) ? undefined : fingerprint
  }

  #isKnown(fingerprint: string, request: Parameters<typeof scrapyFingerprint>[0]): boolean {
    const { frontier } = this.#options
    if (frontier.has(fingerprint, request.url)) return this.#isDuplicate(request.url)
    return frontier.hasImports && frontier.hasImported(scrapyFingerprint(request))
  }

  #isDuplicate(url: string): true {
    const { stats, log } = this.#options
    stats.add('requests/duplicate')
    if (!this.#isLogged) log.debug({ url }, `met before, and not added again: ${url}. No more of these are shown; they are counted.`)
    this.#isLogged = true
    return true
  }
}
