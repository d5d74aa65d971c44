import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Context, Plugin } from 'cordis'
import { JsonlStore } from '@headrace/plugin-store-jsonl'
import { RunContext, instructionsFromFiles } from '@headrace/run-context'
import { removeFolder } from '@headrace/testing/folder'
import { harness } from '@headrace/testing'
import { describe, expect, it, onTestFinished } from 'vitest'
import { OTHER_NAMES } from '../src/config.ts'
import { CountedFiles, all, count, folder, plugins, start, tell, told, touch, write } from './kit.ts'

const isOther = (path: string): boolean => OTHER_NAMES.some((name) => path.endsWith(`/${name}`))

const owners = (h: Awaited<ReturnType<typeof start>>): readonly string[] => h.agent.session.entries().map(({ owner }) => owner)

describe('a change', () => {
  it('between two prompts is announced once, at the next boundary, with the new text; a removal too', async () => {
    const root = folder({ 'AGENTS.md': 'one' })
    const h = await start(root)
    for (const text of ['one', 'two', 'two', undefined, undefined, 'one']) {
      if (text === undefined) rmSync(join(root, 'AGENTS.md'), { force: true })
      else write(root, { 'AGENTS.md': text })
      await h.run('Go')
    }
    expect(told(h).map((line) => [/earlier(?: no longer hold)?/.exec(line)?.[0], /\n(\w+)\n<\/file/.exec(line)?.[1]])).toEqual([
      [undefined, 'one'], ['earlier', 'two'], ['earlier no longer hold', undefined], ['earlier', 'one'],
    ])
    expect((await h.verify()).difference).toBeUndefined()
  })

  it('inside a turn is announced ahead of the next step', async () => {
    const root = folder({ 'AGENTS.md': 'one' })
    const editor = {
      name: 'editor', inject: ['tools'],
      apply: async (ctx: Context) => void ctx.tools.define({ name: 'edit', description: '', parameters: { type: 'object' }, execute: () => { write(root, { 'AGENTS.md': 'two' }); return 'done' } }),
    }
    const h = await start(root, { harness: { plugins: [editor], script: [{ calls: [{ name: 'edit' }] }, 'ok'] } })
    await h.run('Go')
    expect(owners(h)).toEqual(['agents-md/project', 'user', 'model', 'tool', 'agents-md/project', 'model'])
    expect(told(h)[1]).toContain('\ntwo\n')
  })

  it('between two runs is announced once; a resume with nothing changed tells nothing', async () => {
    const root = folder({ 'AGENTS.md': 'one' })
    const h = await start(root)
    await h.run('Go')
    await h.resume()
    await h.run('Go')
    expect(told(h)).toHaveLength(1)
    write(root, { 'AGENTS.md': 'two' })
    await h.resume()
    await h.run('Go')
    await h.run('Go')
    expect(told(h)).toHaveLength(2)
    expect(told(h)[1]).toContain('\ntwo\n')
  })

  it('of the byte order mark, the line ends or the time alone is none', async () => {
    const root = folder({ 'AGENTS.md': 'one\ntwo\n' })
    const h = await start(root)
    for (const text of ['one\ntwo\n', '\ufeffone\r\ntwo\r\n', 'one\rtwo']) {
      write(root, { 'AGENTS.md': text })
      utimesSync(join(root, 'AGENTS.md'), 1, 1)
      await h.run('Go')
    }
    expect(told(h)).toHaveLength(1)
  })

  it('of the same size at once after the last is seen', async () => {
    const root = folder({ 'AGENTS.md': 'text 0' })
    const h = await start(root)
    for (let index = 1; index <= 5; index++) {
      await h.run('Go')
      write(root, { 'AGENTS.md': `text ${index}` })
    }
    await h.run('Go')
    expect(told(h)).toHaveLength(6)
  })

  it('of an import is announced', async () => {
    const root = folder({ 'AGENTS.md': 'see @a.md', 'a.md': 'old' })
    const h = await start(root)
    await h.run('Go')
    write(root, { 'a.md': 'new' })
    await h.run('Go')
    expect(told(h)[1]).toContain('\nnew\n')
  })
})

