import { describe, expect, it } from 'vitest'
import fc from 'fast-check'
import { serverNames, serverPart, toolNames } from '../src/names.ts'

describe('names of servers', () => {
  it('stay as they are where they can', () => {
    expect([...serverNames(['files', 'git-hub', 'a_b', 'X9']).values()]).toEqual(['files', 'git-hub', 'a_b', 'X9'])
  })

  it('are altered where a provider would not take them, and stay apart', () => {
    const names = ['my server', 'my_server', 'my.server', 'a__b', 'Über', '', '日本', '日本語', 'x'.repeat(40)]
    const safe = serverNames(names)
    expect(safe.get('my_server')).toBe('my_server')
    expect(safe.get('my server')).toMatch(/^my_server_[0-9a-f]{8}$/)
    expect(safe.get('a__b')).toBe('a_b')
    expect(safe.get('Über')).toBe('Uber')
    expect(new Set(safe.values()).size).toBe(names.length)
    for (const name of safe.values()) expect(name).toMatch(/^(?!.*__)[a-zA-Z0-9-][a-zA-Z0-9_-]{0,23}$/)
  })

  it('do not depend on the order of the config', () => {
    const names = ['my server', 'my.server', 'my_server', 'other']
    const one = serverNames(names)
    const two = serverNames(names.toReversed())
    for (const name of names) expect(two.get(name)).toBe(one.get(name))
  })
})

describe('names of tools', () => {
  it('have the server\'s in front, and are cut to what providers take', () => {
    expect(toolNames('own', ['echo', 'read_file', 'a__b', 'get.x/y'])).toEqual(['own__echo', 'own__read_file', 'own__a__b', 'own__get_x_y'])
    const [long] = toolNames('own', ['long'.repeat(40)])
    expect(long).toMatch(/^own__(long)+[a-z]*_[0-9a-f]{8}$/)
    expect(long).toHaveLength(64)
  })

  it('stay apart where they come to the same, and one that was not altered keeps its own', () => {
    expect(toolNames('own', ['a b', 'a_b', 'a.b'])).toEqual([expect.stringMatching(/^own__a_b_[0-9a-f]{8}$/), 'own__a_b', expect.stringMatching(/^own__a_b_[0-9a-f]{8}$/)])
  })

  it('fit, differ and lead back to their server, whatever servers say', () => {
    const name = fc.oneof(fc.string({ unit: 'grapheme', maxLength: 90 }), fc.constantFrom('a b', 'a_b', 'a__b', '_', '__', 'é', 'tool'))
    fc.assert(fc.property(fc.uniqueArray(name, { maxLength: 6 }), fc.uniqueArray(name.filter((tool) => tool !== ''), { maxLength: 12 }), (servers, tools) => {
      const safe = [...serverNames(servers).values()]
      const all = safe.flatMap((server) => toolNames(server, tools))
      expect(new Set(all).size).toBe(servers.length * tools.length)
      for (const [index, tool] of all.entries()) {
        expect(tool).toMatch(/^[a-zA-Z0-9_-]{1,64}$/)
        expect(serverPart(tool)).toBe(safe[Math.floor(index / tools.length)])
      }
    }))
  })
})
