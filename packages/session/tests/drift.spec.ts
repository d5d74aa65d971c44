import { describe, expect, it } from 'vitest'
import { type EpochHeader, headerDrift, sectionsOf } from '@headrace/session'
import { HEADER, system } from './log-builder.ts'

const tool = (name: string, description = 'd') => ({ name, description, parameters: {} })
const prefix = (...entries: [text: string, owner: string][]): EpochHeader =>
  ({ ...HEADER, prefix: entries.map(([text]) => system(text)), owners: { prefix: entries.map(([, owner]) => owner) } })

describe('headerDrift', () => {
  it('is nothing between equal headers', () => {
    const header = { ...prefix(['a', 'x/1']), system: 'Hi', tools: [tool('t')] }
    expect(headerDrift(header, structuredClone(header))).toEqual([])
  })

  it('names field, item and owner of each change (L13)', () => {
    const base: EpochHeader = { config: { model: 'p/m', temperature: 1 }, system: 'One\n\nTwo', tools: [tool('a'), tool('b')], before: [system('b')], owners: { config: { model: 'app' }, system: [{ owner: 'x/1', length: 3 }, { owner: 'x/2', length: 3 }], tools: { a: 'x/a', b: 'x/b' }, before: ['x/before'] } }
    const next: EpochHeader = { config: { model: 'p/n' }, system: 'One\n\n2', tools: [tool('a', 'new'), tool('c')], after: [system('z')], owners: { config: { model: 'y/m' }, system: [{ owner: 'x/1', length: 3 }, { owner: 'x/2', length: 1 }], tools: { a: 'x/a', c: 'x/c' }, after: ['x/after'] } }
    expect(headerDrift(base, next)).toEqual([
      { field: 'config', item: 'model', owner: 'y/m', change: 'changed' },
      { field: 'config', item: 'temperature', owner: 'loop', change: 'removed' },
      { field: 'system', item: '1', owner: 'x/2', change: 'changed' },
      { field: 'tools', item: 'a', owner: 'x/a', change: 'changed' },
      { field: 'tools', item: 'c', owner: 'x/c', change: 'added' },
      { field: 'tools', item: 'b', owner: 'x/b', change: 'removed' },
      { field: 'before', item: '0', owner: 'x/before', change: 'removed' },
      { field: 'after', item: '0', owner: 'x/after', change: 'added' },
    ])
  })

  it('matches messages by content, so that one in front is one addition', () => {
    expect(headerDrift(prefix(['a', 'x/1'], ['b', 'x/2']), prefix(['new', 'y/1'], ['a', 'x/1'], ['b', 'x/2']))).toEqual([{ field: 'prefix', item: '0', owner: 'y/1', change: 'added' }])
  })

  it('names what only moved, and a message that is there once more', () => {
    expect(headerDrift(prefix(['a', 'x/1'], ['b', 'x/2'], ['c', 'x/3']), prefix(['b', 'x/2'], ['a', 'x/1'], ['c', 'x/3']))).toEqual([
      { field: 'prefix', item: '0', owner: 'x/2', change: 'moved' },
      { field: 'prefix', item: '1', owner: 'x/1', change: 'moved' },
    ])
    expect(headerDrift(prefix(['a', 'x/1']), prefix(['a', 'x/1'], ['a', 'x/1']))).toEqual([{ field: 'prefix', item: '1', owner: 'x/1', change: 'added' }])
  })

  it('takes no owner from what every object has by that name', () => {
    expect(headerDrift(HEADER, { ...HEADER, tools: [tool('constructor'), tool('toString')], owners: { tools: {} } }).map(({ owner }) => owner)).toEqual(['loop', 'loop'])
  })

  it('names the loop where no section is on record', () => {
    expect(headerDrift({ ...HEADER, system: 'a' }, { ...HEADER, system: 'b' })).toEqual([{ field: 'system', item: '0', owner: 'loop', change: 'changed' }])
  })
})

describe('sectionsOf', () => {
  it('cuts the system prompt where its sections were joined', () => {
    const owners = { system: [{ owner: 'x/1', length: 7 }, { owner: 'x/2', length: 2 }] }
    expect(sectionsOf({ system: 'One\n\n1.\n\n😀', owners })).toEqual([{ owner: 'x/1', text: 'One\n\n1.' }, { owner: 'x/2', text: '😀' }])
    expect(sectionsOf({ owners: {} })).toEqual([])
  })
})