describe('a folder below', () => {
  it('is told when a tool touches it, behind the batch, in the event of the result, signed by itself', async () => {
    const root = folder({ 'AGENTS.md': 'root', 'sub/AGENTS.md': 'sub text', 'sub/deep/AGENTS.local.md': 'deep text' })
    const h = await start(root, { harness: { script: [touch('sub/deep/file', 'README'), touch('sub/other'), 'ok'] } })
    await h.run('Go')
    expect(owners(h)).toEqual(['agents-md/project', 'user', 'model', 'tool', 'tool', 'agents-md/sub/', 'agents-md/sub/deep/', 'model', 'tool', 'model'])
    const told = (await h.events()).flatMap((event) => (event.type === 'tool/result' ? event.data.additionalContext ?? [] : []))
    expect(told.map(({ owner }) => owner)).toEqual(['agents-md/sub/', 'agents-md/sub/deep/'])
    expect((await h.verify()).difference).toBeUndefined()
  })

  it('that two parallel calls touch for the first time is told once', async () => {
    const root = folder({ 'sub/AGENTS.md': 'sub text' })
    const calls = ['touch', 'slow', 'slow', 'touch'].map((name, index) => ({ name, arguments: { path: `sub/${index}` } }))
    const h = await start(root, { harness: { script: [{ calls }, 'ok'] } })
    await h.run('Go')
    expect(count(all(h), 'sub text')).toBe(1)
  })

  it('with the same text as another is told once, also by two parallel calls', async () => {
    const root = folder({ 'a/AGENTS.md': 'same text', 'b/AGENTS.md': 'same text', 'c/AGENTS.md': 'same text' })
    const h = await start(root, { harness: { script: [touch('a/x', 'b/x'), touch('c/x'), 'ok'] } })
    await h.run('Go')
    expect(count(all(h), 'same text')).toBe(1)
  })

  it('is announced when it changes or goes, also on resume, without being touched; it is not, where it was never told', async () => {
    const root = folder({ 'sub/AGENTS.md': 'one', 'never/AGENTS.md': 'never' })
    const h = await start(root, { harness: { script: [touch('sub/x'), 'ok'] } })
    await h.run('Go')
    write(root, { 'sub/AGENTS.md': 'two', 'never/AGENTS.md': 'again' })
    await h.run('Go')
    await h.run('Go')
    await h.resume()
    rmSync(join(root, 'sub/AGENTS.md'))
    await h.run('Go')
    await h.run('Go')
    expect(told(h).map((line) => line.split('\n')[0])).toEqual([
      'sub/: Instructions for work in sub/, from the AGENTS.md files there: where they disagree with more general ones, they hold.',
      'sub/: This replaces the instructions for work in sub/ that were given earlier.',
      'sub/: The instructions for work in sub/ that were given earlier no longer hold: their files are gone.',
    ])
  })

  it('that compaction hid is told again only when it is touched again', async () => {
    const root = folder({ 'sub/AGENTS.md': 'sub text' })
    let compact = false
    const compaction = {
      name: 'compaction', inject: ['agents'],
      apply: async (ctx: Context) => void ctx.on('agent/pre-step', async (agent, _turn, _step, next) => {
        const entries = agent.session.entries()
        if (compact) agent.replace(entries[0]!.id, entries.at(-2)!.id, ['a summary'], { reason: 'test', key: 'summary' })
        compact = false
        return next()
      }),
    }
    const h = await start(root, { harness: { plugins: [compaction], script: [touch('sub/x'), 'ok', touch('sub/y'), 'ok', 'ok', touch('sub/z'), 'ok', 'ok'] } })
    await h.run('touch')
    await h.run('touch, still visible')
    expect(count(all(h), 'sub text')).toBe(1)
    compact = true
    await h.run('no touch')
    expect(all(h)).toBe('')
    await h.run('touch')
    await h.run('no touch')
    expect(count(all(h), 'sub text')).toBe(1)
    expect((await h.verify()).difference).toBeUndefined()
  })

  it('is not told below node_modules and .git, outside of the project, or where nested is off', async () => {
    const outside = folder({ 'AGENTS.md': 'outside' })
    const root = folder({ 'node_modules/x/AGENTS.md': 'dependency', '.git/AGENTS.md': 'git', 'sub/AGENTS.md': 'sub' })
    const script = [touch('node_modules/x/y', '.git/x', `${outside}/x`, '../../x', 'sub\0/x'), 'ok']
    expect((await tell(root, { harness: { script } })).text).toBe('')
    expect((await tell(root, { nested: false, harness: { script: [touch('sub/x'), 'ok'] } })).text).toBe('')
  })

  it('is told beside the agent\'s folder too, inside the project', async () => {
    const root = folder({ 'other/AGENTS.md': 'other', 'a/x': '' })
    const { h, text } = await tell(root, { cwd: join(root, 'a'), harness: { script: [touch('../other/file'), 'ok'] } })
    expect(text).toContain('<file path="../other/AGENTS.md"')
    expect(owners(h)).toContain('agents-md/other/')
  })

  it.each([
    [{ file: 'sub/x' }], [{ paths: ['a', 'sub'] }], [{ cwd: 'sub' }], [{ pattern: 'sub/**/*.ts' }], [{ path: '.', pattern: 'sub/*.ts' }], [{ file_path: './sub/../sub/x' }],
  ])('is touched by %j', async (input) => {
    const root = folder({ 'sub/AGENTS.md': 'sub text' })
    expect((await tell(root, { harness: { script: [{ calls: [{ name: 'touch', arguments: input }] }, 'ok'] } })).text).toContain('sub text')
  })

  it.each([[{ command: 'cat sub/x' }], [{ pattern: 'sub' }], [{ pattern: '*.ts' }], [{ content: 'sub/x' }], [{ path: ['x', 1, null, {}] }], [{ path: { path: 'sub' } }]])('is not touched by %j', async (input) => {
    const root = folder({ 'sub/AGENTS.md': 'sub text' })
    expect((await tell(root, { harness: { script: [{ calls: [{ name: 'touch', arguments: input }] }, 'ok'] } })).text).toBe('')
  })

  it('that a call touched right before a crash reaches the model exactly once', async () => {
    const root = folder({ 'sub/AGENTS.md': 'sub text' })
    const directory = mkdtempSync(join(tmpdir(), 'agents-md-log-'))
    onTestFinished(() => removeFolder(directory))
    const first = await start(root, { harness: { store: new JsonlStore({ directory, fsync: 'never' }), script: [touch('sub/x'), 'never seen'] } })
    await first.run('Go')
    await first.agent.dispose()
    const lines = readFileSync(join(directory, 'test.jsonl'), 'utf8').split('\n')
    for (const type of ['tool/result', 'step/end', 'request/dispatch']) {
      const is = (line: string): boolean => line.includes(`"type":"${type}"`)
      const last = type === 'request/dispatch' ? lines.findLastIndex(is) : lines.findIndex(is)
      const after = join(directory, type.replace('/', '-'))
      mkdirSync(after)
      writeFileSync(join(after, 'test.jsonl'), `${lines.slice(0, last + 1).join('\n')}\n`)
      const h = await start(root, { harness: { store: new JsonlStore({ directory: after, fsync: 'never' }), agent: { id: 'beside' }, script: ['ok'] } })
      const agent = await h.ctx.agents.resume('test')
      agent.wake()
      await agent.idle()
      expect([type, h.requests.length, count(JSON.stringify(h.requests.at(-1)!.messages), 'sub text')]).toEqual([type, 1, 1])
    }
  })
})

