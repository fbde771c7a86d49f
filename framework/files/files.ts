/** Where image bytes are kept: a folder, or later a bucket. Keys are relative, with `/` between their parts. */
export interface Files {
  /** A new temporary path on the same volume, so that keeping a file is a rename. */
  temporaryPath(): string
  /**
   * Moves the file at `path` to `key`, whole or not at all. The same bytes under this key change nothing.
   * @throws StorageError when it can't be written, or when other bytes are there.
   */
  put(path: string, key: string, signal: AbortSignal): Promise<void>
  has(key: string): Promise<boolean>
  /** What isn't there is no error. */
  delete(key: string): Promise<void>
  /** The path or address that a person would open. */
  locate(key: string): string
  close(): Promise<void>
}
