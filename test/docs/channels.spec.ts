import { readFileSync } from 'node:fs'
import type { Context } from 'cordis'
import { BriefingService } from '@headrace/briefing'
import { type Request, textOf } from '@headrace/message'
import { RunContext } from '@headrace/run-context'
import { type HarnessOptions, harness } from '@headrace/testing'
import { describe, expect, it } from 'vitest'
import { withChannelCosts } from '../bench/channel-costs.ts'
import type { Performance } from '../bench/report.ts'
import { root } from '../rules/workspace.ts'
import { blocksOf } from './blocks.ts'
import type { Lesson } from './lessons.ts'
import { runBlock } from './run.ts'

const page = readFileSync(`${root}docs/channels.md`, 'utf8')
const rows = new Map([...page.matchAll(/^\| (\w[\w ]*) \| .* \| (yes|no) \| (.*) \| (.*) \|$/gm)].map(([, channel, inHistory, billed, repays]) => [channel!, { inHistory, billed, repays }]))

let fact = ''
const plugin = (apply: (ctx: Context) => void) => ({ name: 'fact', inject: ['agents', 'briefing', 'system', 'tools'], apply: async (ctx: Context) => apply(ctx) })
/** By row of the page's table: a fact in that channel. */
const CHANNELS: Readonly<Record<string, HarnessOptions>> = {
  'system section': { plugins: [plugin((ctx) => void ctx.system.section({ key: 'fact', content: () => fact }))] },
  'prefix': { plugins: [plugin((ctx) => void ctx.agents.prefix({ key: 'fact', content: () => fact }))] },
  'before': { plugins: [plugin((ctx) => void ctx.agents.before({ key: 'fact', content: () => fact }))] },
  'topic': { plugins: [plugin((ctx) => void ctx.briefing.topic({ key: 'fact', content: () => fact }))] },
  'inject': { plugins: [plugin((ctx) => void ctx.on('agent/pre-step', async (agent, _turn, step, next) => {
    if (step.number === 1) agent.inject(fact)
    return next()
  }))] },
  'additionalContext': { plugins: [plugin((ctx) => void ctx.on('agent/prompt-submit', async (_agent, _turn, _submission, next) => ({ ...await next(), additionalContext: [fact] })))] },
  'after': { plugins: [plugin((ctx) => void ctx.agents.after({ key: 'fact', content: () => fact }))] },
  'RunContext head': { agent: { context: () => new RunContext({ headSections: [['fact', fact]] }) } },
  'RunContext tail': { agent: { context: () => new RunContext({ tailSections: [['fact', fact]] }) } },
}

/** Three turns of two requests; before the third the fact changes, and another instance goes on. */
async function session(options: HarnessOptions): Promise<readonly Request[]> {
  const look = plugin((ctx) => void ctx.tools.define({ name: 'look', description: 'Looks.', parameters: { type: 'object' }, execute: () => 'Nothing.' }))
  const script = (_: Request, index: number) => index % 2 === 0 ? { calls: [{ name: 'look' }] } : `Answer ${index}.`
  const app = await harness({ ...options, script, plugins: [BriefingService, { ...look, name: 'look' }, ...options.plugins ?? []] })
  fact = 'The FACT is one.'
  for (const prompt of ['First', 'Second']) await app.run(prompt)
  fact = 'The FACT is two.'
  await app.resume(options.agent?.context && { context: options.agent.context })
  await app.run('Third')
  expect(app.reports).toEqual([])
  await app.dispose()
  return app.requests
}

const partsOf = ({ system = '', tools, messages }: Request): readonly string[] => [tools, system, ...messages].map((part) => JSON.stringify(part))

/** How often the fact was in no cache, and how much else was that had been sent before. */
function bill(requests: readonly Request[]): { readonly billed: number; readonly repaid: number } {
  const sent: (readonly string[])[] = []
  const total = { billed: 0, repaid: 0 }
  for (const parts of requests.map(partsOf)) {
    const cached = Math.max(0, ...sent.map((earlier) => parts.findIndex((part, index) => part !== earlier[index])))
    const rest = parts.slice(cached)
    total.billed += rest.filter((part) => part.includes('FACT')).length
    total.repaid += rest.filter((part) => !part.includes('FACT') && sent.some((earlier) => earlier.includes(part))).length
    sent.push(parts)
  }
  return total
}

/** What the table says of a channel; a cell may speak of two. */
function said(channel: string, column: 'billed' | 'repays'): string {
  const [row, part] = channel.split(' ')[0] === 'RunContext' ? channel.split(' ') : [channel]
  const cell = rows.get(row!)![column]!
  return part ? new RegExp(`${part}: (.*?)(;|$)`).exec(cell)![1]! : cell
}

describe('docs/channels.md', () => {
  it('has the figures of docs/performance.json (npm run bench:report puts them there)', () => {
    const { figures } = JSON.parse(readFileSync(`${root}docs/performance.json`, 'utf8')) as Performance
    expect(page).toBe(withChannelCosts(page, figures))
  })

  it('speaks of each channel that is measured here', () => {
    expect([...rows.keys()].sort()).toEqual([...new Set(Object.keys(CHANNELS).map((name) => name.replace(/^(RunContext) .*/, '$1')))].sort())
  })

  it.each(Object.keys(CHANNELS))('%s: the text is billed as often as the table says, and a change re-pays what it says', async (channel) => {
    const requests = await session(CHANNELS[channel]!)
    expect(requests.length).toBe(6)
    const { billed, repaid } = bill(requests)
    const times: Readonly<Record<string, number>> = { 'once, and once a change': 2, 'once each time': 3, 'on every request': 6 }
    expect(billed).toBe(times[said(channel, 'billed')])
    // Two turns: each with its prompt, two answers of the model and a result; the last of them was never sent.
    expect([channel, repaid]).toEqual([channel, said(channel, 'repays').startsWith('the whole history') ? 7 : 0])
    const { messages, segments: { prefix, before, history: length } } = requests.at(-1)!
    const history = messages.slice(prefix + before, prefix + before + length)
    expect(history.some((message) => JSON.stringify(message).includes('FACT')) ? 'yes' : 'no').toBe(rows.get(channel.replace(/^(RunContext) .*/, '$1'))!.inHistory)
  })

  it('shows where each stands', async () => {
    const [block] = blocksOf('docs/channels.md', page)
    const app = await harness({ script: ['Hello.'], plugins: [BriefingService, await runBlock(block!) as Lesson] })
    for (const prompt of ['Hi', 'Hi again']) await app.run(prompt)
    const { system, messages, owners } = app.requests.at(-1)!
    expect(system).toBe('In front of everything.')
    expect(messages.map((message, index) => `${message.role.padEnd(9)}  ${owners[index]!.padEnd(14)}  ${textOf(message as never)}`).join('\n')).toBe(block!.seen)
    await app.dispose()
  })
})
