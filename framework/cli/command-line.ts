import { basename, sep } from 'node:path'

/** A command that a person can paste: `npx crawl run gallery -a 'q=two words'`. */
export function commandLine(...words: readonly string[]): string {
  return [...typedName(), ...words.map(quote)].join(' ')
}

/** How the command was typed, or would be: by its name where a shell finds it, else through npx. */
function typedName(): readonly string[] {
  const script = process.argv[1] ?? ''
  const isOnPath = process.env['npm_execpath'] === undefined && basename(script) === 'crawl' && !script.includes(`${sep}.bin${sep}`)
  return isOnPath ? ['crawl'] : ['npx', 'crawl']
}

function quote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}

/** The command that goes on with a run of a spider: with the arguments that it was given. */
export function resumeCommand(name: string, command: string, args: Readonly<Record<string, string>> = {}): string {
  if (command !== commandLine('run', name)) return command
  return commandLine('run', name, ...Object.entries(args).flatMap(([key, value]) => ['-a', `${key}=${value}`]))
}
