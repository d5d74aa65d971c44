import { spawn, spawnSync } from 'node:child_process'
import { PassThrough } from 'node:stream'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { steps } from '@headrace/model-server'
import { harness } from '@headrace/testing'
import { checkActive } from '../src/cli/base/app.ts'
import { STANDS } from '@headrace/consent'
import { questions } from '../src/cli/show/questions.ts'
import { Terminal } from '../src/cli/show/terminal.ts'
import { brief, visible } from '../src/cli/base/text.ts'
import { BIN, Lab, at } from './command.ts'

const HOSTILE = 'a\x1b]0;owned\x07b\x1b[2Jc\rd\u009b31me\u202ef'
const HARMLESS = 'a\\x1b]0;owned\\x07b\\x1b[2Jc\\x0dd\\x9b31me\\u202ef'

describe('what could drive a terminal', () => {
  it('is written out, line feeds and tabs are not', () => {
    expect(visible(HOSTILE)).toBe(HARMLESS)
    expect(visible('a\tb\nc\r\nd')).toBe('a\tb\nc\nd')
    expect(brief('  a\n\n b \x1b[31m', 80)).toBe('a b \\x1b[31m')
    expect(brief('x'.repeat(100), 10)).toBe('xxxxxxxxx…')
  })

  it('is written out on a terminal, and left as it is for a program', () => {
    const shown = (isTTY: boolean): string => {
      const [out, err] = [Object.assign(new PassThrough(), { isTTY }), Object.assign(new PassThrough(), { isTTY })]
      new Terminal(out, err, {}).text(HOSTILE)
      return String(out.read())
    }
    expect(shown(true)).toBe(HARMLESS)
    expect(shown(false)).toBe(HOSTILE)
  })
})

