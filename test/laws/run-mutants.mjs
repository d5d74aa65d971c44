// npm run mutants [L1 L15 …]: breaks a law's source, one line at a time, and runs the law's test, which must turn red.
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const PARALLEL = 2
const here = fileURLToPath(new URL('.', import.meta.url))
const root = fileURLToPath(new URL('../..', import.meta.url))
const mutants = JSON.parse(readFileSync(join(here, 'mutants.json'), 'utf8'))
const scratch = mkdtempSync(join(tmpdir(), 'headrace-mutants-'))
process.on('exit', () => rmSync(scratch, { recursive: true, force: true }))

const specs = new Map()
for (const name of readdirSync(here).sort()) {
  const number = /^L(\d\d)-.*\.spec\.ts$/.exec(name)
  if (number) specs.set(`L${Number(number[1])}`, [...(specs.get(`L${Number(number[1])}`) ?? []), `test/laws/${name}`])
}

/** Runs specs; gives the names of the tests that failed, or why there were none. */
async function run(name, files, mutant) {
  const report = join(scratch, `${name}.json`)
  const child = spawn(process.execPath, ['node_modules/vitest/vitest.mjs', 'run', '--config', '.config/vitest.config.ts', '--reporter=json', `--outputFile=${report}`, '--testTimeout=10000', ...(mutant === undefined ? [] : ['--bail=1']), ...files], {
    cwd: root, env: { ...process.env, HEADRACE_MUTANT: mutant === undefined ? '' : String(mutant) }, stdio: ['ignore', 'ignore', 'pipe'],
  })
  let said = ''
  child.stderr.on('data', (text) => { said += text })
  await new Promise((resolve) => child.on('close', resolve))
  try {
    const { testResults } = JSON.parse(readFileSync(report, 'utf8'))
    // A file that was not begun when another one had failed has no results and no message.
    const broken = testResults.find((file) => file.assertionResults.length === 0 && file.message !== '')
    if (broken) return { failed: [], broken: broken.message }
    return { failed: testResults.flatMap((file) => file.assertionResults).filter((test) => test.status === 'failed').map((test) => test.title) }
  } catch {
    return { failed: [], broken: said.trim() || 'vitest wrote no report' }
  }
}

const wanted = process.argv.slice(2)
const say = (line) => process.stdout.write(`${line}\n`)
let bad = 0
const complain = (line) => {
  bad++
  say(line)
}

const chosen = [...mutants.keys()].filter((index) => {
  const { law, file, find } = mutants[index]
  if (wanted.length > 0 && !wanted.includes(law)) return false
  const found = readFileSync(join(root, file), 'utf8').split(find).length - 1
  if (found !== 1) complain(`STALE    ${law.padEnd(4)} ${file}: ${find.trim()} stands there ${found} times`)
  return found === 1
})
for (const law of specs.keys()) if (wanted.length === 0 && !mutants.some((mutant) => mutant.law === law)) complain(`${law} has no mutant`)

const healthy = await run('healthy', [...new Set(chosen.flatMap((index) => specs.get(mutants[index].law)))])
if (healthy.broken || healthy.failed.length > 0) {
  say(`the laws' tests are red without a mutant, so a red one would say nothing: ${healthy.broken ?? healthy.failed.join('; ')}`)
  process.exit(1)
}

const queue = [...chosen]
await Promise.all(Array.from({ length: PARALLEL }, async () => {
  for (let index = queue.shift(); index !== undefined; index = queue.shift()) {
    const { law, file, find, replace } = mutants[index]
    const what = `${law.padEnd(4)} ${file}: ${find.trim()} → ${replace.trim() || '(gone)'}`
    const { failed, broken } = await run(`mutant-${index}`, specs.get(law), index)
    if (broken) complain(`BROKEN   ${what}\n         ${broken}`)
    else if (failed.length === 0) complain(`SURVIVED ${what}`)
    else say(`killed   ${what}\n         by: ${failed[0]}`)
  }
}))
say(bad === 0 ? `${chosen.length} mutants, all killed` : `${bad} complaints; ${chosen.length} mutants were tried`)
process.exitCode = bad === 0 ? 0 : 1
