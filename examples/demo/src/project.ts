import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** The line with the bug, and the fixed line: the bug ignores the quantity. */
export const BUG = 'sum += item.price'
export const FIX = 'sum += item.price * item.quantity'

const FILES: Readonly<Record<string, string>> = {
  'package.json': `${JSON.stringify({ name: 'shop', version: '1.0.0', type: 'module', private: true, scripts: { test: 'node --test' } }, null, 2)}\n`,
  'cart.js': `/** What a cart costs. */
export function total(items) {
  let sum = 0
  for (const item of items) ${BUG}
  return sum
}
`,
  'cart.test.js': `import assert from 'node:assert/strict'
import { test } from 'node:test'
import { total } from './cart.js'

test('an empty cart costs nothing', () => {
  assert.equal(total([]), 0)
})

test('two of a kind cost twice as much', () => {
  assert.equal(total([{ price: 3, quantity: 2 }, { price: 5, quantity: 1 }]), 11)
})
`,
}

/** A small project with a failing test, in a temporary folder, with a folder for logs beside it. */
export interface Project {
  /** The temporary folder that contains everything. */
  readonly root: string
  /** The project. */
  readonly cwd: string
  /** For `XDG_STATE_HOME`. */
  readonly state: string
  /** False where there is no git on this machine. */
  readonly git: boolean
  read(file: string): string
  /** Runs its tests. True where they pass. */
  passes(): boolean
  remove(): void
}

export function makeProject(): Project {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'headrace-demo-')))
  const cwd = join(root, 'shop')
  mkdirSync(cwd)
  for (const [name, text] of Object.entries(FILES)) writeFileSync(join(cwd, name), text)
  return {
    root,
    cwd,
    state: join(root, 'state'),
    git: commitAll(cwd),
    read: (file) => readFileSync(join(cwd, file), 'utf8'),
    passes: () => spawnSync(process.execPath, ['--test'], { cwd, env: plainEnv(), timeout: 60_000 }).status === 0,
    remove: () => rmSync(root, { recursive: true, force: true, maxRetries: 5 }),
  }
}

/** Our variables without those by which a nested test runner would think that it is part of the outer one. */
export function plainEnv(): NodeJS.ProcessEnv {
  const { NODE_TEST_CONTEXT: _context, NODE_OPTIONS: _options, NODE_V8_COVERAGE: _coverage, ...env } = process.env
  return env
}

function commitAll(cwd: string): boolean {
  const git = (...args: string[]): boolean => {
    const identity = ['-c', 'user.name=headrace demo', '-c', 'user.email=demo@headrace.invalid', '-c', 'commit.gpgsign=false', '-c', 'core.hooksPath=/dev/null']
    return spawnSync('git', [...identity, ...args], { cwd, stdio: 'ignore', env: withoutGit() }).status === 0
  }
  return git('init', '-q') && git('add', '.') && git('commit', '-q', '-m', 'A shop with a cart')
}

/** Variables of an outer repository's git hook must not redirect git. */
function withoutGit(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('GIT_')))
}
