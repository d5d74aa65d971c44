// What an app writes. `Context` is Cordis' own, with the types of ctx.agents, ctx.briefing, ctx.skills and the others.
export { Context } from 'cordis'
export type { Agent, CreateOptions, ResumeOptions, Step, Turn, TurnEvent, TurnHandle, TurnResult } from '@headrace/agent'
export type { Topic } from '@headrace/briefing'
export type { Compacted } from '@headrace/plugin-compaction'
export type { Skill } from '@headrace/plugin-skills'
export { Config, apply, headrace as default, name } from './plugin.ts'
export { ENDPOINT, HeadraceConfigError } from './route.ts'
