import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { exactCounter } from '@headrace/tokens'
import { textOf } from '@headrace/message'
import { describe, expect, it } from 'vitest'
import { Config } from '../src/config.ts'
import { folder, start, told, touch, write } from './kit.ts'

const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')
const chapter = readme.slice(readme.indexOf('## What the model sees'))
/** The blocks of the chapter, by the words before the colon in front of each. */
const blocks = [...chapter.matchAll(/```text\n([^]*?)\n```/g)].map(([, text]) => text!)

describe('the README', () => {
  it('shows what the model sees, letter by letter', async () => {
    const root = folder({ 'AGENTS.md': 'Use tabs. @docs/style.md\n', 'docs/style.md': 'Short names.\n', 'api/AGENTS.md': 'Every route has a test.\n' })
    const h = await start(root, { harness: { reports: 'allow', script: [touch('api/route.ts'), 'ok'] } })
    await h.run('Go')
    write(root, { 'AGENTS.md': 'x'.repeat(40_000) })
    await h.run('Go')
    rmSync(join(root, 'AGENTS.md'))
    await h.run('Go')
    const [project, api, changed, removed] = told(h).map((line) => line.slice(line.indexOf(': ') + 2))
    expect(blocks).toEqual([project, api, changed!.split('\n')[0], changed!.split('\n').at(-1), removed])
  })

  it('says what that costs in tokens', async () => {
    const counter = await exactCounter()
    const cost = async (files: Record<string, string>): Promise<number> => {
      const h = await start(folder(files))
      await h.run('Go')
      const entry = h.agent.session.entries()[0]!
      return entry.owner === 'agents-md/project' ? counter.countText(textOf(entry.message)) - Object.values(files).reduce((sum, text) => sum + counter.countText(text), 0) : NaN
    }
    const one = await cost({ 'AGENTS.md': 'Use tabs.' })
    const two = await cost({ 'AGENTS.md': 'Use tabs.', 'AGENTS.local.md': 'Use spaces.' })
    const [, around, file] = /costs its text, (\d+) tokens around it and (\d+) a file/.exec(chapter) ?? []
    // The digits of a file's id are more or fewer tokens.
    expect(Math.abs(one - Number(around) - Number(file))).toBeLessThanOrEqual(5)
    expect(Math.abs(two - one - Number(file))).toBeLessThanOrEqual(5)
  })

  it('lists each field of the config with its default', () => {
    const rows = new Map([...readme.matchAll(/^\| `(\w+)` \| `?(.*?)`? \|/gm)].map(([, name, value]) => [name, value]))
    expect([...rows.keys()].sort()).toEqual(Object.keys(Config.dict!).sort())
    for (const [name, value] of Object.entries(Config({}))) if (name !== 'global') expect([name, JSON.parse(rows.get(name)!)]).toEqual([name, value])
  })
})
