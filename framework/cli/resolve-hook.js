/**
 * Where this copy of the package is, told by the command before the first import.
 * @typedef {object} Resolution
 * @property {Readonly<Record<string, string>>} packages URL of the module for each bare name, such as `orbweaver/pipelines`
 * @property {string} root URL of the package's own folder
 */

/**
 * @typedef {object} Context
 * @property {string} [parentURL]
 * @property {string[]} conditions
 * @property {Record<string, string>} importAttributes
 */

/**
 * @typedef {object} Resolved
 * @property {string} url
 * @property {string | null} [format]
 * @property {boolean} [shortCircuit]
 */

/** @type {Resolution} */
let resolution = { packages: {}, root: '' }

/**
 * Is given the copy of the package that runs.
 * @param {Resolution} data
 */
export function initialize(data) {
  resolution = data
}

/**
 * Gives settings and spiders the very modules that the command runs, so that there is one class Spider.
 * @template {Resolved | Promise<Resolved>} Result
 * @param {string} specifier
 * @param {Context} context
 * @param {(specifier: string, context: Context) => Result} next
 * @returns {Result}
 */
export function resolve(specifier, context, next) {
  const result = next(resolution.packages[specifier] ?? specifier, context)
  return /** @type {Result} */ (result instanceof Promise ? result.then((resolved) => asModule(resolved, context)) : asModule(result, context))
}

/**
 * A project's TypeScript is a module, and so is each spider, whatever the project's package.json says of `type`.
 * @param {Resolved} resolved
 * @param {Context} context
 * @returns {Resolved}
 */
function asModule(resolved, context) {
  const { url } = resolved
  if (!url.startsWith('file:') || url.startsWith(resolution.root) || url.includes('/node_modules/')) return resolved
  const isImportedByCommand = context.parentURL?.startsWith(resolution.root) === true
  return /\.ts(\?|$)/.test(url) || (isImportedByCommand && /\.js(\?|$)/.test(url)) ? { ...resolved, format: 'module' } : resolved
}
