import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { cp, readdir } from 'node:fs/promises'
import { createModelServer } from '@headrace/model-server'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { published, root } from '../rules/workspace.ts'
import { blockBelow, readmeExample, withoutTypes } from './example.ts'
import { Folder, type Size } from './folder.ts'
import { run, succeed } from './process.ts'

const MB = 1_000_000
const names = published.map(({ manifest }) => manifest.name)
const entries = published.flatMap(({ manifest }) => Object.keys(manifest.exports!).filter((entry) => entry !== './package.json').map((entry) => manifest.name + entry.slice(1)))

async function sizeOf(packages: readonly string[]): Promise<Size> {
  const folder = await Folder.with(packages)
  const size = await folder.size()
  await folder.remove()
  process.stdout.write(`  installed: ${packages.join(' ')}: ${size.packages} packages, ${(size.bytes / MB).toFixed(1)} MB\n`)
  return size
}

describe('what an installation costs', () => {
  const core = ['@headrace/agent', '@headrace/briefing', '@headrace/run-context', '@headrace/tokens', '@headrace/files', '@headrace/plugin-store-jsonl']

  it('is at most 5 MB and 21 packages for the core without a model package', async () => {
    const { packages, bytes } = await sizeOf(core)
    expect(bytes).toBeLessThanOrEqual(5 * MB)
    expect(packages).toBeLessThanOrEqual(21)
  })

  it('is at most 8 MB with plugin-models', async () => {
    expect((await sizeOf([...core, '@headrace/plugin-models'])).bytes).toBeLessThanOrEqual(8 * MB)
  })

  // The client of MCP, with its zod, is 16 MB of it.
  it('is at most 25 MB for the command', async () => {
    expect((await sizeOf(['headrace'])).bytes).toBeLessThanOrEqual(25 * MB)
  })
})

