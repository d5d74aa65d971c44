import { randomUUID } from 'node:crypto'
import * as agentPlugin from '@headrace/agent'
import * as agentsMd from '@headrace/plugin-agents-md'
import * as models from '@headrace/plugin-models'
import * as environment from '@headrace/plugin-environment'
import * as skills from '@headrace/plugin-skills'
import { MemoryStore } from '@headrace/session'
import { Context, type Plugin } from 'cordis'
import { type Channel, briefingOn } from './cache-channel.ts'
import { FOLDER, instructions, makeProject, prose, write } from './cache-project.ts'
import { inFolder } from './folder.ts'

/** `npm run e2e:cache`: what a real endpoint says it read from its cache. Its key is in the provider's variable, or in HEADRACE_API_KEY. */
export interface Endpoint {
  /** `provider/model`; with a URL, the endpoint's own name of the model. */
  readonly model: string
  readonly baseURL?: string | undefined
}

export interface Reported {
  readonly input: number
  readonly cached: number
}

/** Five turns with facts in a channel; AGENTS.md changes before the third, the branch before the fifth. Usage by turn. */
export async function measureEndpoint(channel: Channel, { model, baseURL }: Endpoint): Promise<readonly Reported[]> {
  return inFolder(async (root) => {
    const cwd = await makeProject(root)
    const ctx = new Context()
    await ctx.plugin(agentPlugin, {})
    ctx.sessions.store(new MemoryStore())
    const parts = [
      [models, baseURL === undefined ? {} : { providers: { endpoint: { baseURL } } }], [briefingOn(channel), {}],
      [agentsMd, { global: false }], [skills, { user: false }], [environment, {}],
    ] as const
    for (const [plugin, config] of parts) await ctx.plugin(plugin as unknown as Plugin, config)
    // Nothing of an earlier run is in a cache.
    ctx.system.section({ key: 'who', order: -100, content: `Session ${randomUUID()}. Answer in one short sentence.` })
    const agent = await ctx.agents.create({ model: baseURL === undefined ? model : `endpoint/${model}`, cwd, config: { maxOutputTokens: 200 } })
    const turns: Reported[] = []
    try {
      for (let turn = 1; turn <= 5; turn++) {
        if (turn === 3) await write(root, `${FOLDER}/AGENTS.md`, instructions(5, 130))
        if (turn === 5) await write(root, '.git/HEAD', 'ref: refs/heads/topic/rows\n')
        const { reason, error, usage } = await agent.prompt(`Which word of these is the longest? ${prose(turn, 400)}`).result
        if (reason !== 'done') throw new Error(`turn ${turn} ended ${reason}: ${error?.message ?? ''}`)
        turns.push({ input: usage.input, cached: usage.cached })
      }
    } finally {
      await agent.dispose()
      await ctx.fiber.dispose()
    }
    return turns
  })
}

export async function main(
  { HEADRACE_E2E_MODEL: model, HEADRACE_E2E_BASE_URL: baseURL }: NodeJS.ProcessEnv,
  print = console.log,
): Promise<void> {
  if (!model) {
    print(
      'Nothing was measured: set HEADRACE_E2E_MODEL to a provider/model, and its key (or HEADRACE_E2E_BASE_URL to an endpoint).',
    )
    return
  }
  for (const [channel, title] of [
    ['history', 'facts in history'],
    ['system', 'facts in the system prompt'],
  ] as const) {
    const turns = await measureEndpoint(channel, { model, baseURL })
    const [input, cached] = [sum(turns.map((turn) => turn.input)), sum(turns.map((turn) => turn.cached))]
    print(
      `${title}: ${cached} of ${input} tokens from the cache, ${input - cached} at full price; by turn ${turns.map((turn) => `${turn.cached}/${turn.input}`).join(', ')}`,
    )
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}

if (import.meta.filename === process.argv[1]) await main(process.env)
