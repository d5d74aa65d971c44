import { join } from 'node:path'
import { textOf } from '@headrace/message'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { World, call, result, setup, skillText, survey, told } from './kit.ts'

let world: World
beforeEach(() => void (world = new World()))
afterEach(() => {
  vi.restoreAllMocks()
  world.remove()
})

const withField = (name: string, field: string): string => skillText(name).replace('---\n\n', `${field}\n---\n\n`)
const open = (name: string, more = {}) => ({ calls: [{ name: 'skill', arguments: { name, ...more } }] })

describe('disable-model-invocation', () => {
  it.each(['true', 'True', 'yes', '"true"'])('%s hides a skill from the model, which cannot open it; /name opens it, and its files can be read', async (value) => {
    world.skill('deploy', withField('deploy', `disable-model-invocation: ${value}`))
    world.file('project/.agents/skills/deploy/a.md', 'of the skill')
    world.skill('pdf')
    const script = ['ok', { calls: [...open('deploy').calls, ...open('deploy', { resource: 'a.md' }).calls, ...open('dep').calls] }, 'done']
    const h = await setup(world, {}, { script })
    await h.run('/deploy now')
    expect(told(h)[0]).not.toContain('deploy')
    expect(told(h)[1]).toContain('Do deploy.')
    await h.run('Go')
    const texts = h.requests.at(-1)!.messages.flatMap((message) => (message.role === 'tool' ? message.content.map(({ content }) => textOf({ content })) : []))
    expect(texts).toEqual(['The skill deploy is opened by the user only, with /deploy at the start of a prompt.', 'of the skill', expect.stringMatching(/^There is no skill "dep"\. There are pdf\.$/)])
    await h.dispose()
  })

  it('leaves no catalogue where all are hidden, and is listed for people', async () => {
    world.skill('deploy', withField('deploy', 'disable-model-invocation: true'))
    const h = await setup(world)
    await h.run('Go')
    expect(told(h)).toEqual([])
    expect(await h.ctx.skills.list(h.agent)).toMatchObject([{ name: 'deploy', modelInvocable: false }])
    await h.dispose()
  })
})

describe('user-invocable', () => {
  it('false leaves /name as it is; the model is told of the skill and opens it', async () => {
    world.skill('style', withField('style', 'user-invocable: false'))
    const h = await setup(world)
    await h.run('/style')
    expect(told(h)).toHaveLength(1)
    expect(told(h)[0]).toContain('- style: ')
    await h.dispose()
    expect(await call(world, { name: 'style' })).toMatchObject({ error: false, text: expect.stringContaining('Do style.') })
  })

  it('true and empty values change nothing; what is neither true nor false, and both fields at once, are warnings', async () => {
    world.skill('a', withField('a', 'user-invocable: true\ndisable-model-invocation: false'))
    world.skill('b', withField('b', 'user-invocable:\ndisable-model-invocation: maybe'))
    world.skill('c', withField('c', 'user-invocable: false\ndisable-model-invocation: true'))
    world.skill('d', withField('d', 'description: Run it: always\ndisable-model-invocation: true'))
    const { list, diagnostics } = await survey(world)
    expect(list.map(({ name, modelInvocable, userInvocable }) => [name, modelInvocable, userInvocable])).toEqual([
      ['a', undefined, undefined], ['b', undefined, undefined], ['c', false, false], ['d', false, undefined],
    ])
    expect(diagnostics.map(({ code, severity }) => `${severity} ${code}`)).toEqual(['warning FIELD_INVALID', 'warning FIELD_INVALID', 'warning YAML_REPAIRED'])
  })
})

