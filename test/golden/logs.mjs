// One log for each feature, type and field of docs/log-format.md.
import { createHash } from 'node:crypto'
import { Log, call, result, text, tool } from './builder.mjs'

const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex')
const signed = (message, owner = 'notes/fact') => ({ message, owner })

export const LOGS = {
  'open'() {
    const log = new Log('open', {
      cwd: '/home/someone/project', config: { model: 'lab/one', temperature: 0 }, under: { session: 'parent', call: { assistant: 12, index: 1 } }, kind: 'subagent', title: 'Look for tests',
      tools: { only: ['read', 'list'] }, limits: { steps: 20, time: 60000 },
    })
    log.add('session/title', { title: 'Look for slow tests', owner: 'titles/title' })
    log.say('Hello.', 'Hello to you.')
    return log
  },

  'seed'() {
    const seed = [text('system', 'What was.'), text('user', 'Look.'), { role: 'assistant', content: [{ type: 'text', text: 'I do.' }, call('1', 'read')] }, result('1', 'read', 'It says.'), text('assistant', 'Seen.')]
    const log = new Log('seed', { seed, tools: { without: ['bash'] } })
    log.say('Go on.', 'Done.')
    return log
  },

  'prompts'() {
    const log = new Log('prompts')
    const withdrawn = log.add('prompt/queued', { input: text('user', 'Never mind.'), owner: 'user', letter: '7' })
    log.add('prompt/withdrawn', { prompt: withdrawn, reason: 'taken back', letter: '8' })
    const output = { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] }
    log.prompt('Is it?', { key: 'order-1', letter: '9', config: { model: 'lab/two' }, output })
    log.add('letter/refused', { letter: '10', reason: 'the key order-1 was there before' })
    log.step()
    log.answer(text('assistant', '{"ok":true}'), { header: { config: { model: 'lab/two', output }, owners: { config: { model: 'user', output: 'user' } } }, substitute: true })
    const steer = log.add('prompt/queued', { input: text('user', 'Faster.'), owner: 'user', steer: true })
    log.add('context/message', { ...signed(text('system', 'A fact.')), steer: true })
    log.endStep()
    log.add('user/message', { message: text('user', 'Faster.'), owner: 'user', prompt: steer })
    log.step()
    log.answer(text('assistant', '{"ok":false}'), { header: { config: { model: 'lab/one' }, owners: {} } })
    log.endStep()
    log.endTurn('done', { finish: 'stop' })
    return log
  },

  'side-requests-of-outputs'() {
    const log = new Log('side-requests-of-outputs')
    const output = { type: 'object' }
    log.prompt('Is it?', { output })
    log.step()
    log.answer(text('assistant', '{}'), { header: { config: { model: 'lab/one', output, temperature: 1 }, owners: { config: { output: 'user' } } }, substitute: true })
    const title = log.side('title', [text('system', 'A title?')])
    log.ok(title, { answer: text('assistant', 'A title') })
    log.endStep()
    log.endTurn('done', { finish: 'stop' })
    const same = log.side('judge', [text('system', 'Is it good?')], { config: { temperature: 0, output: { type: 'boolean' } } })
    log.ok(same, { answer: text('assistant', 'true') })
    return log
  },

  'tools'() {
    const log = new Log('tools')
    log.header = { config: { model: 'lab/one' }, tools: [tool('edit'), tool('read')], owners: { tools: { edit: 'files/edit', read: 'files/read' } } }
    log.prompt('Change it.')
    log.add('context/message', signed({ role: 'user', content: [{ type: 'text', text: 'The day is long.' }] }))
    log.step()
    const content = [{ type: 'reasoning', text: 'Two at once.', metadata: { signature: 'c2ln' } }, { type: 'text', text: 'I look and change.' }, call('a', 'read', '{"path": "x"}'), call('b', 'edit', '{"path":"x",}')]
    const seq = log.answer({ role: 'assistant', content })
    log.add('approval/decided', { assistant: seq, index: 0, rule: 'read(src/**)', decision: 'allow' })
    const question = log.add('question/asked', { assistant: seq, index: 1, kind: 'permission', question: 'May it edit x?', options: [{ answer: 'allow', label: 'Yes', remember: 'session' }, { answer: 'deny' }] })
    log.add('question/answered', { question, answer: 'allow', by: 'user', remember: { tool: 'edit' }, letter: '3' })
    log.list([['tool/start', { assistant: seq, index: 0 }], ['tool/start', { assistant: seq, index: 1 }]])
    const input = log.add('question/asked', { assistant: seq, index: 1, kind: 'input', question: 'How many?', schema: { type: 'number' } })
    log.add('question/answered', { question: input, answer: { count: 2 }, by: 'user' })
    log.add('tool/result', { assistant: seq, index: 1, message: result('b', 'edit', 'No.', { error: true }), outcome: 'error', owner: 'guard/words', additionalContext: [signed(text('system', 'After b.')), signed(text('user', 'And again.'))], details: { diff: '-a\n+b' } })
    log.add('context/message', signed(text('system', 'In between.')))
    log.add('tool/result', { assistant: seq, index: 0, message: result('a', 'read', 'x is y'), outcome: 'done', additionalContext: [signed(text('system', 'After a.'))], details: { path: 'x', size: 6 }, progress: ['half'] })
    log.endStep('done', { timing: { model: 812.5, tools: 40, store: 2, seams: { 'agent/pre-step': { notes: 3 } } }, budget: { window: 1000, used: 120 } })
    log.step()
    const empty = log.answer({ role: 'assistant', content: [] })
    log.endStep()
    log.endTurn('done', { finish: 'empty' })
    return [log, empty][0]
  },

  'ending-result'() {
    const log = new Log('ending-result')
    log.header = { config: { model: 'lab/one' }, tools: [tool('finish')], owners: { tools: { finish: 'job/finish' } } }
    log.prompt('Do it.')
    log.step()
    const seq = log.answer({ role: 'assistant', content: [call('a', 'finish', '{}'), call('b', 'finish', '{}')] })
    log.list([['tool/start', { assistant: seq, index: 0 }], ['tool/start', { assistant: seq, index: 1 }]])
    log.add('tool/result', { assistant: seq, index: 1, message: result('b', 'finish', 'It is done.'), outcome: 'done', endTurn: true })
    log.add('tool/result', { assistant: seq, index: 0, message: result('a', 'finish', 'Not quite.'), outcome: 'done' })
    log.endStep()
    log.endTurn('done', { finish: 'tool-calls' })
    log.say('And now?', 'Nothing more.')
    return log
  },

  'header-deltas'() {
    const log = new Log('header-deltas')
    const header = (more) => ({ config: { model: 'lab/one' }, owners: {}, ...more })
    const sections = (...lengths) => lengths.map((length, index) => ({ owner: `house/${index}`, length }))
    const prefix = [text('system', 'An opener.')]
    log.say('1', 'a', { header: header({ system: 'one\ntwo\nthree', tools: [tool('b')], prefix, before: [text('system', 'B')], owners: { config: { model: 'app' }, system: sections(13), tools: { b: 'x/b' }, prefix: ['x/p'], before: ['x/b'] } }) })
    log.say('2', 'b', { header: header({ system: 'one\n2\nthree', tools: [tool('B'), tool('a'), tool('b')], prefix, after: [text('system', 'Z')], owners: { system: sections(11), tools: { B: 'x/B', a: 'x/a', b: 'x/b' }, prefix: ['x/p'], after: ['x/z'] } }) })
    log.say('3', 'c', { header: header({ tools: [tool('a', { description: 'Another.' }), tool('b')], prefix, before: [text('system', 'B')], owners: { tools: { a: 'x/a', b: 'y/b' }, prefix: ['x/p'], before: ['x/b'] } }) })
    log.say('4', 'd', { header: header({ system: '\n', prefix, owners: { prefix: ['x/p'] } }) })
    log.say('5', 'e', { header: header({ prefix, after: [text('system', 'Z')], config: { model: 'lab/one', stop: ['END'], reasoningEffort: 'low', maxOutputTokens: 10, topP: 0.5 }, owners: { prefix: ['x/p'], after: ['x/z'] } }) })
    // Tools in another order than by name: a whole header.
    log.say('6', 'f', { header: header({ prefix, tools: [tool('b'), tool('a')], owners: { prefix: ['x/p'] } }) })
    log.say('7', 'g', { header: header({ prefix, tools: [tool('b'), tool('a')], owners: { prefix: ['x/p'] } }), anchor: 'resume' })
    return log
  },

  'attempts'() {
    const log = new Log('attempts')
    log.prompt('Try.')
    log.step()
    const first = log.dispatch()
    log.add('request/end', { dispatch: first, outcome: 'error', error: { kind: 'rate-limit', message: 'Later.', status: 429, code: 'busy', retryAfter: 1500 }, wire: '1'.repeat(64) })
    const second = log.dispatch({ header: { config: { model: 'spare/two' }, owners: { config: { model: 'retry/request' } } }, substitute: true, attempt: 3 })
    log.ok(second, { usage: { input: 100, cached: 60, written: 40, output: 30, reasoning: 20 }, wire: '2'.repeat(64), adapter: { name: 'ai-sdk', version: '1.0.0', options: '3'.repeat(64) }, firstChunk: 412.25, response: { id: 'r-1', model: 'two-2026' } })
    log.add('assistant/message', { message: text('assistant', 'Done.'), dispatch: second })
    log.endStep()
    log.endTurn('done', { finish: 'stop' })
    log.say('Again.', 'Yes.', { header: { config: { model: 'lab/one' }, owners: {} } })
    log.prompt('Fail.')
    log.step()
    log.add('request/end', { dispatch: log.dispatch(), outcome: 'error', error: { kind: 'auth', message: 'No.' } })
    const error = { code: 'MODEL_FAILED', message: 'No.', plugin: 'ai-sdk', seam: 'llm/stream', failure: { kind: 'auth', message: 'No.' } }
    log.endStep('error', { error })
    log.endTurn('error', { error })
    return log
  },

  'side-requests'() {
    const log = new Log('side-requests')
    log.header = { config: { model: 'lab/one', temperature: 1, providerOptions: { a: 1 } }, tools: [tool('read')], system: 'Be kind.', after: [text('system', 'Last.')], owners: {} }
    log.say('Hello.', 'Hello.')
    const title = log.side('title', [text('system', 'A title?')], { config: { maxOutputTokens: 10, temperature: 0, stop: ['.'] }, tools: 'none' })
    log.ok(title, { answer: text('assistant', 'Greeting') })
    log.prompt('Now in between.')
    log.step()
    const judge = log.side('judge', [])
    log.answer(text('assistant', 'Here.'))
    log.ok(judge, { answer: text('assistant', 'Well.') })
    log.endStep()
    log.endTurn()
    return log
  },

  'replace-and-rewind'() {
    const log = new Log('replace-and-rewind')
    log.say('One.', 'First.')
    log.prompt('Two.')
    log.step()
    const seq = log.answer({ role: 'assistant', content: [call('1', 'read'), call('2', 'read')] })
    for (const index of [0, 1]) log.add('tool/result', { assistant: seq, index, message: result(`${index + 1}`, 'read', `r${index}`), outcome: 'done', additionalContext: [signed(text('system', `c${index}`))] })
    log.endStep()
    log.endTurn()
    const entries = log.fold.surface.snapshot().entries.map(({ id }) => id)
    log.add('surface/replace', { first: entries[0], last: entries[1], messages: [signed(text('system', 'What was.'), 'compaction/summary'), signed(text('system', 'And more.'), 'compaction/summary')], owner: 'compaction/summary', reason: 'compaction' })
    log.say('Three.', 'Third.')
    log.add('surface/rewind', { turn: 2, owner: 'app', reason: 'back' }, { required: true })
    log.say('Two again.', 'Second.')
    log.add('surface/rewind', { turn: 3, owner: 'app', reason: 'and forth' }, { required: true })
    log.say('Four.', 'Fourth.')
    const last = log.fold.surface.snapshot().entries
    log.add('surface/replace', { first: last[0].id, last: last.at(-1).id, messages: [], owner: 'app', reason: 'clear' })
    log.say('Five.', 'Fifth.')
    return log
  },

  'fork'() {
    const log = new Log('fork', { parent: 'other', root: 'other', at: 9 })
    log.say('Before.', 'Yes.', { header: { config: { model: 'lab/one' }, prefix: [text('system', 'An opener.')], system: 'Be kind.', owners: {} } })
    log.say('After.', 'Indeed.', { header: { config: { model: 'lab/one' }, prefix: [text('system', 'An opener.')], system: 'Be kind.', owners: {} }, anchor: 'fork' })
    return log
  },

  'blobs'() {
    const log = new Log('blobs')
    const [image, file, other] = ['an image', 'a file', 'what a tool kept'].map((words) => Buffer.from(words))
    log.blobs = [image, file, other]
    log.add('context/message', signed({ role: 'user', content: [{ type: 'text', text: 'Look:' }, { type: 'image', digest: sha256(image), mediaType: 'image/png' }, { type: 'file', digest: sha256(file), mediaType: 'application/pdf', name: 'a.pdf' }] }))
    log.prompt('What is it?')
    log.step()
    const seq = log.answer({ role: 'assistant', content: [call('1', 'read')] })
    log.add('tool/result', { assistant: seq, index: 0, message: { role: 'tool', content: [{ type: 'tool-result', id: '1', name: 'read', content: [{ type: 'file', digest: sha256(file), mediaType: 'application/pdf' }] }] }, outcome: 'done', blobs: [sha256(other)] })
    log.endStep()
    log.endTurn()
    log.add('note/kept', { blobs: [sha256(other)] })
    return log
  },

  'unknown'() {
    const log = new Log('unknown', { colour: 'blue' })
    log.add('clock/tick', { message: text('user', 'never seen'), any: [null] })
    log.header = {
      config: { model: 'lab/one', seed: 7, providerOptions: { z: 1, a: 2 } }, owners: {},
      tools: [{ name: 'read', description: 'Reads.', strict: true, parameters: { type: 'object' } }], before: [{ mood: 'calm', role: 'system', content: [{ tone: 'low', type: 'text', text: 'B' }] }],
    }
    const prompt = log.add('prompt/queued', { input: text('user', 'Go.'), owner: 'user', hurry: true }, { span: 'b7' })
    log.add('turn/start', { turn: 1, woke: 'bell', prompt })
    log.add('user/message', { message: text('user', 'Go.', { mood: 'glad' }), owner: 'user', prompt }, { required: true })
    log.step()
    const dispatch = log.dispatch()
    log.ok(dispatch, { finish: 'tired', price: 3 })
    log.add('assistant/message', { message: { role: 'assistant', content: [{ type: 'text', text: 'Gone.', annotations: [] }] }, dispatch })
    log.endStep('tired')
    log.endTurn('tired')
    return log
  },

  'hard-text'() {
    const log = new Log('hard-text')
    log.header = {
      config: { model: 'lab/a/b', temperature: 1e-7, topP: 0.1, maxOutputTokens: 1e21, providerOptions: { b: -1.5, 10: 5e-324, 9: 1.7976931348623157e308, '': 123456789012345680000, '01': 1, __proto__key: 0, é: [], nested: { 2: {}, 1: null, a: true } } },
      system: 'Tab\t quote " back \\ slash / \b\f\n\r\u0000\u001f\u007f\u2028\u2029 é 😀 \ufeff', owners: {},
    }
    log.say('\r\n"\u0001 \u{1f468}\u200d\u{1f469} \ufffd </script>', '\u00e9 e\u0301')
    const side = log.side('keys', [text('user', '?')], { config: { providerOptions: { 3: 1, x: 2, 1: 3 }, topP: 1 } })
    log.ok(side, { answer: text('assistant', '!') })
    return log
  },

  'run-context'() {
    const log = new Log('run-context')
    const context = { digest: 'a'.repeat(64), template: 't1', facts: [['branch', 'main']], sections: [{ name: 'house', where: 'head', digest: 'b'.repeat(64), rendered: 'Rules.' }, { name: 'note', where: 'tail', digest: 'c'.repeat(64), rendered: 'N.' }] }
    const prompt = log.add('prompt/queued', { input: text('user', 'Go.'), owner: 'user', context })
    log.add('turn/start', { turn: 1, woke: 'prompt', prompt })
    log.add('user/message', { message: text('user', 'Go.'), owner: 'user', prompt })
    log.step()
    log.add('run/context', { turn: 1, ...context, sections: context.sections.map(({ rendered: _, ...section }) => ({ ...section, in: prompt })) })
    log.answer(text('assistant', 'Gone.'), { header: { config: { model: 'lab/one' }, before: [text('system', 'Rules.')], after: [text('system', 'N.')], owners: { before: ['app'], after: ['app'] } } })
    log.endStep()
    log.endTurn()
    return log
  },

  'cut-off'() {
    const log = new Log('cut-off')
    log.prompt('Go on.')
    log.step()
    const cut = log.dispatch()
    log.add('turn/cancel', { turn: 1, reason: 'enough', letter: '1' })
    log.add('request/end', { dispatch: cut, outcome: 'aborted', error: { kind: 'aborted', message: 'enough' } })
    log.add('assistant/message', { message: text('assistant', 'I was say'), dispatch: cut, interrupted: true })
    log.endStep('cancelled')
    log.endTurn('cancelled')
    log.add('turn/cancel', { turn: 1, reason: 'too late', letter: '2' })
    log.prompt('Work.')
    log.step()
    const seq = log.answer({ role: 'assistant', content: [call('x', 'bash'), call('y', 'bash'), call('z', 'bash')] })
    log.add('tool/start', { assistant: seq, index: 0 })
    log.list([['unknown', 0], ['not-started', 1], ['denied', 2]].map(([outcome, index]) => ['tool/result', { assistant: seq, index, message: result('xyz'[index], 'bash', outcome, { error: true }), outcome }]))
    log.endStep('lost')
    log.add('turn/end', { turn: 2, reason: 'lost', settled: log.length - 1 })
    log.add('context/message', { ...signed(text('system', 'Wake.')), steer: true })
    log.add('turn/start', { turn: 3, woke: 'message' })
    log.step()
    log.answer(text('assistant', 'Awake.'))
    log.endStep('restep')
    log.step()
    log.dispatch()
    // The log ends here: a request is under way, nothing of its answer is there yet.
    return log
  },
}
