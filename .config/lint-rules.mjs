// Our own lint rules, each a selector and what to do instead. A rule has a name, so that a folder can leave it out by name.

const plain = '[async=false][generator=false]'
const effect = 'CallExpression[callee.property.name=/^(on|once|effect|plugin|provide|inject)$/]'
const dispatch = 'CallExpression[callee.property.name=/^(emit|parallel|serial|bail|waterfall)$/]'
const context = '[callee.object.name=/^(ctx|context|root|app)$/]'
const loop = ':matches(ForStatement, ForOfStatement, ForInStatement, WhileStatement, DoWhileStatement)'
const listener = ':function:has(> Identifier.params[name="next"]:last-child)'
const runner = '/^(it|test|describe|suite|bench)$/'
const skipping = '/^(skip|skipIf|only|todo|runIf|fails)$/'

/** Traps of Cordis 4.0.0-rc.10 that the shape of the code shows. */
const cordis = {
  'constructed-plugin': {
    select: [
      `FunctionDeclaration[id.name="apply"]${plain}`,
      `ExportDefaultDeclaration > FunctionDeclaration${plain}:matches([params.0.name="ctx"], [params.0.typeAnnotation.typeAnnotation.typeName.name="Context"])`,
      `VariableDeclarator[id.name="apply"] > FunctionExpression${plain}`,
      `Property[key.name="apply"][method=false] > FunctionExpression${plain}`,
      `CallExpression[callee.property.name="plugin"] > FunctionExpression.arguments:first-child${plain}`,
      `CallExpression${context}[callee.property.name="inject"] > FunctionExpression.arguments${plain}`,
    ],
    say: 'Cordis calls a plain function with `new`: its disposer is dropped and its promise not awaited. Make it async, a generator or an arrow.',
  },
  'unawaited-plugin': {
    select: [
      `ExpressionStatement > CallExpression${context}[callee.property.name="plugin"]`,
      `ExpressionStatement > UnaryExpression[operator="void"] > CallExpression${context}[callee.property.name="plugin"]`,
    ],
    say: 'A plugin that fails and is not awaited fails silently: `await ctx.plugin(…)`.',
  },
  'raw-seam': {
    select: [`${dispatch} > Literal.arguments[value=/^(agent|tools|llm|session)\\u002F/]`],
    say: 'A seam dispatched by Cordis has no owner, no clock and no guard (L14, L15): use the dispatch of packages/agent.',
  },
  'bare-emit': {
    select: [`CallExpression${context}[callee.property.name="emit"]`],
    say: '`ctx.emit` stops at the first listener that throws, and a rejection kills the process: use `ctx.parallel`, or guard each listener.',
  },
  'waterfall-without-inner': {
    select: [
      `CallExpression[callee.property.name="waterfall"] > :matches(Literal, ObjectExpression, ArrayExpression, TemplateLiteral).arguments:last-child`,
      `CallExpression[callee.property.name="waterfall"][arguments.length<2]`,
    ],
    say: 'The last argument of `waterfall` is the innermost function; without it Cordis calls the payload.',
  },
  'nameless-event': {
    select: [`${dispatch}${context}[arguments.length=1] > ObjectExpression.arguments`],
    say: 'An event without a name is silently nothing.',
  },
  'next-in-loop': {
    select: [`${listener} ${loop} CallExpression[callee.name="next"]`],
    say: '`next()` may be called once: a retry is a new dispatch, by the caller.',
  },
  'next-with-arguments': {
    select: [`${listener} CallExpression[callee.name="next"][arguments.length>0]`],
    say: '`next` ignores its arguments: change what it returns instead.',
  },
  'service-private-field': {
    select: [
      'ClassDeclaration[superClass.name="Service"] > ClassBody > :matches(PropertyDefinition, MethodDefinition) > PrivateIdentifier.key',
      'ClassExpression[superClass.name="Service"] > ClassBody > :matches(PropertyDefinition, MethodDefinition) > PrivateIdentifier.key',
    ],
    say: 'A service is reached through a proxy, on which `#private` throws: use `private`.',
  },
  'old-inject': {
    select: [
      ':matches(PropertyDefinition[key.name="inject"], VariableDeclarator[id.name="inject"], Property[key.name="inject"]) > ObjectExpression > Property[key.name=/^(required|optional)$/]',
    ],
    say: 'Cordis 4 would wait for services named `required` and `optional` for ever: list the names; `ctx.get()` is for optional ones.',
  },
  'async-provide': {
    select: [':function[async=true][generator=true] YieldExpression > CallExpression[callee.property.name="provide"]'],
    say: 'An async generator unwraps the disposer of `provide`, and the order of disposal is lost: use a sync generator.',
  },
  'effect-in-cleanup': {
    select: [
      `YieldExpression > :function ${effect}${context}`,
      `FunctionDeclaration[id.name="apply"] > BlockStatement > ReturnStatement > :function ${effect}${context}`,
    ],
    say: 'What a cleanup registers leaks into the next activation.',
  },
  'self-disposal': {
    select: [
      'FunctionDeclaration[id.name="apply"] AwaitExpression > CallExpression[callee.object.property.name="fiber"][callee.property.name=/^(dispose|await|restart)$/]',
    ],
    say: 'A fiber that waits for itself never loads.',
  },
  'nameless-plugin': {
    select: [
      'Program:has(ExportNamedDeclaration > FunctionDeclaration[id.name="apply"]):not(:has(ExportNamedDeclaration VariableDeclarator[id.name="name"]))',
    ],
    say: 'A plugin without a name signs with its parent’s: `export const name`.',
  },
  'instanceof-context': {
    select: ['BinaryExpression[operator="instanceof"][right.name="Context"]'],
    say: 'Two copies of Cordis may be loaded: `Context.is(value)`.',
  },
  'schema-from-json': {
    select: ['NewExpression[callee.name=/^(z|Schema)$/]'],
    say: 'schemastery compiles strings of a serialised schema: never deserialise one.',
  },
}

