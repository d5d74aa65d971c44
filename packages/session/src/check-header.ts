import type { FieldCheck, Fields } from './field-check.ts'

/** The data of a `request/header`. Unknown fields pass: the digests of the requests cover what they could hide. */
export function checkHeader(check: FieldCheck, data: Fields): void {
  check.string(data, 'reason')
  checkOwners(check, check.object(data, 'owners'), false)
  const header = check.object(data, 'header')
  checkConfig(check, header)
  if (header.system !== undefined && typeof header.system !== 'string') checkRef(check, header, 'system')
  if (Array.isArray(header.tools)) checkTools(check, header, 'tools')
  else if (header.tools !== undefined) checkRef(check, header, 'tools')
  for (const field of ['prefix', 'before', 'after']) checkMessages(check, header, field)
}

/** The data of a `request/header-delta`. */
export function checkHeaderDelta(check: FieldCheck, data: Fields): void {
  const delta = check.object(data, 'delta')
  if (delta.config !== undefined) checkConfig(check, delta)
  if (delta.system !== undefined && delta.system !== '') checkSystem(check, check.object(delta, 'system'))
  if (delta.tools !== undefined) checkToolsDelta(check, delta)
  for (const field of ['before', 'after']) checkMessages(check, delta, field)
  if (delta.owners !== undefined) checkOwners(check, check.object(delta, 'owners'), true)
}

function checkConfig(check: FieldCheck, header: Fields): void {
  check.string(check.object(header, 'config'), 'model')
  checkModel(check, header)
}

/** A model in a config, whole or in part: `provider/name`. */
export function checkModel(check: FieldCheck, fields: Fields): void {
  const config = check.object(fields, 'config')
  if (config.model === undefined) return
  check.string(config, 'model')
  if (!/^[^/]+\/./s.test(config.model as string)) check.fail('config.model', 'must be provider/name')
}

function checkSystem(check: FieldCheck, delta: Fields): void {
  check.count(delta, 'head')
  check.count(delta, 'tail')
  for (const line of check.list(delta, 'lines')) if (typeof line !== 'string') check.fail('system.lines', 'must be strings')
}

function checkToolsDelta(check: FieldCheck, { tools }: Fields): void {
  if (Array.isArray(tools) && tools.length === 0) return
  const delta = check.asObject(tools, 'tools')
  if (delta.set !== undefined) checkTools(check, delta, 'set')
  if (delta.remove !== undefined && !check.list(delta, 'remove').every((name) => typeof name === 'string')) check.fail('tools.remove', 'must be names')
}

function checkTools(check: FieldCheck, fields: Fields, field: string): void {
  for (const item of check.list(fields, field)) {
    const tool = check.asObject(item, field)
    check.string(tool, 'name')
    check.string(tool, 'description')
    check.object(tool, 'parameters')
  }
}

function checkMessages(check: FieldCheck, fields: Fields, field: string): void {
  if (Array.isArray(fields[field])) check.messages(fields, field)
  else if (fields[field] !== undefined) checkRef(check, fields, field)
}

function checkRef(check: FieldCheck, fields: Fields, field: string): void {
  check.count(check.object(fields, field), 'in')
}

/** @param removes in a delta, `null` takes a keyed owner away */
function checkOwners(check: FieldCheck, owners: Fields, removes: boolean): void {
  for (const field of ['config', 'tools']) {
    if (owners[field] === undefined) continue
    const keyed = check.object(owners, field)
    for (const owner of Object.values(keyed)) if (typeof owner !== 'string' && !(removes && owner === null)) check.fail(`owners.${field}`, 'must be names')
  }
  for (const field of ['prefix', 'before', 'after']) {
    if (owners[field] !== undefined && !check.list(owners, field).every((owner) => typeof owner === 'string')) check.fail(`owners.${field}`, 'must be names')
  }
  if (owners.system === undefined) return
  for (const item of check.list(owners, 'system')) {
    const section = check.asObject(item, 'owners.system')
    check.string(section, 'owner')
    check.count(section, 'length')
  }
}
