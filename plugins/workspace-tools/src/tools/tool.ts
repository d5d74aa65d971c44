import type { ToolDefinition, ToolRun } from '@headrace/agent'
import type { JsonObject } from '@headrace/message'
import type { Config } from '../config.ts'
import { Workspace } from '../workspace.ts'

/** A tool of this plugin: its schema is plain JSON Schema. */
export interface WorkspaceTool<Input = never> extends ToolDefinition<Input> {
  readonly parameters: JsonObject
}

/** The schema of an object whose fields are all there is. */
export function parametersOf(properties: Readonly<Record<string, JsonObject>>, required: readonly string[]): JsonObject {
  return { type: 'object', properties, required: [...required], additionalProperties: false }
}

export const PATH: JsonObject = { type: 'string', description: 'Absolute, or relative to the workspace.' }

/** The workspace of the agent that calls. */
export function workspaceOf(run: ToolRun, config: Config): Promise<Workspace> {
  return Workspace.open(run.agent.cwd, config.roots)
}
