import { Request, type SpiderMiddleware } from 'orbweaver'

/**
 * Drops requests for pages that are further from a start page than `pages.maxDepth` links (0: no limit), counted as
 * `depth/dropped`. A request that a callback made without `follow` is one link further than its page.
 */
export const depth: SpiderMiddleware = ({ settings, stats }) => {
  const { maxDepth } = settings.pages
  if (maxDepth === 0) return (page, next) => next(page)
  return async function* depth(page, next) {
    for await (const result of next(page)) {
      const isTooDeep = Request.is(result) && result.kind === 'page' && (result.depth || page.request.depth + 1) > maxDepth
      if (isTooDeep) stats.add('depth/dropped')
      else yield result
    }
  }
}
