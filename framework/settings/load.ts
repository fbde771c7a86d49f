import { closest } from './closest.ts'
import { SettingsError } from '../errors.ts'
import { hostSettings } from '../slots/host-settings.ts'
import { hostSchema, schema, type Settings, type SettingsInput } from './schema.ts'
import type { Project } from './define.ts'

/** A setting's value and where it came from. */
export interface SettingOrigin {
  readonly path: string
  readonly value: unknown
  /** `default`, `settings.ts`, `spider`, the variable's name, or `command line`. */
  readonly origin: string
}

export interface SettingsSources {
  readonly project?: Partial<Project>
  /** The spider's own settings. */
  readonly spider?: SettingsInput
  /** Environment variables. Default none. */
  readonly environment?: Readonly<Record<string, string | undefined>>
  /** Dotted paths with values as text, from `-s path=value`. */
  readonly commandLine?: Readonly<Record<string, string>>
  /** What a program gives to `run`, or a command such as the demo brings along. Over everything else but the command line. */
  readonly program?: SettingsInput
}

export interface LoadedSettings {
  readonly settings: Settings
  readonly origins: readonly SettingOrigin[]
}

type Tree = { [name: string]: Tree | unknown }

interface Leaf {
  readonly path: string
  readonly kind: 'text' | 'list' | 'value'
}

/**
 * Merges the sources, later over earlier: defaults, settings.ts, the spider, the environment, a program, the command line.
 * @throws SettingsError naming every wrong setting with its origin, its value and the nearest right name.
 */
export function loadSettings(sources: SettingsSources): LoadedSettings {
  const { downloaderMiddlewares, spiderMiddlewares, pipelines, requestFingerprint, ...project } = sources.project ?? {}
  void [downloaderMiddlewares, spiderMiddlewares, pipelines, requestFingerprint]
  const layers: [origin: string, tree: Tree][] = [
    ['settings.ts', project as Tree],
    ['spider', (sources.spider ?? {}) as Tree],
    ...environmentLayers(sources.environment ?? {}),
    ['program', (sources.program ?? {}) as Tree],
    ['command line', commandLineTree(sources.commandLine ?? {})],
  ]
  const merged: Tree = {}
  const originOf = new Map<string, string>()
  for (const [origin, tree] of layers) mergeInto(merged, tree, origin, '', originOf)
  const result = schema.safeParse(merged)
  if (!result.success) throw new SettingsError(result.error.issues.flatMap((issue) => describe(issue, merged, originOf)).join('\n'))
  const settings = deepFreeze(result.data)
  hostSettings(settings)
  const origins = leaves.map(({ path }) => ({ path, value: valueAt(settings, path), origin: originOf.get(path) ?? [...originOf].find(([name]) => name.startsWith(`${path}.`))?.[1] ?? 'default' }))
  return { settings, origins }
}

/** Every setting: dotted path, kind, default and meaning, in the order of the schema. */
export interface SettingDescription {
  readonly path: string
  readonly default: unknown
  readonly description: string
  /** Its environment variable. */
  readonly variable: string
}

export function describeSettings(): SettingDescription[] {
  const defaults = schema.parse({})
  return leaves.map(({ path, description }) => ({ path, default: valueAt(defaults, path), description, variable: variableOf(path) }))
}

const leaves = collectLeaves(schema, '')

interface SchemaLeaf extends Leaf {
  readonly description: string
}

function collectLeaves(node: unknown, path: string): SchemaLeaf[] {
  const inner = unwrap(node)
  const shape = (inner as { shape?: Record<string, unknown> }).shape
  if (shape === undefined) {
    const type = (inner as { type?: string }).type
    const kind = type === 'string' || type === 'enum' ? 'text' : type === 'array' ? 'list' : 'value'
    return [{ path, kind, description: (node as { description?: string }).description ?? '' }]
  }
  return Object.entries(shape).flatMap(([name, child]) => collectLeaves(child, path === '' ? name : `${path}.${name}`))
}

/** The schema inside defaults. */
function unwrap(node: unknown): unknown {
  let inner = node as { type: string; def: { innerType?: unknown } }
  while (inner.def.innerType !== undefined) inner = inner.def.innerType as typeof inner
  return inner
}

function variableOf(path: string): string {
  return `CRAWL_${path.replace(/([a-z])([A-Z])/g, '$1_$2').replaceAll('.', '_').toUpperCase()}`
}

