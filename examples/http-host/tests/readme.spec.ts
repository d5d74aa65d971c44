import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { problemsOf } from '@headrace/config'
import { removeFolder } from '@headrace/testing/folder'
import { Config } from '../src/config.ts'
import { Host } from './host.ts'

const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')

it('the lines of the README work as they are written, and nothing stays behind', async () => {
  const temp = mkdtempSync(join(tmpdir(), 'headrace-http-host-readme-'))
  const host = await Host.run({ HOST_PORT: '0', TMPDIR: temp, XDG_CONFIG_HOME: temp })
  try {
    expect(host.err).toMatch(/^The model is SCRIPTED/)
    const lines = /```sh\n(curl[^]*?)```/.exec(readme)![1]!.replaceAll('localhost:8080', new URL(host.url).host)
    const { stdout } = await promisify(execFile)('bash', ['-c', lines], { encoding: 'utf8' })
    const { id } = (JSON.parse(/\{"sessions":\[(\{.*?\})/.exec(stdout)![1]!) as { id: string })
    expect(id).toMatch(/^alice\./)
    expect(stdout).toMatch(/^\{"live":true,"ready":true,"draining":false,"turns":0,"sessions":0\}event: accepted\n/)
    expect(stdout).toMatch(/event: result\ndata: \{"reason":"done",.*"I wrote it down in note-1\.md: Milk and eggs\."/)
    expect(stdout).toMatch(/\n\nid: 9\nevent: log\n[^]*"turn\/end"[^]*\{"sessions":\[/)
    expect(stdout).toMatch(/"NO_TURN".*\{"error":\{"code":"SESSION_NOT_FOUND","message":"you have no such session"\}\}$/)
    host.kill('SIGINT')
    expect(await host.exit()).toBe(0)
    expect(readdirSync(temp)).toEqual([])
  } finally {
    await host.stop()
    removeFolder(temp)
  }
})

it('the README tells every option and its default', () => {
  const table = readme.slice(readme.indexOf('## Config of agents-http'))
  const told = new Map([...table.matchAll(/^\| (`[^|]*) \|([^|]*)\|/gm)].flatMap(([, names, values]) => {
    const keys = [...names!.matchAll(/`(\w+)`/g)].map(([, key]) => key!)
    return keys.map((key, index) => [key, keys.length === 1 ? values!.trim() : values!.trim().split(', ')[index]!] as const)
  }))
  expect(problemsOf(Config, { users: {}, workspaces: '/x', turnsPerUsr: 1 })).toMatchObject([{ message: expect.stringContaining('did you mean "turnsPerUser"') as string }])
  const defaults = Config({ users: { alice: 'token-of-alice' }, workspaces: '/x' }) as unknown as Record<string, unknown>
  expect([...told.keys()].sort()).toEqual(Object.keys(Config.dict!).sort())
  for (const [key, value] of told) {
    if (value !== '') expect([key, JSON.parse(value.replaceAll('`', '').replace(/(?<=\d),(?=\d)/g, ''))]).toEqual([key, defaults[key]])
  }
})
