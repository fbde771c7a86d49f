import { DropItem, type Pipeline } from 'orbweaver'

/** Drops images that are too small, too long or of a format that isn't wanted (settings `images.*`). */
export const filter: Pipeline = ({ settings }) => {
  const { minWidth, minHeight, maxAspect, formats } = settings.images
  return async function filter(item, next) {
    const { width, height, format } = item.image
    if (width < minWidth || height < minHeight) {
      const message = `${width} × ${height} is less than ${minWidth} × ${minHeight} (images.minWidth, images.minHeight)`
      throw new DropItem('too small', { message })
    }
    const aspect = Math.max(width, height) / Math.min(width, height)
    if (maxAspect > 0 && aspect > maxAspect) {
      const message = `${width} × ${height} is more than ${maxAspect} times as long as it is wide (images.maxAspect)`
      throw new DropItem('aspect ratio', { message })
    }
    if (!formats.includes(format)) {
      throw new DropItem('format', { message: `${format} is not among ${formats.join(', ')} (images.formats)` })
    }
    return next(item)
  }
}
