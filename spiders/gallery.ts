import { Spider, type PageResponse, type Results } from 'orbweaver'

interface Photo {
  page: string
}

/** Follows every link of a site and harvests every image. `-a site=URL` names another site than the demo's. */
export default class Gallery extends Spider<Photo> {
  override startUrls = [this.args['site'] ?? 'http://127.0.0.1:7447/']

  async *parse(page: PageResponse): Results<Photo> {
    yield* page.images({ page: page.$('title').text() })
    for (const url of page.links()) yield page.follow(url)
  }
}
