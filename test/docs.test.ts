import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { renderSettingsPage } from '../framework/settings/docs.ts'

const root = join(import.meta.dirname, '..')

/** The TypeScript examples of a document; one that begins with a comment naming a file is that file. */
function examplesOf(document: string): { path: string; code: string }[] {
  const text = readFileSync(join(root, document), 'utf8')
  return [...text.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, code = ''], index) => ({ path: /^\/\/ (\S+\.ts)\n/.exec(code)?.[1] ?? `example-${index}.ts`, code }))
}

test('the examples of the documentation compile', () => {
  // Inside the project, so that packages and types are found as in a user's project.
  const folder = join(root, 'test', `examples-${process.pid}`)
  try {
    for (const document of ['README.md', ...readdirSync(join(root, 'docs')).filter((name) => name.endsWith('.md')).map((name) => join('docs', name))]) {
      for (const { path, code } of examplesOf(document)) {
        const file = join(folder, document.replace(/\W/g, '-'), path)
        mkdirSync(dirname(file), { recursive: true })
        writeFileSync(file, code)
      }
    }
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ extends: '../../tsconfig.json', include: ['**/*.ts'] }))
    const { status, stdout } = spawnSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', folder], { encoding: 'utf8' })
    assert.equal(status, 0, stdout)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

test('the page of settings says what the schema says', () => {
  assert.equal(readFileSync(join(root, 'docs/settings.md'), 'utf8'), renderSettingsPage(), 'run `npm run docs`')
})
