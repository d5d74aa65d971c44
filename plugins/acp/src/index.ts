export { Config, type OnWire, apply, inject, name, onWire } from './plugin.ts'
export { type Wire, type WireOptions, openWire } from './wire.ts'
export { AcpError } from './error.ts'
