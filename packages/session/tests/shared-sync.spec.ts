import { describe, expect, it } from 'vitest'
import { SharedSync } from '../src/index.ts'

/** A sync that ends when it is told to. */
function manual(): { readonly syncs: SharedSync; readonly running: { end(error?: Error): void }[] } {
  const running: { end(error?: Error): void }[] = []
  const syncs = new SharedSync(
    () => new Promise((resolve, reject) => void running.push({ end: (error) => (error ? reject(error) : resolve()) })),
  )
  return { syncs, running }
}

describe('SharedSync', () => {
  it('syncs at first what an earlier process may have left, then only what was written', async () => {
    const { syncs, running } = manual()
    const first = syncs.flush()
    running[0]!.end()
    await first
    await syncs.flush()
    expect(running).toHaveLength(1)
  })

  it('shares the running sync with all that it covers, and the next one with all that came after', async () => {
    const { syncs, running } = manual()
    syncs.wrote()
    const covered = [syncs.flush(), syncs.flush()]
    syncs.wrote()
    const later = [syncs.flush(), syncs.flush()]
    syncs.wrote()
    later.push(syncs.flush())
    expect(running).toHaveLength(1)
    running[0]!.end()
    await Promise.all(covered)
    await new Promise(setImmediate)
    expect(running).toHaveLength(2)
    running[1]!.end()
    await Promise.all(later)
    expect(running).toHaveLength(2)
  })

  it('rejects for ever after a sync that failed, also for who waited for the next', async () => {
    const { syncs, running } = manual()
    syncs.wrote()
    const flushes = [syncs.flush()]
    syncs.wrote()
    flushes.push(syncs.flush())
    const settled = Promise.allSettled(flushes)
    running[0]!.end(new Error('EIO'))
    expect((await settled).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    await expect(syncs.flush()).rejects.toThrow('EIO')
    expect(running).toHaveLength(1)
  })

  it('is idle when no sync runs, however that one ends', async () => {
    const { syncs, running } = manual()
    await syncs.idle()
    const flush = syncs.flush().catch(() => undefined)
    let idle = false
    const waiting = syncs.idle().then(() => (idle = true))
    await new Promise(setImmediate)
    expect(idle).toBe(false)
    running[0]!.end(new Error('EIO'))
    await Promise.all([flush, waiting])
    expect(idle).toBe(true)
  })
})
