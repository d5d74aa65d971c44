import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { removeFolder } from '@headrace/testing/folder'
import { Host } from './host.ts'

const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')

it('the lines of the README work as they are written, and nothing stays behind', async () => {
  const temp = mkdtempSync(join(tmpdir(), 'headrace-http-host-readme-'))
  const host = await Host.run({ HOST_PORT: '0', HOST_OPTIONS: '{"heartbeat":100}', TMPDIR: temp, XDG_CONFIG_HOME: temp })
  try {
    expect(host.err).toMatch(/^The model is SCRIPTED/)
    const lines = /```sh\n(curl[^]*?)```/.exec(readme)![1]!.replaceAll('localhost:8080', new URL(host.url).host)
    const { stdout } = await promisify(execFile)('bash', ['-c', lines], { encoding: 'utf8' })
    expect(stdout).toMatch(/^\{"live":true,"ready":true,"draining":false,"turns":0,"sessions":0\}\{"letter":"/)
    expect(stdout).toMatch(/event: append\n[^]*I wrote it down in note-1\.md: Milk and eggs\.[^]*"turn\/end"/)
    expect(stdout).toMatch(/"sessions":\[\{"id":"alice\./)
    expect(stdout).toMatch(/"NO_TURN".*\{"error":\{"code":"SESSION_NOT_FOUND","message":"you have no such session"\}\}$/)
    host.kill('SIGINT')
    expect(await host.exit()).toBe(0)
    expect(readdirSync(temp)).toEqual([])
  } finally {
    await host.stop()
    removeFolder(temp)
  }
})
