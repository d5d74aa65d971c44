import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

const root = fileURLToPath(new URL('..', import.meta.url))
// `npm run mutants` runs a law's test on a source that it breaks as it is loaded; no file is touched.
const mutant = process.env.HEADRACE_MUTANT
// `npm run test:exhaustive` has these to itself: one lives for a minute, one compares what takes how long.
const exhaustive = process.env.HEADRACE_EXHAUSTIVE === '1' || process.env.HEADRACE_LONG === '1'
const besideTheTests = ['test/soak/**', 'test/bench/ratios.spec.ts']
// Each kill, each fault, each moment of a cancel: in the exhaustive run alone too, unless they are asked for by name.
const exhausting = ['test/crash', 'test/cancel', 'test/faults', 'test/bench/cache.spec.ts', 'packages/run-context/tests/types.spec.ts']
  .filter((path) => !process.argv.some((argument) => argument.startsWith(path)))
  .map((path) => path.endsWith('.ts') ? path : `${path}/**`)
const specs = ['{packages,plugins,examples}/*/tests/**/*.spec.ts', 'packages/headrace/templates/*/tests/*.spec.ts', 'test/**/*.spec.ts']
// What looks at the whole process (what keeps it alive, what it holds), and what mocks a module.
const alone = [
  'packages/loader/tests/refresh.spec.ts', 'packages/tokens/tests/exact.spec.ts',
  'plugins/store-sqlite/tests/plugin.spec.ts', 'plugins/workspace-tools/tests/bash.spec.ts',
  'test/{bench,cancel,faults,soak}/*.spec.ts',
]
// A spec that is named has a process of its own, and starts sooner.
const named = process.argv.some((argument) => argument.endsWith('.spec.ts'))
// Those install packages from the registry: vitest.packaging.config.ts.
const never = ['**/node_modules/**', 'test/packaging/**', ...exhaustive ? [] : [...besideTheTests, ...exhausting]]

// Tests run on the sources, so that a mutation of a source line needs no build; children that a test starts run the built lib/.
export default defineConfig({
  root,
  plugins: mutant ? [(await import('../test/laws/mutation.ts')).mutation(Number(mutant))] : [],
  resolve: {
    alias: [
      { find: /^@headrace\/plugin-([^/]+)$/, replacement: `${root}plugins/$1/src/index.ts` },
      { find: /^@headrace\/testing\/([^/]+)$/, replacement: `${root}packages/testing/src/$1.ts` },
      { find: /^@headrace\/agent\/internal$/, replacement: `${root}packages/agent/src/internal.ts` },
      { find: /^@headrace\/files\/frontmatter$/, replacement: `${root}packages/files/src/frontmatter.ts` },
      { find: /^@headrace\/([^/]+)$/, replacement: `${root}packages/$1/src/index.ts` },
      { find: /^headrace$/, replacement: `${root}packages/headrace/src/index.ts` },
    ],
  },
  test: {
    // For hangs only: no test is measured by it, whatever else the machine does.
    testTimeout: exhaustive ? 600_000 : 240_000,
    hookTimeout: 240_000,
    expect: { poll: { timeout: 60_000, interval: 5 } },
    maxWorkers: 2,
    env: { NODE_ENV: 'test' },
    // What a test forgot to take back is not the next one's, which may be another file's.
    restoreMocks: true,
    unstubEnvs: true,
    unstubGlobals: true,
    // Modules that a test writes are Node's to import, as they are where an app runs.
    server: { deps: { external: [/\/headrace-loader-[^/]+\//] } },
    ...named ? { include: specs, exclude: never } : {
      projects: [
        // Most files share a process with others: what they import is loaded once in each, and not in every file.
        { extends: true, test: { name: 'together', isolate: false, include: specs, exclude: [...never, ...alone] } },
        { extends: true, test: { name: 'alone', include: alone, exclude: never, sequence: { groupOrder: 1 } } },
      ],
    },
  },
})
