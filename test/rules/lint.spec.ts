import { fileURLToPath } from 'node:url'
import { ESLint } from 'eslint'
import typescript from 'typescript-eslint'
import { describe, expect, it } from 'vitest'
import headrace, { inSources } from '../../.config/lint-rules.mjs'
import { snippets } from './snippets.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const config = `${root}.config/eslint.config.js`
const names = Object.keys(headrace.rules)

/** The rules of ours that report a text, syntax alone. */
async function reported(text: string): Promise<string[]> {
  const eslint = new ESLint({
    cwd: root,
    overrideConfigFile: true,
    overrideConfig: {
      files: ['**/*.ts'],
      plugins: { headrace },
      languageOptions: { parser: typescript.parser },
      rules: Object.fromEntries(names.map((name) => [`headrace/${name}`, 'error'])),
    },
  })
  const [result] = await eslint.lintText(text, { filePath: 'packages/example/src/example.ts' })
  return result!.messages.map(({ ruleId, message }) => ruleId ?? message)
}

async function levelsFor(file: string): Promise<Record<string, unknown>> {
  const eslint = new ESLint({ cwd: root, overrideConfigFile: config })
  const { rules } = await eslint.calculateConfigForFile(`${root}${file}`) as { rules: Record<string, [number]> }
  return Object.fromEntries(Object.entries(rules).map(([name, [level]]) => [name, level]))
}

describe.each(names)('headrace/%s', (name) => {
  const { bad, good } = snippets[name] ?? { bad: [], good: [] }

  it('has snippets of both kinds', () => expect([bad.length, good.length].every((count) => count > 0)).toBe(true))
  it.each(bad)('reports %s', async (text) => expect(await reported(text)).toContain(`headrace/${name}`))
  it.each(good)('passes %s', async (text) => expect(await reported(text)).toEqual([]))
})

describe('the rules that are on', () => {
  it('in sources, are all of ours but those for tests, and those of the house', async () => {
    const levels = await levelsFor('packages/agent/src/turn/loop.ts')
    const ours = Object.keys(inSources)
    expect(names.filter((name) => !ours.includes(`headrace/${name}`))).toEqual(['every-test-runs', 'no-sleep', 'no-clock', 'no-short-timeout'])
    const house = ['no-explicit-any', 'no-unused-vars', 'no-floating-promises', 'consistent-type-imports'].map((name) => `@typescript-eslint/${name}`)
    for (const name of [...ours, ...house, 'max-lines', 'max-lines-per-function']) expect([name, levels[name]]).toEqual([name, 2])
  })

  it.each(['packages/agent/tests/loop.spec.ts', 'test/laws/laws.spec.ts'])('in %s, are all of ours but that on loading', async (file) => {
    const levels = await levelsFor(file)
    for (const name of names.filter((other) => other !== 'unawaited-plugin')) expect([name, levels[`headrace/${name}`]]).toEqual([name, 2])
  })
})
