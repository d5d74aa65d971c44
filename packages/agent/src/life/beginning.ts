import type { Agent } from '../contract/agent.ts'
import type { AgentOptions } from '../contract/options.ts'
import type { AgentCore } from './core.ts'

/**
 * Begins the life of an agent, before it does anything: calls who wants to know, then takes the letters that wait, where it takes letters.
 *
 * @throws what `setup` throws, and StoreError; the agent is parked then
 */
export async function begin(core: AgentCore, { mail, setup }: Pick<AgentOptions, 'mail' | 'setup'>, view: Agent): Promise<void> {
  if (!setup && !mail) return
  try {
    const leave = await setup?.(view)
    if (typeof leave === 'function') core.endings.add(leave)
    core.checkAlive()
    if (!mail) return
    await core.letters.look()
    core.checkAlive()
    core.endings.add(core.letters.listen())
    // Nobody holds a handle that would tell of it.
    const over = (): void => void core.park().catch(() => undefined)
    if (core.session.over.aborted) over()
    else core.session.over.addEventListener('abort', over, { once: true })
  } catch (error) {
    await core.park().catch(() => undefined)
    throw error
  }
}
