import { LOG_VERSION } from './event.ts'

/** The version of this package and of all others, which are published in step; `npm run version:packages` writes it. */
const VERSION = '0.1.0'

/** The format fields of `session/open` in logs that this package writes. */
export const FORMAT = Object.freeze({ version: LOG_VERSION, format: 'headrace', writer: `headrace/${VERSION}`, digest: 'sha-256' } as const)
