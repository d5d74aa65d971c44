import { strict } from '@headrace/config'
import z from 'schemastery'

/** The names a config may list, in the order the tools are defined in. */
export const TOOL_NAMES = ['read', 'write', 'edit', 'list', 'glob', 'grep', 'bash', 'background'] as const
/** The name of one of the tools. */
export type ToolName = (typeof TOOL_NAMES)[number]

/** Which variables of our own process a command sees. */
export interface EnvConfig {
  /** Names to pass on although they look like secrets. */
  keep: string[]
  /** Variables to add or replace. */
  set: Record<string, string>
}

/** Config of the plugin. */
export interface Config {
  /** Which tools to define; all of them by default. */
  tools: ToolName[]
  /** Absolute folders outside the workspace that the tools may use too. */
  roots: string[]
  /** Names of folders that `glob` and `grep` do not enter. */
  skip: string[]
  /** Whether `glob` and `grep` leave out what `.gitignore` files name. */
  gitignore: boolean
  /** Characters of one result of `bash`, `list`, `glob` and `grep`. */
  maxOutput: number
  /** Characters of one result of `read`. */
  maxRead: number
  /** Characters shown of one line. */
  maxLine: number
  /** Entries of `list` and `glob`, matches of `grep`. */
  maxResults: number
  /** Most bytes of a file for `edit`, and of an image for `read`. */
  maxFile: number
  /** Whether `read` gives images as images; only for models that can see. */
  images: boolean
  /** The shell that `bash` starts with `-c`. */
  shell: string
  /** Milliseconds a command may run by default. */
  timeout: number
  /** Milliseconds a command may run at most, whatever the model asks for. */
  maxTimeout: number
  /** Milliseconds between SIGTERM and SIGKILL. */
  killGrace: number
  env: EnvConfig
}

const size = (value: number) => z.natural().min(100).default(value)
/** Up to a day: timers of Node fire at once beyond 2^31 milliseconds. */
const time = (value: number) => z.natural().max(86_400_000).default(value)

export const Config: z<Partial<Config>, Config> = strict(z.object({
  tools: z.array(z.union(TOOL_NAMES)).default([...TOOL_NAMES]).description('Which tools to define.'),
  roots: z.array(z.string()).default([]).description('Absolute folders outside the workspace that the tools may use too.'),
  skip: z.array(z.string()).default(['.git', 'node_modules']).description('Names of folders that glob and grep do not enter.'),
  gitignore: z.boolean().default(true).description('Leave out of glob and grep what .gitignore files name.'),
  maxOutput: size(30_000).description('Characters of one result of bash, list, glob and grep.'),
  maxRead: size(50_000).description('Characters of one result of read.'),
  maxLine: size(2_000).description('Characters shown of one line.'),
  maxResults: z.natural().min(1).default(200).description('Entries of list and glob, matches of grep.'),
  maxFile: size(10_000_000).description('Bytes of a file that edit takes, and of an image that read gives.'),
  images: z.boolean().default(false).description('Give images as images; only for models that can see.'),
  shell: z.string().default('bash').description('The shell that bash starts with -c.'),
  timeout: time(120_000).description('Milliseconds a command may run where the model says nothing.'),
  maxTimeout: time(600_000).description('Milliseconds a command may run at most.'),
  killGrace: time(2_000).description('Milliseconds between SIGTERM and SIGKILL.'),
  env: z.object({
    keep: z.array(z.string()).default([]).description('Variables to pass on although they look like secrets.'),
    set: z.dict(z.string()).default({}).description('Variables to add or replace.'),
  }).description('The variables that a command sees.'),
}))
