import { release, type } from 'node:os'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { RunContextError, envBlock } from '@headrace/run-context'

beforeEach(() => {
  vi.stubEnv('TZ', 'UTC')
  vi.useFakeTimers({ now: new Date('2026-03-09T12:00:00Z') })
})
afterEach(() => {
  vi.unstubAllEnvs()
  vi.useRealTimers()
})

describe('envBlock', () => {
  it('tells platform, os and date, in this order', () => {
    expect(envBlock()).toBe(`- platform: ${process.platform}\n- os: ${type()} ${release()}\n- date: 2026-03-09`)
  })

  it.each([
    ['Pacific/Kiritimati', '2026-08-10T23:30:00Z', '2026-08-11'],
    ['Pacific/Pago_Pago', '2026-08-10T03:00:00Z', '2026-08-09'],
    ['UTC', '2026-08-10T23:59:59Z', '2026-08-10'],
  ])('tells the local date: in %s at %s it is %s', (zone, now, date) => {
    vi.stubEnv('TZ', zone)
    vi.setSystemTime(new Date(now))
    expect(envBlock()).toContain(`- date: ${date}`)
  })

  it('tells the date of the time that it is given', () => {
    expect(envBlock({}, Date.parse('2025-12-31T23:59:59Z'))).toContain('- date: 2025-12-31')
    for (const now of [NaN, Infinity, '2025-12-31', new Date()]) {
      expect(() => envBlock({}, now as never)).toThrow(expect.objectContaining({ code: 'CONTEXT_VALUE_INVALID', argument: 'now' }))
    }
  })

  it('adds extras in the order of their keys, whatever the order they came in', () => {
    const rows = envBlock({ shell: 'zsh', cwd: '/work', Zone: 'a', 10: 'ten', 9: 'nine' }).split('\n').slice(3)
    expect(rows).toEqual(['- 10: ten', '- 9: nine', '- Zone: a', '- cwd: /work', '- shell: zsh'])
  })

  it('drops undefined and null extras, and keeps blank ones', () => {
    expect(envBlock({ a: undefined, b: null, c: ' \n' }).split('\n').slice(3)).toEqual(['- c: '])
  })

  it('refuses an extra that is not text, naming it', () => {
    // @ts-expect-error a number
    expect(() => envBlock({ cores: 8 })).toThrow(expect.objectContaining({ code: 'CONTEXT_VALUE_INVALID', argument: 'extra', key: 'cores' }))
    // @ts-expect-error a list
    expect(() => envBlock([['cwd', '/work']])).toThrow(RunContextError)
    // @ts-expect-error a Map has no keys of an object
    expect(() => envBlock(new Map())).toThrow(RunContextError)
  })
})
