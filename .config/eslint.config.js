import { fileURLToPath } from 'node:url'
import javascript from '@eslint/js'
import { defineConfig, globalIgnores } from 'eslint/config'
import typescript from 'typescript-eslint'
import headrace, { byTheClock, inSources, inSuites, inTests } from './lint-rules.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
// What only keeps a signature is named `_…`; `{ a, ...rest }` may take `a` out of `rest`.
const unused = { argsIgnorePattern: '^_', varsIgnorePattern: '^_', caughtErrorsIgnorePattern: '^_', ignoreRestSiblings: true }
const off = (...names) => Object.fromEntries(names.map((name) => [`@typescript-eslint/${name}`, 'off']))

export default defineConfig(
  globalIgnores(['**/lib/', '**/node_modules/', 'coverage/', 'docs/.vitepress/{dist,cache}/', '**/fixtures/']),
  { linterOptions: { reportUnusedDisableDirectives: 'error' } },
  {
    files: ['**/*.{js,mjs,ts}'],
    extends: [javascript.configs.recommended],
    languageOptions: { globals: { process: 'readonly', URL: 'readonly', console: 'readonly', setTimeout: 'readonly', Buffer: 'readonly' } },
    rules: {
      'semi': ['error', 'never', { beforeStatementContinuationChars: 'always' }],
      'quotes': ['error', 'single', { avoidEscape: true, allowTemplateLiterals: true }],
      'max-len': ['error', { code: 160, ignoreUrls: true, ignoreRegExpLiterals: true, ignoreStrings: true, ignoreTemplateLiterals: true }],
      'no-trailing-spaces': 'error',
      'eol-last': 'error',
      'eqeqeq': ['error', 'always', { null: 'ignore' }],
      'no-unused-vars': ['error', unused],
    },
  },
  // Types come from one program over sources and tests, without a build: see tsconfig.tests.json.
  {
    files: ['**/*.ts'],
    extends: [typescript.configs.recommendedTypeChecked],
    plugins: { headrace },
    languageOptions: { parserOptions: { project: '.config/tsconfig.tests.json', tsconfigRootDir: root } },
    rules: {
      ...inSources,
      '@typescript-eslint/consistent-type-imports': ['error', { disallowTypeAnnotations: false }],
      '@typescript-eslint/no-unused-vars': ['error', unused],
      // A disposer may be typed `() => void` and return a promise, as Cordis' own do; so is `apply`, which is to be async.
      '@typescript-eslint/no-misused-promises': ['error', { checksVoidReturn: { properties: false, returns: false } }],
      '@typescript-eslint/prefer-promise-reject-errors': ['error', { allowThrowingAny: true, allowThrowingUnknown: true }],
      // Async is how a function says that it returns a promise, also where it has nothing to wait for; a method taken out of a value to
      // be looked at is not called; FiberState is an enum that isolated modules cannot import.
      ...off('require-await', 'unbound-method', 'no-redundant-type-constituents', 'no-unsafe-enum-comparison'),
    },
  },
  {
    files: ['packages/*/src/**/*.ts', 'plugins/*/src/**/*.ts'],
    rules: {
      'no-console': 'error',
      'max-depth': ['error', 4],
      'max-lines': ['error', 300],
      'max-lines-per-function': ['error', { max: 60, skipComments: true, skipBlankLines: true }],
    },
  },
  // A function that is made of small ones, and suites, which are as long as their tests.
  { files: ['packages/message/src/json.ts'], rules: { 'max-lines-per-function': ['error', 70] } },
  { files: ['packages/testing/src/*-{kit,conformance}.ts'], rules: { 'max-lines-per-function': 'off' } },
  {
    files: ['**/tests/**/*.ts', 'test/**/*.ts'],
    rules: {
      ...inTests,
      // What happens while a plugin loads is what some tests are about.
      'headrace/unawaited-plugin': 'off',
      // Tests make wrong values and hand them to typed functions, and read JSON that they go on to compare.
      'no-sparse-arrays': 'off',
      'prefer-rest-params': 'off',
      ...off('no-unsafe-argument', 'no-unsafe-assignment', 'no-unsafe-call', 'no-unsafe-member-access', 'no-unsafe-return'),
      ...off('no-unnecessary-type-assertion', 'no-misused-promises', 'restrict-template-expressions', 'no-base-to-string'),
    },
  },
  { files: ['packages/testing/src/**/*.ts'], rules: inSuites },
  // Figures, and processes that live for so many seconds or are killed after so many: time is what these are about.
  { files: ['test/{bench,soak,reliability}/**/*.ts'], rules: byTheClock },
  { files: ['test/crash/**/*.ts'], rules: { 'headrace/no-clock': 'off' } },
)
