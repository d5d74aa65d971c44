import type { Agent } from '@headrace/agent'
import { callsOf } from '@headrace/message'
import type { SessionEvent } from '@headrace/session'
import { type Task, tasksIn } from './task.ts'

/** The tool's name: the list is read from its results. */
export const TOOL = 'tasks'

/**
 * The list of one session: set by the newest call in the turns that were not rewound, even if compaction hides it. It
 * is derived from the log, so a resume, a fork and a rewind have the list as it was at that point.
 */
export class TaskList {
  private readonly agent: Agent
  /** The last list of each turn, by its number; undefined until the log was read. */
  private byTurn: Map<number, readonly Task[]> | undefined
  private turn = 0
  /** The seq of the next event to read. */
  private next = 0

  constructor(agent: Agent) {
    this.agent = agent
  }

  /**
   * The list as it is now: synchronous, unless the log's beginning has to be read. Undefined where none was ever set.
   */
  current(): readonly Task[] | undefined | Promise<readonly Task[] | undefined> {
    const { session } = this.agent
    if (this.byTurn || session.first === 0) {
      this.take([...session.events(this.next)])
      return this.newest()
    }
    return session.read(0).then((events) => {
      // Another call may have read it meanwhile.
      if (!this.byTurn) this.take(events)
      return this.current()
    })
  }

  private take(events: readonly SessionEvent[]): void {
    this.byTurn ??= new Map()
    const start = events[0]?.seq ?? 0
    for (const event of events) {
      if (event.type === 'turn/start') this.turn = event.data.turn
      if (event.type !== 'tool/result' || event.data.outcome !== 'done' || event.data.message.content[0].name !== TOOL) continue
      const { assistant, index } = event.data
      const answer = assistant < start ? this.agent.session.at(assistant) : events[assistant - start]
      const tasks = answer?.type === 'assistant/message' ? tasksOf(callsOf(answer.data.message)[index]?.arguments) : undefined
      if (tasks) this.byTurn.set(this.turn, tasks)
    }
    this.next += events.length
  }

  private newest(): readonly Task[] | undefined {
    if (this.byTurn!.size === 0) return undefined
    const turn = this.agent.session.turns.findLast(({ turn: number }) => this.byTurn!.has(number))
    return turn && this.byTurn!.get(turn.turn)
  }
}

function tasksOf(text: string | undefined): readonly Task[] | undefined {
  try {
    return tasksIn(JSON.parse(text ?? ''))
  } catch {
    return undefined
  }
}
