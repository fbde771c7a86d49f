import { isCrawlError, messageOf, type FetchedItem, type ImageFormat, type Pipeline } from 'orbweaver'

const extensions: Readonly<Record<ImageFormat, string>> = {
  jpeg: 'jpg',
  png: 'png',
  webp: 'webp',
  gif: 'gif',
  avif: 'avif',
  tiff: 'tif',
  svg: 'svg',
}

/**
 * Moves the bytes as they came to `DAY/SITE_DAY_NUMBER_HASH.EXTENSION`. The name follows from the row and the bytes
 * alone, so a crash between file and row repeats to the same name. Duplicates get no file.
 */
export const save: Pipeline = ({ files, store, log, signal }) => {
  /** Deletes the file of an item that isn't kept after all; the file of a committed row stays. */
  async function takeBack(url: string, key: string): Promise<void> {
    const known = await store.known([url])
    if (known.get(url)?.settled !== true) await files.delete(key)
  }

  /** The larger picture is committed: what goes wrong here is made good when the store is opened again. */
  async function removeReplaced(id: number, key: string): Promise<void> {
    try {
      await files.delete(key)
      await store.forgetFile(id)
    } catch (error) {
      log.warn({ key, error }, `the replaced file ${key} can't be deleted, which the next start tries again: ${messageOf(error)}`)
    }
  }

  return async function save(item, next) {
    const key = keyOf(item)
    if (item.duplicateOf !== undefined) {
      // An earlier try may have ended between file and row.
      if (item.attempt > 1) await takeBack(item.url, key)
      return next(item)
    }
    await files.put(item.image.path, key, signal)
    try {
      const stored = await next({ ...item, key })
      if (item.replaces !== undefined && item.replaces.key !== null) await removeReplaced(item.replaces.id, item.replaces.key)
      return stored
    } catch (error) {
      if (isCrawlError(error, 'drop')) await takeBack(item.url, key)
      throw error
    }
  }
}

/** Days are UTC. */
function keyOf({ id, site, foundAt, image }: FetchedItem): string {
  const day = new Date(foundAt).toISOString().slice(0, 10)
  const name = [safeName(site), day.replaceAll('-', ''), String(id).padStart(6, '0'), image.sha256.slice(0, 8)].join('_')
  return `${day}/${name}.${extensions[image.format]}`
}

/** Letters, digits, dots and hyphens, at most 80 of them: valid in a file name everywhere. */
function safeName(site: string): string {
  const safe = site.normalize('NFKD').replace(/[^A-Za-z0-9.-]+/g, '-')
  return safe.replace(/^[.-]+|[.-]+$/g, '').slice(0, 80) || 'site'
}
