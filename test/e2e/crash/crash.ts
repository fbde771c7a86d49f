import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { makeProject, plainSpider, RunningCommand } from '../../cli/command.ts'
import { readRows } from '../harvest.ts'
import { checkHarvest, pathOf, readStatus, type Harvest } from './harvest.ts'
import { randomFrom, type Random } from './random.ts'
import { planCrashSite, serveCrashSite, type CrashSite } from './site.ts'

export interface CrashOptions {
  /** Of all that is chosen at random. How far a process gets until it is killed depends on the machine too. */
  readonly seed: number
  /** How often the command is killed. */
  readonly kills: number
  /** Is told how it goes, a line a crawl. */
  readonly say?: (line: string) => void
}

export interface CrashReport {
  /** Kills in the order of `phases`. */
  readonly kills: Readonly<Record<Phase, number>>
  /** Crawls that were killed again and again, and then compared with the one that wasn't. */
  readonly crawls: number
}

/** When a process is killed: before its first request, in the middle, or when every URL has been asked for. */
const phases = ['start', 'middle', 'end'] as const
type Phase = (typeof phases)[number]

/** What crawls differ in, in turn. */
const variants: readonly (readonly string[])[] = [[], ['queue.order=depth'], ['dupeFilter.kind=disk']]

/** How many requests and answers a process may see before it is killed; a short life ends within the first of them. */
const longLife = 200
const minLongLife = 48
const shortLife = 12
/** A request during which the process ends several times is set aside, as it should be: so often in a row it is not. */
const maxShortLives = 2
const maxLateLives = 2

/**
 * Crawls a site undisturbed, and then again and again with the real command being killed by SIGKILL at random moments
 * until it ends by itself. Each of these crawls must end with the same rows, files and counters.
 * @throws Error that names the seed, with the assertion that failed as its cause.
 */
export async function crash({ seed, kills, say = () => {} }: CrashOptions): Promise<CrashReport> {
  const random = randomFrom(seed)
  const plan = await planCrashSite({ pages: 300, images: 120 })
  const report = { kills: { start: 0, middle: 0, end: 0 }, crawls: 0 }
  const total = () => phases.reduce((sum, phase) => sum + report.kills[phase], 0)
  const undisturbed = await withCrawl(plan, [], (crawl) => crawl.finish())
  say(`undisturbed: ${undisturbed.images.length} images, first request after ${Math.round(startMs)} ms`)
  while (total() < kills) {
    const settings = variants[report.crawls % variants.length] ?? []
    report.crawls++
    const name = `crawl ${report.crawls} (${settings.join(' ') || 'default settings'}), CRASH_SEED=${seed} CRASH_KILLS=${kills}`
    try {
      const harvest = await withCrawl(plan, settings, (crawl) => crawl.killUntilDone(random, (phase) => ++report.kills[phase] > 0 && total() < kills))
      assert.deepEqual(difference(harvest, undisturbed), { missing: [], surplus: [] })
    } catch (error) {
      throw new Error(`${name}: ${error instanceof Error ? error.message : String(error)}`, { cause: error })
    }
    say(`${total()} of ${kills} kills: ${phases.map((phase) => `${report.kills[phase]} at the ${phase}`).join(', ')}; ${name} is as it should be`)
  }
  return report
}

/** Lines that one has and the other has not, or not as often. */
function difference(harvest: Harvest, expected: Harvest): { readonly missing: string[]; readonly surplus: string[] } {
  const surplus = [...harvest.images, ...harvest.outcomes]
  const missing = [...expected.images, ...expected.outcomes].filter((line) => {
    const index = surplus.indexOf(line)
    if (index !== -1) surplus.splice(index, 1)
    return index === -1
  })
  return { missing, surplus }
}

/** From the start of the process to its first request, as the undisturbed crawl had it. */
let startMs = 0

async function withCrawl<Result>(plan: Awaited<ReturnType<typeof planCrashSite>>, settings: readonly string[], body: (crawl: KilledCrawl) => Promise<Result>): Promise<Result> {
  const site = await serveCrashSite(plan)
  const project = makeProject({ 'spiders/plain.ts': plainSpider })
  try {
    return await body(new KilledCrawl(site, project.root, settings))
  } finally {
    await site.close()
    project.remove()
  }
}

/** One crawl, over any number of processes. */
class KilledCrawl {
  readonly #site: CrashSite
  readonly #root: string
  readonly #settings: readonly string[]
  /** How often each image that is kept or known as a copy had been asked for when that was seen first. */
  readonly #settled = new Map<string, number>()
  #shortLives = 0
  #lateLives = 0
  /** Lives until one that ends before its first request: chance alone might leave it out. */
  #untilStart = 1

