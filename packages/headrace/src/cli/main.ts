import { leave } from './base/error.ts'
import { main } from './program.ts'

await leave(await main(process.argv.slice(2)))
