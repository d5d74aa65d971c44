import type { TurnHost } from '../turn/host.ts'

/** What is looked at of an agent that others work for. */
export type Living = Pick<TurnHost, 'running' | 'session'>

/**
 * Lets time stand still for the agents whose calls an agent works for, and theirs: while it asks a person, they wait for that person too.
 * Returns the calls that go on.
 */
export function pauseAbove({ session }: Pick<Living, 'session'>, live: ReadonlyMap<string, Living>): readonly (() => void)[] {
  const above = new Set<Living>()
  for (let { under } = session.ledger.origin ?? {}; under;) {
    const agent = live.get(under.session)
    // A log that was imported may name itself.
    if (!agent || above.has(agent)) break
    above.add(agent)
    under = agent.session.ledger.origin?.under
  }
  return [...above].flatMap(({ running }) => [...running?.clocks ?? []].map((clock) => clock.pause()))
}
