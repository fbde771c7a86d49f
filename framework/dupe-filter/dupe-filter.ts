/**
 * Which URLs a run has met, by fingerprint. What it holds is in memory; the frontier keeps each fingerprint in its file
 * and gives them back at the start, so that every kind can be resumed, and be changed between two starts.
 */
export interface DupeFilter {
  /**
   * Whether it has been met. A filter that isn't exact may say so of one that hasn't.
   * @param fingerprint 16 hexadecimal digits, or 32 at 128 bits.
   * @param url of the request: what is kept by host needs it.
   */
  has(fingerprint: string, url: string): boolean
  /** Remembers it, and answers whether it was new. */
  add(fingerprint: string, url: string): boolean
  /** How many were added as new. */
  readonly size: number
  /** Bytes of memory that it holds. */
  readonly bytes: number
}
