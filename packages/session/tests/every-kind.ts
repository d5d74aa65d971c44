import type { EpochHeader } from '@headrace/session'
import { LogBuilder, assistant, call, result, system, user } from './log-builder.ts'

const tool = (name: string) => ({ name, description: 'd', parameters: { type: 'object' } })

/** A small log in which every kind of event stands, and messages behind its last proof. */
export function everyKind(): LogBuilder {
  const log = new LogBuilder({ seed: [user('s'), assistant('t')] })
  const base: EpochHeader = { config: { model: 'p/m' }, system: 'a\nb', tools: [tool('read')], prefix: [system('P')], before: [system('B')], owners: { config: { model: 'x/y' }, system: [{ owner: 'x/y', length: 3 }], tools: { read: 'x/y' }, prefix: ['x/y'], before: ['x/y'] } }

  log.add('session/title', { title: 'A title', owner: 'app' })
  log.prompt('do it')
  log.step()
  const seq = log.answer(assistant('ä', call('1'), call('2')), base)
  log.add('approval/decided', { assistant: seq, index: 0, rule: 'read(src/**)', decision: 'allow' })
  log.add('question/asked', { assistant: seq, index: 1, kind: 'permission', question: 'May it?', options: [{ answer: 'allow' }], schema: { type: 'string' } })
  log.add('question/answered', { question: log.events.length - 1, answer: 'allow', by: 'user', remember: 'session' })
  log.add('tool/start', { assistant: seq, index: 0 })
  log.add('tool/start', { assistant: seq, index: 1 })
  const two = log.result(seq, 1, result('2', 'two'), system('of 2'))
  log.context(user('steer'), true)
  log.result(seq, 0, result('1', 'one'))
  log.endStep()

  log.step()
  const failed = log.dispatch({ ...base, system: 'a\nc', after: [system('Z')] })
  log.add('request/end', { dispatch: failed, outcome: 'error', error: { kind: 'server', message: 'no' } })
  const answered = log.dispatch({ ...base, config: { model: 'q/n' }, system: 'a\nc', after: [system('Z')] }, undefined, true)
  log.ok(answered)
  log.add('assistant/message', { message: assistant('done'), dispatch: answered })
  log.endStep()
  log.endTurn()

  const side = log.ask('title', [{ message: user('?'), owner: 'app' }], { config: { model: 'q/o' }, tools: 'none' })
  log.add('request/end', { dispatch: side, outcome: 'ok', answer: assistant('T') })
  log.add('surface/replace', { first: '4', last: `${two}`, messages: [{ message: system('sum'), owner: 'x/y' }], owner: 'x/y', reason: 'r' })
  log.add('prompt/withdrawn', { prompt: log.queue('no'), reason: 'r' })

  log.prompt('go')
  log.step()
  log.dispatch({ ...base, tools: [tool('grep'), tool('read')] }, 'resume')
  log.ok(log.events.length - 1)
  log.add('assistant/message', { message: assistant('ok'), dispatch: log.events.length - 2 })
  log.endStep()
  log.endTurn()

  log.add('surface/rewind', { turn: 2, owner: 'app', reason: 'r' })
  log.prompt('go elsewhere')
  log.lastStep('there')
  log.add('turn/cancel', { turn: 3, reason: 'enough', letter: 'l1' })
  log.endTurn()
  log.add('letter/refused', { letter: 'l2', reason: 'its key was there' })

  // Behind the last proof: no digest covers these yet.
  log.context(system('a fact behind the last proof'))
  log.prompt('next')
  return log
}
