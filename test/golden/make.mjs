// npm run golden: writes the golden files. A change of what is written shows as a change of them; test/golden/README.md.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { goldenFiles } from './files.mjs'

const here = (path) => fileURLToPath(new URL(path, import.meta.url))
for (const folder of ['logs', 'refused']) rmSync(here(folder), { recursive: true, force: true })
for (const [path, content] of goldenFiles()) {
  mkdirSync(dirname(here(path)), { recursive: true })
  writeFileSync(here(path), content)
}
