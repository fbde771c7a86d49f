/** What must and must not compile: checked by `npm run types`. */
import { defineSettings, DropItem, Spider, type DownloaderMiddleware, type PageResponse, type Pipeline, type Results } from 'orbweaver'
import { downloaderMiddlewares, spiderMiddlewares } from 'orbweaver/middlewares'
import { pipelines } from 'orbweaver/pipelines'

interface Photo {
  title: string
}

export class Typed extends Spider<Photo> {
  async *parse(page: PageResponse): Results<Photo> {
    yield page.follow('/x')
    yield page.follow('/x', this.parsePhoto, { meta: { album: 'a' } })
    // @ts-expect-error the callback's meta is missing
    yield page.follow('/x', this.parsePhoto)
    // @ts-expect-error the callback's meta has another type
    yield page.follow('/x', this.parsePhoto, { meta: { album: 1 } })
  }

  async *parsePhoto(page: PageResponse, { album }: { album: string }): Results<Photo> {
    yield page.image('/x.jpg', { title: album })
    // @ts-expect-error a field of the data is missing
    yield page.image('/x.jpg', {})
  }
}

export const passes: Pipeline = () => async (item, next) => {
  if (item.image.width < 10) throw new DropItem('tiny')
  return next(item)
}

// @ts-expect-error an item that isn't passed on is lost
export const forgets: Pipeline = () => async (item, next) => {
  await next(item)
}

// @ts-expect-error a receipt can't be made up
export const invents: Pipeline = () => async () => ({ id: 1, status: 'downloaded' })

// @ts-expect-error a response is missing
export const swallows: DownloaderMiddleware = () => async (request, next) => {
  await next(request)
}

export const settings = defineSettings({ slot: { delayMs: '1s' }, downloaderMiddlewares, spiderMiddlewares, pipelines })

export const ofShop = defineSettings({
  hosts: { '*.example.com': { delayMs: '2s', concurrency: 1 } },
  queue: { order: 'depth', priorities: [{ url: '/list/*', priority: 5 }] },
  requestFingerprint: ({ url }) => /product-(\d+)/.exec(url)?.[1],
  downloaderMiddlewares, spiderMiddlewares, pipelines,
})

// @ts-expect-error a fingerprint is a text
export const numbered = defineSettings({ requestFingerprint: () => 1, downloaderMiddlewares, spiderMiddlewares, pipelines })

// @ts-expect-error a setting of a host is misspelt
export const ofHost = defineSettings({ hosts: { 'a.example': { delay: 1 } }, downloaderMiddlewares, spiderMiddlewares, pipelines })

// @ts-expect-error a list of parts is forgotten
export const incomplete = defineSettings({ downloaderMiddlewares, pipelines })

// @ts-expect-error a setting is misspelt
export const misspelt = defineSettings({ slot: { delay: 1 }, downloaderMiddlewares, spiderMiddlewares, pipelines })
