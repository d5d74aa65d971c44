// Appends what it can of random drafts, and is killed: node append-child.mjs <seed> <jsonl | sqlite> <folder>. Says how many events it has.
import { writeSync } from 'node:fs'
import { join } from 'node:path'
import { copyJson } from '../../packages/message/lib/index.js'
import { Session } from '../../packages/session/lib/index.js'
import { JsonlStore } from '../../plugins/store-jsonl/lib/index.js'
import { SqliteStore } from '../../plugins/store-sqlite/lib/index.js'
import { draftsOf, randomOf } from './drafts.mjs'

const [seed, kind, directory] = process.argv.slice(2)
const store = kind === 'jsonl' ? new JsonlStore({ directory, fsync: 'barrier' }) : new SqliteStore({ file: join(directory, 'all.sqlite'), fsync: 'barrier' })
const session = await Session.create(store, { id: `s${seed}` })
const next = draftsOf(randomOf(Number(seed)), copyJson)
for (let turn = 0; turn < 150; turn++) {
  try {
    session.append(next())
  } catch {
    // Refused: nothing of it is in the log.
  }
}
writeSync(1, `${session.length}\n`)
process.kill(process.pid, 'SIGKILL')
