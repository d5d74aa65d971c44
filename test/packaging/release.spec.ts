import { cpSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createPackageFromTarballData } from '@arethetypeswrong/core'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { published, root } from '../rules/workspace.ts'
import { run, succeed } from './process.ts'

let folder: string
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'headrace-release-'))))
afterEach(() => rmSync(folder, { recursive: true }))

interface Published {
  readonly name: string
  readonly versions: Readonly<Record<string, { readonly dependencies?: Readonly<Record<string, string>> }>>
  readonly _attachments: Readonly<Record<string, { readonly data: string }>>
}

/** A registry that has nothing, and takes everything. */
async function registry(): Promise<{ readonly url: string; readonly taken: Published[]; close(): void }> {
  const taken: Published[] = []
  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (text: string) => (body += text)).on('end', () => {
      if (request.method === 'PUT') taken.push(JSON.parse(body) as Published)
      const [status, answer] = request.method === 'PUT' ? [201, { ok: true }] : [404, { error: 'not found' }]
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, taken, close: () => void (server.closeAllConnections(), server.close()) }
}

describe('npm run release', () => {
  it('publishes every package, and no example, with versions in the place of the words of the workspace', async () => {
    const { url, taken, close } = await registry()
    try {
      const userconfig = join(folder, 'npmrc')
      // npx takes pnpm from the true registry; what it starts publishes to ours.
      writeFileSync(userconfig, `registry=${url}\n${url.replace('http:', '')}:_authToken=secret\n`)
      const pnpm = await succeed('npx', ['--yes', '--package', 'pnpm@10.34.9', '--', 'which', 'pnpm'], { cwd: root })
      const env = { npm_config_registry: url, NPM_CONFIG_USERCONFIG: userconfig, PATH: `${dirname(pnpm.stdout.trim())}:${process.env.PATH}`, CI: 'true' }
      const outcome = await run('node', [join(root, 'node_modules/@changesets/cli/bin.js'), 'publish', '--no-git-tag'], { cwd: root, env, timeout: 170_000 })
      if (outcome.code !== 0) throw new Error(`${outcome.stdout}\n${outcome.stderr}`)
      expect(taken.map(({ name }) => name).sort()).toEqual(published.map(({ manifest }) => manifest.name).sort())
    } finally {
      close()
    }
    for (const { name, versions, _attachments } of taken) {
      const { version } = published.find(({ manifest }) => manifest.name === name)!.manifest
      expect(Object.keys(versions)).toEqual([version])
      expect(Object.values(versions[version]!.dependencies ?? {}).filter((range) => !/^[\^~]?\d/.test(range))).toEqual([])
      const packed = createPackageFromTarballData(Buffer.from(Object.values(_attachments)[0]!.data, 'base64'))
      expect(packed.listFiles()).toEqual(expect.arrayContaining(['package.json', 'README.md', 'LICENSE', 'lib/index.js'].map((file) => `/node_modules/${name}/${file}`)))
    }
  })
})

describe('npm run version:packages', () => {
  /** What of the workspace decides a version. */
  function copyWorkspace(): void {
    const manifests = ['packages', 'plugins', 'examples'].flatMap((place) => readdirSync(`${root}${place}`).map((name) => `${place}/${name}/package.json`))
    for (const file of ['package.json', 'pnpm-workspace.yaml', 'pnpm-lock.yaml', 'CHANGELOG.md', '.changeset/config.json', '.config/version.mjs', 'packages/session/src/writer.ts', ...manifests]) {
      mkdirSync(dirname(join(folder, file)), { recursive: true })
      cpSync(`${root}${file}`, join(folder, file))
    }
    symlinkSync(`${root}node_modules`, join(folder, 'node_modules'))
  }
  const versionOf = (place: string): string => (JSON.parse(readFileSync(join(folder, place, 'package.json'), 'utf8')) as { version: string }).version

  it('gives all packages the next version, and the changelog what the changesets say', async () => {
    copyWorkspace()
    writeFileSync(join(folder, '.changeset/a.md'), '---\n"@headrace/message": minor\n---\n\nMessages may be sung.\nIn parts.\n')
    writeFileSync(join(folder, '.changeset/b.md'), '---\n"headrace": patch\n---\n\nThe command hums.\n')
    await succeed('node', ['.config/version.mjs'], { cwd: folder })
    const [major, minor] = published[0]!.manifest.version.split('.').map(Number)
    const next = `${major}.${minor! + 1}.0`
    expect(published.map(({ place }) => versionOf(place))).toEqual(published.map(() => next))
    expect(versionOf('examples/hello')).toBe('0.1.0')
    const before = readFileSync(`${root}CHANGELOG.md`, 'utf8')
    const at = before.indexOf('\n## ') + 1
    const entry = `## ${next}\n\n- Messages may be sung.\n  In parts.\n- The command hums.\n\n`
    expect(readFileSync(join(folder, 'CHANGELOG.md'), 'utf8')).toBe(before.slice(0, at) + entry + before.slice(at))
    expect(readFileSync(join(folder, 'packages/session/src/writer.ts'), 'utf8')).toContain(`const VERSION = '${next}'\n`)
    expect(readdirSync(join(folder, '.changeset'))).toEqual(['config.json'])
  })

  it('refuses where nothing has changed', async () => {
    copyWorkspace()
    expect(await run('node', ['.config/version.mjs'], { cwd: folder })).toMatchObject({ code: 1, stderr: expect.stringContaining('npm run changeset') as string })
  })
})

it('CHANGELOG.md begins with the version that the packages have', () => {
  expect(/^## (.*)$/m.exec(readFileSync(`${root}CHANGELOG.md`, 'utf8'))?.[1]).toBe(published[0]!.manifest.version)
})
