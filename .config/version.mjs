// npm run version:packages: the next version of all packages, and what the changesets say on top of CHANGELOG.md.
import { spawnSync } from 'node:child_process'
import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const read = (file) => readFileSync(`${root}${file}`, 'utf8')
const texts = readdirSync(`${root}.changeset`).sort().filter((name) => name.endsWith('.md') && name !== 'README.md').map((name) => read(`.changeset/${name}`).replace(/^---\n.*?\n---\n/s, '').trim())
if (texts.length === 0) {
  console.error('There is no changeset: nothing has changed that would be released. Write one with: npm run changeset')
  process.exit(1)
}

// Not by name: it is run by the Node that runs this.
const changeset = createRequire(import.meta.url).resolve('@changesets/cli/bin.js')
const { status } = spawnSync(process.execPath, [changeset, 'version'], { cwd: root, stdio: 'inherit' })
if (status !== 0) process.exit(status ?? 1)

const { version } = JSON.parse(read('packages/headrace/package.json'))
const entry = `## ${version}\n\n${texts.map((text) => `- ${text.replaceAll('\n', '\n  ')}`).join('\n')}\n`
const writer = 'packages/session/src/writer.ts'
writeFileSync(`${root}${writer}`, read(writer).replace(/^(const VERSION = )'.*'$/m, `$1'${version}'`))
writeFileSync(`${root}CHANGELOG.md`, read('CHANGELOG.md').replace(/(?=^## |$(?![^]))/m, `${entry}\n`).trimEnd() + '\n')
console.log(`${version}; look at CHANGELOG.md, run npm run setup, and commit`)
