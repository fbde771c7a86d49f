/** `npm run test:crash`: the crash test with several hundred kills, and a line for each crawl. */
import { crash } from './crash.ts'
import { crashOptions } from './options.ts'

const say = (line: string): void => void process.stdout.write(`${(performance.now() / 1000).toFixed(0).padStart(5)} s  ${line}\n`)

const options = crashOptions(300)
say(`CRASH_SEED=${options.seed} CRASH_KILLS=${options.kills}`)
const { kills, crawls } = await crash({ ...options, say })
say(`${kills.start + kills.middle + kills.end} kills in ${crawls} crawls, and nothing was lost, kept twice or counted wrong`)
