import { type ChildProcess, spawn } from 'node:child_process'

/**
 * Keeps a list of process groups, one input line for each that starts or ends. When its input ends, our process is
 * gone, perhaps by SIGKILL: then it kills the groups in the list.
 */
const WATCH = `g=''
while read -r op id; do
  case $op in
    +) g="$g $id" ;;
    -) n=''; for i in $g; do [ "$i" = "$id" ] || n="$n $i"; done; g=$n ;;
  esac
done
for i in $g; do kill -s KILL -- "-$i" 2>/dev/null; done`

/** How often it is started: where each is ended at once, another one would be, too. */
const MAX_STARTS = 10

/**
 * One small process that ends all our commands when we are gone. It is started with the first command, and again if it
 * was ended.
 */
export class GroupWatcher {
  private readonly groups = new Set<number>()
  private child: ChildProcess | undefined
  private starts = 0

  add(id: number): void {
    this.groups.add(id)
    if (this.child) this.tell(`+ ${id}\n`)
    else this.start()
  }

  remove(id: number): void {
    if (this.groups.delete(id)) this.tell(`- ${id}\n`)
  }

  private tell(line: string): void {
    this.child?.stdin?.write(line)
  }

  private start(): void {
    if (++this.starts > MAX_STARTS) return
    // Its own group, so that a signal to ours does not end it; a folder that is not removed; none of our variables.
    const child = spawn('/bin/sh', ['-c', WATCH], { cwd: '/', env: {}, detached: true, stdio: ['pipe', 'ignore', 'ignore'] })
    this.child = child
    const over = (): void => {
      if (this.child === child) this.child = undefined
    }
    child.once('exit', () => {
      over()
      if (this.groups.size > 0) this.start()
    })
    // Without a shell there is no watcher: commands end with our process where it can still end them.
    child.once('error', over)
    child.stdin.on('error', () => {})
    child.unref()
    ;(child.stdin as unknown as { unref?(): void }).unref?.()
    this.tell([...this.groups].map((id) => `+ ${id}\n`).join(''))
  }
}
