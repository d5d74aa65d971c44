import { resolve } from 'node:path'
import type { Agent, Context } from '@headrace/agent'
import type {} from '@headrace/briefing'
import { strict } from '@headrace/config'
import { textOf } from '@headrace/message'
import z from 'schemastery'
import { type Glossary, readGlossary } from './glossary.ts'

/** Signs what this plugin adds: `plugin-name/terms`. */
export const name = 'plugin-name'
export const inject = ['briefing', 'tools']

export interface Config {
  /** The file, seen from the agent's folder. */
  readonly file: string
  /** Meanings told with one prompt, at most. */
  readonly limit: number
}

// `strict`: a key that there is none of is refused, in code as in YAML, and not left to its default.
export const Config: z<Partial<Config>, Config> = strict(z.object({
  file: z.string().default('GLOSSARY.md').description('The file, seen from the agent\'s folder.'),
  limit: z.natural().default(3).description('Meanings told with one prompt, at most.'),
}))

// `async`, because Cordis calls a plain `function apply` with `new`. What is registered here goes when the plugin is unloaded.
export async function apply(ctx: Context, config: Config): Promise<void> {
  const glossary = (agent: Agent): Promise<Glossary> => readGlossary(resolve(agent.cwd, config.file))

  // A topic: standing context, told once in the history, and again when it changes.
  ctx.briefing.topic({
    key: 'terms',
    content: async (agent) => termsOf(await glossary(agent)),
    changed: (text) => `The glossary has changed. ${text}`,
  })

  // A tool: what the model asks for itself.
  ctx.tools.define({
    name: 'plugin-name-lookup',
    description: 'Looks up what a term of this project\'s glossary means.',
    parameters: { type: 'object', properties: { term: { type: 'string' } }, required: ['term'], additionalProperties: false },
    execute: async ({ term }: { readonly term: string }, { agent }) => (await glossary(agent)).get(term) ?? { error: true, content: `There is no term "${term}" in the glossary.` },
  })

  // A seam: a term in the user's words is told with them, once.
  ctx.on('agent/prompt-submit', async (agent, _turn, submission, next) => {
    const decision = await next()
    if ('block' in decision) return decision
    const [words, told] = [textOf(submission.input), ctx.briefing.told(agent)]
    const mine = [...await glossary(agent)]
      .filter(([term]) => words.includes(term))
      .map(([term, meaning]) => ({ key: `term ${term}`, content: `In this project "${term}" means: ${meaning}` }))
      .filter(({ key, content }) => told.get(key) !== content)
    return { ...decision, additionalContext: [...decision.additionalContext ?? [], ...mine.slice(0, config.limit)] }
  })
}

function termsOf(glossary: Glossary): string | undefined {
  return glossary.size === 0 ? undefined : `Terms of this project's glossary: ${[...glossary.keys()].join(', ')}.`
}
