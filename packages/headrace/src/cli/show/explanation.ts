import type { Block, Message } from '@headrace/message'
import type { Explanation, HeaderChange, MessagePart, SegmentName, Size } from '../base/explanation.ts'
import { brief, count, nameText, shownSize, table } from '../base/text.ts'
import { shownArguments, wholeArguments } from './transcript.ts'

/** An explanation as JSON without `--full`: the first words of each text. */
export function withoutTexts({ messages, system, tools, ...rest }: Explanation): object {
  const short = <T extends { readonly text: string }>(part: T): T => ({ ...part, text: brief(part.text, FIRST_WORDS) })
  const told = messages.map(({ message, ...part }) => short({ ...part, text: textOf(message) }))
  return { ...rest, system: system.map(short), tools: tools.map(short), messages: told }
}

/** Characters shown of a text. */
const FIRST_WORDS = 80
const SEGMENTS: readonly SegmentName[] = ['prefix', 'before', 'history', 'asked', 'after']

/** An explanation as lines: what it is, its parts by segment, what changed, what was cached. */
export function* linesOf(explanation: Explanation, full: boolean): Generator<string> {
  const { session, cwd, name, seq, dispatch, size, config, system, tools, messages } = explanation
  yield `session ${nameText(session)}${cwd === undefined ? '' : `  ${nameText(cwd)}`}`
  const side = dispatch.purpose === undefined ? '' : `, a side request: ${brief(dispatch.purpose, 80)}`
  yield `request ${name} (event ${seq}${side}): ${shownSize(size.bytes)}, ~${count(size.tokens)} tokens; ${explanation.rebuilds ? 'rebuilds byte for byte' : 'DOES NOT REBUILD as recorded'}`
  yield* endLines(explanation)
  yield* section('config', table(config.map(({ field, value, owner }) => [field, owner, full ? JSON.stringify(value) : brief(JSON.stringify(value), FIRST_WORDS)])))
  yield* section('system', partLines(system.map((part) => ({ ...part, cells: [part.name, part.owner] })), full))
  yield* section('tools', partLines(tools.map((part) => ({ ...part, cells: [part.name, part.owner] })), full))
  let index = 0
  for (const segment of SEGMENTS) {
    const parts = messages.filter((part) => part.segment === segment)
    if (segment === 'asked' && parts.length === 0) continue
    yield* section(segment, partLines(parts.map((part) => messageRow(part, ++index, full)), full))
  }
  yield* childLines(explanation)
  yield ''
  yield* changeLines(explanation)
  yield* cacheLines(explanation)
}

/** Sessions are logs of their own: how to look at them is said by their names. */
function* childLines({ children }: Explanation): Generator<string> {
  if (children.length === 0) return
  yield* section('sessions of calls', table(children.map(({ session, tool, assistant, index }) => (
    [nameText(session), nameText(tool), `call ${index + 1} of event ${assistant}`]
  ))))
}

function* endLines({ end }: Explanation): Generator<string> {
  if (!end) {
    yield '  it has not ended'
    return
  }
  const { outcome, usage, finish, error } = end
  const tokens = usage ? `: ${count(usage.input)} tokens in (${count(usage.cached)} cached${usage.written > 0 ? `, ${count(usage.written)} written` : ''}), ${count(usage.output)} out` : ''
  yield `  it ended ${nameText(outcome)}${finish ? `, ${nameText(finish)}` : ''}${tokens}${error ? `; ${brief(error.message, 300)}` : ''}`
}

function* section(name: string, lines: readonly string[]): Generator<string> {
  yield ''
  yield lines.length === 0 ? `${name}  -` : name
  for (const line of lines) yield `  ${line}`
}

interface Row extends Size {
  readonly cells: readonly string[]
  readonly text: string
}

function messageRow(part: MessagePart, index: number, full: boolean): Row {
  return { bytes: part.bytes, tokens: part.tokens, cells: [`${index}`, part.role, part.owner], text: textOf(part.message, full) }
}

function partLines(rows: readonly Row[], full: boolean): readonly string[] {
  const lines = table(rows.map(({ cells, bytes, tokens, text }) => [...cells, shownSize(bytes), `~${count(tokens)}`, full ? '' : brief(text, FIRST_WORDS)]))
  return full ? lines.flatMap((line, index) => [line, ...rows[index]!.text.split(/\r?\n/).map((text) => `    ${text}`)]) : lines
}

function textOf(message: Message, full = false): string {
  return message.content.map((block) => blockText(block, full)).join('\n')
}

function blockText(block: Block, full: boolean): string {
  switch (block.type) {
    case 'text': return block.text
    case 'reasoning': return `(reasoning) ${block.text}`
    case 'image': return `[${block.mediaType} ${block.digest.slice(0, 12)}]`
    case 'file': return `[${block.name ?? block.mediaType} ${block.digest.slice(0, 12)}]`
    case 'tool-call': return `→ ${block.name} ${full ? wholeArguments(block.arguments) : shownArguments(block.arguments)}`
    case 'tool-result': return `${block.error ? '✗' : '←'} ${block.name}: ${block.content.map((inner) => blockText(inner, full)).join('\n')}`
  }
}

const WHY: Readonly<Record<HeaderChange['reason'], string>> = {
  initial: 'the first request of the session',
  resume: 'another process took the session up, and says anew what it sends',
  fork: 'the session was forked here',
  fallback: 'a delta could not say what changed',
  delta: 'it changed while the session ran',
}

function* changeLines({ changes, drift, overrides, cached }: Explanation): Generator<string> {
  if (changes.length === 0) yield `header: as in ${cached?.against === undefined ? 'the request before' : `request ${cached.against}`}`
  for (const { seq, reason, substitute } of changes) {
    yield `header: event ${seq}, ${reason}: ${substitute ? 'a substitute for this step, chosen after a failure' : WHY[reason]}`
  }
  if (changes.length > 0 && cached && drift.length === 0) yield '  nothing drifted'
  for (const line of table(drift.map(({ field, item, owner, change }) => [change, field, item, owner]))) yield `  ${line}`
  for (const { plugin, seam, reason, dropped } of overrides) {
    yield `  override by ${nameText(plugin)} in ${nameText(seam)}: ${brief(reason, 300)}${dropped.length > 0 ? `; left out: ${dropped.map((owner) => nameText(owner)).join(', ')}` : ''}`
  }
}

function* cacheLines({ cached, end }: Explanation): Generator<string> {
  const billed = end?.usage ? `; the provider read ${count(end.usage.cached)} of ${count(end.usage.input)} tokens from its cache` : ''
  if (!cached) {
    yield `cached: nothing was sent before${billed}`
    return
  }
  const { bytes, of, newFrom, against, otherModel } = cached
  const share = of === 0 ? 0 : Math.floor((bytes / of) * 100)
  yield `cached: ${count(bytes)} of ${count(of)} bytes (${share} %) stand as in request ${against}${newFrom === undefined ? '' : `, new from ${newFrom} on`}${otherModel ? '; that went to another model' : ''}${billed}`
}
