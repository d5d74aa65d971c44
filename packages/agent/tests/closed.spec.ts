import * as agentPlugin from '@headrace/agent'
import * as internal from '@headrace/agent/internal'
import { type Harness, harness } from '@headrace/testing'
import type { Context } from 'cordis'
import { describe, expect, it, onTestFinished } from 'vitest'

const SERVICES = ['sessions', 'llm', 'tools', 'system', 'agents'] as const

async function app(): Promise<Harness> {
  const made = await harness()
  onTestFinished(() => made.dispose())
  return made
}

/** All that is reached from a value through its fields, own and inherited, whatever their visibility in TypeScript. */
function reachable(root: object): Set<unknown> {
  const found = new Set<unknown>([root])
  for (const value of found) {
    if ((typeof value !== 'object' && typeof value !== 'function') || value === null) continue
    // What everybody has anyway: Cordis, and what the language gives.
    const { constructor } = value as object
    if (value !== root && typeof constructor === 'function' && /^(Context|Fiber|Object|Function|Promise)$/.test(constructor.name) && typeof value !== 'object') continue
    for (const key of Reflect.ownKeys(value)) {
      const { get, value: field } = Object.getOwnPropertyDescriptor(value, key)!
      if (key === 'ctx' || key === 'fiber' || get) continue
      found.add(field)
    }
    const entries: unknown = value instanceof Map ? [...value.entries()].flat() : value instanceof Set ? [...value] : []
    for (const entry of entries as unknown[]) found.add(entry)
    const prototype: unknown = Object.getPrototypeOf(value)
    if (prototype && prototype !== Object.prototype && prototype !== Function.prototype) found.add(prototype)
  }
  return found
}

/** Ours that issue, add, append or end; whoever holds one is not bound to any plugin's name. */
const INNER = /^(AdapterRegistry|ToolRegistry|SystemRegistry|StoreRegistry|Agents|AgentCore|Session|Inbox|Driver|Loop|Seams|Reporter)$/

/** Names of what is reached and must not be. */
function powers(root: object): string[] {
  return [...reachable(root)].flatMap((value) => {
    if (typeof value !== 'object' || value === null) return []
    const { constructor } = value as { constructor?: { name?: string } }
    return INNER.test(constructor?.name ?? '') ? [constructor!.name!] : []
  })
}

describe('no field leads past the services (L1, L14)', () => {
  it.each(SERVICES)('of ctx.%s, nor of what Cordis keeps of it', async (name) => {
    const { ctx } = await app()
    const service = ctx[name] as object
    const original = (service as { [key: symbol]: object })[Symbol.for('cordis.original')] ?? service
    expect([...powers(service), ...powers(original)]).toEqual([])
  })

  it('of an agent, its turn and its session, but that a session takes events of plugins', async () => {
    const { agent } = await app()
    const turn = agent.prompt('Hi')
    await turn.accepted
    expect([...powers(agent), ...powers(turn), ...powers(agent.turn ?? turn)]).toEqual([])
    await turn.result
    expect(() => agent.session.append({ type: 'turn/end', data: {} } as never)).toThrow(/written by the loop only/)
  })

  it('a request of a session cannot be issued by who has the service', async () => {
    const { ctx, run, requests } = await app()
    await run('Hi')
    const [request] = requests
    expect(() => ctx.llm.stream({ ...request! })).toThrow(/is not in its log/)
    expect(() => ctx.llm.stream(request!)).toThrow(/is not in its log/)
    expect((ctx.llm as unknown as Record<string, unknown>).registry).toBeUndefined()
    expect((ctx.system as unknown as Record<string, unknown>).registry).toBeUndefined()
    expect((ctx.agents as unknown as Record<string, unknown>).live).toBeUndefined()
  })
})

it('a context that says whose it is signs for nobody else', async () => {
  const made = await app()
  const forging = { name: 'forging', inject: ['agents'], apply: async (ctx: Context) => {
    ctx.on('agent/pre-step', async (agent, _turn, _step, next) => {
      const forged = agent.ctx.extend({ [Symbol.for('headrace.author')]: 'honest' })
      forged.system.section({ key: 'k', content: 'Forged.' })
      return next()
    })
  } }
  await made.ctx.plugin(forging)
  await made.run('Hi')
  expect(made.agent.session.requestHeader()!.owners.system!.map(({ owner }) => owner)).not.toContain('honest/k')
})

describe('@headrace/agent/internal', () => {
  it.each(Object.keys(internal))('%s gives nothing that issues, adds or appends for a service or an agent', async (name) => {
    const { ctx, agent } = await app()
    const value = (internal as unknown as Record<string, unknown>)[name]
    if (typeof value !== 'function') return expect(powers(value as object)).toEqual([])
    for (const given of [...SERVICES.map((service) => ctx[service]), agent, agent.ctx, agent.session, ctx]) {
      let got: unknown
      try {
        got = (value as (...args: unknown[]) => unknown)(given, given, given)
      } catch {
        continue
      }
      if (typeof got === 'object' && got !== null) expect(powers(got)).toEqual([])
    }
  })

  it('has other names than the public list', () => {
    expect(Object.keys(internal).filter((name) => name in agentPlugin)).toEqual([])
  })
})
