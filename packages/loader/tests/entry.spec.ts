import { describe, expect, it } from 'vitest'
import { readEntries } from '../src/entry.ts'

function problems(text: string): readonly string[] {
  try {
    return readEntries('cordis.yml', text).map(({ id }) => `entry ${id}`)
  } catch (error) {
    return (error as Error).message.split('\n')
  }
}

describe('a file', () => {
  it.each([
    ['', 'cordis.yml:1:1: an app is a list of entries such as "- { id: clock, name: ./clock.js }"; this is null'],
    ['a: 1\n', 'cordis.yml:1:1: an app is a list of entries such as "- { id: clock, name: ./clock.js }"; this is a map'],
    ['- clock\n', 'cordis.yml:1:3: an entry is a map with a name, not a text'],
    ['- name: a\n- id: b\n', 'cordis.yml:2:3: this entry has no name; name its package, or the path of its module'],
    ['- name: 7\n', 'cordis.yml:1:3: name must be a text, is a number'],
    ['- name: " "\n', 'cordis.yml:1:3: name must be a text, is a text'],
    ['- name: a\n  id: [a]\n', 'cordis.yml:2:3: id must be a text, is a list'],
    ['- name: a\n  disable: true\n', 'cordis.yml:2:3: an entry has no key "disable"; did you mean "disabled"?; it has id, name, config, disabled'],
    ['- name: a\n  disabled: "maybe"\n', 'cordis.yml:2:3: disabled must be true or false, is a text'],
    ['- name: a\n  disabled: yes\n', 'cordis.yml:2:3: disabled must be true or false, is a text; in YAML 1.2 yes, no, on and off are texts'],
    ['- name: a\n  disabled: Off\n', 'cordis.yml:2:3: disabled must be true or false, is a text; in YAML 1.2 yes, no, on and off are texts'],
    ['- name: a\n- name: a\n', 'cordis.yml:2:3: a: the entry in line 1 has this id already; give each one its own'],
    ['- { id: x, name: a }\n- { id: x, name: b }\n', 'cordis.yml:2:5: x: the entry in line 1 has this id already; give each one its own'],
    ['- name: a\n  name: b\n', 'cordis.yml:2:3: this key stands there already'],
    ['- name: a\n  config:\n\t\tb: 1\n', 'cordis.yml:3:1: YAML is indented with spaces, not with tabs'],
    ['- name: a\n  config: !!js process.exit()\n', 'cordis.yml:2:11: this tag is not known; nothing is evaluated here, and a variable of the environment is ${NAME}'],
    ['- name: a\n\tconfig: 1\n', 'cordis.yml:2:2: this was not expected here; look at the indent, the quotes and the colons before it'],
    ['- name: a\n---\n- name: b\n', 'cordis.yml:2:1: there is a second document; one file is one app'],
    ['- name: a\n  config: *none\n', 'cordis.yml:2:11: this alias names no anchor before it'],
    ['- name: a\n  config: &a { b: *a }\n', 'cordis.yml:1:1: its aliases expand to too much, or to themselves'],
    // A quote that is not closed takes in what follows, and the parser stops far below.
    ['- name: "a\n  config:\n    x: 1\n- name: b\n  config: 1\n', 'cordis.yml:1:9: this quote is not closed'],
    ["- name: 'a\n- name: b\n- name: 'c'\n", 'cordis.yml:1:9: this quote is not closed'],
    ['- name: a\n  config: { key: "b\n- name: c\n', 'cordis.yml:2:18: this quote is not closed'],
    ['- name: "a\n  config:\n    title: "b"\n', 'cordis.yml:1:9: this quote is not closed'],
    ['- "name: a\n  id: "b"\n', 'cordis.yml:1:3: this quote is closed in line 2 only; one is missing before'],
    ['- name: "a"b\n', 'cordis.yml:1:12: this was not expected here; look at the indent, the quotes and the colons before it'],
    ['- id: x\n name: a\n', 'cordis.yml:2:1: this line is indented less than the one above; the keys of an entry begin in one column'],
    ['- id: x\n  config:\n    a: 1\n name: a\n', 'cordis.yml:4:1: this line is indented less than the one above; the keys of an entry begin in one column'],
    ['- name: a\n  config: ["a"\n    "b"]\n', 'cordis.yml:3:5: something is missing in front of this: a quote, a comma, a bracket or a colon'],
    ['- name: a\n  config: ["a""b"]\n', 'cordis.yml:2:15: something is missing in front of this: a quote, a comma, a bracket or a colon'],
    ['- id: x\nname: a\n', 'cordis.yml:2:1: this stands outside of any entry; an entry begins with "- ", and its keys are indented below'],
    ['- name: a\nb:\n  name: b\n', 'cordis.yml:2:1: this stands outside of any entry; an entry begins with "- ", and its keys are indented below'],
    ['- id: x\n   name: a\n', 'cordis.yml:1:7: the next line is indented more than this one, as if it went on with it; the keys of an entry begin in one column'],
    ['- id: x: y\n  name: a\n', 'cordis.yml:1:7: a second colon in one line; quote the text, or put the inner key on a line of its own'],
    ['# Mine.\nagent:\n  name: a\n- id: b\n  name: b\n', 'cordis.yml:2:1: this begins no entry; an app is a list, and an entry of it begins as in "- id: clock"'],
    ['id: agent\nname: a\n- id: b\n  name: b\n', 'cordis.yml:1:1: this begins no entry; an app is a list, and an entry of it begins as in "- id: clock"'],
    ['agent: - id: b\n', 'cordis.yml:1:1: this begins no entry; an app is a list, and an entry of it begins as in "- id: clock"'],
  ])('%j is refused', (text, problem) => expect(problems(text)).toEqual([problem]))

  it('tells all that is wrong with the shape of entries at once', () => {
    expect(problems('- {}\n- name: a\n- 4\n')).toHaveLength(2)
  })

  it.each([
    '- name: a\n  config: { key: "sk-secret\n',
    '- name: a\n  config: "sk-secret" sk-secret\n',
    '- name: a\n  config: { key: sk-secret: sk-secret }\n',
    '- name: a\n  config: |sk-secret\n    b\n',
    '- name: a\n  config: "\\sk-secret"\n',
    '- name: a\n  config: @sk-secret\n',
    '- name: a\n  config: *sk-secret\n',
    '- name: a\n  config: !sk-secret b\n',
    '- name: a\n  disabled: sk-secret\n',
    '- sk-secret\n',
    '- name: a\n  config: &a [*a, sk-secret]\n',
    '- name: [sk-secret]\n',
  ])('%j is refused without a word of what stands in it', (text) => {
    const [problem] = problems(text)
    expect(problem).toMatch(/^cordis\.yml:\d+:\d+: /)
    expect(problem).not.toContain('secret')
  })

  it('is read as YAML 1.2, anchors included', () => {
    const [a, b] = readEntries('f', '- { name: a, config: &c { on: yes, day: 2026-11-30, n: 010 } }\n- { name: b, config: *c }\n')
    expect(a!.config).toEqual({ on: 'yes', day: '2026-11-30', n: 10 })
    expect(b!.config).toEqual(a!.config)
    expect(b!.problem('x', { config: ['day'] }).place).toEqual({ file: 'f', line: 1, column: 36 })
  })
})

it('a byte order mark, as some editors write it, is no part of the file', () => {
  expect(readEntries('cordis.yml', '\ufeff- name: a\n').map(({ name }) => name)).toEqual(['a'])
})
