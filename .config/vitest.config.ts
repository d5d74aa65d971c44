import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { mutation } from '../test/laws/mutation.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
// `npm run mutants` runs a law's test on a source that it breaks as it is loaded; no file is touched.
const mutant = process.env.HEADRACE_MUTANT
// `npm run test:exhaustive` has these to itself: one lives for a minute, one compares what takes how long.
const exhaustive = process.env.HEADRACE_EXHAUSTIVE === '1' || process.env.HEADRACE_LONG === '1'
const besideTheTests = ['test/soak/**', 'test/bench/ratios.spec.ts']

// Tests run on the sources, so that a mutation of a source line needs no build; children that a test starts run the built lib/.
export default defineConfig({
  root,
  plugins: mutant ? [mutation(Number(mutant))] : [],
  resolve: {
    alias: [
      { find: /^@headrace\/plugin-([^/]+)$/, replacement: `${root}plugins/$1/src/index.ts` },
      { find: /^@headrace\/testing\/([^/]+)$/, replacement: `${root}packages/testing/src/$1.ts` },
      { find: /^@headrace\/agent\/internal$/, replacement: `${root}packages/agent/src/internal.ts` },
      { find: /^@headrace\/([^/]+)$/, replacement: `${root}packages/$1/src/index.ts` },
      { find: /^headrace$/, replacement: `${root}packages/headrace/src/index.ts` },
    ],
  },
  test: {
    include: ['{packages,plugins,examples}/*/tests/**/*.spec.ts', 'packages/headrace/templates/*/tests/*.spec.ts', 'test/**/*.spec.ts'],
    // Those install packages from the registry: vitest.packaging.config.ts.
    exclude: ['**/node_modules/**', 'test/packaging/**', ...exhaustive ? [] : besideTheTests],
    // For hangs only: no test is measured by it, whatever else the machine does.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 60_000, interval: 5 } },
    maxWorkers: 2,
    env: { NODE_ENV: 'test' },
    // Modules that a test writes are Node's to import, as they are where an app runs.
    server: { deps: { external: [/\/headrace-loader-[^/]+\//] } },
  },
})
