import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createModelServer } from '@headrace/model-server'
import { removeFolder } from '@headrace/testing/folder'
import { ended, startHeadrace } from '../src/command.ts'
import { BUG, FIX, type Project, makeProject } from '../src/project.ts'
import { DONE, PROMPT, demoScript } from '../src/script.ts'
import { some } from '../../../test/scale.ts'

const MAIN = fileURLToPath(new URL('../lib/main.js', import.meta.url))
let temp: string
beforeEach(() => { temp = mkdtempSync(join(tmpdir(), 'headrace-demo-test-')) })
afterEach(() => removeFolder(temp))

function runDemo(env: NodeJS.ProcessEnv = {}): Promise<{ code: number | null; out: string; err: string }> {
  const child = spawn(process.execPath, [MAIN], { env: { ...process.env, TMPDIR: temp, ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
  let [out, err] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => { out += text })
  child.stderr.setEncoding('utf8').on('data', (text: string) => { err += text })
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, out, err })))
}

describe('npm run demo', () => {
  it('says that its model is scripted, mends the test, explains and proves it, and leaves nothing behind', async () => {
    const { code, out, err } = await runDemo()
    expect(code).toBe(0)
    expect(out).toMatch(/model of this demo is SCRIPTED/)
    expect(out).toMatch(/\$ headrace run [^]*The tests pass[^]*\$ headrace explain last\n[^]*cached: [^]*\$ headrace verify last\nok: 4 requests of \d+ events rebuild byte for byte \(session \S+\)\n/)
    expect(err).toMatch(/→ (\[\d\] )?read [^]*→ edit [^]*→ bash command="node --test"[^]*4 steps/)
    expect(out).toMatch(/The shop and its log are deleted again\.\n$/)
    expect(readdirSync(temp)).toEqual([])
  })

  it('goes without git where there is none', async () => {
    // A PATH with nothing but a shell and this Node, which the command itself adds.
    symlinkSync('/bin/bash', join(temp, 'bash'))
    const { code, out } = await runDemo({ PATH: temp })
    expect(code).toBe(0)
    expect(out).toContain('There is no git here')
    expect(readdirSync(temp)).toEqual(['bash'])
  })
})

describe('the script', () => {
  let project: Project
  beforeEach(() => { project = makeProject() })
  afterEach(() => project.remove())

  it.each(some([1, 2, 3, 4], 1))('is a function of the conversation: killed at stage %s, the agent comes back, looks again and finishes', async (stage) => {
    const own = makeProject()
    const script = demoScript()
    const server = await createModelServer((body, call) => (call.index === stage - 1 ? { text: 'cut off', stallAfter: 1 } : script(body, call)))
    try {
      const args = ['--yes', '--model', 'scripted', '--base-url', server.url]
      const first = startHeadrace(own, ['run', PROMPT, '--json', ...args], { stdio: 'pipe' })
      first.stdout!.on('data', (text: Buffer) => { if (String(text).includes('cut off')) first.kill('SIGKILL') })
      expect(await ended(first)).toBe('SIGKILL')
      const second = startHeadrace(own, ['run', '--continue', ...args], { stdio: 'pipe' })
      let out = ''
      second.stdout!.on('data', (text: Buffer) => { out += String(text) })
      expect(await ended(second)).toBe(0)
      expect(out).toContain(DONE)
      expect(own.passes()).toBe(true)
    } finally {
      await server.close()
      own.remove()
    }
  })

  it('believes nothing of a call whose outcome is unknown', async () => {
    const server = await createModelServer(demoScript())
    const call = (id: string, name: string, args: object): object => ({ id, type: 'function', function: { name, arguments: JSON.stringify(args) } })
    const ask = async (messages: readonly object[]): Promise<string> => {
      const response = await fetch(`${server.url}/chat/completions`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ model: 'scripted', messages: [{ role: 'user', content: PROMPT }, ...messages] }) })
      const { choices } = (await response.json()) as {
        choices: { message: { content: string; tool_calls?: { function: { name: string } }[] } }[]
      }
      return choices[0]!.message.tool_calls?.map((one) => one.function.name).join(' ') ?? choices[0]!.message.content
    }
    const looked = [{ role: 'assistant', content: null, tool_calls: [call('1', 'read', { path: 'cart.js' })] }, { role: 'tool', tool_call_id: '1', content: `4\t  ${BUG}` }]
    const edited = (content: string): object[] => [...looked, { role: 'assistant', content: null, tool_calls: [call('2', 'edit', { path: 'cart.js', old: BUG, new: FIX })] }, { role: 'tool', tool_call_id: '2', content }]
    expect(await ask([])).toBe('list read read')
    expect(await ask(looked)).toBe('edit')
    expect(await ask(edited('Edited cart.js: replaced the text at line 4.'))).toBe('bash')
    expect(await ask(edited('This call was started, but its outcome is unknown: it was interrupted.'))).toBe('list read read')
    expect(await ask(edited('This call was not started, so it had no effect.'))).toBe('list read read')
    await server.close()
  })

  it('the project\'s tests fail until the bug is fixed', () => {
    expect(project.read('cart.js')).toContain(BUG)
    expect(project.passes()).toBe(false)
  })
})
