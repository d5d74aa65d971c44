import { mkdirSync, mkdtempSync, realpathSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { BriefingService } from '@headrace/briefing'
import { textOf } from '@headrace/message'
import * as skills from '@headrace/plugin-skills'
import { removeFolder } from '@headrace/testing/folder'
import { type Harness, type HarnessOptions, harness } from '@headrace/testing'
import { vi } from 'vitest'

/** A project and a home of a user, on a real disk, that know nothing of each other and of this machine. */
export class World {
  readonly base = realpathSync(mkdtempSync(join(tmpdir(), 'skills-')))
  readonly project = join(this.base, 'project')
  readonly home = join(this.base, 'home')

  constructor() {
    vi.stubEnv('HOME', this.home)
    vi.stubEnv('USERPROFILE', this.home)
    vi.stubEnv('XDG_CONFIG_HOME', '')
    mkdirSync(join(this.project, '.git'), { recursive: true })
    mkdirSync(this.home)
  }

  /** Writes a file below the base, and gives its path. */
  file(path: string, content: string | Uint8Array = ''): string {
    const at = join(this.base, path)
    mkdirSync(dirname(at), { recursive: true })
    writeFileSync(at, content)
    return at
  }

  /** Writes the SKILL.md of a folder in the project's root, or in another. */
  skill(folder: string, content: string | Uint8Array = skillText(folder), root = 'project/.agents/skills'): string {
    return this.file(`${root}/${folder}/SKILL.md`, content)
  }

  remove(): void {
    vi.unstubAllEnvs()
    removeFolder(this.base)
  }
}

export function skillText(name: string, description = `Does ${name}.`, body = `Do ${name}.`): string {
  return `---\nname: ${name}\ndescription: ${description}\n---\n\n${body}\n`
}

/** An app with the plugin and one agent in the project's folder. */
export async function setup(world: World, config: Partial<skills.Config> = {}, options: HarnessOptions = {}): Promise<Harness> {
  return harness({
    ...options,
    plugins: [BriefingService, [skills, config], ...(options.plugins ?? [])],
    agent: { cwd: world.project, ...options.agent },
  })
}

/** What the project's folder comes to: names and descriptions of skills, and diagnostics by code. */
export async function survey(world: World, config: Partial<skills.Config> = {}, cwd = world.project) {
  const h = await setup(world, config)
  const list = await h.ctx.skills.list({ cwd })
  const diagnostics = await h.ctx.skills.diagnostics({ cwd })
  await h.dispose()
  return { list, names: list.map(({ name }) => name), diagnostics, codes: diagnostics.map(({ code }) => code) }
}

/** What the plugin told in history. */
export function told(h: Harness): readonly string[] {
  return h.agent.session.entries().filter(({ owner }) => owner.startsWith('skills/')).map(({ owner, message }) => `${owner}: ${textOf(message)}`)
}

/** What a call of the tool gave the model. */
export function result(h: Harness, request = 1): { readonly text: string; readonly error: boolean } {
  const message = h.requests[request]!.messages.findLast(({ role }) => role === 'tool')
  const [block] = message?.role === 'tool' ? message.content : []
  return { text: textOf({ content: block?.content ?? [] }), error: block?.error === true }
}

/** Runs one call of the tool in a new agent, and gives what the model got. */
export async function call(world: World, args: object, config: Partial<skills.Config> = {}) {
  const h = await setup(world, config, { script: [{ calls: [{ name: 'skill', arguments: args }] }, 'done'] })
  await h.run('Go')
  const got = result(h)
  await h.dispose()
  return got
}
