import type { Block, Keys } from '@headrace/message'
import type { Session, SessionEvent } from '@headrace/session'
import type { Reporter } from '../seams/report.ts'

/** Reports a key that a user or a model has said. What they said is never changed, so it is in the log and goes to the provider. */
export class SaidKeys {
  private readonly session: Session
  private readonly keys: Keys
  private readonly reporter: Reporter
  private isTold = false
  /** The event that comes next. */
  private next: number

  constructor(session: Session, keys: Keys, reporter: Reporter) {
    this.session = session
    this.keys = keys
    this.reporter = reporter
    this.next = session.length
  }

  /** Looks at what was said since; once is enough. By the time of an answer the key that it was asked for with is known. */
  look(): void {
    if (this.isTold || this.keys.size === 0) return
    for (const event of this.session.events(this.next)) {
      const who = saidBy(event)
      if (who === undefined || !this.keys.has(who.text)) continue
      this.isTold = true
      const problem = `${who.name} said a key that goes to a provider; what is said stays as it is, so the key is in the log: take it out of use`
      this.reporter.report({ kind: 'secret', plugin: 'app', seam: event.type, problem })
      return
    }
    this.next = this.session.length
  }
}

function saidBy(event: SessionEvent): { readonly name: string; readonly text: string } | undefined {
  if (event.type === 'prompt/queued') return { name: 'the user', text: textIn(event.data.input.content) }
  if (event.type === 'assistant/message') return { name: 'the model', text: textIn(event.data.message.content) }
  return undefined
}

function textIn(content: readonly Block[]): string {
  return content.map((block) => (block.type === 'tool-call' ? block.arguments : 'text' in block ? block.text : '')).join('\n')
}
