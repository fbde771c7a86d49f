import { hashThumbnail, type Pipeline } from 'orbweaver'

/** Adds what the image looks like, in 64 bits three times, from the thumbnail that its one decoding has left. */
export const hash: Pipeline = () =>
  async function hash(item, next) {
    return next({ ...item, hashes: hashThumbnail(item.image.thumbnail) })
  }
