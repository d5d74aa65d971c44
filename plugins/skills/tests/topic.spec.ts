import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { expectAppendOnly } from '@headrace/testing'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Diagnostic } from '@headrace/plugin-skills'
import { World, setup, skillText, told } from './kit.ts'

let world: World
beforeEach(() => void (world = new World()))
afterEach(() => world.remove())

describe('the catalogue as a topic', () => {
  it('is told once; a new skill, an edited description, a removed one are each announced once, at the next boundary', async () => {
    world.skill('pdf')
    const h = await setup(world)
    await h.run('Go')
    await h.run('Go')
    expect(told(h)).toHaveLength(1)
    expect(told(h)[0]).toMatch(/^skills\/catalogue: <available_skills>\n.*\n- pdf: Does pdf\.\n<\/available_skills>$/)
    const changes = [() => world.skill('zip'), () => world.skill('pdf', skillText('pdf', 'Does more.')), () => rmSync(join(world.project, '.agents/skills/zip'), { recursive: true }), () => rmSync(join(world.project, '.agents'), { recursive: true })]
    for (const [index, change] of changes.entries()) {
      change()
      await h.run('Go')
      await h.run('Go')
      expect(told(h)).toHaveLength(index + 2)
      expect(told(h).at(-1)).toMatch(/^skills\/catalogue: The(re are no| skills have changed\. These are all there are now:\n)/)
    }
    expectAppendOnly(h.requests)
    expect((await h.verify()).difference).toBeUndefined()
    await h.dispose()
  })

  it('tells within a turn what a step made, at the boundary of the next', async () => {
    const h = await setup(world, {}, { script: (_, index) => {
      if (index === 0) world.skill('made')
      return index < 2 ? { calls: [{ name: 'skill', arguments: { name: 'made' } }] } : 'done'
    } })
    await h.run('Go')
    expect(h.requests.map(({ owners }) => owners.filter((owner) => owner === 'skills/catalogue').length)).toEqual([0, 1, 1])
    await h.dispose()
  })

  it('says nothing of a body that was edited', async () => {
    world.skill('pdf')
    const h = await setup(world)
    await h.run('Go')
    world.skill('pdf', skillText('pdf', 'Does pdf.', 'Another body.'))
    await h.run('Go')
    expect(told(h)).toHaveLength(1)
    await h.dispose()
  })

  it('is not told where there are no skills, and not again by a resume', async () => {
    const h = await setup(world)
    await h.run('Go')
    expect(told(h)).toEqual([])
    world.skill('pdf')
    await h.run('Go')
    await h.resume()
    await h.run('Go')
    expect(told(h)).toHaveLength(1)
    expect((await h.verify()).difference).toBeUndefined()
    await h.dispose()
  })

  it('goes with the plugin, as do the tool and the service; what was told stays', async () => {
    world.skill('pdf')
    const h = await setup(world)
    await h.run('Go')
    expect(h.requests[0]!.tools!.map(({ name }) => name)).toEqual(['skill'])
    for (const runtime of h.ctx.registry.values()) if (runtime.name === 'skills') await [...runtime.fibers][0]!.dispose()
    world.skill('zip')
    await h.run('/pdf')
    expect(h.requests[1]!.tools).toBeUndefined()
    expect(told(h)).toHaveLength(1)
    expect(h.ctx.get('skills')).toBeUndefined()
    expect((await h.verify()).difference).toBeUndefined()
    await h.dispose()
  })
})

