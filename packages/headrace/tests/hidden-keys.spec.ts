import { closeSync, openSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { steps } from '@headrace/model-server'
import { Lab, at } from './command.ts'

const KEY = 'sk-hidden-keys-0123456789abcdef'
const TOKEN = 'ghp_hiddenkeys9876543210'
const isLinux = process.platform === 'linux'

/** False where the system lets no process write to its own memory: nothing can be cleared there. */
function canClear(): boolean {
  try {
    closeSync(openSync('/proc/self/mem', 'r+'))
    return true
  } catch {
    return false
  }
}

/** Reads the variables of each process from the command's own up to the first, and those of all others that it may. */
const WALK = `
p=$$
while [ "$p" -ge 1 ]; do
  echo "process $p" >> walked.txt
  tr '\\0' '\\n' < /proc/$p/environ >> walked.txt 2>/dev/null
  p=$(sed -n 's/^PPid:[[:space:]]*//p' /proc/$p/status)
done
cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n' > all.txt
echo "$PLAIN_VALUE $KEPT_TOKEN $GITHUB_TOKEN."
`

let lab: Lab
beforeEach(() => void (lab = new Lab()))
afterEach(() => lab.close())

// Elsewhere nothing of this is promised.
if (isLinux && !canClear()) it('was not tried: this system lets no process write to its own memory', () => expect(canClear()).toBe(false))
if (isLinux && canClear()) {
  it('a command that reads the variables of its parents, and of every process, finds no key; headrace sends it all the same', async () => {
    const server = await lab.serve(steps([{ toolCalls: [{ name: 'bash', arguments: { command: WALK } }] }, 'Done.']), { apiKey: KEY })
    const running = lab.start(['run', 'Go.', '--yes', ...at(server)], {
      env: { HEADRACE_API_KEY: KEY, GITHUB_TOKEN: TOKEN, PLAIN_VALUE: 'plain', KEPT_TOKEN: 'kept-token-0123456789' },
    })
    const ended = await running.ended
    expect(ended, ended.err).toMatchObject({ code: 0 })
    const walked = lab.read('walked.txt')
    // The server took the key. The walk came up to the process of headrace itself, and beyond, and could read there.
    const own = walked.split(`process ${running.child.pid}\n`)[1]!.split('\nprocess ')[0]!.split('\n')
    expect(own).toContain('PLAIN_VALUE=plain')
    expect(walked).toMatch(/process 1\n/)
    const all = walked + lab.read('all.txt')
    expect(all).toContain('PLAIN_VALUE=plain')
    for (const secret of [KEY, TOKEN, 'kept-token']) expect(all).not.toContain(secret)
    expect(JSON.stringify(await lab.events())).toContain('plain  .')
  })

}

if (isLinux) {
  it('a variable that the app passes on by its name reaches the command', async () => {
    const server = await lab.serve(steps([{ toolCalls: [{ name: 'bash', arguments: { command: 'echo "$KEPT_TOKEN|$GITHUB_TOKEN|"' } }] }, 'Done.']))
    writeFileSync(join(lab.cwd, 'cordis.yml'), `- name: headrace
  config:
    model: endpoint/m
    baseURL: ${server.url}
    tools: { env: { keep: [KEPT_TOKEN], set: {} } }
`)
    const { code } = await lab.start(['run', 'Go.', '--yes', '--app', 'cordis.yml'], { env: { KEPT_TOKEN: 'kept', GITHUB_TOKEN: TOKEN } }).ended
    expect(code).toBe(0)
    expect(JSON.stringify(await lab.events())).toContain('kept||')
  })
}
