// The reference of the docs site: a page an entry of each published package, from the docstrings of what it exports.
import { readFileSync, readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Comment, Converter, ReflectionKind } from 'typedoc'

const root = fileURLToPath(new URL('..', import.meta.url))
const packages = ['packages', 'plugins'].flatMap((folder) => readdirSync(`${root}${folder}`).map((name) => `${folder}/${name}`))
  .map((place) => ({ place, ...JSON.parse(readFileSync(`${root}${place}/package.json`, 'utf8')) }))
/** What can be imported, by its source: `packages/testing/src/growth-kit` is `@headrace/testing/growth-kit`. */
const entries = new Map(packages.flatMap(({ place, name, exports }) => Object.entries(exports)
  .filter(([, target]) => typeof target === 'object')
  .map(([entry, target]) => [`${place}/${target.default.replace(/^\.\/lib\/(.*)\.js$/, 'src/$1')}`, name + entry.slice(1)])))

/** What makes a module a plugin of Cordis is the same everywhere. */
const PLUGIN = {
  name: 'The name of the plugin, which signs what it adds.',
  inject: 'The services it waits for.',
  Config: 'The schema of its config, with the defaults.',
  apply: 'Loads it: `ctx.plugin()` calls this.',
}

const describeModules = (app) => app.converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
  for (const module of project.getReflectionsByKind(ReflectionKind.Module)) {
    module.name = entries.get(module.name) ?? entries.get(`${module.name}/index`) ?? module.name
    for (const child of module.children ?? []) {
      const text = child.kindOf(ReflectionKind.Variable | ReflectionKind.Function) ? PLUGIN[child.name] : undefined
      for (const symbol of text ? child.signatures ?? [child] : []) symbol.comment ??= new Comment([{ kind: 'text', text }])
    }
  }
})

/** @type {Partial<import('typedoc').TypeDocOptions & import('typedoc-plugin-markdown').PluginOptions>} */
export default {
  entryPoints: [...entries.keys()].map((source) => `${root}${source}.ts`),
  tsconfig: `${root}.config/tsconfig.tests.json`,
  plugin: ['typedoc-plugin-markdown', describeModules],
  out: `${root}docs/reference`,
  name: 'Reference',
  readme: 'none',
  router: 'module',
  entryFileName: 'index.md',
  hidePageHeader: true,
  hideBreadcrumbs: true,
  useHTMLAnchors: true,
  useCodeBlocks: true,
  expandObjects: true,
  parametersFormat: 'table',
  propertiesFormat: 'table',
  interfacePropertiesFormat: 'table',
  excludePrivate: true,
  excludeInternal: true,
  excludeExternals: true,
  disableSources: true,
  // A public symbol without a docstring fails the build.
  validation: { notExported: false, invalidLink: true, notDocumented: true },
  packagesRequiringDocumentation: ['headrace-workspace', ...packages.map(({ name }) => name)],
  requiredToBeDocumented: ['Class', 'Interface', 'TypeAlias', 'Function', 'Variable', 'Enum'],
  treatValidationWarningsAsErrors: true,
  skipErrorChecking: true,
}