describe('/name', () => {
  it('at the start of a prompt brings the skill with it, behind the user’s words, signed skills/opened', async () => {
    world.skill('pdf')
    world.file('project/.agents/skills/pdf/a.md', 'x')
    const h = await setup(world)
    await h.run('/pdf the report')
    const entries = h.agent.session.entries()
    expect(entries.map(({ owner }) => owner)).toEqual(['skills/catalogue', 'user', 'skills/opened', 'model'])
    expect(entries[1]!.message.content).toEqual([{ type: 'text', text: '/pdf the report' }])
    expect(told(h)[1]).toBe(`skills/opened: The user opened this skill with /pdf; follow it.\n\nSkill pdf, in ${join(world.project, '.agents/skills/pdf')}\n\nIts files, for the skill tool as resource:\n- a.md\n\nIts instructions:\n\nDo pdf.`)
    expect((await h.verify()).difference).toBeUndefined()
    await h.dispose()
  })

  it('stands beside what other plugins bring, whatever the load order', async () => {
    world.skill('pdf')
    const other = { name: 'other', inject: ['agents'], async apply(ctx: import('cordis').Context) {
      ctx.on('agent/prompt-submit', async (_agent, _turn, _submission, next) => {
        const decision = await next()
        return 'block' in decision ? decision : { ...decision, additionalContext: ['other', ...decision.additionalContext ?? []] }
      })
    } }
    const h = await setup(world, {}, { plugins: [other] })
    await h.run('/pdf')
    expect(h.agent.session.entries().map(({ owner }) => owner)).toEqual(['skills/catalogue', 'user', 'other/prompt-submit', 'skills/opened', 'model'])
    expect(h.reports).toEqual([])
    await h.dispose()
  })

  it.each(['/x', '/pdfs', '/pdf/etc', '/PDF', 'see /pdf', '/', '/usr/bin', '//pdf', '/../pdf'])('of no skill is left as it is: %j', async (prompt) => {
    world.skill('pdf')
    const h = await setup(world)
    await h.run(prompt)
    expect(h.agent.session.entries().map(({ owner }) => owner)).toEqual(['skills/catalogue', 'user', 'model'])
    expect(h.reports).toEqual([])
    await h.dispose()
  })

  it('of a skill that cannot be read lets the prompt go without it, and reports', async () => {
    world.skill('pdf')
    const h = await setup(world)
    // Behind the look of this prompt, ahead of the listener that opens the skill.
    h.ctx.on('agent/prompt-submit', async (_agent, _turn, _submission, next) => {
      rmSync(join(world.project, '.agents'), { recursive: true })
      return next()
    })
    expect(await h.run('/pdf')).toMatchObject({ reason: 'done' })
    expect(h.reports).toMatchObject([{ plugin: 'skills', problem: 'The skill pdf cannot be read: it is not there any more. The prompt goes without it.' }])
    await h.dispose()
  })
})

describe('skills/diagnostic', () => {
  it('tells each agent once of what is wrong, again when it comes back, and harms nobody when a listener throws', async () => {
    const bad = world.skill('bad', 'nothing')
    world.skill('pdf')
    const h = await setup(world)
    const heard: [string, Diagnostic['code'], string][] = []
    h.ctx.on('skills/diagnostic', () => { throw new Error('mine') })
    h.ctx.on('skills/diagnostic', async () => { throw new Error('mine too') })
    h.ctx.on('skills/diagnostic', (agent, { code, path }) => void heard.push([agent.id, code, path]))
    expect(await h.run('Go')).toMatchObject({ reason: 'done' })
    await h.run('Go')
    const once: (typeof heard)[number] = ['test', 'FRONTMATTER_MISSING', bad]
    expect(heard).toEqual([once])
    rmSync(bad)
    await h.run('Go')
    world.skill('bad', 'nothing')
    await h.run('Go')
    expect(heard).toEqual([once, once])
    const other = await h.ctx.agents.create({ id: 'other', model: 'scripted/model', cwd: world.project })
    const scoped: string[] = []
    other.ctx.on('skills/diagnostic', (agent) => void scoped.push(agent.id))
    await other.prompt('Go').result
    world.skill('worse', 'nothing')
    await h.run('Go')
    expect(heard.map(([id]) => id)).toEqual(['test', 'test', 'other', 'test'])
    expect(scoped).toEqual(['other'])
    await h.dispose()
  })
})
