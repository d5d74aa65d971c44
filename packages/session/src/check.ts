import { checkHeader, checkHeaderDelta, checkModel } from './check-header.ts'
import { LogError } from './error.ts'
import { CORE_FIELDS, LOG_VERSION, REQUIRED_TYPES, type SessionEvent } from './event.ts'
import { FieldCheck, type Fields } from './field-check.ts'

/**
 * Checks that a parsed value has the shape of an event. A hand-written switch, for speed: a log is read far more often than it is
 * wrong. Contents that only a provider or a plugin can judge pass, and fields that are not known here: they are kept and not understood,
 * unless the event is `required`.
 *
 * @throws LogError that names the field; `LOG_VERSION` and `LOG_UNKNOWN_REQUIRED` for what is no damage: another headrace can read it
 */
export function checkEvent(value: unknown): SessionEvent {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new LogError('a record that is not an object')
  const event = value as Fields
  const seq = Number.isSafeInteger(event.seq) && (event.seq as number) >= 0 ? (event.seq as number) : undefined
  if (seq === undefined) throw new LogError('an event without a seq')
  const check = new FieldCheck(seq)
  check.number(event, 'time')
  check.string(event, 'type')
  const { type } = event as { type: string }
  const data = check.object(event, 'data')
  if (event.required === true) checkKnown(check, event, type, data)
  else if (event.required !== undefined) check.fail('required', 'must be true or absent')
  // Otherwise a reader that skips it would rebuild another request (L1).
  else if (REQUIRED_TYPES.has(type)) check.fail('required', `must be true for a ${type}`)
  checkData(check, type, data)
  check.digests(data, 'blobs')
  check.texts(event)
  return value as SessionEvent
}

const EVENT_FIELDS: ReadonlySet<string> = new Set(['seq', 'time', 'type', 'data', 'required'])

/** The first field of an event, beside those that are known here; for stores, where a field may be what damage left of a sum. */
export function unknownField(event: SessionEvent): string | undefined {
  for (const field in event) if (!EVENT_FIELDS.has(field)) return field
  return undefined
}

/** An event marked `required` has no unknown fields. */
function checkKnown(check: FieldCheck, event: Fields, type: string, data: Fields): void {
  if (!Object.hasOwn(CORE_FIELDS, type)) check.tooNew(`its type ${JSON.stringify(type)} is required to read this log`)
  const known = CORE_FIELDS[type as keyof typeof CORE_FIELDS]
  const unknown = unknownField(event as unknown as SessionEvent)
  if (unknown !== undefined) check.tooNew(`its field ${JSON.stringify(unknown)} is required to read this log`)
  for (const field of Object.keys(data)) {
    if (!Object.hasOwn(known, field) && field !== 'blobs') check.tooNew(`its field data.${field} is required to read this log`)
  }
}

function checkData(check: FieldCheck, type: string, data: Fields): void {
  switch (type) {
    case 'session/open': return checkOpen(check, data)
    case 'session/title': return check.all(data, 'title', 'owner')
    case 'prompt/queued': return checkQueued(check, data)
    case 'prompt/withdrawn':
      check.string(data, 'reason')
      check.strings(data, 'letter')
      return check.count(data, 'prompt')
    case 'turn/start': return check.count(data, 'turn')
    case 'turn/cancel':
      check.count(data, 'turn')
      check.string(data, 'reason')
      return check.strings(data, 'letter')
    case 'turn/end':
      check.count(data, 'turn')
      check.string(data, 'reason')
      return check.number(data, 'settled')
    case 'step/start':
      check.count(data, 'turn')
      return check.count(data, 'step')
    case 'step/end':
      check.count(data, 'turn')
      check.count(data, 'step')
      if (data.timing !== undefined) check.object(data, 'timing')
      return check.all(data, 'reason', 'digest')
    case 'user/message':
      check.count(data, 'prompt')
      return check.signed(data, 'user')
    case 'context/message': return check.signed(data, 'system', 'user')
    case 'run/context': return
    case 'request/header': return checkHeader(check, data)
    case 'request/header-delta': return checkHeaderDelta(check, data)
    case 'request/dispatch': return checkDispatch(check, data)
    case 'request/end': return checkRequestEnd(check, data)
    case 'assistant/message':
      check.count(data, 'dispatch')
      return check.message(data, 'message', 'assistant')
    case 'approval/decided':
      check.call(data)
      return check.all(data, 'rule', 'decision')
    case 'question/asked': return checkQuestion(check, data)
    case 'question/answered':
      check.count(data, 'question')
      if (data.answer === undefined) check.fail('answer', 'is missing')
      check.string(data, 'by')
      return check.strings(data, 'letter')
    case 'tool/start': return check.call(data)
    case 'tool/result': return checkResult(check, data)
    case 'surface/replace':
      check.all(data, 'first', 'last', 'owner', 'reason')
      check.list(data, 'messages')
      return check.items(data, 'messages', (item) => check.signed(item))
    case 'surface/rewind':
      check.count(data, 'turn')
      return check.all(data, 'owner', 'reason')
    case 'letter/refused': return check.all(data, 'letter', 'reason')
  }
}

