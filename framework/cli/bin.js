#!/usr/bin/env node
import { existsSync, readFileSync, realpathSync } from 'node:fs'
import module, { createRequire } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import yargs from 'yargs'

process.env['UV_THREADPOOL_SIZE'] ??= '16'

const root = new URL('../../', import.meta.url)
/** In a clone the sources lie beside this file; an installed package has what was built from them. */
const isClone = existsSync(new URL('framework/index.ts', root))
const built = isClone ? root : new URL('dist/', root)
const args = process.argv.slice(2)
const { version } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8'))

class UsageError extends Error {}

/** The command of the copy that the project itself has installed, unless it is this one: settings and spiders are written for that copy. */
function commandOfProject() {
  const position = args.indexOf('--project')
  const folder = resolve(args.find((arg) => arg.startsWith('--project='))?.slice('--project='.length) ?? (position < 0 ? '.' : args[position + 1] ?? '.'))
  try {
    const manifest = createRequire(join(folder, 'settings.ts')).resolve('orbweaver/package.json')
    const { bin } = JSON.parse(readFileSync(manifest, 'utf8'))
    const command = realpathSync(join(dirname(manifest), bin.crawl))
    return dirname(realpathSync(manifest)) === dirname(fileURLToPath(new URL('package.json', root))) ? undefined : command
  } catch {
    return undefined
  }
}

/**
 * Loads the command's code, and with it what runs TypeScript, only when it is to run: help and version answer at once.
 * @param {string} name
 */
function handler(name) {
  return async (/** @type {Record<string, unknown>} */ options) => {
    await registerLoaders()
    const { runCommand } = isClone ? await import('./main.ts') : await import(new URL('framework/cli/main.js', built).href)
    await runCommand(name, options)
  }
}

/** Has node run TypeScript, and find this copy of the package under its name from wherever settings and spiders are. */
async function registerLoaders() {
  const { register } = await import('tsx/esm/api')
  register({ tsconfig: false })
  const extension = isClone ? '.ts' : '.js'
  const urlOf = (/** @type {string} */ folder) => new URL(`${folder}/index${extension}`, built).href
  const packages = { 'orbweaver': urlOf('framework'), 'orbweaver/middlewares': urlOf('middlewares'), 'orbweaver/pipelines': urlOf('pipelines') }
  const hook = new URL(`framework/cli/resolve-hook${extension}`, built)
  const { registerHooks } = /** @type {{ registerHooks?: (hooks: object) => void }} */ (/** @type {unknown} */ (module))
  if (registerHooks === undefined) return module.register(hook, { data: { packages, root: root.href } })
  const hooks = isClone ? await import('./resolve-hook.ts') : await import(hook.href)
  hooks.initialize({ packages, root: root.href })
  registerHooks({ resolve: hooks.resolve })
}

