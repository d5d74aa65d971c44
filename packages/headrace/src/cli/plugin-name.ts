import { UsageError } from './error.ts'

/** What a new plugin is called. */
export interface PluginName {
  /** Of the package: `headrace-plugin-runbook`, or `@scope/…` as it was given. */
  readonly package: string
  /** Of the plugin, which signs what it adds: the package's last part without `headrace-plugin-` or `plugin-`. */
  readonly plugin: string
  /** Of its folder, where nobody says otherwise: the package's last part. */
  readonly folder: string
}

/** Part of the name of the plugin's tools, which have at most 64 characters. */
const LONGEST_PLUGIN = 50
/** npm's limit. */
const LONGEST_PACKAGE = 214
/** Who else signs in a log. */
const SIGNERS = ['app', 'user', 'model', 'tool', 'loop']

/** Reads `runbook`, `headrace-plugin-runbook` or `@acme/plugin-runbook`. @throws UsageError for what npm, or a tool's name, does not allow */
export function toPluginName(text: string): PluginName {
  const [, scope, last] = /^(?:(@[^/]*)\/)?([^/]*)$/.exec(text) ?? []
  if (last === undefined) throw refused(text, 'has more than one "/"')
  if (scope !== undefined && !/^@[a-z0-9][a-z0-9._-]*$/.test(scope)) throw refused(text, 'has a scope that npm does not take')
  const plugin = last.replace(/^(?:headrace-)?plugin-/, '')
  if (!/^[a-z0-9][a-z0-9_-]*$/.test(plugin)) throw refused(text, 'is not made of small letters, digits, "-" and "_", the first a letter or digit')
  if (plugin.length > LONGEST_PLUGIN) throw refused(text, `has more than ${LONGEST_PLUGIN} characters, which leaves too few for a tool's name`)
  if (SIGNERS.includes(plugin)) throw refused(text, `would sign as "${plugin}", which is somebody else in a log`)
  const folder = scope === undefined ? `headrace-plugin-${plugin}` : last
  const name = scope === undefined ? folder : `${scope}/${folder}`
  if (name.length > LONGEST_PACKAGE) throw refused(text, `is longer than the ${LONGEST_PACKAGE} characters that npm takes`)
  return { package: name, plugin, folder }
}

function refused(text: string, problem: string): UsageError {
  return new UsageError(`the name ${JSON.stringify(text)} ${problem}; give one such as runbook, or @you/plugin-runbook`)
}