describe('what it costs', () => {
  it('a step in which nothing changed reads no file, and looks at each watched file once', async () => {
    const root = folder({ 'AGENTS.md': 'root @docs/a.md @missing.md', 'docs/a.md': 'a', 'x/y/AGENTS.md': 'y', 'x/y/sub/AGENTS.md': 'sub' })
    const home = folder({}, { git: false })
    const files = new CountedFiles()
    const h = await start(join(root, 'x/y'), { files, global: join(home, 'AGENTS.md'), harness: { reports: 'allow', script: (_, index) => (index % 2 === 0 ? touch('sub/file') : 'ok') } })
    await h.run('Go')
    const watched = [
      join(home, 'AGENTS.md'), ...['', 'x/', 'x/y/', 'x/y/sub/'].flatMap((at) => [`${at}AGENTS.md`, `${at}AGENTS.local.md`]).map((path) => join(root, path)), join(root, 'docs/a.md'), join(root, 'missing.md'),
    ].sort()
    const perStep: string[][] = []
    h.ctx.on('session/event', (_, { type }) => {
      if (type === 'step/start') perStep.push(files.looked.sort())
      // What a call touches is another test's.
      if (type === 'step/start' || type === 'tool/result') files.reset()
    })
    files.reset()
    await h.run('Counted')
    expect(perStep).toEqual([watched, watched])
    expect(files.looked).toEqual([])
    expect(files.read_).toEqual([])
  })

  it('a touch looks only at the folders from the root to what is touched, and not at those that are told', async () => {
    const root = folder({ 'AGENTS.md': 'root', 'a/b/AGENTS.md': 'b', 'a/other/AGENTS.md': 'other', 'z/AGENTS.md': 'z' })
    const files = new CountedFiles()
    const h = await start(root, { files, harness: { script: [touch('a/b/file'), touch('a/b/c/file'), 'ok'] } })
    const perBatch: string[][] = []
    h.ctx.on('session/event', (_, { type }) => {
      if (type === 'tool/start') files.reset()
      // Files for other agents are looked for once in each folder.
      if (type === 'tool/result') perBatch.push([...new Set(files.looked.map((path) => path.slice(root.length + 1)))].filter((path) => !isOther(path)).sort())
    })
    await h.run('Go')
    const both = (at: string): string[] => [`${at}/AGENTS.local.md`, `${at}/AGENTS.md`]
    expect(perBatch).toEqual([[...both('a'), ...both('a/b'), 'a/b/file'], [...both('a'), ...both('a/b/c'), 'a/b/c/file']])
  })

  it('an edit has the one file read that changed', async () => {
    const root = folder({ 'AGENTS.md': 'root @docs/a.md', 'docs/a.md': 'a', 'AGENTS.local.md': 'local' })
    const files = new CountedFiles()
    const h = await start(root, { files })
    await h.run('Go')
    files.reset()
    write(root, { 'docs/a.md': 'new' })
    await h.run('Go')
    expect(files.read_).toEqual([join(root, 'docs/a.md')])
  })
})

