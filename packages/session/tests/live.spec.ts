import { describe, expect, it } from 'vitest'
import { Live } from '@headrace/session'

describe('Live', () => {
  it('delivers what listeners emit after the present value reached everyone', () => {
    const live = new Live<{ n: number }>()
    const seen: string[] = []
    live.on('n', (n) => { if (n === 1) live.emit('n', 2); seen.push(`a${n}`) })
    live.on('n', (n) => seen.push(`b${n}`))
    live.emit('n', 1)
    expect(seen).toEqual(['a1', 'b1', 'a2', 'b2'])
  })

  it('delivers values given together in a row, ahead of what listeners emit meanwhile', () => {
    const live = new Live<{ n: number }>()
    const seen: number[] = []
    live.on('n', (n) => { if (n === 1) live.emit('n', 9) })
    live.on('n', (n) => seen.push(n))
    live.emitAll('n', [1, 2, 3])
    expect(seen).toEqual([1, 2, 3, 9])
  })

  it('reports a listener that throws or rejects, and harms neither its neighbours nor what comes next', async () => {
    const live = new Live<{ n: number }>()
    const reported: unknown[] = []
    const seen: number[] = []
    live.onError = (error) => reported.push(error)
    live.on('n', () => { throw new Error('thrown') })
    live.on('n', async () => { await Promise.resolve(); throw new Error('rejected') })
    live.on('n', (n) => seen.push(n))
    live.emit('n', 1)
    live.emit('n', 2)
    await new Promise(setImmediate)
    expect(seen).toEqual([1, 2])
    expect(reported.map((error) => (error as Error).message).sort()).toEqual(['rejected', 'rejected', 'thrown', 'thrown'])
  })

  it('goes on where the report itself throws, which nobody can miss', async () => {
    const live = new Live<{ n: number }>()
    const seen: number[] = []
    const uncaught: unknown[] = []
    const others = process.listeners('uncaughtException')
    process.removeAllListeners('uncaughtException').on('uncaughtException', (error) => uncaught.push(error))
    try {
      live.onError = () => { throw new Error('no report') }
      live.on('n', () => { throw new Error('thrown') })
      live.on('n', (n) => seen.push(n))
      live.emitAll('n', [1, 2])
      await new Promise(setImmediate)
    } finally {
      process.removeAllListeners('uncaughtException')
      for (const listener of others) process.on('uncaughtException', listener)
    }
    expect(seen).toEqual([1, 2])
    expect(uncaught.map((error) => (error as Error).message)).toEqual(['no report', 'no report'])
  })

  it('takes a listener away by what on() returned, and all with clear()', () => {
    const live = new Live<{ n: number }>()
    const seen: string[] = []
    const off = live.on('n', (n) => seen.push(`a${n}`))
    live.on('n', (n) => seen.push(`b${n}`))
    live.emit('n', 1)
    off()
    live.emit('n', 2)
    live.clear()
    live.emit('n', 3)
    expect(seen).toEqual(['a1', 'b1', 'b2'])
  })
})
