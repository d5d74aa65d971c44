// `Context` with the types of ctx.agents, ctx.briefing, ctx.skills and the others.
export type { Context } from 'cordis'
export type { Topic } from '@headrace/briefing'
export type { Compacted } from '@headrace/plugin-compaction'
export type { Skill } from '@headrace/plugin-skills'
export { Config, apply, headrace as default, name } from './plugin.ts'
export { ENDPOINT, HeadraceConfigError } from './route.ts'
