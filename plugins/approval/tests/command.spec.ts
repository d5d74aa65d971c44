import { spawnSync } from 'node:child_process'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { quoteWords, readCommand } from '../src/command.ts'

describe('a command line', () => {
  it('is read as the shell reads it, whatever stands in it, or not at all', () => {
    const piece = fc.constantFrom('a', 'B', 'é', '-x', '=', '.', '/', '%', '@', ' ', '  ', '\'', '"', '\\', '$', '`', ';', '&', '|', '<', '>', '(', ')', '{', '}', '*', '?', '[', ']', '!', '#', '~', '\n', '\t', 'if', '\'a b\'', '"c d"')
    const texts = fc.sample(fc.array(piece, { maxLength: 8 }).map((pieces) => `x ${pieces.join('')}`), 4_000)
    const accepted = texts.flatMap((text) => {
      const { words } = readCommand(text)
      return words ? [{ text, words }] : []
    })
    expect(accepted.length).toBeGreaterThan(100)
    // A function of that name tells what it was called with; anything else that ran would say so or break the order.
    const script = `x() { printf '<%s>' x "$@"; echo; }\n${accepted.map(({ text }) => text).join('\n')}\n`
    const { stdout, stderr } = spawnSync('sh', ['-s'], { input: script, encoding: 'utf8' })
    expect(stderr).toBe('')
    expect(stdout.split('\n').slice(0, -1)).toEqual(accepted.map(({ words }) => words.map((word) => `<${word}>`).join('')))
  })

  it('of words that are quoted is those words again', () => {
    fc.assert(fc.property(fc.array(fc.string({ minLength: 1 }), { minLength: 1 }), (rest) => {
      const text = quoteWords(['x', ...rest])
      if (text !== undefined) expect(readCommand(text).words).toEqual(['x', ...rest])
    }))
  })

  it.each([
    'sudo rm x', 'sudo -u root rm x', 'env A=1 rm x', 'command rm x', 'xargs -0 rm', 'nice -n 5 rm x', 'timeout 5s rm x', 'sudo env nice rm x', 'sh -c "rm x"', 'bash -euc \'a; rm x\' y',
    'eval "rm x"', 'a | /usr/bin/xargs rm', 'sudo sh -c "echo $(rm x)"', 'exec rm', 'sh -c "sh -c \'rm x\'"',
  ])('says which commands its commands run: %s', (text) => {
    expect(readCommand(text).all).toContainEqual(expect.arrayContaining(['rm']))
    expect(readCommand(text).all.map(([first]) => first)).toContain('rm')
  })

  it.each(['grep rm x', 'sudo grep rm x', 'env', 'sh rm', 'sh -c', 'eval', 'sudo -u', 'echo sudo rm x'])('does not take a word for a command: %s', (text) => {
    expect(readCommand(text).all.map(([first]) => first)).not.toContain('rm')
  })

  it('of half a megabyte is read in time', () => {
    expect(readCommand(`x ${'a '.repeat(250_000)}`).words).toHaveLength(250_001)
    expect(readCommand(`x ${'('.repeat(20_000)}`).words).toBeUndefined()
  })
})
