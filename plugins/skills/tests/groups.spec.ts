import { mkdirSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { World, setup, skillText, survey, told } from './kit.ts'

let world: World
beforeEach(() => void (world = new World()))
afterEach(() => world.remove())

const ROOT = 'project/.agents/skills'
const codes = ({ diagnostics }: Awaited<ReturnType<typeof survey>>): string[] =>
  diagnostics.map(({ code, path, severity }) => `${severity} ${code} ${path.replace(`${world.base}/`, '')}`)

describe('groups of skills', () => {
  it('are folders without a SKILL.md, hidden ones too, four deep; what is deeper is reported', async () => {
    const folders = ['one', 'office/two', '.curated/three', 'a/b/four', 'a/b/c/five', 'a/b/c/d/six', '.git/no', 'node_modules/no', '.venv/x/no']
    for (const folder of folders) world.skill(folder, skillText(folder.slice(folder.lastIndexOf('/') + 1)))
    const found = await survey(world)
    expect(found.names).toEqual(['five', 'four', 'one', 'three', 'two'])
    expect(codes(found)).toEqual([`error FOLDER_DEEP ${ROOT}/a/b/c/d/six/SKILL.md`])
  })

  it('do not stand in a skill: what is in one is its own', async () => {
    world.skill('pdf')
    world.skill('pdf/templates/inner')
    expect((await survey(world)).names).toEqual(['pdf'])
  })

  it('have skills that come, go and change', async () => {
    const h = await setup(world)
    const names = async () => (await h.ctx.skills.list({ cwd: world.project })).map(({ name }) => name)
    expect(await names()).toEqual([])
    world.skill('group/pdf', skillText('pdf'))
    expect(await names()).toEqual(['pdf'])
    world.skill('group/zip', skillText('zip'))
    expect(await names()).toEqual(['pdf', 'zip'])
    world.skill('group', skillText('group'))
    expect(await names()).toEqual(['group'])
    rmSync(join(world.base, ROOT, 'group/SKILL.md'))
    expect(await names()).toEqual(['pdf', 'zip'])
    rmSync(join(world.base, ROOT, 'group'), { recursive: true })
    expect(await names()).toEqual([])
    await h.dispose()
  })

  it('that lead in a circle by links end, and each skill is there once', async () => {
    world.skill('group/pdf', skillText('pdf'))
    symlinkSync('..', join(world.base, ROOT, 'group/up'))
    symlinkSync('.', join(world.base, ROOT, 'self'))
    const found = await survey(world)
    expect(found.names).toEqual(['pdf'])
    expect(found.diagnostics).toEqual([])
  })

  it('of a very large tree are looked at up to a bound, which is reported', async () => {
    for (let index = 0; index < 510; index++) mkdirSync(join(world.base, 'large', `folder-${index}`, 'x'), { recursive: true })
    const found = await survey(world, { roots: [join(world.base, 'large')] })
    expect(codes(found)).toEqual(['error ROOT_LARGE large'])
  })

  it('a configured root may be the skill itself, or a whole repository; a SKILL.md in another root is reported', async () => {
    world.skill('.', skillText('repository'), 'repository')
    world.skill('skills/pdf', skillText('pdf'), 'repository')
    const found = await survey(world, { roots: [join(world.base, 'repository')] })
    expect(found.names).toEqual(['pdf', 'repository'])
    expect(found.diagnostics).toEqual([])
    world.skill('.', skillText('stray'))
    expect(codes(await survey(world))).toEqual([`error ROOT_FILE ${ROOT}/SKILL.md`])
  })
})

describe('the file of a skill', () => {
  it.each(['skill.md', 'Skill.md', 'SKILL.MD'])('may be spelt %s', async (name) => {
    world.file(`${ROOT}/pdf/${name}`, skillText('pdf'))
    world.file(`${ROOT}/pdf/notes.md`, 'x')
    const found = await survey(world)
    expect(found.list).toMatchObject([{ name: 'pdf', file: join(world.base, ROOT, 'pdf', name) }])
    expect(found.diagnostics).toEqual([])
  })

  it('is SKILL.md where there are two', async () => {
    world.file(`${ROOT}/pdf/skill.md`, skillText('pdf', 'Wrong.'))
    world.skill('pdf', skillText('pdf', 'Right.'))
    expect((await survey(world)).list).toMatchObject([{ description: 'Right.' }])
  })
})

describe('links to nothing', () => {
  it('are reported, be it a skill, its file, or a root; those to a file are not skills', async () => {
    world.skill('pdf')
    world.file(`${ROOT}/README.md`, 'x')
    symlinkSync('nowhere', join(world.base, ROOT, 'gone'))
    symlinkSync('README.md', join(world.base, ROOT, 'readme'))
    mkdirSync(join(world.base, ROOT, 'empty'))
    symlinkSync('nowhere', join(world.base, ROOT, 'empty/SKILL.md'))
    mkdirSync(join(world.project, '.claude'))
    symlinkSync('nowhere', join(world.project, '.claude/skills'))
    const found = await survey(world)
    expect(found.names).toEqual(['pdf'])
    expect(codes(found)).toEqual([
      `error LINK_DANGLING ${ROOT}/empty/SKILL.md`, `error LINK_DANGLING ${ROOT}/gone`, 'error LINK_DANGLING project/.claude/skills',
    ])
  })

  it('are no more reported once what they lead to is there', async () => {
    const h = await setup(world)
    mkdirSync(join(world.base, ROOT), { recursive: true })
    symlinkSync('../elsewhere', join(world.base, ROOT, 'pdf'))
    const problems = () => h.ctx.skills.diagnostics({ cwd: world.project })
    expect(await problems()).toMatchObject([{ code: 'LINK_DANGLING' }])
    world.skill('.', skillText('pdf'), 'project/.agents/elsewhere')
    expect(await problems()).toEqual([])
    await h.dispose()
  })
})

describe('names', () => {
  it.each(['技能', 'résumé', 'файлы', 'über-2', 'कौशल'])('may be of any script: %s', async (name) => {
    world.skill(name)
    const found = await survey(world)
    expect(found.names).toEqual([name])
    expect(found.diagnostics).toEqual([])
    const h = await setup(world)
    await h.run(`/${name} now`)
    expect(told(h).at(-1)).toContain(`The user opened this skill with /${name}; follow it.`)
    await h.dispose()
  })

  it('are the same composed and decomposed, as some file systems spell them', async () => {
    world.skill('résumé'.normalize('NFD'), skillText('résumé'))
    const found = await survey(world)
    expect(found.names).toEqual(['résumé'.normalize('NFC')])
    expect(found.diagnostics).toEqual([])
    const h = await setup(world)
    await h.run(`/${'résumé'.normalize('NFD')}`)
    expect(told(h)).toHaveLength(2)
    await h.dispose()
  })

  it.each(['RÉSUMÉ', 'a_b', 'a b', 'a.b', 'é'.repeat(65)])('are refused where neither the file nor its folder has a good one: %j', async (name) => {
    world.skill(name)
    const found = await survey(world)
    expect(found.names).toEqual([])
    expect(found.codes).toEqual(['NAME_INVALID'])
  })
})

describe('collections as they are published', () => {
  it('are found whole', async () => {
    const trees: Readonly<Record<string, string>> = {
      'first/skills/pdf/SKILL.md': 'pdf', 'first/skills/skill-maker/SKILL.md': 'skill-maker', 'first/template/SKILL.md': 'template-skill', 'first/spec/notes.md': '',
      'second/skills/.curated/deploy/SKILL.md': 'deploy', 'second/skills/.experimental/draft/SKILL.md': 'draft', 'second/skills/.system/installer/SKILL.md': 'installer',
      'third/plugins/web/skills/charts/SKILL.md': 'charts', 'third/plugins/web/README.md': '', 'third/.github/x.md': '', 'third/flat/skill.md': 'flat',
    }
    for (const [path, name] of Object.entries(trees)) world.file(path, name === '' ? 'x' : skillText(name))
    const found = await survey(world, { roots: ['first', 'second', 'third'].map((name) => join(world.base, name)) })
    expect(found.names).toEqual(Object.values(trees).filter((name) => name !== '').sort())
    expect(codes(found)).toEqual(['warning NAME_MISMATCH first/template/SKILL.md'])
  })
})
