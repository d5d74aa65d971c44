// npm run clean: takes away what was built, so that a release has nothing of a source that is gone.
import { readdirSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
for (const folder of ['packages', 'plugins', 'examples']) {
  for (const name of readdirSync(`${root}${folder}`)) rmSync(`${root}${folder}/${name}/lib`, { recursive: true, force: true })
}
