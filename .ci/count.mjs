// `<passed> <failed>` of a vitest run, from its JSON and its exit code. A test that was skipped, a file that could not be read, an error
// outside any test and a run that left no JSON are failures too.
import { readFileSync } from 'node:fs'

const [, , file, status] = process.argv

function read() {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    return undefined
  }
}

const result = read()
const passed = result?.numPassedTests ?? 0
const skipped = (result?.numPendingTests ?? 0) + (result?.numTodoTests ?? 0)
const unread = (result?.testResults ?? []).filter(({ status, assertionResults }) => status === 'failed' && assertionResults.length === 0)
let failed = (result?.numFailedTests ?? 0) + skipped + unread.length
if (failed === 0 && (status !== '0' || passed === 0)) failed = 1

for (const { name } of unread) console.error(`could not be run: ${name}`)
if (skipped > 0) console.error(`${skipped} skipped`)
console.log(`${passed} ${failed}`)
