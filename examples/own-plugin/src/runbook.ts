import { appendFile, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Context } from 'headrace'
import { z } from 'zod'

export const name = 'runbook'
export const inject = ['agents', 'briefing', 'tools']

/** A plugin with a topic, a tool and a rule. All of it is removed when the plugin is unloaded. */
export async function apply(ctx: Context): Promise<void> {
  // Told once, ahead of the first prompt, and again when the file has changed; signed `runbook/steps`.
  ctx.briefing.topic({ key: 'steps', content: (agent) => readFile(join(agent.cwd, 'RUNBOOK.md'), 'utf8').catch(() => undefined) })

  ctx.tools.define({
    name: 'page',
    description: 'Pages the person on call.',
    parameters: z.object({ message: z.string().describe('What they should know.') }),
    execute: async ({ message }, { agent }) => {
      await appendFile(join(agent.cwd, 'pages.log'), `${message}\n`)
      return 'They were paged.'
    },
  })

  // Runs before the tool does, and before any question.
  ctx.on('tools/pre-execute', async (_agent, _turn, call, next) => (call.name === 'bash' ? { deny: 'On this machine only the person on call runs commands. Page them.' } : next()))
}
