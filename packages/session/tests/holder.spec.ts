import { hostname } from 'node:os'
import { describe, expect, it } from 'vitest'
import { describeHolder, isAlive, newHolder, parseHolder } from '../src/index.ts'

describe('a holder', () => {
  it('is this process, alive, under a token of its own each time', () => {
    const holder = newHolder()
    expect(isAlive(holder)).toBe(true)
    expect(newHolder().token).not.toBe(holder.token)
    expect(parseHolder(JSON.stringify(holder))).toEqual(holder)
    expect(describeHolder(holder, 'do that')).toBe(`this process (pid ${process.pid}) since ${holder.since}`)
  })

  it('is dead where its pid is another process by now, and alive for all we know on another machine', () => {
    expect(isAlive({ ...newHolder(), start: 'another boot/1' })).toBe(process.platform !== 'linux')
    const far = { ...newHolder(), host: `not-${hostname()}`, pid: 1, start: 'another boot/1' }
    expect(isAlive(far)).toBe(true)
    expect(describeHolder(far, 'do that')).toMatch(/^pid 1 on not-.* another machine.*; if it does not, do that$/)
  })

  it.each(['', '\0', 'null', '[]', '{"pid":1}', '{"token":"../../x","pid":1}', `{"token":"${'a'.repeat(36)}","pid":0}`])('is not what %j says', (text) => {
    expect(parseHolder(text)).toBeUndefined()
  })
})
