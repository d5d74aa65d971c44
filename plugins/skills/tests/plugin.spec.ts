import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { heuristicCounter } from '@headrace/tokens'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { catalogueOf, changedCatalogue, removedCatalogue } from '../src/catalogue.ts'
import { Config } from '../src/config.ts'
import type { Skill } from '../src/skill.ts'
import { World, result, setup, skillText, told } from './kit.ts'

let world: World
beforeEach(() => void (world = new World()))
afterEach(() => world.remove())

const readme = readFileSync(join(import.meta.dirname, '../README.md'), 'utf8')
const chapter = readme.slice(readme.indexOf('## What the model sees'))
const blocks = [...chapter.matchAll(/^```\n(.*?)\n```$/gms)].map(([, text]) => text!)

async function example() {
  world.skill('pdf', readme.match(/```markdown\n(.*?)```/s)![1]!)
  world.file('project/.agents/skills/pdf/references/forms.md')
  world.file('project/.agents/skills/pdf/scripts/fill.py')
  world.skill('release', skillText('release', 'Makes a release & its notes. Use it when a version is to be published.'))
  return setup(world, {}, { script: [{ calls: [{ name: 'skill', arguments: { name: 'pdf' } }] }, 'done'] })
}

describe('the README', () => {
  it('shows what the model sees, to the byte', async () => {
    const h = await example()
    await h.run('Go')
    const opened = result(h).text.replace(world.project, '/home/ada/site')
    await h.run('/pdf fill it')
    const many = (count: number, length: number): Skill[] => Array.from({ length: count }, (_, index) => ({ name: `s${index}`, description: 'x'.repeat(length), folder: '/', file: '/SKILL.md', source: 'user' }))
    const lastLine = (count: number, length: number, budget: number) => catalogueOf(many(count, length), budget)!.split('\n').at(-2)!
    const digits = (text: string) => text.replaceAll(/\d+/g, '#')
    expect(`skills/catalogue: ${blocks[0]}`).toBe(told(h)[0])
    expect(blocks[1]!.split('\n').map(digits)).toEqual([lastLine(120, 232, 16_000), lastLine(500, 100, 5_000), lastLine(2_000, 100, 5_000)].map(digits))
    expect(blocks[2]).toBe(`${changedCatalogue('')}${removedCatalogue()}`)
    expect(blocks[3]).toBe(opened)
    const [first, again] = blocks[4]!.split('\n')
    expect(told(h)[1]).toBe(`skills/opened: ${again}`)
    const other = await example()
    await other.run('/pdf fill it')
    expect(told(other)[1]!.replace(world.project, '/home/ada/site')).toBe(`skills/opened: ${first}\n\n${opened}`)
    await other.dispose()
    const [tool] = h.requests[0]!.tools!
    expect(chapter).toContain(`\n${tool!.description}\n`)
    for (const [name, { description }] of Object.entries((tool!.parameters as { properties: Record<string, { description: string }> }).properties)) expect(chapter).toContain(`- \`${name}\`: ${description}\n`)
    await h.dispose()
  })

  it('says what it costs', async () => {
    const h = await example()
    await h.run('Go')
    const count = (text: string) => heuristicCounter().countText(text)
    const tool = count(JSON.stringify(h.requests[0]!.tools))
    expect(Math.abs(tool - Number(/`skill`, (\d+) tokens/.exec(chapter)![1]))).toBeLessThan(20)
    const frame = count(blocks[0]!.replace(/^- .*\n/gm, ''))
    expect(Math.abs(frame - Number(/Cost:\* (\d+) tokens/.exec(chapter)![1]))).toBeLessThan(6)
    await h.dispose()
  })

  it('names every option with its default, and every diagnostic', () => {
    for (const [name, value] of Object.entries(Config({}))) expect(readme).toContain(`| \`${name}\` | \`${JSON.stringify(value)}\` |`)
    const codes = readFileSync(join(import.meta.dirname, '../src/diagnostic.ts'), 'utf8').match(/(?<=\| )'[A-Z_]+'/g)!.map((code) => code.replaceAll("'", ''))
    expect(codes.length).toBeGreaterThan(15)
    for (const code of codes) expect(readme).toContain(`\`${code}\``)
  })
})

describe('the tool', () => {
  it('is the same in every workspace, whatever skills there are', async () => {
    const texts: string[] = []
    for (const folder of ['project', 'other']) {
      world.skill(folder, undefined, `${folder}/.agents/skills`)
      const h = await setup(world, {}, { agent: { cwd: join(world.base, folder) } })
      await h.run('Go')
      texts.push(JSON.stringify(h.requests[0]!.tools))
      await h.dispose()
    }
    expect(texts[0]).toBe(texts[1])
  })

  it('refuses arguments that it does not have', async () => {
    const h = await setup(world, {}, { script: [{ calls: [{ name: 'skill', arguments: { name: 'pdf', path: 'x' } }] }, 'done'] })
    await h.run('Go')
    expect(result(h)).toMatchObject({ error: true })
    await h.dispose()
  })
})
