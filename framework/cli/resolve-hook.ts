/** Where this copy of the package is, told by the command before the first import. */
export interface Resolution {
  /** URL of the module for each bare name, such as `orbweaver/pipelines`. */
  readonly packages: Readonly<Record<string, string>>
  /** URL of the package's own folder. */
  readonly root: string
}

interface Context {
  readonly parentURL?: string
}

interface Resolved {
  readonly url: string
  readonly format?: string | null
}

let resolution: Resolution = { packages: {}, root: '' }

/** Is given the copy of the package that runs. */
export function initialize(data: Resolution): void {
  resolution = data
}

/** Gives settings and spiders the very modules that the command runs, so that there is one class Spider. */
export function resolve(specifier: string, context: Context, next: (specifier: string, context: Context) => Resolved | Promise<Resolved>): Resolved | Promise<Resolved> {
  const result = next(resolution.packages[specifier] ?? specifier, context)
  return result instanceof Promise ? result.then((resolved) => asModule(resolved, context)) : asModule(result, context)
}

/**
 * A project's TypeScript is a module, and so is each spider, whatever the project's package.json says of `type`.
 * tsx marks the URL of what it takes for CommonJS.
 */
function asModule(resolved: Resolved, { parentURL }: Context): Resolved {
  const url = resolved.url.replace(/(\?|%3F)tsx-commonjs.*$/i, '')
  if (!url.startsWith('file:') || url.startsWith(resolution.root) || url.includes('/node_modules/')) return resolved
  const isImportedByCommand = parentURL?.startsWith(resolution.root) === true
  return /\.ts(\?|$)/.test(url) || (isImportedByCommand && /\.js(\?|$)/.test(url)) ? { ...resolved, url, format: 'module' } : resolved
}
