import type { Agent, Context, ToolDefinition } from '@headrace/agent'
import { unavailable } from '@headrace/briefing'
import { strict } from '@headrace/config'
import type { SessionView } from '@headrace/session'
import z from 'schemastery'
import { STATUSES, type Task, isOpen, shownTasks, tasksIn } from './task.ts'
import { TOOL, TaskList } from './task-list.ts'

export const name = 'tasks'
export const inject = ['agents', 'briefing', 'tools']

/** Config of the plugin. */
export interface Config {
  /** Tasks of a list; a longer one is refused. */
  readonly maxTasks: number
  /** Characters of a task; a longer one is refused. */
  readonly maxLength: number
}

export const Config: z<Partial<Config>, Config> = strict(z.object({
  maxTasks: z.natural().min(1).default(50).description('Tasks of a list; a longer one is refused.'),
  maxLength: z.natural().min(10).default(500).description('Characters of a task; a longer one is refused.'),
}))

export async function apply(ctx: Context, config: Config): Promise<void> {
  const lists = new WeakMap<SessionView, TaskList>()
  const listOf = (agent: Agent): TaskList => {
    let list = lists.get(agent.session)
    if (!list) lists.set(agent.session, (list = new TaskList(agent)))
    return list
  }
  ctx.tools.define(tasksTool(config))
  ctx.briefing.topic({
    key: 'list',
    tool: TOOL,
    // The last topic: the list is nearest to where the work continues.
    order: 90,
    content: (agent) => {
      const tasks = listOf(agent).current()
      return tasks instanceof Promise ? tasks.then(stateOf) : stateOf(tasks)
    },
    changed: (text) => text,
  })
}

/** The topic's text. A completed list is not told again. */
function stateOf(tasks: readonly Task[] | undefined): string | typeof unavailable {
  return tasks && isOpen(tasks) ? shownTasks(tasks) : unavailable
}

interface Input {
  readonly tasks: readonly Task[]
}

/** The tool that sets the list. Its result is the topic's text, so that it counts as told. */
function tasksTool({ maxTasks, maxLength }: Config): ToolDefinition<Input> {
  return {
    name: TOOL,
    description: 'Keeps your list of tasks, which the user sees as your plan. Use it for work of three steps or more, and where several things were asked for; not for what takes a step or two. Each call gives the whole list anew, in order. Have one task in_progress while you work on it; set it to completed as soon as it is done, and not before.',
    parameters: {
      type: 'object',
      properties: {
        tasks: {
          type: 'array',
          description: 'The whole list; it takes the place of the one before.',
          items: {
            type: 'object',
            properties: {
              content: { type: 'string', minLength: 1, description: 'What is to be done, in a line.' },
              status: { type: 'string', enum: [...STATUSES] },
            },
            required: ['content', 'status'],
          },
        },
      },
      required: ['tasks'],
    },
    // Of several calls in one answer the last counts.
    sequential: true,
    execute(input) {
      const tasks = tasksIn(input) ?? []
      if (tasks.length > maxTasks) throw new Error(`The list has ${tasks.length} tasks; it may have ${maxTasks}. Put steps that belong together into one task.`)
      const long = tasks.findIndex(({ content }) => content.length > maxLength)
      if (long >= 0) throw new Error(`Task ${long + 1} has ${tasks[long]!.content.length} characters; it may have ${maxLength}.`)
      const blank = tasks.findIndex(({ content }) => content === '')
      if (blank >= 0) throw new Error(`Task ${blank + 1} says nothing.`)
      return { content: shownTasks(tasks), details: { kind: 'plan', entries: tasks.map((task) => ({ ...task })) } }
    },
  }
}
