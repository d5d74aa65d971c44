import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { cpus, tmpdir, totalmem } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Told } from './figures.ts'
import { type Reliability, report, sumUp } from './report.ts'

// npm run reliability: runs the suites, and writes docs/reliability.json and docs/reliability.md from what they did;
// with `render`, the page alone.

const root = fileURLToPath(new URL('../../../', import.meta.url))

/** Tests that are counted as tests, by group. */
const GROUPS: Readonly<Record<string, readonly string[]>> = {
  hostile: ['packages/message/tests/json.spec.ts', 'packages/message/tests/message.spec.ts', 'packages/session/tests/check.spec.ts', 'packages/agent/tests/well-formed.spec.ts', 'test/laws/adversary.spec.ts'],
  stores: ['conformance.spec.ts', 'packages/session/tests/memory-store.spec.ts', 'lock.spec.ts', 'holder.spec.ts', 'test/laws/L18'],
}

const SUITES = [
  'test/crash', 'test/faults', 'test/cancel', 'test/soak', 'test/laws/L1', 'test/laws/adversary', 'packages/message/tests', 'packages/session/tests', 'packages/agent/tests/well-formed',
  'plugins/store-jsonl/tests', 'plugins/store-sqlite/tests',
]

interface JsonReport {
  readonly testResults: readonly { readonly name: string; readonly assertionResults: readonly { readonly status: string }[] }[]
}

async function run(folder: string): Promise<Reliability> {
  const json = join(folder, 'report.json')
  const vitest = ['node_modules/vitest/vitest.mjs', 'run', '--config', '.config/vitest.config.ts', '--reporter=dot', '--reporter=json', `--outputFile.json=${json}`, ...SUITES]
  const child = spawn(process.execPath, vitest, { cwd: root, env: { HEADRACE_EXHAUSTIVE: '1', ...process.env, HEADRACE_FIGURES: folder }, stdio: 'inherit' })
  const code = await new Promise((resolve) => child.on('close', resolve))
  if (code !== 0) throw new Error('a promise is broken: no page is made')
  const told = readdirSync(folder).filter((name) => name.endsWith('.jsonl'))
    .flatMap((name) => readFileSync(join(folder, name), 'utf8').trim().split('\n').map((line) => JSON.parse(line) as Told))
  const { testResults } = JSON.parse(readFileSync(json, 'utf8')) as JsonReport
  const tests = Object.fromEntries(Object.entries(GROUPS).map(([group, places]) => {
    const files = testResults.filter(({ name }) => places.some((place) => relative(root, name).includes(place)))
    return [group, files.flatMap(({ assertionResults }) => assertionResults).filter(({ status }) => status === 'passed').length]
  }))
  const machine = `${cpus().length} × ${cpus()[0]!.model.replace(/ Processor.*/, '').trim()}, ${Math.round(totalmem() / 2 ** 30)} GiB, ${process.platform} ${process.arch}`
  return { date: new Date().toISOString().slice(0, 10), node: process.versions.node, machine, figures: sumUp(told), tests }
}

async function measure(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'headrace-figures-'))
  try {
    await writeFile(join(root, 'docs/reliability.json'), `${JSON.stringify(await run(folder), null, 2)}\n`)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

if (process.argv[2] !== 'render') await measure()
await writeFile(join(root, 'docs/reliability.md'), report(JSON.parse(readFileSync(join(root, 'docs/reliability.json'), 'utf8')) as Reliability))
