import { closeSync, openSync, readFileSync, readSync, writeSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'

/** A word of a name that says its value is a secret: `OPENAI_API_KEY`, `GITHUB_TOKEN`, `AWS_SECRET_ACCESS_KEY`, `PGPASSWORD`. */
const SECRET = /(?:^|_)(?:API)?KEYS?(?:_|$)|TOKEN|SECRET|PASSWORD|PASSWD|_PWD|PASSPHRASE|CREDENTIAL|_AUTH(?:_CONFIG)?$/i

let isDone = false

/** True for a variable whose name says that its value is a secret. */
export function isSecretName(name: string): boolean {
  return SECRET.test(name)
}

/**
 * Clears variables with such names in the block of variables that this process was started with, which every process
 * of the same user can read (`/proc/<pid>/environ`). `process.env` is as before. Linux only; elsewhere, and where the
 * system refuses it, nothing happens.
 */
export function hideInitialSecrets(): void {
  // In a worker `process.env` is a copy: the main thread would lose what is cleared here.
  if (isDone || process.platform !== 'linux' || !isMainThread) return
  isDone = true
  try {
    clear()
  } catch {
    // Without /proc, or without the right to write to one's own memory, the block stays as it is.
  }
}

function clear(): void {
  const block = readFileSync('/proc/self/environ')
  const start = startOfBlock()
  const memory = openSync('/proc/self/mem', 'r+')
  try {
    const seen = Buffer.alloc(block.length)
    // What stands there must be the block: nothing else is written to.
    if (readSync(memory, seen, 0, seen.length, start) !== block.length || !seen.equals(block)) return
    for (const { name, at, length } of secretsIn(block)) {
      const value = process.env[name]
      // The system keeps what is set in other memory than the block.
      if (value !== undefined) process.env[name] = value
      writeSync(memory, Buffer.alloc(length), 0, length, start + at)
      if (value !== undefined && process.env[name] !== value) process.env[name] = value
    }
  } finally {
    closeSync(memory)
  }
}

/** The address of the block: the 50th field of `/proc/self/stat`, whose second may have anything in it. */
function startOfBlock(): number {
  const stat = readFileSync('/proc/self/stat', 'latin1')
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[47])
}

interface Value {
  readonly name: string
  /** Offset of the value in the block, and its bytes. */
  readonly at: number
  readonly length: number
}

function* secretsIn(block: Buffer): Generator<Value> {
  for (let begin = 0; begin < block.length;) {
    const zero = block.indexOf(0, begin)
    const end = zero < 0 ? block.length : zero
    const sign = block.indexOf(0x3d, begin)
    if (sign > begin && sign + 1 < end) {
      const name = block.toString('utf8', begin, sign)
      if (isSecretName(name)) yield { name, at: sign + 1, length: end - sign - 1 }
    }
    begin = end + 1
  }
}