describe('asking on the terminal', () => {
  interface Asked {
    readonly shown: string
    readonly ran: readonly string[]
    readonly results: readonly string[]
    readonly story: readonly string[]
  }

  /** A terminal that says when it shows something, and a person who types: before a question stands there, and at it. */
  async function asked(
    answers: readonly string[], calls: readonly string[], { what = 'one\n\x1b[2Jtwo', early = '', mute = false }: { what?: string; early?: string; mute?: boolean } = {},
  ): Promise<Asked> {
    const [input, output] = [new PassThrough(), new PassThrough()]
    const ran: string[] = []
    const left = [...answers]
    let shown = ''
    output.on('data', (data: Buffer) => {
      const text = String(data)
      shown += text
      if (text.includes(STANDS) && !mute) input.write(`${early}\x1b[0n`)
      const code = /^[^]*begins with (\d+)/.exec(shown)?.[1] ?? ''
      if (!text.includes('[y]es, [n]o')) return
      const answer = left.shift()
      if (answer === undefined) input.end()
      else input.write(`${answer.replace('CODE', code)}\n`)
    })
    if (early !== '') input.write(early)
    const { agent, ctx, run, dispose } = await harness({
      script: [{ calls: calls.map((name) => ({ name, arguments: { what, why: 'so' } })) }, 'ok'],
      plugins: [[questions, { yes: false, terminal: { input, output, ...(mute && { patience: 1 }) }, interrupt: () => undefined }]],
    })
    for (const name of new Set(calls)) {
      ctx.tools.define({
        name, description: name, sequential: true, ask: (input) => `Really \x1b[31m${name} ${(input as { what: string }).what.split('\n')[0]}?`,
        parameters: { type: 'object', properties: { what: { type: 'string' }, why: { type: 'string' } } }, execute: () => (ran.push(name), 'done'),
      })
    }
    await run('go')
    const results: string[] = []
    const story: string[] = []
    for (const event of agent.session.events()) {
      if (event.type === 'tool/result') results[event.data.index] = event.data.outcome
      if (event.type === 'question/answered') story.push(`${JSON.stringify(event.data.answer)} by ${event.data.by}`)
    }
    await dispose()
    return { shown, ran, results, story }
  }

  it('y allows one call, n and an empty line deny, anything else is asked again; the log has the user\'s answers', async () => {
    const told = await asked(['maybe', 'Y', 'no', ''], ['cut', 'cut', 'cut'])
    expect(told).toMatchObject({
      ran: ['cut'], results: ['done', 'denied', 'denied'], story: ['"allow" by user', '"deny" by user', '"deny" by user'],
    })
    expect(told.shown).toMatch(/\[y\]es, \[n\]o, then Enter: [^]*"maybe" was not understood\.\n/)
  })

  it.each([['a line'], ['y\n'], ['yes\ny\n1\n'], ['y']])('what was typed before the question stood there does not answer it: %j', async (early) => {
    expect(await asked(['n'], ['cut'], { early })).toMatchObject({ ran: [], results: ['denied'], story: ['"deny" by user'] })
  })

  it('a terminal that does not say what it shows gets a code, which nobody types before', async () => {
    const told = await asked(['y', 'CODEy'], ['cut'], { mute: true, early: 'y\n' })
    expect(told).toMatchObject({ ran: ['cut'], results: ['done'] })
    expect(told.shown).toMatch(/begins with (\d+): \1y is y, \1n is n\.[^]*"y" was not taken: it does not begin with \1\. There is a new number\./)
  })

  it('a terminal that is closed denies', async () => {
    expect(await asked([], ['cut'])).toMatchObject({ ran: [], results: ['denied'] })
  })

  it('what would run is shown first, nothing of it drives the terminal', async () => {
    const { shown } = await asked(['n'], ['cut'])
    expect(shown).toContain('  what:\n    one\n    \\x1b[2Jtwo\n  why: so\nReally \\x1b[31mcut one?\n')
  })

  it('what the question says in full is not said a second time above it; what it says in part is', async () => {
    expect((await asked(['n'], ['cut'], { what: 'a rope \x1b[2J' })).shown).toMatch(/^ {2}why: so\nReally \\x1b\[31mcut a rope \\x1b\[2J\?\n/)
    expect((await asked(['n'], ['cut'], { what: 'a rope\nand all else' })).shown).toContain('  what:\n    a rope\n    and all else\n')
  })

  it('what does not fit shows its end, and s shows all of it before the answer', async () => {
    const what = `${'x'.repeat(3_000)}; rm -rf ~`
    const { shown, results } = await asked(['s', 'y'], ['cut'], { what })
    const [brief, whole] = shown.split('[s]how all')
    expect(brief).toContain('; rm -rf ~')
    expect(brief).not.toContain('x'.repeat(1_000))
    expect(whole).toContain(what)
    expect(results).toEqual(['done'])
  })

  it('a question that was answered elsewhere is taken off the terminal', async () => {
    const [input, output] = [new PassThrough(), new PassThrough()]
    const { agent, ctx, run, dispose } = await harness({
      script: [{ calls: [{ name: 'cut' }] }, 'ok'],
      plugins: [[questions, { yes: false, terminal: { input, output }, interrupt: () => undefined }]],
    })
    ctx.tools.define({ name: 'cut', description: 'cut', ask: true, parameters: { type: 'object' }, execute: () => 'done' })
    let shown = ''
    output.on('data', (data: Buffer) => {
      shown += String(data)
      if (String(data).includes(STANDS)) input.write('\x1b[0n')
      if (String(data).includes('[y]es')) void agent.answer(agent.questions[0]!.seq, 'deny')
    })
    await run('go')
    expect(shown).toContain('answered by user')
    await dispose()
  })

  it('a question that ends before it stands on the screen leaves the terminal as it was', async () => {
    const raw: boolean[] = []
    const [input, output] = [Object.assign(new PassThrough(), { setRawMode: (on: boolean) => raw.push(on) }), new PassThrough()]
    const { agent, ctx, run, dispose } = await harness({
      script: [{ calls: [{ name: 'cut' }] }, 'ok'],
      plugins: [[questions, { yes: false, terminal: { input, output }, interrupt: () => undefined }]],
    })
    ctx.tools.define({ name: 'cut', description: 'cut', ask: true, parameters: { type: 'object' }, execute: () => 'done' })
    output.on('data', (data: Buffer) => {
      if (String(data).includes(STANDS)) agent.cancel('enough')
    })
    await run('go')
    expect(raw).toEqual([true, false])
    await dispose()
  })

  it('--yes allows without a question, by name, and nothing that a rule denies', async () => {
    const { agent, ctx, run, dispose } = await harness({
      script: [{ calls: [{ name: 'cut' }, { name: 'burn' }] }, 'ok'], plugins: [[questions, { yes: true, interrupt: () => undefined }]],
    })
    for (const name of ['cut', 'burn']) ctx.tools.define({ name, description: name, ask: true, parameters: { type: 'object' }, execute: () => 'done' })
    ctx.on('tools/pre-execute', async (_agent, _turn, call, next) => call.name === 'burn' ? { deny: 'never' } : next())
    await run('go')
    const events = [...agent.session.events()]
    expect(events.filter(({ type }) => type.startsWith('question/'))).toEqual([])
    expect(events.find(({ type }) => type === 'approval/decided')!.data).toMatchObject({ index: 0, rule: 'run/--yes', decision: 'allow' })
    expect(events.filter((event) => event.type === 'tool/result').map(({ data }) => data)).toMatchObject([{ index: 1, outcome: 'denied' }, { index: 0, outcome: 'done' }])
    await dispose()
  })
})

it('a plugin that waits for a service nobody provides is named, with that service', async () => {
  const { ctx, dispose } = await harness()
  expect(() => checkActive(ctx)).not.toThrow()
  await ctx.plugin({ name: 'waiter', inject: ['nothing'], apply: async () => undefined })
  expect(() => checkActive(ctx)).toThrow('the plugin waiter does not run: it waits for nothing, which nobody provides')
  await dispose()
})

// `script` of util-linux gives the command a terminal; elsewhere the tests above stand for it.
if (spawnSync('script', ['--version'], { encoding: 'utf8' }).stdout?.includes('util-linux')) {
  describe('on a real terminal', () => {
    let lab: Lab
    beforeEach(() => { lab = new Lab() })
    afterEach(() => lab.close())

    /** Types each answer when its pattern shows. */
    async function typed(
      args: readonly string[],
      answers: readonly (readonly [RegExp, string])[],
      early = '',
    ): Promise<{ code: number; shown: string }> {
      const command = [process.execPath, BIN, ...args].map((arg) => `'${arg}'`).join(' ')
      const child = spawn('script', ['-qec', command, '/dev/null'], {
        cwd: lab.cwd,
        env: { ...lab.env, TERM: 'xterm', SHELL: '/bin/sh' },
      })
      const left = [...answers]
      let shown = ''
      child.stdin.write(early)
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        shown += text
        // What a terminal does by itself.
        for (let asks = text.split(STANDS).length; asks > 1; asks--) child.stdin.write('\x1b[0n')
        if (left[0]?.[0].test(shown)) child.stdin.write(left.shift()![1])
      })
      const code = await new Promise<number>((resolve) => child.once('close', (status) => resolve(status ?? -1)))
      return { code, shown }
    }

    it('a person is asked before a file is written, and nothing hostile gets through', async () => {
      const server = await lab.serve(steps([{ toolCalls: [{ name: 'write', arguments: { path: 'new.txt', content: HOSTILE } }] }, { text: HOSTILE, chunkSize: 1_000 }]))
      const { code, shown } = await typed(['run', 'Hi', ...at(server)], [[/\[y\]es, \[n\]o/, 'y\r']])
      expect(code).toBe(0)
      expect(shown).toMatch(/Write new\.txt\?/)
      expect(lab.read('new.txt')).toBe(HOSTILE)
      expect(shown).toContain(HARMLESS)
      // oxlint-disable-next-line no-control-regex
      expect(shown).not.toMatch(/\x1b\]|\x1b\[2J|\x07|\u009b|\u202e/)
    })

    it('what was typed before the question does not answer it, finished or not', async () => {
      const server = await lab.serve(steps([{ text: 'Please press y and Enter.', toolCalls: [{ name: 'write', arguments: { path: 'new.txt', content: 'x' } }] }, 'ok']))
      // Typed at once, long before anything is asked; then an answer that is one.
      const { code, shown } = await typed(['run', 'Hi', ...at(server)], [[/^/, 'y\ry'], [/\[y\]es, \[n\]o/, 'n\r']], 'y\ry')
      expect(shown).toContain('Write new.txt?')
      expect(code).toBe(0)
      expect(() => lab.read('new.txt')).toThrow()
    })

    it('Ctrl-C at the question cancels the turn', async () => {
      const server = await lab.serve(steps([{ toolCalls: [{ name: 'bash', arguments: { command: 'true' } }] }, 'never']))
      const { code, shown } = await typed(['run', 'Hi', ...at(server)], [[/\[y\]es, \[n\]o/, '\x03']])
      expect(code).toBe(130)
      expect(shown).toContain('cancelled with Ctrl-C')
      expect((await lab.events()).at(-1)).toMatchObject({ type: 'turn/end', data: { reason: 'cancelled' } })
    })
  })
}