async function parse() {
  const json = /** @type {const} */ ({ type: 'boolean', describe: 'Print JSON on standard output' })
  const project = /** @type {const} */ ({ type: 'string', requiresArg: true, describe: 'Folder of settings.ts. Default: here or the nearest above' })
  const set = /** @type {const} */ ({ alias: 's', type: 'string', array: true, requiresArg: true, describe: 'Change a setting: path=value. Repeatable' })
  const arg = /** @type {const} */ ({ alias: 'a', type: 'string', array: true, requiresArg: true, describe: 'Give the spider an argument: name=value. Repeatable' })
  const quiet = /** @type {const} */ ({ alias: 'q', type: 'boolean', conflicts: 'verbose', describe: 'Only errors and the report' })
  const verbose = /** @type {const} */ ({ alias: 'v', type: 'boolean', describe: 'Every request, and the stack of errors' })
  const logJson = /** @type {const} */ ({ type: 'boolean', describe: 'Log as JSON, one line for each event' })
  const running = { quiet, verbose, 'log-json': logJson, json }

  const cli = yargs(args)
    .scriptName('crawl')
    .locale('en')
    .parserConfiguration({ 'greedy-arrays': false, 'parse-numbers': false, 'parse-positional-numbers': false, 'dot-notation': false })
    .usage('$0 <command>\n\nHarvests images from websites: nothing is downloaded twice, kept twice or lost.')
    .command('run <spider>', 'Crawl with a spider of the project; go on where it stopped', (command) => command
      .positional('spider', { type: 'string', demandOption: true, describe: 'Name of a file in spiders/, without .ts' })
      .options({
        arg, set,
        limit: { type: 'string', requiresArg: true, describe: 'Stop after so many images' },
        fresh: { type: 'boolean', describe: 'Begin anew although the last run has not ended' },
        yes: { alias: 'y', type: 'boolean', describe: 'Do not ask before an unfinished run is given up' },
        ...running, project,
      })
      .example('$0 run gallery', 'Crawl, or go on with what was interrupted')
      .example('$0 run gallery --limit 20', 'Look at what comes before you take it all')
      .example('$0 run gallery -a site=http://127.0.0.1:7447/ -s slot.delayMs=1s', 'With an argument and a setting')
      .epilogue('Exit codes: 0 done, 1 unexpected error, 2 usage or settings, 3 no page could be read or fewer images than expect.images, 4 stopped by a limit, 5 every host left asks for patience, 6 database, frontier or disk gone, full or in use, 129, 130 and 143 stopped by a closed terminal or a signal. After 4, 5, 6 and these the same command goes on.'), handler('run'))
    .command('status [spider]', 'What the spiders have harvested, and what is left to do', (command) => command
      .positional('spider', { type: 'string', describe: 'Only this one' })
      .options({ set, json, verbose, project }), handler('status'))
    .command('list', 'The spiders of the project', (command) => command
      .options({ json, verbose, project }), handler('list'))
    .command('settings [path]', 'The settings, with where each value comes from', (command) => command
      .positional('path', { type: 'string', describe: 'Only this one or this group, such as slot' })
      .options({ spider: { type: 'string', requiresArg: true, describe: 'With the settings of this spider' }, set, json, verbose, project }), handler('settings'))
    .command('jobs', 'How far the runs are: those that go on, were stopped or have ended', (command) => command
      .options({ set, json, verbose, project })
      .command('clean [spiders..]', 'Remove the queues of runs that have ended; rows and images stay', (clean) => clean
        .positional('spiders', { type: 'string', array: true, describe: 'Only of these. Default: of all' })
        .options({
          unfinished: { type: 'boolean', describe: 'Also of runs that have not ended, which gives them up' },
          yes: { alias: 'y', type: 'boolean', describe: 'Do not ask before an unfinished run is given up' },
        })
        .example('$0 jobs clean', 'Give back the space of all runs that have ended')
        .example('$0 jobs clean gallery --unfinished', 'Give up what gallery has still to do')
        .epilogue('A run that a process is working on is never removed. What was set aside is removed with the run of its name. Exit code 6: something could not be read, and was kept.'), handler('jobs clean'))
      .command('retry <spider>', 'Have the next run try once more what has failed', (retry) => retry
        .positional('spider', { type: 'string', demandOption: true, describe: 'Whose requests' })
        .options({ reason: { type: 'string', requiresArg: true, describe: 'Only those that failed for this reason, such as timeout' } })
        .example('$0 jobs retry gallery', 'Then: crawl run gallery')
        .example('$0 jobs retry gallery --reason "http 503"', 'Only what was not to be had for a while')
        .epilogue('What was ignored or dropped has not failed: robots.txt, off site, 404, no image. A run that has ended goes on with nothing else than these requests.'), handler('jobs retry'))
      .example('$0 jobs', 'One line for each')
      .example('$0 jobs --json', 'With the path of each')
      .epilogue('States: running (with its process), stopped (by a signal), limit, blocked (every host asks for patience), failed (database or disk), to retry (had ended, with requests to try once more), killed (ended without a word), finished, prepared (not begun, with fingerprints imported), unreadable. Exit code 6: something could not be read.'), handler('jobs'))
    .command('seen', 'Take what a run has met along, or give it what was met elsewhere', (command) => command
      .options({ set, verbose, project })
      .command('export <spider>', 'Write the fingerprints of what was met, one a line', (exporting) => exporting
        .positional('spider', { type: 'string', demandOption: true, describe: 'Whose' })
        .options({ output: { alias: 'o', type: 'string', requiresArg: true, describe: 'File to write. Default: standard output' } })
        .example('$0 seen export gallery -o gallery.seen', 'Also while it runs')
        .epilogue('The first line says which seed and length the fingerprints have; they count only in a job with the same.'), handler('seen export'))
      .command('import <spider> <file>', 'Have a run take requests for met, and not fetch them', (importing) => importing
        .positional('spider', { type: 'string', demandOption: true, describe: 'For whom' })
        .positional('file', { type: 'string', demandOption: true, describe: "What `seen export` has written, or Scrapy's requests.seen" })
        .options({ json })
        .example('$0 seen import gallery gallery.seen', 'Before the first run, or into the one that it came from')
        .example('$0 seen import gallery job/requests.seen', "Go on where Scrapy's JOBDIR was")
        .epilogue('All of the file is imported, or nothing when a line of it is no fingerprint (exit code 2). A job that has not begun takes over seed and length; after one that has ended a new one is prepared.'), handler('seen import'))
      .demandCommand(1, 'export or import?'))
    .command('demo', 'Crawl a site that is in the package: no internet, about ten seconds', (command) => command
      .options({
        port: { type: 'string', default: '7447', requiresArg: true, describe: 'Port of the site on this machine' },
        fresh: { type: 'boolean', conflicts: 'keep', describe: "Remove the last demo's images and database first" },
        keep: { type: 'boolean', describe: 'Keep them (the default): nothing is downloaded twice' },
        serve: { type: 'boolean', describe: 'Only serve the site, until Ctrl-C' },
        ...running,
      }), handler('demo'))
    .demandCommand(1, 'Which command?')
    .recommendCommands()
    .strict()
    .help().alias('help', 'h')
    .version(version).alias('version', 'V')
    .wrap(Math.min(100, process.stdout.columns || 100))
    .epilogue('Start with: crawl demo')
    .exitProcess(false)
    .fail((message, error) => {
      throw error ?? new UsageError(message)
    })
  try {
    if (args.length > 0) return void (await cli.parseAsync())
    cli.showHelp('error')
    process.exitCode = 2
  } catch (error) {
    if (!(error instanceof UsageError) && !(error instanceof Error && error.name === 'YError')) throw error
    const words = args.slice(0, 2).join(' ')
    const name = ['run', 'status', 'list', 'settings', 'jobs clean', 'jobs retry', 'jobs', 'seen export', 'seen import', 'seen', 'demo'].find((known) => known === words || known === args[0])
    const isFileMissing = name === 'seen import' && error.message.includes('got 1')
    const message = !error.message.startsWith('Not enough non-option') ? error.message : isFileMissing ? 'Which file? One that `crawl seen export` or Scrapy has written.' : 'Which spider? `crawl list` shows them.'
    process.stderr.write(`${message}\nSee crawl ${name === undefined ? '' : `${name} `}--help.\n`)
    process.exitCode = 2
  }
}

const otherCommand = commandOfProject()
if (otherCommand === undefined) await parse()
else await import(pathToFileURL(otherCommand).href)
