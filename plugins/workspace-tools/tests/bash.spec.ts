import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import type { OutcomeInput, ToolOutput } from '@headrace/agent'
import fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import { until } from '@headrace/testing/gate'
import { BoundedOutput } from '../src/command-output.ts'
import { commandEnv } from '../src/command-env.ts'
import { bench, isRunning } from './kit.ts'

function idIn(path: string): Promise<number> {
  return until(() => {
    const text = existsSync(path) ? readFileSync(path, 'utf8').trim() : ''
    return text !== '' && Number(text)
  }, path)
}

const failureOf = (output: ToolOutput): string => {
  expect(output).toMatchObject({ error: true })
  return (output as OutcomeInput).content as string
}

const set = { HEADRACE_API_KEY: 'sk-headrace', OPENAI_API_KEY: 'sk-openai', PLAIN_VALUE: 'plain' }

afterEach(() => {
  for (const name of Object.keys(set)) delete process.env[name]
})

describe('bash', () => {
  it('runs in the workspace, and gives output and exit code', async () => {
    const { cwd, text } = bench()
    expect(await text('bash', { command: 'pwd; echo $PWD; echo hi > a.txt; ls' })).toBe(`${cwd}\n${cwd}\na.txt\n[exit code 0]`)
    expect(await text('bash', { command: 'printf no-newline; exit 3' })).toBe('no-newline\n[exit code 3]')
    expect(await text('bash', { command: 'true' })).toBe('[exit code 0]')
    expect(await text('bash', { command: 'kill -9 $$' })).toBe('[killed by SIGKILL]')
    expect(await text('bash', { command: 'no-such-command-here' })).toMatch(/not found\n\[exit code 127\]$/)
    expect(await text('bash', { command: 'if' })).toMatch(/syntax error[^]*\[exit code 2\]$/)
  })

  it('takes the command as it is: quotes, lines, dollars, here documents', async () => {
    const { text } = bench()
    expect(await text('bash', { command: `cat <<'END'\n$HOME "quoted" 'too'\nEND\n# comment\necho "$0 $#" \\\n  more` })).toBe(`$HOME "quoted" 'too'\nbash 0 more\n[exit code 0]`)
  })

  it('both outputs come in the order they were written in', async () => {
    const { text } = bench()
    const expected = Array.from({ length: 200 }, (_, i) => `out ${i}\nerr ${i}\n`).join('')
    expect(await text('bash', { command: 'for i in $(seq 0 199); do echo out $i; echo err $i >&2; done' })).toBe(`${expected}[exit code 0]`)
  })

  it('has no input, and no terminal to ask on', async () => {
    const { text } = bench()
    expect(await text('bash', { command: 'cat; read x || echo end; (exec < /dev/tty) 2>/dev/null || echo no terminal' })).toBe('end\nno terminal\n[exit code 0]')
  })

  it('of long output the beginning and the end are kept, and the note says what is missing', async () => {
    const { text } = bench({ maxOutput: 1_000 })
    const found = await text('bash', { command: 'seq 1 100000' })
    expect(found.startsWith('1\n2\n3\n')).toBe(true)
    expect(found.endsWith('99999\n100000\n[Output was left out above; send it to a file to read all of it]\n[exit code 0]')).toBe(true)
    expect(found).toContain(`\n[… ${588_895 - 1_000} characters left out here …]\n`)
    expect(found.length).toBeLessThan(1_200)
  })

  it('a flood of output is bounded in memory, and ended in time', async () => {
    const { call } = bench({ timeout: 1_500 })
    const before = process.memoryUsage().heapUsed
    const found = failureOf(await call('bash', { command: 'yes' }))
    expect(found).toMatch(/characters left out here[^]*\[Ended after 1.5 seconds: the time was up\]\n\[killed by SIG(TERM|PIPE)\]$/)
    expect(found.length).toBeLessThan(31_000)
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(150_000_000)
  })

  it('characters that the pipe cut in two are whole, what is no UTF-8 is marked, and NUL is not passed on', async () => {
    const { text } = bench()
    expect(await text('bash', { command: `printf '\\xf0\\x9d'; sleep 0.1; printf '\\x84\\x9e'; printf '\\xff|\\0|\\xe2\\x82'` })).toBe('𝄞\ufffd|\ufffd|\ufffd\n[exit code 0]')
  })

  it('ends in time with all that it started: a grandchild goes too', async () => {
    const { cwd, call } = bench()
    const found = failureOf(await call('bash', { command: 'echo begun; (sleep 300 & echo $! > grandchild; wait) & wait', timeout: 0.5 }))
    expect(found).toBe('begun\n[Ended after 0.5 seconds: the time was up]\n[killed by SIGTERM]')
    expect(isRunning(await idIn(join(cwd, 'grandchild')))).toBe(false)
  })

  it('what does not listen to SIGTERM gets SIGKILL', async () => {
    const { cwd, call } = bench({ killGrace: 200 })
    const found = failureOf(await call('bash', { command: `trap '' TERM; (trap '' TERM; while :; do sleep 0.05; done) & echo $! > child; while :; do sleep 0.05; done`, timeout: 0.3 }))
    expect(found).toContain('[killed by SIGKILL]')
    expect(isRunning(await idIn(join(cwd, 'child')))).toBe(false)
  })

  it('the time of the model is bounded by that of the app', async () => {
    const { call } = bench({ maxTimeout: 300 })
    expect(failureOf(await call('bash', { command: 'sleep 300', timeout: 100_000 }))).toContain('Ended after 0.3 seconds')
  })

  it('a cancel ends the group, and gives what there was', async () => {
    const { cwd, call, controller } = bench()
    const ending = call('bash', { command: 'echo begun; sleep 300 & echo $! > child; wait' })
    const child = await idIn(join(cwd, 'child'))
    expect(isRunning(child)).toBe(true)
    controller.abort()
    expect(failureOf(await ending)).toBe('begun\n[Ended: the call was cancelled]\n[killed by SIGTERM]')
    expect(isRunning(child)).toBe(false)
  })

  it('a call that was cancelled before it began starts nothing', async () => {
    const { cwd, refusal, controller } = bench()
    controller.abort()
    expect(await refusal('bash', { command: 'touch a.txt' })).toContain('Cancelled')
    expect(existsSync(join(cwd, 'a.txt'))).toBe(false)
  })

  it('a cancel while it is being started ends it too', async () => {
    const { call, controller } = bench()
    const ending = call('bash', { command: 'sleep 300' })
    controller.abort()
    expect(failureOf(await ending)).toContain('[Ended: the call was cancelled]')
  })

  it('leaves no listener on the signal of the turn', async () => {
    const { text, controller } = bench()
    let listeners = 0
    const { signal } = controller
    const [add, remove] = [signal.addEventListener.bind(signal), signal.removeEventListener.bind(signal)]
    signal.addEventListener = (...given: Parameters<typeof add>) => { listeners++; add(...given) }
    signal.removeEventListener = (...given: Parameters<typeof remove>) => { listeners--; remove(...given) }
    await text('bash', { command: 'true' })
    expect(listeners).toBe(0)
  })

  it('what holds the output open in the background does not hang the call, and ends with it', async () => {
    const { cwd, text } = bench()
    expect(await text('bash', { command: 'echo begun; sleep 300 & echo $! > child' })).toBe('begun\n[What it left running in the background was ended]\n[exit code 0]')
    expect(isRunning(await idIn(join(cwd, 'child')))).toBe(false)
  })

  it('what is silent in the background ends too', async () => {
    const { cwd, text } = bench()
    expect(await text('bash', { command: 'sleep 300 >/dev/null 2>&1 & echo $! > child' })).toContain('left running in the background was ended')
    expect(isRunning(await idIn(join(cwd, 'child')))).toBe(false)
  })

  it('ends when the plugin goes', async () => {
    const { cwd, call, unloaded } = bench()
    const ending = call('bash', { command: 'sleep 300 & echo $! > child; wait' })
    const child = await idIn(join(cwd, 'child'))
    unloaded.abort()
    expect(failureOf(await ending)).toContain('[Ended: the call was cancelled]')
    expect(isRunning(child)).toBe(false)
  })

  it('ends with our process', async () => {
    const { cwd } = bench()
    const script = `
      const { runCommand } = await import(process.argv[1])
      void runCommand('sleep 300 & echo $! > child; wait', { shell: 'bash', cwd: process.argv[2], env: process.env, timeout: 1e6, killGrace: 100, maxOutput: 100, signals: [] })
      const { existsSync } = await import('node:fs')
      setInterval(() => { if (existsSync(process.argv[2] + '/child')) process.exit(0) }, 10)
    `
    const built = join(import.meta.dirname, '../lib/command.js')
    const child = spawn(process.execPath, ['--input-type=module', '-e', script, built, cwd], { stdio: 'inherit' })
    expect(await new Promise((resolve) => child.once('exit', resolve))).toBe(0)
    const id = await idIn(join(cwd, 'child'))
    await until(() => !isRunning(id), `${id} has ended`)
  })

  it('does not show the model our keys', async () => {
    Object.assign(process.env, set)
    const { text } = bench({ env: { keep: ['OPENAI_API_KEY'], set: { ADDED: 'added' } } })
    const found = await text('bash', { command: 'env' })
    expect(found).not.toContain('sk-headrace')
    for (const line of ['OPENAI_API_KEY=sk-openai', 'PLAIN_VALUE=plain', 'ADDED=added']) expect(found).toContain(line)
    expect(await bench().text('bash', { command: 'env' })).not.toContain('sk-')
  })

  it('what cannot be started is a clear error', async () => {
    const { refusal } = bench({ shell: 'no-such-shell' })
    expect(await refusal('bash', { command: 'true' })).toContain('There is no shell "no-such-shell" here')
    expect(await bench().refusal('bash', { command: `: ${'x'.repeat(3_000_000)}` })).toContain('too long for one call')
    expect(await bench().refusal('bash', { command: 'a\0b' })).toContain('NUL')
  })

  it('many commands at once do not mix', async () => {
    const { text } = bench()
    const found = await Promise.all(Array.from({ length: 12 }, (_, i) => text('bash', { command: `for i in 1 2 3; do echo ${i}; done` })))
    expect(found).toEqual(Array.from({ length: 12 }, (_, i) => `${i}\n${i}\n${i}\n[exit code 0]`))
  })

  it('its own limit comes before that of the service', () => {
    expect(bench({ maxTimeout: 5_000, timeout: 1_000, killGrace: 100 }).tool('bash').timeout).toBeGreaterThan(5_100)
  })

  it('starts in the real folder of a workspace that is a link', async () => {
    const { cwd, text } = bench()
    mkdirSync(join(cwd, 'real'))
    symlinkSync('real', join(cwd, 'link'))
    expect(await text('bash', { command: 'cd link && pwd -P' })).toBe(`${cwd}/real\n[exit code 0]`)
  })
})