/** What Node 20 does not have, and imports that do not work there. */
const node20 = {
  'newer-node': {
    select: [
      'MemberExpression[object.name="Promise"][property.name=/^(withResolvers|try)$/]',
      'MemberExpression[object.name="Array"][property.name="fromAsync"]',
      'MemberExpression[object.name=/^(Object|Map)$/][property.name="groupBy"]',
      'MemberExpression[object.name="RegExp"][property.name="escape"]',
      'ImportDeclaration[source.value="node:sqlite"]',
    ],
    say: 'Node 20 does not have it.',
  },
  'default-eventemitter3': {
    select: ['ImportDeclaration[source.value="eventemitter3"] > ImportDefaultSpecifier'],
    say: 'The default export is not constructable under nodenext: `import { EventEmitter }`.',
  },
  'relative-extension': {
    select: [
      ':matches(ImportDeclaration, ExportNamedDeclaration, ExportAllDeclaration, ImportExpression) > Literal.source[value=/^\\.{1,2}\\u002F/]:not([value=/\\.(ts|json|mjs)$/])',
    ],
    say: 'A relative import names the file that is there: `.ts`, not what it is built to.',
  },
}

const tests = {
  'every-test-runs': {
    select: [
      `MemberExpression[object.name=${runner}][property.name=${skipping}]`,
      `MemberExpression[object.object.name=${runner}][property.name=${skipping}]`,
      `CallExpression[callee.name=${runner}] > ObjectExpression > Property[key.name=${skipping}]`,
      'CallExpression[callee.name=/^(xit|xtest|xdescribe|fit|fdescribe)$/]',
      'CallExpression[callee.object.name=/^(ctx|context|task)$/][callee.property.name="skip"]',
    ],
    say: 'Every test runs: no skip, only, todo.',
  },
}

/** Whoever measures or waits by the clock is wrong on a machine that does something else. */
const clocks = {
  'no-sleep': {
    select: [
      'CallExpression[callee.name=/^(setTimeout|sleep|delay)$/]',
      'CallExpression[callee.object.name=/^(globalThis|timers)$/][callee.property.name="setTimeout"]',
      'ImportDeclaration[source.value=/timers\\u002Fpromises$/] > ImportSpecifier[imported.name="setTimeout"]',
      'CallExpression[callee.object.name="vi"][callee.property.name=/^waitFor|waitUntil$/]',
    ],
    say: 'A test does not sleep: `gate()`, `until()` or `turns()` of @headrace/testing/gate, `stopClock()` of @headrace/testing/clock, or `expect.poll`.',
  },
  'no-clock': {
    select: [
      'CallExpression[callee.object.name="performance"][callee.property.name="now"]',
      'CallExpression[callee.object.name="process"][callee.property.name=/^(hrtime|cpuUsage|uptime)$/]',
      'BinaryExpression[operator=/^(-|<|>|<=|>=)$/] > CallExpression[callee.object.name="Date"][callee.property.name="now"]',
      'CallExpression[callee.property.name=/^toBe(Less|Greater)Than/] > CallExpression.arguments[callee.object.name="Date"][callee.property.name="now"]',
    ],
    say: 'No test asserts a time: how long something takes says what else the machine does. Count what is done, or stop the clock (@headrace/testing/clock).',
  },
  'no-short-timeout': {
    select: [
      `CallExpression:matches([callee.name=/^(it|test|describe|beforeAll|beforeEach|afterAll|afterEach)$/], [callee.callee.object.name=/^(it|test|describe|beforeAll|beforeEach|afterAll|afterEach)$/]) > Literal.arguments:last-child[value<60000]`,
      `CallExpression:matches([callee.name=/^(it|test|describe|beforeAll|beforeEach|afterAll|afterEach)$/], [callee.callee.object.name=/^(it|test|describe|beforeAll|beforeEach|afterAll|afterEach)$/]) > ObjectExpression.arguments > Property[key.name="timeout"] > Literal[value<60000]`,
      'Property[key.name=/^(testTimeout|hookTimeout)$/] > Literal[value<60000]',
      'CallExpression[callee.property.name="poll"] > ObjectExpression.arguments > Property[key.name="timeout"] > Literal[value<60000]',
    ],
    say: 'A timeout of a test is for a hang, so a minute or more: a short one fails where the machine does something else.',
  },
}

const rule = ({ select, say }) => ({
  meta: { type: 'problem', schema: [] },
  create: (file) => Object.fromEntries(select.map((selector) => [selector, (node) => file.report({ node, message: say })])),
})

/**
 * The rules as an ESLint plugin.
 * @type {{ meta: { name: string }, rules: Record<string, import('eslint').Rule.RuleModule> }}
 */
export default {
  meta: { name: 'headrace' },
  rules: Object.fromEntries(Object.entries({ ...cordis, ...node20, ...tests, ...clocks }).map(([name, trap]) => [name, rule(trap)])),
}

const on = (group) => Object.fromEntries(Object.keys(group).map((name) => [`headrace/${name}`, 'error']))

export const inSources = on({ ...cordis, ...node20 })
export const inTests = on({ ...tests, ...clocks })
/** For what measures, or kills at any time: where that is what it is for. */
export const byTheClock = Object.fromEntries(Object.keys(clocks).map((name) => [`headrace/${name}`, 'off']))
/** For what tests stand on, in `src/`. */
export const inSuites = on({ 'no-sleep': '' })
