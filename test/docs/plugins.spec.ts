import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, it } from 'vitest'
import { root } from '../rules/workspace.ts'
import { type Block, CODE, blocksOf } from './blocks.ts'
import { type Lesson, PROOFS, seenOf } from './lessons.ts'
import { runBlock } from './run.ts'

const PAGE = 'docs/plugins.md'
const text = readFileSync(`${root}${PAGE}`, 'utf8')
const headingOf = ({ id }: Block): string => id.slice(PAGE.length + 1)
/** Blocks that are a whole plugin; the few others are run or accounted for in blocks.spec.ts. */
const lessons = blocksOf(PAGE, text).filter((block) => CODE.includes(block.language) && /^export /m.test(block.text))

describe('docs/plugins.md', () => {
  const plugins: Record<string, Lesson> = {}
  beforeAll(async () => {
    for (const block of lessons) plugins[headingOf(block)] = await runBlock(block) as Lesson
  })

  it('has a proof for each lesson, and a lesson for each proof', () => {
    expect(lessons.map(headingOf).sort()).toEqual(Object.keys(PROOFS).sort())
  })

  it.each(lessons.map((block) => [headingOf(block), block] as const))('%s: the plugin does what the page says', async (heading, { seen }) => {
    const plugin = plugins[heading]!
    const app = await PROOFS[heading]!(plugin, plugins)
    expect(app && seenOf(app, plugin.name) || undefined).toBe(seen)
    if (!app) return
    expect((await app.verify()).difference).toBeUndefined()
    expect(app.reports).toEqual([])
    await app.dispose()
  })

  it('teaches every seam that there is', () => {
    const [, declared] = /interface Events \{(.*?)\n {2}\}/s.exec(readFileSync(`${root}packages/agent/src/contract/events.ts`, 'utf8')) ?? []
    const seams = [...declared!.matchAll(/^ {4}'([\w/-]+)'\(/gm)].map(([, name]) => name!)
    expect(seams.length).toBeGreaterThan(10)
    expect(seams.filter((name) => !text.includes(name))).toEqual([])
  })
})
