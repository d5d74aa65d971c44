// Makes sure that better-sqlite3 has its native part for this Node, which `npm run setup` leaves out: downloads the prebuilt one, or, where
// there is none to be had, compiles it for some minutes. Does nothing where it loads, or where Node has SQLite itself.
import { spawnSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { dirname } from 'node:path'

const require = createRequire(new URL('../plugins/store-sqlite/package.json', import.meta.url))
const probe = `new (require(${JSON.stringify(require.resolve('better-sqlite3'))}))(':memory:').close()`
// In a process of its own: one that failed to load stays failed.
const problem = () => {
  const { status, stderr } = spawnSync(process.execPath, ['-e', probe], { encoding: 'utf8' })
  return status === 0 ? undefined : stderr
}

if (process.getBuiltinModule?.('node:sqlite')) console.log('this Node has SQLite built in')
else if (problem()) {
  console.log('better-sqlite3 has no native part for this Node yet: fetching or compiling it, which can take some minutes')
  // Its own install script: `pnpm rebuild` passes over what pnpm-workspace.yaml does not allow to build on install. Minutes without a word
  // look like a hang, so what it says is shown, though `npm run -s` hands its silence down.
  const { status } = spawnSync('npm', ['run', 'install'], {
    cwd: dirname(require.resolve('better-sqlite3/package.json')), stdio: 'inherit', env: { ...process.env, npm_config_loglevel: 'info' }, shell: process.platform === 'win32',
  })
  const left = problem()
  if (left) {
    console.error(left)
    console.error(`The tests of plugins/store-sqlite need the native part of better-sqlite3, and it could be neither downloaded nor compiled (npm run install ended with ${status}). ` +
      'Install a C++ compiler, make and python3 (Debian: apt-get install g++ make python3), then run: npm run native')
    process.exit(1)
  }
  console.log('better-sqlite3 has its native part now')
} else console.log('better-sqlite3 has its native part')
