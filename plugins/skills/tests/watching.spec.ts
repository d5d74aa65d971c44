import { mkdirSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { type FileSystem, nodeFiles } from '@headrace/files'
import { Config } from '../src/config.ts'
import { type SkillSet, skillSetOf } from '../src/library.ts'
import { SkillIndex, rootsOf } from '../src/skill-index.ts'
import { Slices } from '../src/slices.ts'
import { World, setup, skillText } from './kit.ts'

let world: World
beforeEach(() => void (world = new World()))
afterEach(() => {
  vi.restoreAllMocks()
  world.remove()
})

/** The skills of the project's folder, on a file system. */
class Folder {
  private readonly index: SkillIndex
  private last: readonly [survey: object, set: SkillSet] | undefined

  constructor(files: FileSystem, config: Partial<Config> = {}) {
    this.index = new SkillIndex(() => rootsOf(world.project, Config(config), files), files, Config({}).maxFile)
  }

  async look(): Promise<SkillSet> {
    const survey = await this.index.look()
    if (this.last?.[0] !== survey) this.last = [survey, skillSetOf([survey])]
    return this.last![1]
  }
}

/** A file system that counts, and that fails where it is told to. */
function counting() {
  const calls = { stat: 0, list: 0, real: 0, read: 0 }
  const failing = new Map<string, string>()
  const count = (name: keyof typeof calls, path: string): void => {
    calls[name]++
    if (failing.has(path)) throw Object.assign(new Error(failing.get(path)), { code: failing.get(path) })
  }
  const counted: FileSystem = {
    lstat: (path) => { count('stat', path); return nodeFiles.lstat(path) },
    stat: (path) => { count('stat', path); return nodeFiles.stat(path) },
    list: async (path) => { count('list', path); return nodeFiles.list(path) },
    realpath: async (path) => { count('real', path); return nodeFiles.realpath(path) },
    read: async (path, max) => { count('read', path); return nodeFiles.read(path, max) },
  }
  const take = () => {
    const taken = { ...calls }
    Object.assign(calls, { stat: 0, list: 0, real: 0, read: 0 })
    return taken
  }
  return { failing, take, disk: counted }
}

/** Holds up who comes to it until it is opened. */
class Gate {
  private readonly opened: Promise<void>
  readonly reached: Promise<void>
  open: () => void = () => undefined
  private arrive: () => void = () => undefined

  constructor() {
    this.opened = new Promise((resolve) => (this.open = resolve))
    this.reached = new Promise((resolve) => (this.arrive = resolve))
  }

  wait(): Promise<void> {
    this.arrive()
    return this.opened
  }
}

const { now } = Date
/** From now on it is a second later: a folder that just changed is listed again only for a moment. */
const settle = (): void => void vi.spyOn(Date, 'now').mockImplementation(() => now() + 1_000)

describe('a look', () => {
  it('at what did not change is one stat for each root and each folder in one, and reads nothing', async () => {
    for (let index = 0; index < 30; index++) world.skill(`skill-${index}`, undefined, index % 2 ? 'project/.agents/skills' : 'home/.claude/skills')
    world.file('project/.agents/skills/README.md')
    settle()
    const { take, disk } = counting()
    const index = new Folder(disk)
    const shelf = await index.look()
    expect(shelf.skills).toHaveLength(30)
    // One marker, five roots, three of them absent and no links, thirty skills.
    expect(take()).toEqual({ stat: 39, list: 2, real: 30, read: 30 })
    expect(await index.look()).toBe(shelf)
    expect(take()).toEqual({ stat: 35, list: 0, real: 0, read: 0 })
    world.skill('skill-3', skillText('skill-3', 'Edited.'))
    expect((await index.look()).byName.get('skill-3')!.description).toBe('Edited.')
    expect(take()).toEqual({ stat: 35, list: 0, real: 1, read: 1 })
  })

  it('in an app: a step in which nothing changed reads nothing, and asks once for each file that is watched', async () => {
    for (let index = 0; index < 10; index++) world.skill(`skill-${index}`)
    settle()
    const spies = (['lstat', 'stat', 'list', 'realpath', 'read'] as const).map((name) => vi.spyOn(nodeFiles, name))
    const h = await setup(world, {}, { script: (_, index) => (index % 3 < 2 ? { calls: [{ name: 'none' }] } : 'done') })
    await h.run('Go')
    for (const spy of spies) spy.mockClear()
    // Three steps: the look for the prompt serves them, since no call can have changed a skill.
    await h.run('Go')
    expect(h.requests).toHaveLength(6)
    expect(spies.map((spy) => spy.mock.calls.length)).toEqual([10, 5, 0, 0, 0])
    await h.dispose()
  })

  it('sees an edit that keeps size and time, and a file that another one replaced', async () => {
    const path = world.skill('pdf', skillText('pdf', 'One.'))
    const time = new Date(1_700_000_000_000)
    utimesSync(path, time, time)
    const index = new Folder(nodeFiles)
    expect((await index.look()).skills[0]!.description).toBe('One.')
    settle()
    writeFileSync(path, skillText('pdf', 'Two.'))
    utimesSync(path, time, time)
    expect((await index.look()).skills[0]!.description).toBe('Two.')
  })

  it('that the system cannot answer now keeps what was known, and asks again', async () => {
    const path = world.skill('pdf')
    const root = join(world.project, '.agents/skills')
    const { disk, failing } = counting()
    const index = new Folder(disk)
    await index.look()
    failing.set(path, 'EIO').set(root, 'EMFILE')
    const shelf = await index.look()
    expect(shelf.skills).toHaveLength(1)
    expect(shelf.diagnostics).toMatchObject([{ code: 'ROOT_UNREADABLE', message: 'this folder of skills cannot be read: too many files are open' }])
    failing.clear()
    expect((await index.look()).diagnostics).toEqual([])
    failing.set(path, 'EACCES')
    const denied = await index.look()
    expect(denied.skills).toEqual([])
    expect(denied.diagnostics).toMatchObject([{ code: 'FILE_UNREADABLE', message: 'it cannot be read: the system does not permit it' }])
    expect(await index.look()).toBe(denied)
  })

  it('that is asked for while another runs sees what changed before it was asked for', async () => {
    world.skill('pdf')
    const gate = new Gate()
    const list: FileSystem['list'] = async (path) => {
      const items = await nodeFiles.list(path)
      await gate.wait()
      return items
    }
    const index = new Folder({ ...nodeFiles, list })
    const first = index.look()
    await gate.reached
    world.skill('zip')
    const [second, third] = [index.look(), index.look()]
    gate.open()
    expect((await first).skills.map(({ name }) => name)).toEqual(['pdf'])
    expect((await second).skills.map(({ name }) => name)).toEqual(['pdf', 'zip'])
    expect(await third).toBe(await second)
  })

  it('lists a folder again that changed a moment ago: its time may not show what came in the same tick', async () => {
    world.skill('pdf')
    const frozen = nodeFiles.stat(join(world.project, '.agents/skills'))!
    vi.spyOn(Date, 'now').mockReturnValue(1_000)
    const changed = Date.now()
    const index = new Folder({ ...nodeFiles, stat: (path) => (path.endsWith('skills') ? { ...frozen, id: path, changed } : nodeFiles.stat(path)) })
    expect((await index.look()).skills).toHaveLength(1)
    world.skill('zip')
    expect((await index.look()).skills).toHaveLength(2)
  })

  it('goes once to a root that is reached by two paths', async () => {
    for (const name of ['pdf', 'zip']) world.skill(name)
    mkdirSync(join(world.project, '.claude'))
    symlinkSync('../.agents/skills', join(world.project, '.claude/skills'))
    settle()
    const { take, disk } = counting()
    const index = new Folder(disk, { user: false })
    await index.look()
    take()
    await index.look()
    expect(take()).toEqual({ stat: 4, list: 0, real: 0, read: 0 })
  })

  it('finds a root, a SKILL.md and a folder that come later', async () => {
    const index = new Folder(nodeFiles)
    expect((await index.look()).skills).toEqual([])
    world.file('project/.claude/skills/pdf/notes.md')
    expect((await index.look()).skills).toEqual([])
    world.skill('pdf', undefined, 'project/.claude/skills')
    expect((await index.look()).skills).toHaveLength(1)
    world.skill('zip', undefined, 'project/.claude/skills')
    expect((await index.look()).skills).toHaveLength(2)
    rmSync(join(world.project, '.claude'), { recursive: true })
    expect((await index.look()).skills).toEqual([])
  })
})

/** Turns that others get on the event loop while something works. */
async function turnsDuring<T>(work: Promise<T>): Promise<number> {
  let [turns, isDone] = [0, false]
  const working = work.finally(() => (isDone = true))
  while (!isDone) {
    await setImmediate()
    turns++
  }
  await working
  return turns
}

describe('many skills', () => {
  it('are read, and looked at again, in slices of 5 ms: others have a turn between them', async () => {
    for (let index = 0; index < 200; index++) world.skill(`skill-${index}`)
    settle()
    // A clock by which each look at it takes a millisecond: six skills or fewer to a slice. How long that takes really, the bench measures.
    let now = 0
    vi.spyOn(performance, 'now').mockImplementation(() => ++now)
    const index = new Folder(nodeFiles, { user: false })
    expect(await turnsDuring(index.look())).toBeGreaterThanOrEqual(200 / 6)
    expect(await turnsDuring(index.look())).toBeGreaterThanOrEqual(200 / 6)
    vi.mocked(performance.now).mockReturnValue(0)
    expect(await turnsDuring(index.look())).toBeLessThan(10)
  })
})

describe('slices', () => {
  it('run pieces in order, one that throws harms none, and others have a turn between them', async () => {
    const slices = new Slices()
    const done: number[] = []
    let turns = 0
    let time = 0
    vi.spyOn(performance, 'now').mockImplementation(() => time)
    const count = async (): Promise<void> => {
      while (done.length < 30) {
        await setImmediate()
        turns++
      }
    }
    const piece = (index: number) => () => {
      time += 2
      done.push(index)
      if (index === 3) throw new Error('mine')
    }
    const counting = count()
    const results = await Promise.allSettled(Array.from({ length: 30 }, (_, index) => slices.run(piece(index))))
    await counting
    expect(done).toEqual(Array.from({ length: 30 }, (_, index) => index))
    expect(results.filter(({ status }) => status === 'rejected')).toHaveLength(1)
    expect(turns).toBeGreaterThan(5)
  })
})
