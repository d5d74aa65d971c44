import type { Agent } from '@headrace/agent'
import { callsOf } from '@headrace/message'
import type { SessionEvent } from '@headrace/session'
import { type Task, tasksIn } from './task.ts'

/** The tool's name: its results are what the list is read from. */
export const TOOL = 'tasks'

/**
 * The list of one session: what the newest call of the turns that stand has set, whatever compaction hides. All of it is derived from the
 * log, so a resume, a fork and a rewind have the list as it was there.
 */
export class TaskList {
  private readonly agent: Agent
  /** What each turn has set last, by its number; undefined until the log was read. */
  private byTurn: Map<number, readonly Task[]> | undefined
  private turn = 0
  /** The event that comes next. */
  private next = 0

  constructor(agent: Agent) {
    this.agent = agent
  }

  /** The list as it is now: at once, but where the log's beginning has to be read. Nothing was ever set where it is undefined. */
  current(): readonly Task[] | undefined | Promise<readonly Task[] | undefined> {
    const { session } = this.agent
    if (this.byTurn || session.first === 0) {
      this.take([...session.events(this.next)])
      return this.newest()
    }
    return session.read(0).then((events) => {
      // Another look may have read it meanwhile.
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
