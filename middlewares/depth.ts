import { Request, type SpiderMiddleware } from 'orbweaver'

/**
 * Drops requests for pages that are further from a start page than `pages.maxDepth` links (0: no limit), counted as
 * `depth/dropped`. A request that a callback made without `follow` is one link further than its page.
 */
export const depth: SpiderMiddleware = ({ settings, stats }) => {
  const { maxDepth } = settings.pages
  return async function* depth(page, next) {
    for await (const result of next(page)) {
      if (!Request.is(result) || result.kind !== 'page') yield result
      else {
        const request = result.depth > 0 ? result : result.with({ depth: page.request.depth + 1 })
        if (maxDepth === 0 || request.depth <= maxDepth) yield request
        else stats.add('depth/dropped')
      }
    }
  }
}
