import { SettingsError, version, type DownloaderMiddleware } from 'orbweaver'

const shared = { 'accept-language': 'en,*;q=0.5', 'accept-encoding': 'gzip, deflate, br' }
const accept = {
  page: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
  image: 'image/avif,image/webp,image/png,image/jpeg,image/*;q=0.8,*/*;q=0.5',
}

/**
 * Says who asks and for what: the setting `userAgent`, or orbweaver with its version and `contact`; an Accept for a page or
 * an image. Headers of the request itself are left as they are, with their names in lower case.
 */
export const userAgent: DownloaderMiddleware = ({ settings }) => {
  const contact = settings.contact === '' ? '' : ` (+${settings.contact})`
  const name = settings.userAgent === '' ? `orbweaver/${version}${contact}` : settings.userAgent
  if (!/^[\x20-\x7e\xa0-\xff]+$/.test(name)) {
    throw new SettingsError(`userAgent and contact must be one line of Latin-1, so they can't be "${name}".`)
  }
  const defaults = {
    page: Object.freeze({ 'user-agent': name, accept: accept.page, ...shared }),
    image: Object.freeze({ 'user-agent': name, accept: accept.image, ...shared }),
  }
  return async function userAgent(request, next) {
    const headers: Record<string, string> = { ...defaults[request.kind] }
    for (const key of Object.keys(request.headers)) headers[key.toLowerCase()] = request.headers[key] as string
    return next(request.with({ headers }))
  }
}
