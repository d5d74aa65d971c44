import { join } from 'node:path'
import type { Plugin } from 'cordis'
import type { AssistantMessage, Message, Request } from '@headrace/message'
import * as agentsMd from '@headrace/plugin-agents-md'
import * as environment from '@headrace/plugin-environment'
import * as skills from '@headrace/plugin-skills'
import * as workspaceTools from '@headrace/plugin-workspace-tools'
import { type Harness, type Reply, harness } from '@headrace/testing'
import { type Channel, briefingOn } from './cache-channel.ts'
import { atTime } from './cache-clock.ts'
import { FOLDER, SOURCES, instructions, makeProject, prose, write } from './cache-project.ts'
import { inFolder } from './folder.ts'

/** What was sent in a session, and what the model answered to each. */
export interface Recording {
  readonly requests: readonly Request[]
  readonly answers: readonly AssistantMessage[]
  /** The root of the repository. */
  readonly root: string
}

export const TURNS = 20
/** Steps of a turn, one number each session: questions, usual work, long work. The turns differ by one. */
export const SESSIONS: readonly number[] = [1, 3, 6]

/** Records the sessions with their facts in a channel. Nothing in them depends on the machine or on the day. */
export async function recordSessions(channel: Channel, sessions = SESSIONS): Promise<readonly Recording[]> {
  const recordings: Recording[] = []
  for (const steps of sessions) recordings.push(await inFolder((root) => atTime('2026-06-15T09:00:00Z', (move) => record(root, channel, steps, move))))
  return recordings
}

async function record(root: string, channel: Channel, steps: number, move: (to: string) => void): Promise<Recording> {
  const cwd = await makeProject(root)
  const script = new ScriptedWork(steps)
  const app = await harness({
    agent: { cwd },
    script: async (_, index) => script.next(index, () => happen(root, script.turn, script.step, move)),
    plugins: [
      briefingOn(channel), [workspaceTools, {}], [agentsMd, { global: false }], [skills, { user: false }],
      [environment, { timeZone: 'UTC', channel: channel === 'after' ? 'after' : 'inject' }], who,
    ] as NonNullable<Parameters<typeof harness>[0]>['plugins'] & object,
  })
  try {
    for (let turn = 1; turn <= TURNS; turn++) await oneTurn(app, script, turn)
    return { requests: app.requests, root, answers: answersOf(app.agent.session.deriveMessages()) }
  } finally {
    await app.dispose()
  }
}

/** Who the agent is: the same in every channel. */
const who: Plugin = { name: 'who', inject: ['system'], apply: async (ctx) => void ctx.system.section({ key: 'who', order: -100, content: prose(7, 120) }) }

async function oneTurn(app: Harness, script: ScriptedWork, turn: number): Promise<void> {
  // The next morning another process takes the session up.
  if (turn === 17) await app.resume()
  script.begin(turn)
  const { reason, error } = await app.run(`Turn ${turn}: ${prose(500 + turn, 30)}?`)
  if (reason !== 'done') throw new Error(`turn ${turn} ended ${reason}: ${error?.message ?? ''}`)
}

/** What happens around the agent while it works. */
async function happen(root: string, turn: number, step: number, move: (to: string) => void): Promise<void> {
  if (step !== 1) return
  if (turn === 7) await write(root, '.git/HEAD', 'ref: refs/heads/topic/rows\n')
  if (turn === 11) await write(root, `${FOLDER}/AGENTS.md`, instructions(5, 130))
  if (turn === 14) move('2026-06-16T00:01:00Z')
  if (turn === 16) move('2026-06-16T09:00:00Z')
}

/** A model that reads, searches, opens a skill now and then, and answers in its last step. */
class ScriptedWork {
  turn = 0
  step = 0
  private readonly steps: number

  constructor(steps: number) {
    this.steps = steps
  }

  begin(turn: number): void {
    this.turn = turn
    this.step = 0
  }

  async next(index: number, around: () => Promise<void>): Promise<Reply> {
    this.step++
    await around()
    if (this.step >= this.steps + (this.turn % 2)) return prose(9_000 + index, 60)
    const text = prose(5_000 + index, 12)
    if (index % 13 === 5) return { text, calls: [{ name: 'skill', arguments: { name: `task-${String(index % 30).padStart(2, '0')}` } }] }
    const path = SOURCES[index % SOURCES.length]!
    if (index % 5 === 1) return { text, calls: [{ name: 'grep', arguments: { pattern: 'cache', path: 'src' } }, { name: 'list', arguments: { path: join(path, '..') } }] }
    return { text, calls: [{ name: 'read', arguments: { path, limit: 20 + (index % 40) } }] }
  }
}

function answersOf(messages: readonly Message[]): readonly AssistantMessage[] {
  return messages.filter((message): message is AssistantMessage => message.role === 'assistant')
}
