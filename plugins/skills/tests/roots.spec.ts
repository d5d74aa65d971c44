import { mkdirSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { World, skillText, survey } from './kit.ts'

let world: World
beforeEach(() => void (world = new World()))
afterEach(() => world.remove())

const FOLDERS = ['company', 'project/sub/.agents/skills', 'project/sub/.claude/skills', 'project/.agents/skills', 'project/.claude/skills', 'xdg/headrace/skills', 'home/.agents/skills', 'home/.claude/skills']

describe('roots', () => {
  it('come in a fixed order: configured, from the folder up to the project’s root, the user’s; the first has the name, the others are reported', async () => {
    vi.stubEnv('XDG_CONFIG_HOME', join(world.base, 'xdg'))
    for (const [index, root] of FOLDERS.entries()) for (const name of ['pdf', `only-${index}`]) world.skill(name, skillText(name, root), root)
    const config = { roots: [join(world.base, 'company')] }
    for (let first = 0; first < FOLDERS.length; first++) {
      const { list, diagnostics } = await survey(world, config, join(world.project, 'sub'))
      expect(list.find(({ name }) => name === 'pdf')!.description).toBe(FOLDERS[first])
      expect(list).toHaveLength(FOLDERS.length + 1)
      expect(diagnostics.map(({ code, path }) => `${code} ${path}`)).toEqual(FOLDERS.slice(first + 1).map((root) => `SHADOWED ${join(world.base, root, 'pdf/SKILL.md')}`).sort())
      for (const { message } of diagnostics) expect(message).toContain(join(world.base, FOLDERS[first]!, 'pdf'))
      rmSync(join(world.base, FOLDERS[first]!, 'pdf'), { recursive: true })
    }
  })

  it('do not go above the project’s root, nor above the folder where there is no project', async () => {
    world.skill('outer', undefined, '.agents/skills')
    world.skill('inner')
    expect((await survey(world, {}, join(world.project, 'sub'))).names).toEqual(['inner'])
    world.skill('here', undefined, 'loose/deep/.agents/skills')
    world.skill('above', undefined, 'loose/.agents/skills')
    expect((await survey(world, {}, join(world.base, 'loose/deep'))).names).toEqual(['here'])
  })

  it('can be left out, and can be relative to the folder or the home', async () => {
    world.skill('project')
    world.skill('user', undefined, 'home/.agents/skills')
    world.skill('near', undefined, 'project/more')
    world.skill('far', undefined, 'home/mine')
    expect((await survey(world, { project: false })).names).toEqual(['user'])
    expect((await survey(world, { user: false })).names).toEqual(['project'])
    expect((await survey(world, { user: false, project: false, roots: ['more', '~/mine'] })).names).toEqual(['far', 'near'])
  })

  it('are reported where they are configured and not there, and not where they are looked for', async () => {
    expect((await survey(world)).diagnostics).toEqual([])
    const { diagnostics } = await survey(world, { roots: ['nowhere', world.file('file')] })
    expect(diagnostics).toMatchObject([{ code: 'ROOT_UNREADABLE', path: join(world.base, 'file') }, { code: 'ROOT_UNREADABLE', path: join(world.project, 'nowhere') }])
  })

  it('hold files and folders that are not skills and not errors', async () => {
    world.file('project/.agents/skills/README.md', '# Skills')
    world.file('project/.agents/skills/AGENTS.md', '# Agents')
    world.file('project/.agents/skills/notes/ideas.md', 'x')
    world.file('project/.agents/skills/.git/SKILL.md', 'x')
    symlinkSync('README.md', join(world.project, '.agents/skills/link'))
    world.skill('pdf')
    const found = await survey(world)
    expect(found.names).toEqual(['pdf'])
    expect(found.diagnostics).toEqual([])
  })

  it('reach a skill by its real path and by a link: it is there once, and nothing is shadowed', async () => {
    world.skill('pdf', undefined, 'home/.agents/skills')
    mkdirSync(join(world.project, '.claude/skills'), { recursive: true })
    symlinkSync(join(world.home, '.agents/skills/pdf'), join(world.project, '.claude/skills/pdf'))
    symlinkSync(join(world.home, '.agents/skills/pdf'), join(world.project, '.claude/skills/another'))
    const found = await survey(world)
    expect(found.list).toMatchObject([{ name: 'pdf', source: 'project', folder: join(world.project, '.claude/skills/another') }])
    expect(found.diagnostics).toEqual([])
  })

  it('are links to each other: each skill is there once, wrong ones are reported once', async () => {
    world.skill('pdf')
    world.skill('bad', 'nothing')
    mkdirSync(join(world.project, '.claude'))
    symlinkSync('../.agents/skills', join(world.project, '.claude/skills'))
    const found = await survey(world)
    expect(found.names).toEqual(['pdf'])
    expect(found.codes).toEqual(['FRONTMATTER_MISSING'])
  })

  it('have links that lead in a circle: a diagnostic, and the others are there', async () => {
    world.skill('pdf')
    symlinkSync('circle', join(world.project, '.agents/skills/circle'))
    const found = await survey(world)
    expect(found.names).toEqual(['pdf'])
    expect(found.diagnostics).toMatchObject([{ code: 'FILE_UNREADABLE', message: 'it cannot be read: its links lead in a circle' }])
  })

  it('have a skill whose name is another folder’s: that folder keeps its name, also in a root that comes later', async () => {
    world.skill('aaa', skillText('pdf', 'wrong'))
    world.skill('pdf', skillText('pdf', 'right'), 'home/.claude/skills')
    const { list, codes } = await survey(world)
    expect(list).toMatchObject([{ name: 'pdf', description: 'right' }])
    expect(codes).toEqual(['NAME_MISMATCH', 'SHADOWED'])
  })
})
