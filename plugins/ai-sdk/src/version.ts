import { createRequire } from 'node:module'

const { name, version } = createRequire(import.meta.url)('../package.json') as { readonly name: string; readonly version: string }

/** The package that makes the bodies: another version may make other bodies. */
export const PACKAGE = Object.freeze({ name, version })
