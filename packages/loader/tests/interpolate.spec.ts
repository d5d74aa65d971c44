import { expect, it } from 'vitest'
import { readEntries } from '../src/entry.ts'
import { interpolate } from '../src/plan.ts'
import { lineOf } from '../src/problem.ts'

const env = { NAME: 'value', EMPTY: '', PORT: '8080', ON: 'true', LONG: '0012', BIG: '1e5', JS: '${NAME}', QUOTE: '"] injected: [' }

function read(config: string): unknown {
  const [entry] = readEntries('cordis.yml', `- name: a\n  config: ${config}\n`)
  const { config: value, problems } = interpolate(entry!, env)
  return problems.length > 0 ? problems.map(lineOf) : value
}

it.each([
  ['${NAME}', 'value'],
  ['a ${NAME} b ${PORT}', 'a value b 8080'],
  ['{ deep: ["${NAME}", 1, null, true] }', { deep: ['value', 1, null, true] }],
  ['"${NONE:-default}"', 'default'],
  ['"${NONE:-}"', ''],
  ['"${EMPTY:-default}"', 'default'],
  ['"${EMPTY}"', ''],
  ['"${NONE:-a:-b}"', 'a:-b'],
  ['"$${NAME} costs $5 and ${NAME}"', '${NAME} costs $5 and value'],
  // What a variable holds is text, whatever it looks like.
  ['"${JS}"', '${NAME}'],
  ['"${QUOTE}"', '"] injected: ['],
])('%s is read as %j', (config, value) => expect(read(config)).toEqual(value))

it.each([
  ['${PORT}', 8080],
  ['"${PORT}"', '8080'],
  ['${NONE:-5000}', 5000],
  ['${ON}', true],
  ["'${ON}'", 'true'],
  ['${LONG}', '0012'],
  ['${BIG}', '1e5'],
  ['${EMPTY}', ''],
  ['\n    port: ${PORT}\n    more: [a]', { port: 8080, more: ['a'] }],
])('without quotes it is a number or a truth where that loses nothing: %s is %j', (config, value) => expect(read(config)).toEqual(value))

it('a variable that is not set is told by name, with its place; each of them', () => {
  expect(read('{ key: "${NONE}", more: ["${OTHER} ${NONE}"] }')).toEqual([
    'cordis.yml:2:13: a: config.key: the variable NONE is not set; set it, or write ${NONE:-default}',
    'cordis.yml:2:36: a: config.more[0]: the variable OTHER is not set; set it, or write ${OTHER:-default}',
    'cordis.yml:2:36: a: config.more[0]: the variable NONE is not set; set it, or write ${NONE:-default}',
  ])
})

it.each(['"${{ env.NAME }}"', '"${NAME"', '"${}"', '"${process.exit()}"', '"${NAME-x}"'])('%s is no variable, and nothing is evaluated', (config) => {
  expect(read(config)).toEqual([expect.stringMatching(/^cordis\.yml:2:3: a: config: a variable is \$\{NAME\} or/)])
})

it('keys are left as they are', () => {
  expect(read('{ "${NAME}": 1, "__proto__": { "x": "${NAME}" } }')).toEqual(JSON.parse('{ "${NAME}": 1, "__proto__": { "x": "value" } }'))
})

it.each(['toString', 'constructor', '__proto__'])('what every object has is no variable: %s', (name) => {
  expect(read(`"\${${name}}"`)).toEqual([expect.stringContaining(`the variable ${name} is not set`)])
})