describe('the variables of a command', () => {
  it.each(['HEADRACE_API_KEY', 'openai_api_key', 'ANTHROPIC_APIKEY', 'GITHUB_TOKEN', 'AWS_SECRET_ACCESS_KEY', 'AWS_ACCESS_KEY_ID', 'PGPASSWORD', 'MYSQL_PWD', 'SSH_PASSPHRASE', 'GOOGLE_APPLICATION_CREDENTIALS', 'DOCKER_AUTH_CONFIG', 'KEY'])(
    'leave out %s', (name) => {
      expect(commandEnv({ [name]: 'x' }, { keep: [], set: {} }, '/w')).toEqual({ PWD: '/w' })
      expect(commandEnv({ [name]: 'x' }, { keep: [name], set: {} }, '/w')).toEqual({ PWD: '/w', [name]: 'x' })
    })

  it.each(['PATH', 'HOME', 'LANG', 'KEYBOARD', 'MONKEY', 'SSH_AUTH_SOCK', 'NODE_OPTIONS', 'OLDPWD'])('keep %s', (name) => {
    expect(commandEnv({ [name]: 'x', GONE: undefined }, { keep: [], set: {} }, '/w')).toEqual({ PWD: '/w', [name]: 'x' })
  })
})

describe('bounded output', () => {
  it('keeps beginning and end of any text in any pieces, whole characters, and counts the rest', () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'é', '𝄞', '\n'), maxLength: 60 })
    fc.assert(fc.property(fc.array(text, { maxLength: 8 }), fc.integer({ min: 4, max: 40 }), (pieces, max) => {
      const output = new BoundedOutput(max)
      for (const piece of pieces) output.push(piece)
      const whole = pieces.join('')
      const shown = output.toString()
      expect(shown.isWellFormed()).toBe(true)
      expect(output.isCut).toBe(whole.length > max)
      if (!output.isCut) {
        expect(shown).toBe(whole)
        return
      }
      const cut = /\n\[… (\d+) characters left out here …\]\n/.exec(shown)
      const head = shown.slice(0, cut?.index)
      const tail = shown.slice((cut?.index ?? 0) + (cut?.[0].length ?? 0))
      expect(whole.startsWith(head) && whole.endsWith(tail)).toBe(true)
      expect(head.length + tail.length).toBeGreaterThanOrEqual(max - 2)
      expect(head.length + tail.length + Number(cut?.[1])).toBe(whole.length)
    }), { numRuns: 1_000 })
  })

  it('holds little more than its bound, however many tiny pieces come', () => {
    const output = new BoundedOutput(10_000)
    for (let i = 0; i < 100_000; i++) output.push('x')
    const { tail, head } = output as unknown as { tail: string[]; head: string }
    expect(head.length + tail.join('').length).toBeLessThanOrEqual(11_100)
    expect(output.toString()).toMatch(/^x{5000}\n\[… 90000 characters left out here …\]\nx{5000}$/)
    expect(tail.length).toBeLessThanOrEqual(1_025)
  })
})

describe('the process that runs a command', () => {
  it('has no more of our variables than the command has', async () => {
    process.env.HEADRACE_API_KEY = set.HEADRACE_API_KEY
    const { text } = bench()
    const seen = await text('bash', { command: `tr '\\0' '\\n' < /proc/$PPID/environ | grep -c '^HEADRACE_API_KEY='; [ "$PPID" != ${process.pid} ] && echo another` })
    expect(seen).toContain('0\nanother\n')
  })
})
