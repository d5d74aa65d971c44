// npm run docs:laws: docs/laws.md, from the laws of docs/design.md and the tests in test/laws.
import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const PAGE = `${root}docs/laws.md`

/** The laws as the contract has them: number, sentence, the rest. */
function readLaws() {
  const [, section] = /^## 1\. The laws\n(.*?)^## 2\./ms.exec(readFileSync(`${root}docs/design.md`, 'utf8'))
  return [...section.matchAll(/^- \*\*(L\d+) (.*?)\*\*(.*?)(?=^- |$(?![^]))/gms)].map(([, id, name, text]) => ({ id, name: name.replaceAll(/\s+/g, ' ').replace(/\.$/, ''), text: text.replaceAll(/\s+/g, ' ').trim() }))
}

const testsOf = (id) => readdirSync(`${root}test/laws`).sort().filter((file) => file.startsWith(`L${id.slice(1).padStart(2, '0')}-`) && file.endsWith('.spec.ts'))

export function lawsPage() {
  const laws = readLaws().map(({ id, name, text }) => {
    const links = testsOf(id).map((file) => `[${file}](../test/laws/${file})`)
    // A sentence that goes on behind its name.
    const whole = /^[a-z]/.test(text) ? `${name} ${text}` : text.startsWith(',') ? name + text : text
    return `## ${id} ${name}\n\n${whole}\n\nTested in ${links.join(' and ')}.\n`
  })
  return `# The laws

<!-- Made from design.md and test/laws by \`npm run docs:laws\`. -->

What holds whatever plugins are loaded, and in whatever order. Each law is a test of that name. \`npm run mutants\` breaks lines of the source
that hold a law up, one at a time, and its test must turn red. The wording is that of [the contract](design.md#1-the-laws), whose sections the numbers mean.

Two more files test them together: [every-plugin.spec.ts](../test/laws/every-plugin.spec.ts) with every shipped plugin loaded, in any load order, and
[adversary.spec.ts](../test/laws/adversary.spec.ts) with what has broken one of them once.

${laws.join('\n')}`
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(PAGE, lawsPage())
