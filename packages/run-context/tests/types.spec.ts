import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { describe, expect, it } from 'vitest'
import { RunContext, RunContextError } from '@headrace/run-context'

// Each row is refused twice: by the constructor, when this runs, and by the compiler, when this is checked, which the last test does.
const today: string = '2026-08-10'
const refused = (make: () => RunContext) => expect(make).toThrow(RunContextError)

describe('what the constructor refuses, the compiler refuses', () => {
  it('options', () => {
    // @ts-expect-error unknown option
    refused(() => new RunContext({ head_sections: [] }))
    // @ts-expect-error unknown option beside a known one
    refused(() => new RunContext({ facts: [], sections: [] }))
    // @ts-expect-error null
    refused(() => new RunContext(null))
    // @ts-expect-error a list
    refused(() => new RunContext([['date', today]]))
    // @ts-expect-error a Map
    refused(() => new RunContext(new Map()))
    // @ts-expect-error a forgotten await
    refused(() => new RunContext(Promise.resolve({ facts: [] })))
  })

  it('lists', () => {
    // @ts-expect-error a plain object
    refused(() => new RunContext({ facts: { date: today } }))
    // @ts-expect-error an empty plain object
    refused(() => new RunContext({ headSections: {} }))
    // @ts-expect-error a Map
    refused(() => new RunContext({ facts: new Map([['date', today]]) }))
    // @ts-expect-error an empty Map
    refused(() => new RunContext({ tailSections: new Map<string, string>() }))
    // @ts-expect-error a Map that cannot be changed
    refused(() => new RunContext({ facts: new Map([['date', today]]) as ReadonlyMap<string, string> }))
    // @ts-expect-error a Set of pairs
    refused(() => new RunContext({ facts: new Set<[string, string]>([['date', today]]) }))
    // @ts-expect-error null
    refused(() => new RunContext({ facts: null }))
    // @ts-expect-error a string
    refused(() => new RunContext({ headSections: 'Be kind.' }))
    // @ts-expect-error a function
    refused(() => new RunContext({ headSections: () => [] }))
    // @ts-expect-error a forgotten await
    refused(() => new RunContext({ facts: Promise.resolve([['date', today]]) }))
    // @ts-expect-error one bare pair
    refused(() => new RunContext({ facts: ['date', today] }))
  })

  it('entries', () => {
    // @ts-expect-error a string
    refused(() => new RunContext({ facts: ['date'] }))
    // @ts-expect-error one element
    refused(() => new RunContext({ facts: [['date']] }))
    // @ts-expect-error three elements
    refused(() => new RunContext({ facts: [['date', today, today]] }))
    // @ts-expect-error an object
    refused(() => new RunContext({ tailSections: [{ name: 'notes', text: 'None.' }] }))
    // @ts-expect-error undefined
    refused(() => new RunContext({ tailSections: [undefined] }))
  })

  it('keys and values', () => {
    // @ts-expect-error a number as a key
    refused(() => new RunContext({ facts: [[1, today]] }))
    // @ts-expect-error no key
    refused(() => new RunContext({ facts: [[undefined, today]] }))
    // @ts-expect-error a number
    refused(() => new RunContext({ facts: [['files', 3]] }))
    // @ts-expect-error a boolean, as `condition && text` gives
    refused(() => new RunContext({ headSections: [['notes', false as false | string]] }))
    // @ts-expect-error a Date
    refused(() => new RunContext({ facts: [['date', new Date(0)]] }))
    // @ts-expect-error an array
    refused(() => new RunContext({ facts: [['files', ['a', 'b']]] }))
    // @ts-expect-error an object
    refused(() => new RunContext({ facts: [['files', {}]] }))
    // @ts-expect-error a String object
    refused(() => new RunContext({ facts: [['date', new String(today)]] }))
    // @ts-expect-error a function
    refused(() => new RunContext({ facts: [['date', () => today]] }))
    // @ts-expect-error a forgotten await
    refused(() => new RunContext({ facts: [['branch', Promise.resolve('main')]] }))
  })
})

describe('what the constructor takes, the compiler takes', () => {
  it('lists of pairs, however they are made, with optional values', () => {
    const optional = [undefined, null, 'main'] as const
    const rows: readonly (readonly [string, string])[] = [['date', today]]
    const contexts = [
      new RunContext(),
      new RunContext({}),
      new RunContext({ facts: undefined, headSections: [], tailSections: undefined }),
      new RunContext({ facts: [['date', today], ['branch', optional[0]], ['base', optional[1]], ['head', optional[2]]] }),
      new RunContext({ facts: rows, headSections: rows.values(), tailSections: Object.entries({ date: today }) }),
      new RunContext({ facts: new Map([['date', today]]).entries() }),
      new RunContext({ facts: (function* () { yield ['date', today] as const })() }),
      new RunContext({ facts: new RunContext({ facts: rows }).facts }),
    ]
    expect(contexts.map((context) => context.facts.length)).toEqual([0, 0, 0, 2, 1, 1, 1, 1])
  })

  it('and gives nothing that can be assigned to', () => {
    const context = new RunContext({ facts: [['date', today]] })
    // @ts-expect-error readonly
    expect(() => { context.digest = '' }).toThrow(TypeError)
    // @ts-expect-error readonly
    expect(() => { context.facts[0]![1] = '' }).toThrow(TypeError)
    // @ts-expect-error readonly
    expect(() => context.sections.push({})).toThrow(TypeError)
  })
})

it('the compiler agrees with this file, under the options of the workspace', () => {
  const root = fileURLToPath(new URL('../../..', import.meta.url))
  const { compilerOptions } = ts.readConfigFile(`${root}tsconfig.json`, ts.sys.readFile).config as { compilerOptions: object }
  const { options } = ts.parseJsonConfigFileContent({ compilerOptions, files: [fileURLToPath(import.meta.url)] }, ts.sys, root)
  const program = ts.createProgram([fileURLToPath(import.meta.url)], {
    ...options, composite: false, incremental: false, noEmit: true, paths: { '@headrace/*': [`${root}packages/*/src/index.ts`] },
  })
  const problems = ts.getPreEmitDiagnostics(program).map(({ file, start, messageText }) =>
    `${file?.fileName}:${file && start !== undefined ? file.getLineAndCharacterOfPosition(start).line + 1 : 0} ${ts.flattenDiagnosticMessageText(messageText, '\n')}`)
  expect(problems).toEqual([])
})
