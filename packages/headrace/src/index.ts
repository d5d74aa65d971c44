export { Config, apply, headrace as default, name } from './plugin.ts'
export { ENDPOINT, HeadraceConfigError } from './route.ts'
