import { relative } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { isCrawlError, messageOf, SettingsError } from '../errors.ts'
import { cleanText } from './clean.ts'

/**
 * Loads a file of the project.
 * @throws SettingsError with the file and line when it can't be read or throws.
 */
export async function importFile(path: string, root: string): Promise<Record<string, unknown>> {
  try {
    return (await import(pathToFileURL(path).href)) as Record<string, unknown>
  } catch (cause) {
    if (isCrawlError(cause, 'settings')) throw cause
    throw new SettingsError(describe(cause, path, root), { cause })
  }
}

function describe(error: unknown, path: string, root: string): string {
  const message = error instanceof Error ? error.message : String(error)
  const transform = /^(.+):(\d+):(\d+): ERROR: (.+)$/m.exec(message)
  if (transform !== null) {
    const [, file = path, line, column, problem = ''] = transform
    return `${relative(root, file)}:${line}:${column}: ${cleanText(problem)}.`
  }
  const place = placeOf(error, root) ?? relative(root, path)
  const code = (error as { code?: unknown } | null)?.code
  if (code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND') return `${place}: ${missingModule(message, root)}`
  if (error instanceof SyntaxError) return `${place}: ${messageOf(error)}.`
  return `${place}: an error was thrown while the file was loaded: ${error instanceof Error ? `${error.name}: ` : ''}${messageOf(error)}`
}

/** The first line of the stack, or of what stands before it, that lies in the project. */
export function placeOf(error: unknown, root: string): string | undefined {
  const stack = error instanceof Error ? (error.stack ?? '') : ''
  for (const [, file = '', position = ''] of stack.matchAll(/((?:file:\/\/)?\/[^\s()]+?):(\d+(?::\d+)?)(?=[\s)]|$)/g)) {
    const path = file.startsWith('file:') ? fileURLToPath(file) : file
    if (path.startsWith(`${root}/`) && !path.includes('/node_modules/')) return `${relative(root, path)}:${position}`
  }
  return undefined
}

function missingModule(message: string, root: string): string {
  const [, kind = 'module', name = '', importer = ''] = /Cannot find (package|module) '([^']+)'(?: imported from (\S+))?/.exec(message) ?? []
  const path = name.startsWith('file:') ? fileURLToPath(name) : name
  const from = importer === '' ? '' : ` (imported by ${relative(root, importer)})`
  return kind === 'package' ? `the package "${path}" is not installed${from}. Run: npm install ${path}` : `there is no file ${relative(root, path)}${from}.`
}
