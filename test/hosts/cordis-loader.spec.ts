import { Context } from 'cordis'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { fibersOf, whyNotRunning } from '@headrace/cordis'
import { type ScriptedAdapter, scriptedAdapter } from '@headrace/testing'
import headrace from 'headrace'

// Cordis' own loader, from npm, hosts the set: it knows nothing of headrace, and headrace nothing of it. Its types are of an older Cordis
// and would change those of ours, so that the compiler is not to find it.
const NAME: string = '@cordisjs/plugin-loader'
const { Group, Loader } = await import(NAME) as { readonly Group: unknown; readonly Loader: unknown }

/** What of the loader is used here. */
interface CordisLoader {
  readonly builtins: Record<string, unknown>
  create(options: object, parent?: string): Promise<string>
  update(id: string, options: object): Promise<void>
  remove(id: string): void
  await(): Promise<void>
  resolve(id: string): { readonly fiber?: { readonly ctx: Context } }
}

const SERVICES = ['agents', 'sessions', 'llm', 'tools', 'system', 'briefing', 'compaction', 'skills']
const SET = { store: false, providers: false, tools: false, agentsMd: false, skills: false, environment: false, retry: false, compaction: false, quiet: true, model: 'scripted/model' }

let ctx: Context
let loader: CordisLoader
let models: ScriptedAdapter[]
beforeEach(async () => {
  ctx = new Context()
  await (ctx.plugin as (plugin: unknown) => PromiseLike<unknown>)(Loader)
  loader = (ctx as unknown as { readonly loader: CordisLoader }).loader
  models = []
  Object.assign(loader.builtins, {
    headrace, group: Group,
    model: {
      name: 'model', inject: ['llm'],
      apply: async (inner: Context, { says }: { readonly says: string }) => {
        const adapter = scriptedAdapter([says])
        models.push(adapter)
        inner.llm.adapter('scripted', adapter)
      },
    },
  })
})
afterEach(() => ctx.fiber.dispose())

/** Waits until nothing loads any more; all that is loaded runs. */
async function settled(): Promise<void> {
  await loader.await()
  for (const fiber of fibersOf(ctx)) await fiber.await()
  expect(fibersOf(ctx).flatMap((fiber) => whyNotRunning(fiber) ?? [])).toEqual([])
}

async function answer(from: Context): Promise<string> {
  const agent = await from.get('agents')!.create({})
  const { text } = await agent.prompt('Hi').result
  await agent.dispose()
  return text
}

it('loads the set, whichever entry comes first, and a change of its config is a reload', async () => {
  await loader.create({ id: 'model', name: 'cordis:model', config: { says: 'Hello.' } })
  await loader.create({ id: 'set', name: 'cordis:headrace', config: { ...SET, instructions: 'Be brief.' } })
  await settled()
  expect(await answer(ctx)).toBe('Hello.')
  expect(models.at(-1)!.requests[0]!.system).toBe('Be brief.')
  await loader.update('set', { config: { ...SET, instructions: 'Be long.' } })
  await settled()
  expect(await answer(ctx)).toBe('Hello.')
  expect(models.at(-1)!.requests.at(-1)!.system).toBe('Be long.')
  await loader.update('model', { config: { says: 'Again.' } })
  await settled()
  expect(await answer(ctx)).toBe('Again.')
})

it('an entry that is removed takes the set away, and brings it back', async () => {
  const config = { ...SET, instructions: false }
  await loader.create({ id: 'set', name: 'cordis:headrace', config })
  await settled()
  loader.remove('set')
  await expect.poll(() => ctx.get('agents') as unknown).toBeUndefined()
  await loader.create({ id: 'set', name: 'cordis:headrace', config })
  await loader.create({ id: 'model', name: 'cordis:model', config: { says: 'Back.' } })
  await settled()
  expect(await answer(ctx)).toBe('Back.')
})

it('a group holds it, with what belongs to it', async () => {
  await loader.create({
    id: 'all', name: 'cordis:group', group: true,
    config: [{ id: 'in-set', name: 'cordis:headrace', config: SET }, { id: 'in-model', name: 'cordis:model', config: { says: 'Inside.' } }],
  })
  await settled()
  expect(await answer(ctx)).toBe('Inside.')
  await loader.update('all', { disabled: true })
  loader.remove('all')
  await expect.poll(() => ctx.get('agents') as unknown).toBeUndefined()
})

it('two groups that are isolated have a set each, with models and agents of their own', async () => {
  const isolate = Object.fromEntries(SERVICES.map((service) => [service, true]))
  for (const name of ['one', 'two']) {
    await loader.create({
      id: name, name: 'cordis:group', group: true, isolate,
      config: [{ id: `${name}-set`, name: 'cordis:headrace', config: SET }, { id: `${name}-model`, name: 'cordis:model', config: { says: `I am ${name}.` } }],
    })
  }
  await settled()
  expect(ctx.get('agents') as unknown).toBeUndefined()
  const [one, two] = ['one', 'two'].map((name) => loader.resolve(`${name}-model`).fiber!.ctx)
  expect(await answer(one!)).toBe('I am one.')
  expect(await answer(two!)).toBe('I am two.')
})
