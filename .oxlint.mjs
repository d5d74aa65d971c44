import { fileURLToPath } from 'node:url'
import javascript from '@eslint/js'
import { defineConfig } from 'oxlint'
import typescript from 'typescript-eslint'
import { byTheClock, inSources, inSuites, inTests } from './.config/lint-rules.mjs'

// All rules are run by oxlint, which is native and takes types from the native compiler; ours (headrace/…) and those of layout
// (@stylistic/…) as its plugins. What is on is what ESLint and typescript-eslint recommend: taken from their lists, so that no rule is
// lost; a rule that oxlint does not have is an error of this file.

/** What a module cannot contain, as it would not parse, and a rule of which the list only says that it is off: oxlint has none of them. */
const absent = ['no-octal', 'no-dupe-args', 'no-new-symbol']
const recommended = (...lists) => Object.fromEntries(lists.flatMap((list) => Object.entries(list.rules ?? {}))
  .filter(([name]) => !absent.includes(name)).map(([name, level]) => [name.replace('@typescript-eslint/', 'typescript/'), level]))
const off = (...names) => Object.fromEntries(names.map((name) => [name, 'off']))
const offByType = (...names) => off(...names.map((name) => `typescript/${name}`))

// What only keeps a signature is named `_…`; `{ a, ...rest }` may take `a` out of `rest`.
const unused = { argsIgnorePattern: '^_', varsIgnorePattern: '^_', caughtErrorsIgnorePattern: '^_', ignoreRestSiblings: true }
const verbatim = { ignoreUrls: true, ignoreRegExpLiterals: true, ignoreStrings: true, ignoreTemplateLiterals: true }

export default defineConfig({
  plugins: ['typescript'],
  categories: { correctness: 'off' },
  jsPlugins: ['./.config/lint-rules.mjs', '@stylistic/eslint-plugin'].map((name) => fileURLToPath(import.meta.resolve(name))),
  options: { typeAware: true, reportUnusedDisableDirectives: 'error' },
  env: { es2024: true, node: true },
  ignorePatterns: ['**/lib/**', '**/node_modules/**', 'coverage/**', 'docs/.vitepress/dist/**', 'docs/.vitepress/cache/**', '**/fixtures/**'],
  rules: {
    ...recommended(javascript.configs.recommended),
    '@stylistic/semi': ['error', 'never', { beforeStatementContinuationChars: 'always' }],
    '@stylistic/quotes': ['error', 'single', { avoidEscape: true, allowTemplateLiterals: 'always' }],
    '@stylistic/max-len': ['error', { code: 140, ...verbatim }],
    '@stylistic/no-trailing-spaces': 'error',
    '@stylistic/eol-last': 'error',
    'eqeqeq': ['error', 'always', { null: 'ignore' }],
    'no-unused-vars': ['error', unused],
  },
  overrides: [
    {
      files: ['**/*.ts'],
      rules: {
        ...recommended(...typescript.configs.recommendedTypeChecked),
        ...inSources,
        'typescript/consistent-type-imports': ['error', { disallowTypeAnnotations: false }],
        'typescript/no-unused-vars': ['error', unused],
        // A disposer may be typed `() => void` and return a promise, as Cordis' own do; so is `apply`, which is to be async.
        'typescript/no-misused-promises': ['error', { checksVoidReturn: { properties: false, returns: false } }],
        'typescript/prefer-promise-reject-errors': ['error', { allowThrowingAny: true, allowThrowingUnknown: true }],
        // Async is how a function says that it returns a promise, also where it has nothing to wait for; a method taken out of a value to
        // be looked at is not called; FiberState is an enum that isolated modules cannot import.
        ...offByType('require-await', 'unbound-method', 'no-redundant-type-constituents', 'no-unsafe-enum-comparison'),
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
    // With shorter lines each would be longer than a file may be.
    {
      files: ['packages/session/src/session.ts', 'packages/agent/src/turn/loop.ts', 'plugins/store-{jsonl,sqlite}/src/store.ts'],
      rules: { '@stylistic/max-len': ['error', { code: 160, ...verbatim }] },
    },
    // A function that is made of small ones, and suites, which are as long as their tests.
    { files: ['packages/message/src/json.ts', 'packages/session/src/check.ts'], rules: { 'max-lines-per-function': ['error', 70] } },
    { files: ['packages/testing/src/{store-*,*-kit,*-conformance}.ts'], rules: { 'max-lines-per-function': 'off' } },
    {
      files: ['**/tests/**/*.ts', 'test/**/*.ts'],
      rules: {
        ...inTests,
        // What happens while a plugin loads is what some tests are about.
        'headrace/unawaited-plugin': 'off',
        // Tests make wrong values and hand them to typed functions, and read JSON that they go on to compare.
        ...off('no-sparse-arrays', 'prefer-rest-params'),
        ...offByType('no-unsafe-argument', 'no-unsafe-assignment', 'no-unsafe-call', 'no-unsafe-member-access', 'no-unsafe-return'),
        ...offByType('no-unnecessary-type-assertion', 'no-misused-promises', 'restrict-template-expressions', 'no-base-to-string'),
      },
    },
    // Where no tsconfig.json is near, types are those of strict alone, which let any index be there.
    { files: ['{docs/.vitepress,.config}/**/*.ts'], rules: offByType('no-unnecessary-type-assertion') },
    // The published rules of providers, against bodies of any shape.
    { files: ['packages/wire/tests/{rules,bodies.spec}.ts'], rules: offByType('no-explicit-any') },
    { files: ['packages/testing/src/**/*.ts'], rules: inSuites },
    // Figures, and processes that live for so many seconds or are killed after so many: time is what these are about.
    { files: ['test/{bench,soak,reliability}/**/*.ts'], rules: byTheClock },
    { files: ['test/crash/**/*.ts'], rules: { 'headrace/no-clock': 'off' } },
  ],
})
