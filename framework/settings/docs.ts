import { describeSettings } from './load.ts'

/** docs/settings.md, made from the schema. */
export function renderSettingsPage(): string {
  const rows = describeSettings().map(({ path, default: value, description, variable }) => `| \`${path}\` | ${shown(value)} | ${description.replaceAll('|', '\\|')} | \`${variable}\` |`)
  return `# Settings

Later over earlier: the defaults below, \`settings.ts\`, the spider's own \`settings\`, environment variables, \`-s path=value\`.
Durations are milliseconds or a text such as \`30s\`, \`5m\`, \`2h\`; sizes are bytes or a text such as \`500kB\`, \`5MB\`; lists on
the command line and in variables are separated by commas. \`npx crawl settings\` shows each value with where it comes from.
Unknown names and bad values are refused before anything starts.

| setting | default | meaning | variable |
|---|---|---|---|
${rows.join('\n')}

\`DATABASE_URL\` sets \`database\` too. The lists \`downloaderMiddlewares\`, \`spiderMiddlewares\` and \`pipelines\` are in
\`settings.ts\` alone, outermost part first.
`
}

function shown(value: unknown): string {
  if (value === '') return ''
  if (Array.isArray(value)) return value.join(', ')
  return `\`${typeof value === 'object' ? JSON.stringify(value) : String(value)}\``
}
