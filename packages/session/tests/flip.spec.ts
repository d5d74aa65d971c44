import { beforeAll, describe, expect, it } from 'vitest'
import { type SessionEvent, Fold, checkEvent, rebuild, verify } from '@headrace/session'
import { figure } from '../../../test/reliability/figures.ts'
import { amount } from '../../../test/scale.ts'
import { everyKind } from './every-kind.ts'

const { events, lines, parsed } = everyKind()
const dispatches = events.filter(({ type }) => type === 'request/dispatch').map(({ seq }) => seq)
const lastProof = events.findLast(({ type }) => type === 'step/end' || type === 'request/dispatch')!.seq
/** All flips, or one in so many of those in front of the last proof. */
const STEP = amount(7, 1)
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** What a log means: every request that was sent (owners stand beside it), and the messages of its history. */
function requestsOf(log: readonly SessionEvent[]): string {
  return JSON.stringify(dispatches.map((seq) => {
    const { owners: _, ...request } = rebuild(log, seq)
    return request
  }))
}

function messagesOf(log: readonly SessionEvent[]): string {
  return JSON.stringify(Fold.of(log).surface.snapshot().entries.map(({ message }) => message))
}

/** A log with one byte changed, read as a store does that has no checksums; `undefined` where reading refuses it. */
function flip(seq: number, index: number, bits: number): readonly SessionEvent[] | undefined {
  const bytes = new TextEncoder().encode(lines[seq])
  bytes[index]! ^= bits
  try {
    // A line feed would make two lines of one; each is no JSON.
    const log = parsed.with(seq, checkEvent(JSON.parse(utf8.decode(bytes))))
    Fold.of(log)
    return log[0]!.type === 'session/open' && log[0].data.id === 'demo' ? log : undefined
  } catch {
    return undefined
  }
}

describe('one flipped byte', () => {
  const requests = requestsOf(everyKind().parsed)
  const messages = messagesOf(everyKind().parsed)
  const counts = { flips: 0, refused: 0, found: 0, equal: 0 }
  const requestsChanged: string[] = []
  const messagesChanged = new Set<number>()

  function judge(seq: number, index: number, bits: number): void {
    counts.flips++
    const log = flip(seq, index, bits)
    if (!log) counts.refused++
    else if (verify(log).difference) counts.found++
    else if (requestsOf(log) !== requests) requestsChanged.push(`event ${seq}, byte ${index}, bits ${bits}`)
    else if (messagesOf(log) !== messages) messagesChanged.add(seq)
    else counts.equal++
  }

  beforeAll(() => {
    let flips = 0
    for (const [seq, line] of lines.entries()) {
      for (let index = 0; index < Buffer.byteLength(line); index++)
        for (const bits of [0x01, 0x02, 0x10, 0x20])
          if (flips++ % STEP === 0 || seq > lastProof) judge(seq, index, bits)
    }
  })

  it('is refused, found, or changes no request that was sent', () => {
    expect(requestsChanged).toEqual([])
    expect(counts.flips).toBeGreaterThan(10_000 / STEP)
    figure('damage', 'events', { flips: counts.flips })
    expect(Math.min(counts.refused, counts.found, counts.equal)).toBeGreaterThan(500 / STEP)
  })

  it('changes a derived message only behind the last proof: what no dispatch or step/end covers yet, a line checksum does', () => {
    const behind = events.filter(({ seq, type }) => seq > lastProof && (type === 'context/message' || type === 'user/message')).map(({ seq }) => seq)
    expect(behind.length).toBe(2)
    expect([...messagesChanged]).toEqual(behind)
  })
})