describe('its plugin', () => {
  it('goes with what it listened to; what it told stays', async () => {
    const root = folder({ 'AGENTS.md': 'root', 'sub/AGENTS.md': 'sub' })
    const files = new CountedFiles()
    const h = await harness({ script: [touch('sub/x'), 'ok'], agent: { cwd: root } })
    onTestFinished(() => h.dispose())
    const [briefing, agentsMd, tools] = plugins({ files }) as readonly Plugin[] as readonly [Plugin, Plugin, Plugin]
    await h.ctx.plugin(briefing, undefined)
    await h.ctx.plugin(tools, undefined)
    const fiber = await h.ctx.plugin(agentsMd, undefined)
    expect(h.ctx.get('agentsMd')).toBeDefined()
    await h.run('Go')
    expect(told(h)).toHaveLength(2)
    await fiber.dispose()
    files.reset()
    write(root, { 'AGENTS.md': 'new', 'sub/AGENTS.md': 'new' })
    await h.run('Go')
    expect(files.looked).toEqual([])
    expect(told(h)).toHaveLength(2)
    expect(h.ctx.get('agentsMd')).toBeUndefined()
    await h.ctx.plugin(agentsMd, undefined)
    await h.run('Go')
    expect(told(h)).toHaveLength(4)
  })

  it('tells the same bytes whatever the load order', async () => {
    const root = folder({ 'AGENTS.md': 'root', 'sub/AGENTS.md': 'sub' })
    const logs = []
    for (const order of [[0, 1, 2], [2, 1, 0], [1, 2, 0]]) {
      const list = plugins()
      const h = await harness({ script: [touch('sub/x'), 'ok'], plugins: order.map((index) => list[index]!), agent: { cwd: root } })
      onTestFinished(() => h.dispose())
      await h.run('Go')
      logs.push(JSON.stringify(h.requests.map(({ messages, owners }) => [messages, owners])))
    }
    expect(new Set(logs).size).toBe(1)
  })
})

describe('one AGENTS.md of 30 KB in the head of a RunContext', () => {
  it('is at most twice in the log after forty resumes and forty prompts, unchanged', async () => {
    const line = 'The build is started with the same command everywhere. '
    const root = folder({ 'AGENTS.md': line.repeat(Math.ceil(30_000 / line.length)) })
    const directory = mkdtempSync(join(tmpdir(), 'agents-md-log-'))
    onTestFinished(() => removeFolder(directory))
    const h = await harness({ store: new JsonlStore({ directory, fsync: 'never' }), agent: { cwd: root } })
    onTestFinished(() => h.dispose())
    const head = (): RunContext => new RunContext({ headSections: [['agents', instructionsFromFiles([join(root, 'AGENTS.md')])]] })
    for (let index = 0; index < 40; index++) {
      const agent = await h.resume({ model: 'scripted/model' })
      await agent.prompt('Go', { context: head() }).result
    }
    const log = readFileSync(join(directory, 'test.jsonl'), 'utf8')
    expect(h.requests).toHaveLength(40)
    for (const { messages } of h.requests) expect(JSON.stringify(messages)).toContain(line.repeat(500).trimEnd())
    expect(count(log, line.repeat(500).trimEnd())).toBeLessThanOrEqual(2)
    expect(statSync(join(directory, 'test.jsonl')).size).toBeLessThan(40 * 5_000 + 2 * 31_000)
    expect((await h.verify()).difference).toBeUndefined()
  })
})
