// Packs every package that is published into a folder, as the registry would give them: `npm run pack:all [folder]`, which installs and
// compiles first. What an earlier run left there is removed.
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const { packageManager } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const folder = resolve(process.env.INIT_CWD ?? '.', process.argv[2] ?? join(tmpdir(), 'headrace'))
mkdirSync(folder, { recursive: true })
for (const name of readdirSync(folder)) if (/^headrace.*\.tgz$/.test(name)) rmSync(join(folder, name))

const filters = ['--filter', './packages/*', '--filter', './plugins/*']
const { status, stdout, stderr } = spawnSync('npx', ['--yes', packageManager, '--recursive', ...filters, 'pack', '--pack-destination', folder], {
  cwd: root, encoding: 'utf8', shell: process.platform === 'win32',
})
if (status !== 0) {
  console.error(`${stdout}${stderr}`)
  process.exit(1)
}
console.log(`${readdirSync(folder).filter((name) => /^headrace.*\.tgz$/.test(name)).length} packages are in ${folder}`)
