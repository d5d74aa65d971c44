import { oneLine } from '@headrace/files'

/** A task and its status. */
export interface Task {
  readonly content: string
  readonly status: TaskStatus
}

const MARKS = { pending: '[ ]', in_progress: '[>]', completed: '[x]' } as const

/** The status of a task. */
export type TaskStatus = keyof typeof MARKS

export const STATUSES = Object.keys(MARKS) as readonly TaskStatus[]

/** The list as the model reads it, as the result of its call and as an announcement: one line a task. */
export function shownTasks(tasks: readonly Task[]): string {
  if (tasks.length === 0) return 'Your task list is empty.'
  const done = tasks.filter(({ status }) => status === 'completed').length
  return [`Your task list, ${done} of ${tasks.length} completed:`, ...tasks.map(({ content, status }) => `${MARKS[status]} ${content}`)].join('\n')
}

/** True while something is left to do: a completed list need not be told again. */
export function isOpen(tasks: readonly Task[]): boolean {
  return tasks.some(({ status }) => status !== 'completed')
}

/** The list in the arguments of a call, each task on one line; undefined where they have none. */
export function tasksIn(input: unknown): readonly Task[] | undefined {
  const { tasks } = (input ?? {}) as { readonly tasks?: unknown }
  if (!Array.isArray(tasks)) return undefined
  const list = tasks.map((task: unknown) => {
    const { content, status } = (task ?? {}) as Partial<Task>
    return typeof content === 'string' && status !== undefined && STATUSES.includes(status) ? { content: oneLine(content), status } : undefined
  })
  return list.every((task) => task !== undefined) ? list : undefined
}
