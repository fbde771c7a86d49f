import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { test } from 'node:test'

const root = join(import.meta.dirname, '..')

/** Files and folders of framework/ from the bottom up. A file imports from its own layer and from those below. */
const layers = [
  ['errors', 'compose', 'json', 'version', 'is-alive', 'make-folder', 'async/'],
  ['item', 'http/', 'settings/schema', 'settings/units', 'settings/closest'],
  ['frontier/frontier', 'dupe-filter/', 'store/store', 'files/files', 'slots/', 'stats', 'log'],
  ['signals'],
  ['crawl', 'spider', 'settings/'],
  ['downloader/', 'image/', 'frontier/', 'store/', 'files/'],
  ['engine/'],
  ['run'],
  ['index'],
  ['demo/'],
  ['cli/'],
]

const filesIn = (folder: string): string[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(ts|js)$/.test(name))
    .map((name) => join(folder, name))

/** Import specifiers of a file; `typeOnly` ones leave no trace at run time. */
function importsOf(file: string): { specifier: string; typeOnly: boolean }[] {
  const source = readFileSync(join(root, file), 'utf8')
  const found = source.matchAll(/^(?:import|export)\s+(type\s+)?(?:[^'"]*?\sfrom\s+)?['"]([^'"]+)['"]/gm)
  return [...found].map((match) => ({ specifier: match[2] ?? '', typeOnly: match[1] !== undefined }))
}

function layerOf(file: string): number {
  const name = relative('framework', file).replace(/\.(ts|js)$/, '')
  const exact = layers.findIndex((entries) => entries.includes(name))
  const found = exact !== -1 ? exact : layers.findIndex((entries) => entries.some((entry) => entry.endsWith('/') && name.startsWith(entry)))
  assert.notEqual(found, -1, `${file} is in no layer: add it to the list in test/architecture.test.ts`)
  return found
}

test('imports of framework/ point downwards', () => {
  for (const file of filesIn('framework')) {
    for (const { specifier } of importsOf(file)) {
      if (!specifier.startsWith('.')) continue
      const target = join(dirname(file), specifier)
      assert.ok(target.startsWith('framework/'), `${file} imports ${specifier}, which is outside framework/`)
      assert.ok(layerOf(target) <= layerOf(file), `${file} imports ${specifier}, which is in a higher layer`)
    }
  }
})

test('no file of framework/ imports itself through others', () => {
  const graph = new Map(
    filesIn('framework').map((file) => [
      file,
      importsOf(file).flatMap(({ specifier, typeOnly }) => (specifier.startsWith('.') && !typeOnly ? [join(dirname(file), specifier)] : [])),
    ]),
  )
  const done = new Set<string>()
  const visit = (file: string, path: readonly string[]): void => {
    assert.ok(!path.includes(file), `import cycle: ${[...path.slice(path.indexOf(file)), file].join(' → ')}`)
    if (done.has(file)) return
    for (const next of graph.get(file) ?? []) visit(next, [...path, file])
    done.add(file)
  }
  for (const file of graph.keys()) visit(file, [])
})

test('parts and spiders import only the public entries, so that a copy works in any project', () => {
  for (const file of ['middlewares', 'pipelines', 'spiders'].flatMap(filesIn)) {
    for (const { specifier } of importsOf(file)) {
      const isSibling = specifier.startsWith('./') && file.endsWith('index.ts')
      const isPublic = /^(orbweaver|orbweaver\/(middlewares|pipelines)|node:.*)$/.test(specifier)
      assert.ok(isSibling || isPublic || !specifier.startsWith('.'), `${file} imports ${specifier}`)
    }
  }
})
