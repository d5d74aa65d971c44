import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { SEAMS } from '../faults/seams.ts'
import { calls, eventsOf, plugin } from '../laws/help.ts'
import { bad, good, run } from '../laws/listeners.ts'
import { compactor } from '../faults/world.ts'
import { root } from '../rules/workspace.ts'

const page = readFileSync(`${root}docs/seams.md`, 'utf8')
const sections = new Map(page.split(/^## /m).slice(1).map((text) => [text.split('\n')[0]!, text] as const))
const row = (seam: string, name: string): string | undefined => new RegExp(`^\\| ${name} \\| (.*) \\|$`, 'm').exec(sections.get(seam)!)?.[1]

const events = readFileSync(`${root}packages/agent/src/contract/events.ts`, 'utf8')
const declared = new Map([...events.matchAll(/^ {4}('([\w/-]+)'\(.*)$/gm)].map(([, signature, name]) => [name!, signature!]))

const asks = plugin('asks', (ctx) => void ctx.tools.define({ name: 'ask', description: '', parameters: { type: 'object' }, ask: true, execute: () => 'ran' }))

/** What becomes of a listener that throws, in the words of the page. */
async function afterBroken(seam: string): Promise<string> {
  const script = seam === 'agent/request-error' ? [{ error: { kind: 'rate-limit' as const } }] : [calls(seam === 'tools/ask' ? 'ask' : 'look'), 'Done.']
  const { made, result } = await run(seam, () => { throw new Error('broken') }, { strict: false, reports: 'allow', script, plugins: [asks, good, compactor, bad(seam, () => { throw new Error('broken') })] })
  const log = await made.events()
  const failure = result.error && 'failure' in result.error ? result.error.failure : undefined
  if (failure) return failure.kind === 'plugin' ? 'the attempt fails' : 'it counts as `\'fail\'`'
  if (result.reason === 'error') return eventsOf(log, 'step/start').length === 0 ? 'the turn ends with an error' : 'the step ends with an error'
  const outcome = eventsOf(log, 'tool/result')[0]?.data.outcome
  if (outcome === 'denied') return 'the call is denied'
  if (outcome === 'error') return 'the result is an error'
  return seam === 'tools/post-execute' ? 'the outcome is kept' : 'it is ignored'
}

describe('docs/seams.md', () => {
  it('has every seam that there is, with its signature', () => {
    expect(declared.size).toBeGreaterThan(10)
    expect([...sections.keys()].sort()).toEqual([...declared.keys()].sort())
    for (const [name, signature] of declared) expect(sections.get(name)).toContain(`\`\`\`text\n${signature}\n\`\`\``)
  })

  it.each([...sections.keys()])('%s: says when, what it returns, its deadline and what happens when it breaks', (seam) => {
    for (const name of ['when', 'returns', 'deadline', 'broken']) expect([name, row(seam, name)]).toEqual([name, expect.stringMatching(/\w/)])
    expect(row(seam, 'without `next\\(\\)`') !== undefined).toBe(declared.get(seam)!.includes('next: ()'))
  })

  it.each(SEAMS.map((one) => [one.seam, one] as const))('%s: deadline and loss are those that test/faults holds it to', (seam, { deadline, without }) => {
    expect(row(seam, 'deadline')!.startsWith('none')).toBe(!deadline)
    expect(row(seam, 'without `next\\(\\)`')).toMatch(without === 'lost' ? /^the others' stand.*reported$/ : /^a decision/)
  })

  it.each([...sections.keys()])('%s: one that throws ends as the page says', async (seam) => {
    const said = row(seam, 'broken')!
    expect(said.startsWith(await afterBroken(seam)) ? said : await afterBroken(seam)).toBe(said)
  })
})
