import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import type { HeadraceError } from '@headrace/message'
import { CORE_FIELDS, LogError, type SessionEvent, Verifier, blobsOf, checkEvent, rebuild, seededSum, sumText, verify } from '@headrace/session'
import { readEvents, readRequests } from '../docs/reader.mjs'
import { goldenFiles } from './files.mjs'

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url))
const text = (path: string): string => readFileSync(here(path), 'utf8')
const names = readdirSync(here('logs')).filter((name) => name.endsWith('.jsonl')).map((name) => name.slice(0, -'.jsonl'.length))
const refused = JSON.parse(text('refused/expected.json')) as Record<string, 'newer' | 'old' | 'damage' | 'differs'>

/** What a reader makes of a log. */
interface Expected {
  readonly events: number
  readonly requests: Readonly<Record<string, Parts>>
  readonly history: readonly (readonly [id: string, owner: string])[]
  readonly chain: string
}
interface Parts {
  readonly config: object
  readonly system?: string
  readonly tools?: readonly object[]
  readonly prefix: readonly object[]
  readonly before: readonly object[]
  readonly history: readonly object[]
  readonly after: readonly object[]
  readonly owners?: readonly string[]
}
const expectedOf = (name: string): Expected => JSON.parse(text(`logs/${name}.json`)) as Expected
/** As it is sent: the order of keys counts. */
const bytesOf = ({ config, system, tools, prefix, before, history, after }: Parts): string =>
  JSON.stringify([config, system ?? null, tools ?? null, [...prefix, ...before, ...history, ...after]])

/** The events of a golden file, as our reader takes them, its sums compared. @throws LogError */
function eventsOf(path: string): readonly SessionEvent[] {
  let id: string | undefined
  return text(path).split('\n').slice(0, -1).flatMap((line) => {
    const value = JSON.parse(line) as unknown
    const events = (Array.isArray(value) ? value : [value]) as (SessionEvent & { sum?: string })[]
    id ??= (events[0]!.data as { id?: string }).id
    const last = events.at(-1)!
    if (sumText(seededSum(id!, events[0]!.seq, line.slice(0, line.lastIndexOf(',"sum":')))) !== last.sum) throw new LogError('its sum does not match')
    delete last.sum
    return events.map(checkEvent)
  })
}

/** Why our reader does not take a log. */
function verdict(path: string): string {
  try {
    const verifier = new Verifier()
    for (const event of eventsOf(path)) verifier.feed(event)
    return 'ok'
  } catch (error) {
    const { code, message } = error as HeadraceError
    if (code === 'LOG_DIFFERS') return 'differs'
    if (code !== 'LOG_VERSION' && code !== 'LOG_UNKNOWN_REQUIRED') return 'damage'
    return message.includes('newer headrace') ? 'newer' : 'old'
  }
}

const python = (() => {
  try {
    return execFileSync('python3', ['--version'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).startsWith('Python 3')
  } catch {
    return false
  }
})()

describe('golden logs', () => {
  it('are what is written today; npm run golden writes them anew', () => {
    const made = goldenFiles() as ReadonlyMap<string, string | Buffer>
    for (const [path, content] of made)
      expect([path, existsSync(here(path)) && readFileSync(here(path)).equals(Buffer.from(content))]).toEqual([
        path,
        true,
      ])
    const there = ['logs', 'refused'].flatMap((folder) => readdirSync(here(folder), { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile()))
    expect(there).toHaveLength(made.size)
  })

  it('have every type of event, and every field of each', () => {
    const seen = new Set<string>()
    for (const name of names) for (const { type, data } of eventsOf(`logs/${name}.jsonl`)) for (const field of Object.keys(data)) seen.add(`${type}.${field}`)
    const known = Object.entries(CORE_FIELDS).flatMap(([type, fields]) => Object.keys(fields).map((field) => `${type}.${field}`))
    expect(known.filter((field) => !seen.has(field))).toEqual([])
  })

  it.each(names)('%s is read by our reader as it is expected', (name) => {
    const events = eventsOf(`logs/${name}.jsonl`)
    const expected = expectedOf(name)
    expect(verify(events)).toMatchObject({
      events: expected.events,
      requests: Object.keys(expected.requests).length,
      chain: expected.chain,
    })
    expect(verify(events).difference).toBeUndefined()
    for (const [seq, parts] of Object.entries(expected.requests)) {
      const { config, system, tools, messages, owners } = rebuild(events, Number(seq))
      expect(JSON.stringify([config, system ?? null, tools ?? null, messages])).toBe(bytesOf(parts))
      expect(owners).toEqual(parts.owners)
    }
    for (const event of events) for (const digest of blobsOf(event)) expect(existsSync(here(`logs/${name}.blobs/${digest}`))).toBe(true)
  })

  it.each(names)('%s is read so by a reader that was written from the page alone', (name) => {
    const expected = expectedOf(name)
    const { requests, differences, chain } = readRequests(readEvents(text(`logs/${name}.jsonl`)))
    expect(differences).toEqual([])
    expect(chain).toBe(expected.chain)
    for (const [seq, parts] of Object.entries(expected.requests)) {
      expect(
        bytesOf({ prefix: [], before: [], after: [], ...(requests.get(Number(seq)) as object) } as unknown as Parts),
      ).toBe(bytesOf(parts))
    }
  })

  it.each(Object.entries(refused))('%s is not taken: %s', (name, why) => {
    expect(verdict(`refused/${name}.jsonl`)).toBe(why)
  })

  it.each(python ? ['python3'] : [])('are read so, and refused so, by a reader in Python that was written from the page alone: %s', () => {
    const files = [...names.map((name) => `logs/${name}.jsonl`), ...Object.keys(refused).map((name) => `refused/${name}.jsonl`)]
    const lines = execFileSync('python3', [here('reader.py'), ...files.map(here)], { encoding: 'utf8', maxBuffer: 1e8 }).split('\n').slice(0, -1)
    const found = lines.map((line) => JSON.parse(line) as Expected & { readonly refused?: string; readonly differs?: readonly string[] })
    names.forEach((name, index) => {
      const { differs, requests, ...rest } = found[index]!
      const { requests: expected, ...others } = expectedOf(name)
      expect([name, differs]).toEqual([name, []])
      expect(rest).toMatchObject(others)
      expect(Object.keys(requests)).toEqual(Object.keys(expected))
      for (const [seq, parts] of Object.entries(expected))
        expect([bytesOf(requests[seq]!), requests[seq]!.owners]).toEqual([bytesOf(parts), parts.owners])
    })
    const verdicts = found.slice(names.length).map(({ refused, differs }) => refused ?? (differs!.length > 0 ? 'differs' : 'ok'))
    expect(Object.fromEntries(Object.keys(refused).map((name, index) => [name, verdicts[index]]))).toEqual(refused)
  })
})
