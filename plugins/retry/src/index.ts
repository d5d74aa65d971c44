export { Config, apply, delayOf, inject, name } from './plugin.ts'