/** @throws LogError `LOG_VERSION`, for any other than the one that is read */
export function checkVersion(version: number): void {
  if (version === LOG_VERSION) return
  const why = version < LOG_VERSION ? 'which was never published, and which no headrace reads any more' : 'made by a newer headrace: use that, or a newer one'
  throw new LogError(`the log has version ${version} of the format, ${why}; this one reads version ${LOG_VERSION}`, 0, 'LOG_VERSION')
}

function checkOpen(check: FieldCheck, data: Fields): void {
  check.count(data, 'version')
  checkVersion(data.version as number)
  if (data.format !== 'headrace') check.fail('format', 'must be "headrace": this is the log of something else')
  for (const field of ['writer', 'digest', 'id']) check.string(data, field)
  if (data.digest !== 'sha-256') check.tooNew(`its digests are made by ${JSON.stringify(data.digest)}`)
  check.strings(data, 'cwd', 'parent', 'root', 'kind', 'title')
  if (data.at !== undefined) check.count(data, 'at')
  if (data.config !== undefined) checkModel(check, data)
  if (data.seed !== undefined) check.messages(data, 'seed')
  if (data.under !== undefined) {
    const under = check.object(data, 'under')
    check.string(under, 'session')
    check.call(check.object(under, 'call'))
  }
  if (data.tools !== undefined) {
    const tools = check.object(data, 'tools')
    for (const field of ['only', 'without']) if (tools[field] !== undefined) check.names(tools, field)
  }
  if (data.limits !== undefined) check.object(data, 'limits')
}

function checkQueued(check: FieldCheck, data: Fields): void {
  check.string(data, 'owner')
  check.message(data, 'input', 'user')
  check.strings(data, 'key', 'letter')
  if (data.config !== undefined) checkModel(check, data)
  if (data.output !== undefined) check.object(data, 'output')
}

function checkDispatch(check: FieldCheck, data: Fields): void {
  check.count(data, 'boundary')
  check.string(data, 'history')
  check.string(data, 'digest')
  for (const field of ['turn', 'step', 'attempt']) if (data[field] !== undefined) check.count(data, field)
  check.strings(data, 'purpose')
  if (data.config !== undefined) checkModel(check, data)
  if (data.tools !== undefined && data.tools !== 'none') check.fail('tools', 'must be "none" or absent')
  check.items(data, 'messages', (item) => check.signed(item))
}

function checkRequestEnd(check: FieldCheck, data: Fields): void {
  check.count(data, 'dispatch')
  check.string(data, 'outcome')
  check.usage(data)
  if (data.answer !== undefined) check.message(data, 'answer', 'assistant')
  if (data.adapter !== undefined) {
    const adapter = check.object(data, 'adapter')
    check.string(adapter, 'name')
    check.string(adapter, 'version')
    check.strings(adapter, 'options')
  }
  if (data.firstChunk !== undefined) check.number(data, 'firstChunk')
  if (data.response !== undefined) check.strings(check.object(data, 'response'), 'id', 'model')
}

function checkQuestion(check: FieldCheck, data: Fields): void {
  check.call(data)
  check.string(data, 'kind')
  check.string(data, 'question')
  check.items(data, 'options', (option) => {
    if (option.answer === undefined) check.fail('options', 'must have an answer each')
    check.strings(option, 'label')
  })
  if (data.schema !== undefined) check.object(data, 'schema')
}

function checkResult(check: FieldCheck, data: Fields): void {
  check.call(data)
  check.string(data, 'outcome')
  check.message(data, 'message', 'tool')
  check.strings(data, 'owner')
  check.items(data, 'additionalContext', (item) => check.signed(item, 'system', 'user'))
}
