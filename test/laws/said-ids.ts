import type { SessionEvent } from '@headrace/session'

/** Ids of the items of a log, in their order: the rules of the desk's README again, as plainly as they can be said, at whatever cost. */
export function idsOf(events: readonly SessionEvent[]): readonly string[] {
  // The blocks of an answer stand in a list of their own, where its dispatch stood.
  let shown: (string | string[])[] = []
  const turns = new Map<number, typeof shown>()
  const answers = new Map<number, string[]>()
  const queued = new Map<number, string>()
  let waits: number | undefined
  let model: string | undefined
  /** What each notice of a compaction says, and in which turn. */
  const compactions = new Map<string, string>()
  let turn: number | undefined
  for (const event of events) {
    const { seq } = event
    switch (event.type) {
      case 'session/open': {
        model = event.data.config?.model
        const counts = (event.data.seed ?? []).map(({ role, content }) => (role === 'tool' ? 0 : role === 'assistant' ? content.length : 1))
        const count = counts.reduce((sum, one) => sum + one, 0)
        shown.push(...Array.from({ length: count }, (_, part) => `${seq}.${part}`))
        break
      }
      case 'prompt/queued': queued.set(seq, `${seq}`); break
      case 'prompt/withdrawn':
        queued.delete(event.data.prompt)
        shown.push(`${seq}`)
        break
      case 'user/message':
        queued.delete(event.data.prompt)
        shown.push(`${event.data.prompt}`)
        break
      case 'turn/start':
        turns.set(event.data.turn, shown.map((one) => (typeof one === 'string' ? one : [...one])))
        waits = event.data.prompt
        ;({ turn } = event.data)
        break
      case 'turn/end':
        if (waits !== undefined) queued.delete(waits)
        if (event.data.reason !== 'done') shown.push(`${seq}`)
        turn = undefined
        break
      case 'request/header':
      case 'request/header-delta': {
        const config = event.type === 'request/header' ? event.data.header.config : event.data.delta.config
        if (!config || event.data.substitute) break
        if (model !== undefined && model !== config.model) shown.push(`${seq}`)
        ;({ model } = config)
        break
      }
      case 'request/dispatch': {
        if (event.data.purpose !== undefined) break
        const blocks: string[] = []
        answers.set(seq, blocks)
        shown.push(blocks)
        break
      }
      case 'request/end': if (event.data.usage) (answers.get(event.data.dispatch) ?? shown).push(`${seq}`); break
      case 'assistant/message': {
        const { dispatch, message } = event.data
        const blocks = message.content.flatMap((block, place) => (block.type !== 'tool-call' && block.text === '' ? [] : [`${dispatch}.${place}`]))
        answers.get(dispatch)!.unshift(...blocks)
        break
      }
      case 'tool/result': {
        const { details, additionalContext = [] } = event.data
        if (JSON.stringify(details ?? null).startsWith('{"kind":"plan"')) shown.push(`${seq}`)
        shown.push(...additionalContext.map((_, index) => `${seq}.${index + 1}`))
        break
      }
      case 'surface/replace': {
        const { owner, reason } = event.data
        const says = JSON.stringify([owner, reason, turn])
        // A request stands in between, also one that said nothing.
        const last = shown.at(-1)
        if (typeof last !== 'string' || compactions.get(last) !== says) shown.push(`${seq}`)
        compactions.set(`${seq}`, says)
        break
      }
      case 'surface/rewind':
        shown = [...turns.get(event.data.turn)!]
        turn = undefined
        break
      case 'session/title':
      case 'context/message':
      case 'question/asked': shown.push(`${seq}`); break
      default:
    }
  }
  return [...shown.flat(), ...queued.values()]
}