  constructor(site: CrashSite, root: string, settings: readonly string[]) {
    this.#site = site
    this.#root = root
    this.#settings = settings
  }

  get #dataDir(): string {
    return join(this.#root, 'data')
  }

  /** Lets the crawl end, and answers what it has come to. */
  async finish(): Promise<Harvest> {
    const startedAt = performance.now()
    const command = this.#start(8)
    const first = this.#site.reach(this.#site.steps + 1).then(() => (startMs = performance.now() - startedAt))
    await this.#checkEnd(command)
    await first
    return this.#check()
  }

  /**
   * Starts it and kills it, again and again, until it has ended.
   * @param count is told of each kill, and answers whether there may be another one.
   */
  async killUntilDone(random: Random, count: (phase: Phase) => boolean): Promise<Harvest> {
    for (let mayKill = true; ; ) {
      const command = this.#start(random.pick([2, 8, 8, 16]))
      const ended = command.ended()
      const moment = mayKill ? this.#moment(random) : new Promise<never>(() => {})
      const phase = await Promise.race([moment, ended.then(() => undefined)])
      if (phase !== undefined) command.child.kill('SIGKILL')
      await ended
      if (command.child.signalCode !== 'SIGKILL') {
        await this.#checkEnd(command)
        return this.#check()
      }
      if (phase === undefined) throw new Error('it was killed by somebody else')
      mayKill = count(phase)
      this.#look()
      // It may have been killed between the mark that it has ended and its end.
      if (this.#site.isAllAsked() && (await readStatus(this.#root)).hasEnded) return this.#check()
    }
  }

  /** Resolves at a random moment of a process that was just started: with the phase that this is in. */
  async #moment(random: Random): Promise<Phase> {
    const site = this.#site
    if (site.isAllAsked()) {
      // What is left may be what was in progress at all of the last kills.
      if (++this.#lateLives > maxLateLives) return new Promise(() => {})
      await wait(random.below(startMs * 1.2))
      return 'end'
    }
    if (this.#untilStart-- <= 0) {
      this.#untilStart = random.below(9)
      await wait(random.below(startMs))
      return 'start'
    }
    const isShort = this.#shortLives < maxShortLives && random.chance(0.3)
    this.#shortLives = isShort ? this.#shortLives + 1 : 0
    const length = isShort ? random.below(shortLife) : minLongLife + random.below(longLife - minLongLife)
    const middle = site.reach(site.steps + 1 + length).then(() => false)
    if (await Promise.race([middle, site.allAsked().then(() => true)])) {
      const last = site.reach(site.steps + random.below(12))
      await Promise.race([last, wait(100)])
      await wait(random.below(80))
      return 'end'
    }
    // What is done with an answer takes longer than the answer.
    await wait(random.below(15))
    return 'middle'
  }

  #start(concurrency: number): RunningCommand {
    const settings = ['robots.obey=true', 'retry.attempts=2', 'retry.backoffMs=20', 'slot.concurrency=16', `concurrency=${concurrency}`, ...this.#settings]
    const args = ['run', 'plain', '--json', '--quiet', '-a', `site=${this.#site.url}`, ...settings.flatMap((setting) => ['-s', setting])]
    return new RunningCommand(args, this.#root)
  }

  async #checkEnd(command: RunningCommand): Promise<void> {
    const { code, stderr } = await command.ended()
    assert.equal(code, 0, `exit code ${code}, signal ${command.child.signalCode}: ${stderr}`)
  }

  /** Notes which images are settled: from now on nobody may ask for them. */
  #look(): void {
    if (!existsSync(join(this.#dataDir, 'crawl.db')) || this.#site.steps === 0) return
    for (const row of readRows(this.#dataDir)) {
      const path = pathOf(row)
      const isSettled = row.status === 'downloaded' || row.status === 'duplicate'
      if (isSettled && !this.#settled.has(path)) this.#settled.set(path, this.#site.requests.get(path) ?? 0)
    }
  }

  async #check(): Promise<Harvest> {
    const { hasEnded, left, outcomes } = await readStatus(this.#root)
    assert.deepEqual({ hasEnded, left }, { hasEnded: true, left: 0 })
    const again = [...this.#settled].filter(([path, count]) => this.#site.requests.get(path) !== count)
    assert.deepEqual(again, [], 'images were downloaded again though they were kept')
    return checkHarvest(this.#site, this.#dataDir, outcomes)
  }
}
