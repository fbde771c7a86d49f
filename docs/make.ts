/** `npm run docs`: writes the pages that are made from the code. */
import { writeFileSync } from 'node:fs'
import { renderSettingsPage } from '../framework/settings/docs.ts'

writeFileSync(new URL('settings.md', import.meta.url), renderSettingsPage())
