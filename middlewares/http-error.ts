import { IgnoreRequest, type DownloaderMiddleware } from 'orbweaver'

/** Lets answers with a status from 200 to 299 through; every other is ignored, and counted by its status. */
export const httpError: DownloaderMiddleware = () =>
  async function httpError(request, next) {
    const response = await next(request)
    if (response.status >= 200 && response.status < 300) return response
    throw new IgnoreRequest(`http ${response.status}`)
  }
