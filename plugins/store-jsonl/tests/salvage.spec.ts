import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type Lost, readLog, salvageLog } from '@headrace/plugin-store-jsonl'
import type { SessionEvent } from '@headrace/session'
import { TestLog, opening, prompt } from './logs.ts'

async function salvaged(path: string): Promise<{ readonly seqs: readonly number[]; readonly lost: readonly Lost[] }> {
  const seqs: number[] = []
  const lost: Lost[] = []
  for await (const item of salvageLog(path)) {
    if ('lost' in item) lost.push(item.lost)
    else seqs.push((item as SessionEvent).seq)
  }
  return { seqs, lost }
}

describe('salvageLog', () => {
  const written = async (): Promise<{ readonly log: TestLog; readonly lines: readonly string[] }> => {
    const log = new TestLog()
    await log.write([opening()], [prompt('one')], [prompt('two'), prompt('three')], [prompt('four\u2028')])
    return { log, lines: log.bytes.toString().trimEnd().split('\n') }
  }

  it.each([
    ['CRLF', (lines: readonly string[]) => `${lines.join('\r\n')}\r\n`],
    ['a byte order mark', (lines: readonly string[]) => `\ufeff${lines.join('\n')}\n`],
    ['both', (lines: readonly string[]) => `\ufeff${lines.join('\r\n')}\r\n`],
    ['no last line end', (lines: readonly string[]) => lines.join('\n')],
    ['empty lines', (lines: readonly string[]) => `${lines.join('\n\n')}\n\n`],
    ['CR alone', (lines: readonly string[]) => `${lines.join('\r')}\r`],
    ['spaces around', (lines: readonly string[]) => lines.map((line) => `\t${line} \n`).join('')],
    ['a store\'s own ones', (lines: readonly string[]) => `${lines.join('\n')}\n`],
  ])('keeps every event of a log with %s', async (_, change) => {
    const { log, lines } = await written()
    writeFileSync(log.path, change(lines))
    expect(await salvaged(log.path)).toEqual({ seqs: [0, 1, 2, 3, 4], lost: [] })
  })

  it('keeps every event of a log that was saved as UTF-16, or under another name with its beginning damaged', async () => {
    const { log, lines } = await written()
    writeFileSync(log.path, Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(`${lines.join('\r\n')}\r\n`, 'utf16le')]))
    expect(await salvaged(log.path)).toEqual({ seqs: [0, 1, 2, 3, 4], lost: [] })
    const copy = join(log.directory, 'copy.jsonl')
    writeFileSync(copy, [lines[0]!.replace('someone', 'anybody'), ...lines.slice(1), ''].join('\n'))
    expect((await salvaged(copy)).seqs).toEqual([1, 2, 3, 4])
  })

  it('takes nothing of a log that was put behind it', async () => {
    const { log, lines } = await written()
    const other = new TestLog()
    await other.write([opening('other')], ...Array.from({ length: 9 }, (_, index) => [prompt(`${index}`)]))
    writeFileSync(log.path, [...lines, other.bytes.toString()].join('\n'))
    expect((await salvaged(log.path)).seqs).toEqual([0, 1, 2, 3, 4])
    writeFileSync(log.path, [...lines.slice(1), other.bytes.toString()].join('\n'))
    expect((await salvaged(log.path)).seqs).toEqual([1, 2, 3, 4])
  })

  it.each([['\r\n', /line 1 .*it ends in a carriage return/], ['\n', /line 1 .*byte order mark/]])('of which reading says what was done to it', async (end, message) => {
    const { log, lines } = await written()
    writeFileSync(log.path, `${end === '\n' ? '\ufeff' : ''}${lines.join(end)}${end}`)
    await expect(log.read()).rejects.toThrow(message)
  })

  it('keeps what stands behind damage, and says what is left out', async () => {
    const { log, lines } = await written()
    writeFileSync(log.path, [lines[0], lines[1]!.replace('one', 'two'), lines[2], 'rubbish', lines[1], lines[3], '{"seq":5,'].join('\n'))
    const { seqs, lost } = await salvaged(log.path)
    expect(seqs).toEqual([0, 2, 3, 4])
    expect(lost.map(({ line, missing }) => [line, missing])).toEqual([
      [2, undefined],
      [3, [1, 1]],
      [4, undefined],
      [5, undefined],
      [7, undefined],
    ])
    expect(lost.map(({ why }) => why).join('\n')).toMatch(/^its checksum .*\nevent 1 is missing .*\n.*\nevent 1 stands twice.*\n.*the last line, perhaps cut off/)
  })

  it('leaves out a line of another log', async () => {
    const { log, lines } = await written()
    const other = new TestLog()
    await other.write([opening('other')], [prompt('one')])
    writeFileSync(log.path, [lines[0], other.bytes.toString().split('\n')[1], ...lines.slice(2), ''].join('\n'))
    expect((await salvaged(log.path)).seqs).toEqual([0, 2, 3, 4])
  })
})

it('readLog tells of a torn tail, where it begins and how long it is', async () => {
  const log = new TestLog()
  await log.write([opening()])
  const { length } = log.bytes
  log.bytes = Buffer.concat([Buffer.from(log.bytes), Buffer.from('{"seq":1,"ti')])
  const left: object[] = []
  for await (const _ of readLog(log.path, (each) => left.push(each)));
  expect(left).toEqual([{ offset: length, bytes: 12 }])
})
