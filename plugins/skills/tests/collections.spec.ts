import { symlinkSync } from 'node:fs'
import { join, relative } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { World, skillText, survey } from './kit.ts'

// Trees with the folders, file names, fields and links of collections that are published; the texts are ours.

let world: World
beforeEach(() => void (world = new World()))
afterEach(() => world.remove())

const at = (path: string): string => join(world.base, path)

/** Names with where each was found, and what is reported, of one root. */
async function found(root: string): Promise<{ readonly skills: readonly string[]; readonly reported: readonly string[] }> {
  const { list, diagnostics } = await survey(world, { roots: [at(root)] })
  return {
    skills: list.map(({ name, file }) => `${name} ${relative(at(root), file)}`),
    reported: diagnostics.map(({ severity, code, path }) => `${severity} ${code} ${relative(at(root), path)}`),
  }
}

describe('a marketplace of plugins', () => {
  it('has the skills of each; a name that several have is the first one’s, and the others are reported', async () => {
    for (const plugin of ['audio', 'mail', 'text']) {
      world.file(`market/plugins/${plugin}/skills/setup/SKILL.md`, skillText('setup', `Sets ${plugin} up.`))
      world.file(`market/plugins/${plugin}/skills/${plugin}-run/SKILL.md`, `---\nname: ${plugin}-run\ndescription: Runs it.\nargument-hint: [file]\nmodel: haiku\nallowed-tools: Read, Bash\n---\n\nRun it.\n`)
      world.file(`market/plugins/${plugin}/README.md`, '# x')
      world.file(`market/plugins/${plugin}/commands/setup.md`, '# x')
    }
    world.file('market/.claude-plugin/marketplace.json', '{}')
    symlinkSync('../plugins', at('market/.claude-plugin/plugins'))
    const { skills, reported } = await found('market')
    // By the link, which comes first in order, each is reached too; it is there once.
    expect(skills.map((skill) => skill.replace('.claude-plugin/', ''))).toEqual([
      'audio-run plugins/audio/skills/audio-run/SKILL.md', 'mail-run plugins/mail/skills/mail-run/SKILL.md',
      'setup plugins/audio/skills/setup/SKILL.md', 'text-run plugins/text/skills/text-run/SKILL.md',
    ])
    expect(reported.map((line) => line.replace('.claude-plugin/', ''))).toEqual([
      'warning FIELD_UNKNOWN plugins/audio/skills/audio-run/SKILL.md',
      'warning FIELD_UNKNOWN plugins/mail/skills/mail-run/SKILL.md', 'error SHADOWED plugins/mail/skills/setup/SKILL.md',
      'error SHADOWED plugins/text/skills/setup/SKILL.md', 'warning FIELD_UNKNOWN plugins/text/skills/text-run/SKILL.md',
    ])
  })
})

describe('a repository that is its own plugin', () => {
  it('by links into itself is found once; drafts of the same name and overlays without a frontmatter are reported', async () => {
    for (const name of ['flow', 'case']) world.file(`vendor/skills/${name}/SKILL.md`, skillText(name))
    world.file('vendor/preview/flow/SKILL.md', skillText('flow', 'A draft of it.'))
    world.file('vendor/skill-flavors/web/case/SKILL.md', '# Only what differs here\n')
    world.file('vendor/plugins/x.json', '{}')
    world.file('vendor/.agents/x.md', 'x')
    symlinkSync('..', at('vendor/plugins/vendor'))
    symlinkSync('../skills', at('vendor/.agents/skills'))
    symlinkSync('CLAUDE.md', at('vendor/AGENTS.md'))
    world.file('vendor/CLAUDE.md', 'x')
    const { skills, reported } = await found('vendor')
    expect(skills.map((line) => line.split(' ')[0])).toEqual(['case', 'flow'])
    expect(reported.filter((line) => line.includes('SHADOWED'))).toHaveLength(1)
    expect(reported.filter((line) => line.includes('FRONTMATTER_MISSING'))).toEqual(['error FRONTMATTER_MISSING skill-flavors/web/case/SKILL.md'])
  })

  it('has its skills in a project whose .agents/skills is a link', async () => {
    world.file('project/skills/flow/SKILL.md', skillText('flow'))
    world.file('project/.agents/x.md', 'x')
    symlinkSync('../skills', at('project/.agents/skills'))
    expect((await survey(world)).names).toEqual(['flow'])
  })
})

describe('a farm of links', () => {
  it('to another machine’s folders is reported link by link, and what stands beside it is found; a template in a skill is the skill’s', async () => {
    const names = ['prd-to-api', 'pm-interview', 'mkit-builder']
    for (const name of names) {
      world.file(`farm/product/specs/${name}/SKILL.md`, skillText(name))
      world.file('farm/skills/notes.md', 'x')
      symlinkSync(`/Users/nobody/dev/agent-skills/./product/specs/${name}`, at(`farm/skills/${name}`))
    }
    world.file('farm/SKILL.md', '# All of our skills\n')
    world.file('farm/utilities/bench/SKILL.md', skillText('bench'))
    world.file('farm/utilities/bench/assets/template/.codex/skills/report_compiler/SKILL.md', skillText('report_compiler'))
    world.file('farm/frontend/ui/charts/SKILL.md', '---\nname: house-charts\ndescription: Draws charts.\nmetadata:\n  author: us\n  version: "1.0"\n  tags: [a, b]\n---\n\nDraw.\n')
    const { skills, reported } = await found('farm')
    expect(skills).toEqual([
      'bench utilities/bench/SKILL.md', 'house-charts frontend/ui/charts/SKILL.md', 'mkit-builder product/specs/mkit-builder/SKILL.md',
      'pm-interview product/specs/pm-interview/SKILL.md', 'prd-to-api product/specs/prd-to-api/SKILL.md',
    ])
    expect(reported).toEqual([
      'error FRONTMATTER_MISSING SKILL.md',
      'warning NAME_MISMATCH frontend/ui/charts/SKILL.md', 'warning FIELD_INVALID frontend/ui/charts/SKILL.md',
      ...[...names].sort().map((name) => `error LINK_DANGLING skills/${name}`),
    ])
  })
})
