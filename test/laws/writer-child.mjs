// Another process, on the built lib: takes a session, injects a message, and holds it until its input ends. Arguments: folder, id.
import { Session } from '@headrace/session'
import { JsonlStore } from '@headrace/plugin-store-jsonl'

const [directory, id] = process.argv.slice(2)
const say = (value) => process.stdout.write(`${JSON.stringify(value)}\n`)
let session
try {
  session = await Session.open(new JsonlStore({ directory, fsync: 'barrier' }), id)
  session.append({ type: 'context/message', data: { message: { role: 'user', content: [{ type: 'text', text: 'from another process' }] }, owner: 'app' } })
  await session.flush()
  say({ ok: true })
} catch ({ code, holder }) {
  say({ code, holder })
}
for await (const _ of process.stdin);
await session?.close()
