export type * from './items/item.ts'
export type * from './items/item-fold.ts'
export type * from './seat.ts'