describe('in an empty folder, with the tarballs only', () => {
  let folder: Folder
  // Suites run in vitest, which is not asked for here.
  const runnable = entries.filter((entry) => !entry.startsWith('@headrace/testing/'))

  // What the example of a host needs beside ours.
  const { dependencies } = JSON.parse(readFileSync(`${root}examples/http-host/package.json`, 'utf8')) as { dependencies: Record<string, string> }
  const others = Object.fromEntries(Object.entries(dependencies).filter(([, range]) => /^\^\d/.test(range)))

  beforeAll(async () => void (folder = await Folder.with(names, others)))
  afterAll(() => folder.remove())

  it('one copy of each package is installed', async () => {
    const { packages } = await folder.json('node_modules/.package-lock.json') as { packages: Record<string, unknown> }
    const ours = Object.keys(packages).filter((path) => /node_modules\/(@headrace\/[^/]+|headrace|cordis)$/.test(path))
    expect(ours.sort()).toEqual([...names, 'cordis'].map((name) => `node_modules/${name}`).sort())
  })

  it('every entry can be imported', async () => {
    const file = await folder.write('import-all.mjs', runnable.map((entry) => `await import('${entry}')\n`).join(''))
    expect(await run('node', [file], { cwd: folder.path })).toEqual({ code: 0, stdout: '', stderr: '' })
  })

  // Cordis' own typings name their files without extensions, which nodenext does not follow.
  const withoutCordis = published.filter(({ manifest }) => !manifest.peerDependencies?.cordis).map(({ manifest }) => manifest.name)
  it.each([['bundler', 'esnext', runnable], ['nodenext', 'nodenext', withoutCordis]] as const)('the types of every entry resolve under %s', async (resolution, module, list) => {
    const file = await folder.write(`${resolution}.ts`, list.map((entry, index) => `import * as m${index} from '${entry}'\nexport type M${index} = keyof typeof m${index}\n`).join(''))
    const options = ['--noEmit', '--strict', '--target', 'es2022', '--module', module, '--moduleResolution', resolution]
    const types = ['--types', 'node', '--typeRoots', `${root}node_modules/@types`]
    expect(await run('node', [`${root}node_modules/typescript/bin/tsc`, ...options, ...types, file], { cwd: folder.path })).toMatchObject({ code: 0, stdout: '' })
  })

  it('the README’s first example answers, and ends, under plain node', async () => {
    const source = readmeExample()
    expect(source.split('\n').filter((line) => line.trim() !== '').length).toBeLessThanOrEqual(10)
    const server = await createModelServer(() => 'Scripted: the sum is off by one.')
    try {
      await folder.write('example.mjs', withoutTypes(source))
      const env = { HEADRACE_MODEL: 'scripted', HEADRACE_BASE_URL: server.url, XDG_STATE_HOME: `${folder.path}/state` }
      const outcome = await run('node', ['example.mjs'], { cwd: folder.path, env, timeout: 60_000 })
      expect(outcome).toEqual({ code: 0, stdout: expect.stringContaining('the sum is off by one') as string, stderr: '' })
      expect(server.requests.map(({ outcome }) => outcome)).toEqual(['answered'])
      expect(await readdir(`${folder.path}/state/headrace/sessions`)).not.toEqual([])
    } finally {
      await server.close()
    }
  })

  it('the command says its version', async () => {
    const { version } = published.find(({ manifest }) => manifest.name === 'headrace')!.manifest
    expect(await run('npx', ['--no-install', 'headrace', '--version'], { cwd: folder.path })).toMatchObject({ code: 0, stdout: `${version}\n` })
  })

  it('an agent from a YAML file answers, with a plugin of one’s own beside the usual set', async () => {
    const server = await createModelServer(() => 'Scripted: the sum is off by one.')
    try {
      await folder.write('app/clock.mjs', withoutTypes(blockBelow(readFileSync(`${root}README.md`, 'utf8'), 'A plugin in six lines')))
      await folder.write('app/cordis.yml', `${readFileSync(`${root}examples/coding-agent/cordis.yml`, 'utf8')}- id: clock\n  name: ./clock.mjs\n`)
      const env = { HEADRACE_MODEL: 'endpoint/scripted', HEADRACE_BASE_URL: server.url, XDG_STATE_HOME: `${folder.path}/app/state` }
      const headrace = (...args: string[]) => succeed('npx', ['--no-install', 'headrace', ...args], { cwd: `${folder.path}/app`, env })
      expect((await headrace('run', '--app', 'cordis.yml', 'Why does the test fail?')).stdout).toContain('the sum is off by one')
      expect(JSON.stringify(server.requests[0]!.body)).toMatch(/Today is \d{4}-\d\d-\d\d\./)
      expect((await headrace('verify', 'last')).stdout).toMatch(/^ok: 1 request /)
      expect((await headrace('explain', 'last')).stdout).toContain('clock/day')
    } finally {
      await server.close()
    }
  })

  it('a host in an HTTP app, compiled from the example’s sources, answers a user and stops in order', async () => {
    await cp(`${root}examples/http-host/src`, `${folder.path}/host/src`, { recursive: true })
    const { compilerOptions } = JSON.parse(readFileSync(`${root}tsconfig.json`, 'utf8')) as { compilerOptions: object }
    const own = { rootDir: 'src', outDir: 'lib', typeRoots: [`${root}node_modules/@types`], composite: false, incremental: false, declaration: false }
    await folder.write('host/tsconfig.json', JSON.stringify({ compilerOptions: { ...compilerOptions, ...own }, include: ['src'] }))
    await succeed('node', [`${root}node_modules/typescript/bin/tsc`, '-p', 'host'], { cwd: folder.path })
    const server = await createModelServer(() => 'Milk and eggs are noted.')
    const { PATH, HOME } = process.env
    const env = { PATH, HOME, HOST_PORT: '0', HOST_USERS: 'alice=alice-token', HOST_DATA: `${folder.path}/host/data`, HEADRACE_MODEL: 'scripted', HEADRACE_BASE_URL: server.url }
    const child = spawn('node', ['lib/main.js'], { cwd: `${folder.path}/host`, env, stdio: ['ignore', 'ignore', 'pipe'] })
    try {
      const url = await listening(child)
      const headers = { authorization: 'Bearer alice-token', 'content-type': 'application/json' }
      expect((await fetch(`${url}/health`)).status).toBe(200)
      expect((await fetch(`${url}/sessions`, { method: 'POST' })).status).toBe(401)
      const { id } = await (await fetch(`${url}/sessions`, { method: 'POST', headers })).json() as { id: string }
      const stop = new AbortController()
      const events = await fetch(`${url}/sessions/${id}/events`, { headers, signal: stop.signal })
      expect((await fetch(`${url}/sessions/${id}/prompt`, { method: 'POST', headers, body: JSON.stringify({ prompt: 'Milk and eggs.' }) })).status).toBe(202)
      let told = ''
      for await (const part of events.body!.pipeThrough(new TextDecoderStream())) {
        told += part
        if (told.includes('"turn/end"')) break
      }
      stop.abort()
      expect(told).toMatch(/Milk and eggs are noted\.[^]*"reason":"done"/)
      const ended = new Promise((resolve) => child.once('close', (code, signal) => resolve(code ?? signal)))
      child.kill('SIGTERM')
      expect(await ended).toBe(0)
    } finally {
      child.kill('SIGKILL')
      await server.close()
    }
  })
})

/** Where a host says that it listens. @throws with what it said, where it ended instead */
function listening(child: ChildProcess): Promise<string> {
  let said = ''
  return new Promise((resolve, reject) => {
    child.once('close', (code) => reject(new Error(`it ended with ${code}: ${said}`)))
    child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      said += text
      const url = /^listening at (\S+)$/m.exec(said)?.[1]
      if (url) resolve(url)
    })
  })
}