describe('an opened skill', () => {
  it('is not in the history twice: by the tool, by two calls of one answer, by /name, by one after the other', async () => {
    world.skill('pdf', skillText('pdf', 'Reads.', 'The body.'))
    const h = await setup(world, {}, { script: [{ calls: [...open('pdf').calls, ...open('pdf').calls] }, 'ok', open('pdf'), 'ok', 'ok'] })
    const bodies = () => JSON.stringify(h.agent.session.deriveMessages()).split('The body.').length - 1
    await h.run('Go')
    expect(bodies()).toBe(1)
    await h.run('Go')
    expect(result(h, 3)).toEqual({ error: false, text: 'The skill pdf is open already: its instructions stand above and have not changed.' })
    await h.run('/pdf')
    expect(told(h).at(-1)).toBe('skills/opened: The user opened this skill with /pdf again; its instructions stand above and have not changed. Follow them.')
    expect(bodies()).toBe(1)
    await h.dispose()
  })

  it('by /name is not told again by the tool, also after a resume; what changed or was compacted is', async () => {
    world.skill('pdf', skillText('pdf', 'Reads.', 'The body.'))
    const h = await setup(world, {}, { script: ['ok', open('pdf'), 'ok', open('pdf'), 'ok', open('pdf'), 'ok'] })
    await h.run('/pdf')
    await h.resume()
    await h.run('Go')
    expect(result(h, 2).text).toMatch(/^The skill pdf is open already/)
    world.skill('pdf', skillText('pdf', 'Reads.', 'Another body.'))
    await h.run('Go')
    expect(result(h, 4).text).toContain('Another body.')
    const entries = h.agent.session.entries()
    h.agent.replace(entries[0]!.id, entries.at(-1)!.id, ['A summary.'], { reason: 'test' })
    await h.run('Go')
    expect(result(h, 6).text).toContain('Another body.')
    await h.dispose()
  })
})

describe('folders of skills in touched packages', () => {
  const touch = (path: string) => ({ calls: [{ name: 'read', arguments: { path } }] })
  const names = (text: string): readonly string[] => [...text.matchAll(/^- ([^:]+):/gm)].map(([, name]) => name!)

  it('count once a call named a path there, and go on to count after a resume', async () => {
    world.skill('own')
    world.skill('web', undefined, 'project/packages/web/.claude/skills')
    world.skill('api', undefined, 'project/packages/api/.agents/skills')
    const h = await setup(world, {}, { script: [touch('packages/web/src/x.ts'), open('web'), 'ok', 'ok', 'ok'] })
    await h.run('Go')
    expect(names(told(h)[0]!)).toEqual(['own'])
    expect(names(told(h)[1]!)).toEqual(['own', 'web'])
    expect(result(h, 2)).toMatchObject({ error: false, text: expect.stringContaining('Do web.') })
    await h.run('Go')
    await h.resume()
    await h.run('Go')
    expect(told(h)).toHaveLength(2)
    expect((await h.verify()).difference).toBeUndefined()
    await h.dispose()
  })

  it.each(['../outside/x', 'node_modules/dep/x', '.git/x', '/etc/passwd', 'a\0b'])('do not where the path is %j', async (path) => {
    for (const root of ['outside', 'project/node_modules/dep', 'project/.git']) world.skill('no', undefined, `${root}/.agents/skills`)
    world.skill('own')
    const h = await setup(world, {}, { script: [touch(path), 'ok', 'ok'] })
    await h.run('Go')
    await h.run('Go')
    expect(told(h)).toHaveLength(1)
    await h.dispose()
  })

  it('come last: their names do not replace others; and not at all where nested is off', async () => {
    world.skill('pdf', skillText('pdf', 'The project’s.'))
    world.skill('pdf', skillText('pdf', 'The package’s.'), 'project/packages/web/.agents/skills')
    world.skill('web', undefined, 'project/packages/web/.agents/skills')
    for (const [nested, count] of [[true, 2], [false, 1]] as const) {
      const h = await setup(world, { nested }, { script: [touch(join(world.project, 'packages/web/x')), 'ok'] })
      await h.run('Go')
      expect(told(h)).toHaveLength(count)
      expect(told(h).at(-1)).toContain('- pdf: The project’s.')
      await h.dispose()
    }
  })
})

it('Cordis’ log has errors only; the event has all', async () => {
  world.skill('bad', 'nothing')
  world.skill('odd', withField('odd', 'model: opus'))
  const h = await setup(world)
  const warned = vi.spyOn(h.ctx.root.logger, 'warn')
  const heard: string[] = []
  h.ctx.on('skills/diagnostic', (_, { code }) => void heard.push(code))
  await h.run('Go')
  expect(heard.sort()).toEqual(['FIELD_UNKNOWN', 'FRONTMATTER_MISSING'])
  expect(warned.mock.calls.length).toBeLessThanOrEqual(1)
  await h.dispose()
})
