import type { DownloaderMiddleware, SpiderMiddleware } from 'orbweaver'
import { autothrottle } from './autothrottle.ts'
import { cookies } from './cookies.ts'
import { depth } from './depth.ts'
import { httpError } from './http-error.ts'
import { offsite } from './offsite.ts'
import { redirect } from './redirect.ts'
import { referer } from './referer.ts'
import { retry } from './retry.ts'
import { robots } from './robots.ts'
import { userAgent } from './user-agent.ts'

export { autothrottle, cookies, depth, httpError, offsite, redirect, referer, retry, robots, userAgent }

/** Around every download, outermost first. Those inside `redirect` see every hop; those inside `robots` see robots.txt too. */
export const downloaderMiddlewares: readonly DownloaderMiddleware[] = [
  httpError,
  redirect,
  offsite,
  robots,
  retry,
  autothrottle,
  cookies,
  userAgent,
  referer,
]

/** Around every callback, outermost first. */
export const spiderMiddlewares: readonly SpiderMiddleware[] = [depth]
