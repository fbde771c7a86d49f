import { defineSettings } from 'orbweaver'
import { downloaderMiddlewares, spiderMiddlewares } from 'orbweaver/middlewares'
import { pipelines } from 'orbweaver/pipelines'

// `npx crawl settings` shows every setting with its value and its meaning.
export default defineSettings({
  // Owners of sites see it in the User-Agent: a URL or a mail address where they can reach you.
  // contact: 'https://you.example/crawler',

  // How gently every host is treated; a spider may have settings of its own.
  // slot: { delayMs: '1s', concurrency: 1 },

  // What every request, callback and image passes, outermost first. To add a part of your own, write it into the list:
  // pipelines: [watermark({ text: '©' }), ...pipelines].
  downloaderMiddlewares,
  spiderMiddlewares,
  pipelines,
})
