export type * from './items/item.ts'
export type * from './items/item-fold.ts'
export { Config, apply, inject, name } from './plugin.ts'
export type * from './seat.ts'