function environmentLayers(environment: Readonly<Record<string, string | undefined>>): [string, Tree][] {
  const layers: [string, Tree][] = []
  const url = environment['DATABASE_URL']
  if (url !== undefined && url !== '') layers.push(['DATABASE_URL', { database: url }])
  const variables = new Map(leaves.map((leaf) => [variableOf(leaf.path), leaf]))
  for (const [name, text] of Object.entries(environment)) {
    if (!name.startsWith('CRAWL_') || text === undefined) continue
    const leaf = variables.get(name)
    if (leaf === undefined) throw new SettingsError(`There is no setting for the variable ${name}.${suggestion(name, [...variables.keys()])}`)
    layers.push([name, treeOf(leaf.path, parseText(text, leaf))])
  }
  return layers
}

function commandLineTree(values: Readonly<Record<string, string>>): Tree {
  const tree: Tree = {}
  for (const [path, text] of Object.entries(values)) {
    const leaf = leaves.find((candidate) => candidate.path === path)
    if (leaf === undefined) throw new SettingsError(`There is no setting "${path}" (command line).${suggestion(path, leaves.map((candidate) => candidate.path))}`)
    mergeInto(tree, treeOf(path, parseText(text, leaf)), '', '', new Map())
  }
  return tree
}

function parseText(text: string, { kind }: Leaf): unknown {
  if (kind === 'text') return text
  if (kind === 'list' && !/^\s*\[/.test(text)) return text.trim() === '' ? [] : text.split(',').map((part) => parseScalar(part.trim()))
  return /^\s*[[{]/.test(text) ? parseJson(text) : parseScalar(text)
}

/** What isn't JSON is refused as the value that it is, with its setting. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function parseScalar(text: string): unknown {
  if (text === 'true') return true
  if (text === 'false') return false
  return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text
}

function treeOf(path: string, value: unknown): Tree {
  return path.split('.').reduceRight<unknown>((inner, name) => ({ [name]: inner }), value) as Tree
}

function mergeInto(target: Tree, source: Tree, origin: string, prefix: string, originOf: Map<string, string>): void {
  for (const [name, value] of Object.entries(source)) {
    if (value === undefined || name === '__proto__') continue
    const path = prefix === '' ? name : `${prefix}.${name}`
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      const inner = typeof target[name] === 'object' && target[name] !== null ? (target[name] as Tree) : {}
      target[name] = inner
      mergeInto(inner, value as Tree, origin, path, originOf)
    } else {
      target[name] = value
      originOf.set(path, origin)
    }
  }
}

interface Issue {
  readonly code?: string
  readonly path: readonly PropertyKey[]
  readonly message: string
  readonly keys?: readonly string[]
}

function describe(issue: Issue, merged: Tree, originOf: ReadonlyMap<string, string>): string[] {
  const path = issue.path.map(String).join('.')
  if (issue.code === 'unrecognized_keys') {
    return (issue.keys ?? []).map((key) => {
      const full = path === '' ? key : `${path}.${key}`
      const origin = originOf.get(full) ?? [...originOf].find(([name]) => name.startsWith(`${full}.`))?.[1] ?? 'settings.ts'
      const ofHost = path.startsWith('hosts.') ? Object.keys(hostSchema.shape).map((name) => `${path}.${name}`) : []
      return `There is no setting "${full}" (${origin}).${suggestion(full, [...ofHost, ...leaves.map((leaf) => leaf.path)])}`
    })
  }
  const leafPath = leaves.find((leaf) => path === leaf.path || path.startsWith(`${leaf.path}.`))?.path ?? path
  const value = JSON.stringify(valueAt(merged, leafPath))
  return [`The setting ${leafPath} can't be ${value} (${originOf.get(leafPath) ?? 'default'}): ${issue.message}.`]
}

function suggestion(name: string, names: readonly string[]): string {
  const nearest = closest(name, names)
  return nearest === undefined ? ' See `crawl settings` for all of them.' : ` Did you mean "${nearest}"?`
}

function valueAt(tree: object, path: string): unknown {
  return path.split('.').reduce<unknown>((value, name) => (value as Tree | undefined)?.[name], tree)
}

function deepFreeze<T extends object>(value: T): T {
  for (const inner of Object.values(value)) if (typeof inner === 'object' && inner !== null) deepFreeze(inner as object)
  return Object.freeze(value)
}
