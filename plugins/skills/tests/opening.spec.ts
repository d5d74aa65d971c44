import { execFileSync } from 'node:child_process'
import { rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { World, call, result, setup, skillText, told } from './kit.ts'

let world: World
let folder: string
beforeEach(() => {
  world = new World()
  folder = join(world.project, '.agents/skills/pdf')
})
afterEach(() => world.remove())

const resource = async (path: string, config = {}) => call(world, { name: 'pdf', resource: path }, config)

describe('the skill tool', () => {
  it('opens a skill: where it is, what files it has, what it says', async () => {
    world.skill('pdf', skillText('pdf', 'Reads.', '# PDF\n\nUse scripts/fill.py.').replace('---\n\n', 'compatibility: Needs python\n---\n\n'))
    for (const path of ['scripts/fill.py', 'references/forms.md', 'LICENSE.txt', '.hidden', '.git/x', 'node_modules/x/y', 'references/SKILL.md']) world.file(`project/.agents/skills/pdf/${path}`, 'x')
    expect(await call(world, { name: 'pdf' })).toEqual({ error: false, text: [
      `Skill pdf, in ${folder}\nIt needs: Needs python`,
      'Its files, for the skill tool as resource:\n- LICENSE.txt\n- references/SKILL.md\n- references/forms.md\n- scripts/fill.py',
      'Its instructions:\n\n# PDF\n\nUse scripts/fill.py.',
    ].join('\n\n') })
  })

  it('reads the body when the skill is opened, as it is then', async () => {
    world.skill('pdf')
    const h = await setup(world, {}, { script: ['ok', { calls: [{ name: 'skill', arguments: { name: 'pdf' } }] }, 'done'] })
    await h.run('Go')
    world.skill('pdf', skillText('pdf', 'Does pdf.', 'Edited after the catalogue was told.'))
    await h.run('Go')
    expect(result(h, 2).text).toContain('Edited after the catalogue was told.')
    expect(told(h)).toHaveLength(1)
    expect((await h.verify()).difference).toBeUndefined()
    await h.dispose()
  })

  it('opens a skill that was made since, and says so of one that went', async () => {
    world.skill('pdf')
    const calls = (name: string) => ({ calls: [{ name: 'skill', arguments: { name } }] })
    const h = await setup(world, {}, { script: (_, index) => {
      if (index === 0) world.skill('new')
      if (index === 1) rmSync(folder, { recursive: true })
      return [calls('new'), calls('pdf'), 'done'][index]!
    } })
    await h.run('Go')
    expect(result(h, 1)).toMatchObject({ error: false, text: expect.stringContaining('Do new.') })
    expect(result(h, 2)).toEqual({ error: true, text: 'The skill pdf cannot be read: it is not there any more.' })
    await h.dispose()
  })

  it('refuses a name that it does not know, and tells those near it', async () => {
    for (const name of ['pdf', 'pdf-forms', 'zip']) world.skill(name)
    expect(await call(world, { name: 'PDF' })).toEqual({ error: true, text: 'There is no skill "PDF". Near it are pdf, pdf-forms.' })
    expect(await call(world, { name: 'word' })).toEqual({ error: true, text: 'There is no skill "word". There are pdf, pdf-forms, zip.' })
  })

  it.each(['../../etc/passwd', '/etc/passwd', '..', '', 'pdf/../pdf', '__proto__'])('refuses the name %j', async (name) => {
    world.skill('pdf')
    expect(await call(world, { name })).toMatchObject({ error: true, text: expect.stringMatching(/^There is no skill /) })
  })

  it('gives a long body in parts, cut at characters, with a note where it goes on', async () => {
    world.skill('pdf', skillText('pdf', 'Reads.', `${'a'.repeat(99)}😀${'b'.repeat(50)}`))
    const first = await call(world, { name: 'pdf' }, { maxOutput: 100 })
    expect(first.text).toMatch(/\n\na{99}\n\[The text goes on for 52 characters: give offset 99\.\]$/)
    expect(await call(world, { name: 'pdf', offset: 99 }, { maxOutput: 100 })).toEqual({ error: false, text: `😀${'b'.repeat(50)}` })
    expect(await call(world, { name: 'pdf', offset: 151 }, { maxOutput: 100 })).toMatchObject({ error: true })
  })

  it('lists no more files than it may, and says so', async () => {
    world.skill('pdf')
    for (let index = 0; index < 5; index++) world.file(`project/.agents/skills/pdf/docs/${index}.md`)
    const { text } = await call(world, { name: 'pdf' }, { maxResources: 3 })
    expect(text).toContain('- docs/2.md\n[There are more. A folder as resource lists what is in it.]')
    expect(text).not.toContain('docs/3.md')
  })
})

describe('a resource', () => {
  beforeEach(() => {
    world.skill('pdf')
    world.file('secret.txt', 'SECRET')
    world.file('project/.agents/skills/pdf-other/secret.txt', 'SECRET')
  })

  it('is a file by its path in the skill', async () => {
    world.file('project/.agents/skills/pdf/docs/a.md', '\uFEFFone\r\ntwo </skill> $& {{x}}')
    expect(await resource('docs/a.md')).toEqual({ error: false, text: 'one\ntwo </skill> $& {{x}}' })
    expect(await resource('./docs//a.md')).toMatchObject({ error: false })
  })

  it('is a folder: its files are listed', async () => {
    world.file('project/.agents/skills/pdf/docs/deep/a.md', 'x')
    world.file('project/.agents/skills/pdf/b.md', 'x')
    expect(await resource('docs')).toEqual({ error: false, text: '- docs/deep/a.md' })
  })

  it('is given in parts where it is long', async () => {
    world.file('project/.agents/skills/pdf/long.txt', 'x'.repeat(150))
    expect((await resource('long.txt', { maxOutput: 100 })).text).toBe(`${'x'.repeat(100)}\n[The text goes on for 50 characters: give offset 100.]`)
  })

  it.each(['../../../secret.txt', 'docs/../../../../../secret.txt', '../pdf-other/secret.txt', '..', '', '/etc/passwd', 'C:\\x', '\\\\host\\x', 'a\0b', '..\\x'])('that climbs out is refused: %j', async (path) => {
    const { text, error } = await resource(path)
    expect(error).toBe(true)
    expect(text).toMatch(/is not inside of the skill; give a path below its folder\.$/)
  })

  it('whose link leads out is refused and not listed; one whose link stays inside is a file', async () => {
    world.file('project/.agents/skills/pdf/real.md', 'inside')
    symlinkSync(join(world.base, 'secret.txt'), join(folder, 'out.txt'))
    symlinkSync(world.base, join(folder, 'out'))
    symlinkSync('../pdf-other', join(folder, 'sibling'))
    symlinkSync('real.md', join(folder, 'in.md'))
    for (const path of ['out.txt', 'out/secret.txt', 'sibling/secret.txt', 'out']) {
      const { text, error } = await resource(path)
      expect(error).toBe(true)
      expect(text).toMatch(/is not inside of the skill/)
    }
    expect(await resource('in.md')).toEqual({ error: false, text: 'inside' })
    expect((await call(world, { name: 'pdf' })).text).toContain('as resource:\n- in.md\n- real.md\n\n')
  })

  it('of a skill that is a link itself is read where the link leads', async () => {
    world.skill('zip', undefined, 'elsewhere')
    world.file('elsewhere/zip/docs/a.md', 'linked')
    symlinkSync(join(world.base, 'elsewhere/zip'), join(world.project, '.agents/skills/zip'))
    expect(await call(world, { name: 'zip', resource: 'docs/a.md' })).toEqual({ error: false, text: 'linked' })
  })

  it('that is not there, not text, too large or no file is an error that says so', async () => {
    world.file('project/.agents/skills/pdf/image.png', Buffer.from([0x89, 0x50, 0, 1]))
    world.file('project/.agents/skills/pdf/huge.txt', 'x'.repeat(1_000_001))
    execFileSync('mkfifo', [join(folder, 'fifo')])
    expect((await resource('none.md')).text).toBe('There is no "none.md" of the skill pdf; open the skill to see its files.')
    expect((await resource('image.png')).text).toBe('"image.png" of the skill pdf cannot be read: it is not UTF-8 text.')
    expect((await resource('huge.txt')).text).toBe('"huge.txt" of the skill pdf cannot be read: it has 1000001 bytes, more than 1000000.')
    expect((await resource('fifo')).text).toBe('"fifo" of the skill pdf cannot be read: it is not a regular file.')
  })
})
