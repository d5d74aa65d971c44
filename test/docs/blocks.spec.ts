import { describe, expect, it } from 'vitest'
import { type Block, CODE, NOT_CODE, allBlocks, blocksOf } from './blocks.ts'
import { compileBlocks } from './compile.ts'
import { COMPILED_ONLY, SHOWINGS, show, withStage } from './showings.ts'

const blocks = allBlocks()
const code = blocks.filter(({ language }) => CODE.includes(language))
/** Their own suite: plugins.spec.ts. */
const isLesson = ({ page, text }: Block): boolean => page === 'docs/plugins.md' && /^export /m.test(text)
const shown = code.filter((block) => !isLesson(block) && !(block.id in COMPILED_ONLY))
const compiled = compileBlocks(blocks)

describe('every block of code in a README or in docs/', () => {
  it('is known by an id of its own, and is code or not', () => {
    expect(code.length).toBeGreaterThan(40)
    expect(new Set(code.map(({ id }) => id)).size).toBe(code.length)
    expect(blocks.filter(({ language }) => ![...CODE, ...NOT_CODE].includes(language)).map(({ page, line, language }) => `${page}:${line} ${language}`)).toEqual([])
  })

  it('is compiled and run, or compiled with a reason', () => {
    const ids = code.map(({ id }) => id)
    expect([...compiled.keys()].sort()).toEqual([...ids].sort())
    expect(shown.length + code.filter(isLesson).length + Object.keys(COMPILED_ONLY).length).toBe(code.length)
    expect([...Object.keys(COMPILED_ONLY), ...Object.keys(SHOWINGS)].filter((id) => !ids.includes(id))).toEqual([])
  })

  it.each(code.map(({ id }) => id))('%s compiles', (id) => expect(compiled.get(id)).toEqual([]))

  it.each(shown.map((block) => [block.id, block] as const))('%s runs', async (id, block) => {
    await withStage(async (stage) => void await (SHOWINGS[id] ?? show)(block, stage))
  })
})

describe('blocksOf', () => {
  const page = (...lines: readonly string[]): readonly Block[] => blocksOf('a.md', lines.join('\n'))

  it('names blocks of code by their heading, and counts them', () => {
    expect(page('# A', '```ts', 'one', '```', '```sh', 'x', '```', '```js', 'two', '```', '## B', '```ts', 'three', '```').map(({ id, line, text }) => [id, line, text]))
      .toEqual([['a.md#A', 3, 'one'], ['a.md#A', 6, 'x'], ['a.md#A 2', 9, 'two'], ['a.md#B', 13, 'three']])
  })

  it('takes off what a block in a list is indented by, and leaves longer fences alone', () => {
    expect(page('- x', '  ````markdown', '  ```ts', '    y', '  ```', '  ````').map(({ language, text }) => [language, text])).toEqual([['markdown', '```ts\n  y\n```']])
  })

  it('ties the text behind a block of code to it', () => {
    expect(page('# A', '```ts', 'one', '```', 'It says:', '```text', 'hello', '```')[0]).toMatchObject({ text: 'one', seen: 'hello' })
    expect(page('# A', '```ts', 'one', '```', '# B', '```text', 'hello', '```')[0]).not.toHaveProperty('seen')
  })

  it('refuses a block that is not closed', () => expect(() => page('# A', '```ts', 'one')).toThrow('a.md:2: this block is not closed'))
})

describe('compileBlocks', () => {
  const problems = (text: string): readonly string[] => compileBlocks([{ page: 'packages/agent/README.md', id: 'x', line: 7, language: 'ts', text }]).get('x')!

  it('tells what is wrong, and where on the page', () => {
    expect(problems('const one = 1\nconst two: string = one')).toEqual(['packages/agent/README.md:8 Type \'number\' is not assignable to type \'string\'.'])
    expect(problems('ctx.tools.defin()')).toEqual([expect.stringContaining('packages/agent/README.md:7 Property \'defin\' does not exist')])
    expect(problems('const x = ;')).not.toEqual([])
    expect(problems('nobodyKnows()')).not.toEqual([])
  })

  it('gives a block what it takes for granted, and lets it have its own', () => {
    expect(problems('await ctx.plugin(clock)\nz.object({})')).toEqual([])
    expect(problems('const ctx = 1\nctx.toFixed()')).toEqual([])
    expect(problems('ctx.on(\'agent/turn-stopping\', (agent) => void agent.steer(\'x\'))\nawait agent.idle()')).toEqual([])
  })
})
