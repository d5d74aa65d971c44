import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { until } from '@headrace/testing/gate'
import { describe, expect, it } from 'vitest'
import { folder, isRunning } from './kit.ts'

const LIB = new URL('../lib/index.js', import.meta.url).href

/** A host that runs a command in the foreground and one in the background, each of which leaves a third behind. */
const HOST = `
import { Config, createTools } from ${JSON.stringify(LIB)}
const cwd = process.argv.at(-1)
const { signal } = new AbortController()
const bash = createTools(new Config({}), signal).find(({ name }) => name === 'bash')
const agent = { cwd, session: { id: 'killed', entries: () => [] }, ctx: { effect: () => undefined } }
const run = { agent, signal, output: () => undefined }
const command = (name) => "trap '' TERM HUP INT; (trap '' TERM HUP; echo $BASHPID > " + name + ".child; while :; do sleep 1; done) & echo $$ > " + name + "; wait"
await bash.execute({ command: command('back'), background: true }, run)
await bash.execute({ command: command('front') }, run)
`

describe('a host that is killed by SIGKILL', () => {
  it('takes its commands with it, those in the background and what they left behind', async () => {
    const cwd = folder()
    const host = spawn(process.execPath, ['--input-type=module', '-e', HOST, '--', cwd], {
      env: { ...process.env, XDG_STATE_HOME: folder() }, stdio: ['ignore', 'ignore', 'inherit'],
    })
    const pids = await Promise.all(['back', 'back.child', 'front', 'front.child'].map((name) => until(() => {
      const path = join(cwd, name)
      // It is there before anything is in it.
      return existsSync(path) && (Number(readFileSync(path, 'utf8')) || undefined)
    }, name)))
    expect(pids.map(isRunning)).toEqual([true, true, true, true])
    host.kill('SIGKILL')
    await until(() => !pids.some(isRunning), 'the end of all commands')
  })
})
