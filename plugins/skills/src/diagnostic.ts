import { Context } from 'cordis'
import { messageOf } from '@headrace/message'
import { type Agent, serves } from '@headrace/agent'
import { Slices } from './slices.ts'

/** What can be wrong with a skill or a root. */
export type DiagnosticCode =
  | 'NAME_MISSING' | 'NAME_INVALID' | 'NAME_MISMATCH' | 'DESCRIPTION_MISSING' | 'DESCRIPTION_LONG' | 'COMPATIBILITY_LONG' | 'FIELD_INVALID' | 'FIELD_UNKNOWN'
  | 'FRONTMATTER_MISSING' | 'FRONTMATTER_INVALID' | 'FRONTMATTER_LARGE' | 'YAML_REPAIRED'
  | 'FILE_KIND' | 'FILE_LARGE' | 'FILE_NOT_TEXT' | 'FILE_UNREADABLE' | 'LINK_DANGLING'
  | 'FOLDER_DEEP' | 'FOLDER_UNREADABLE' | 'ROOT_UNREADABLE' | 'ROOT_LARGE' | 'ROOT_FILE' | 'SHADOWED'

/** What is wrong with a skill or a root, and whether the skill is there all the same. */
export interface Diagnostic {
  readonly code: DiagnosticCode
  /** `error`: it is left out. `warning`: it is there, as well as it could be read. */
  readonly severity: 'error' | 'warning'
  /** Absolute path of the SKILL.md, the folder or the root. */
  readonly path: string
  /** One line: what is wrong, and the way out. */
  readonly message: string
}

/** What is wrong with a file, before it is said which. */
export type Finding = Omit<Diagnostic, 'path'>

export function finding(severity: Diagnostic['severity'], code: DiagnosticCode, message: string): Finding {
  return { code, severity, message }
}

declare module 'cordis' {
  interface Events {
    /**
     * Something is wrong with a skill that an agent would have: once for each agent, and again when it comes back.
     * Errors of listeners are caught.
     */
    'skills/diagnostic'(agent: Agent, diagnostic: Diagnostic): void
  }
}

/**
 * Tells each agent of each diagnostic once while it lasts: all by `skills/diagnostic`, errors in Cordis' log too.
 * Warnings stay out of the log: most files of others have one.
 */
export class DiagnosticReporter {
  private readonly ctx: Context
  private readonly slices = new Slices()
  private readonly reported = new WeakMap<Agent['session'], { readonly of: readonly Diagnostic[]; readonly keys: ReadonlySet<string> }>()

  constructor(ctx: Context) {
    this.ctx = ctx
  }

  /** Resolves when all listeners were called. The same list again costs nothing. */
  async report(agent: Agent, diagnostics: readonly Diagnostic[]): Promise<void> {
    const last = this.reported.get(agent.session)
    if (last?.of === diagnostics) return
    const current = new Map(diagnostics.map((diagnostic) => [JSON.stringify(diagnostic), diagnostic]))
    this.reported.set(agent.session, { of: diagnostics, keys: new Set(current.keys()) })
    for (const [key, diagnostic] of current) if (!last?.keys.has(key)) await this.slices.run(() => this.emit(agent.id, diagnostic))
  }

  private emit(id: string, diagnostic: Diagnostic): void {
    const { ctx } = this
    // The app's own view of the agent: a listener signs with its own plugin's name.
    const agent = ctx.fiber.uid === null ? undefined : ctx.root.get('agents')?.get(id)
    if (!agent) return
    if (diagnostic.severity === 'error') ctx.logger.warn('%s: %s', diagnostic.path, diagnostic.message)
    const scope = { [Context.filter]: (other: Context) => serves(other, id) }
    ctx.parallel(scope, 'skills/diagnostic', agent, diagnostic).catch((error: unknown) => {
      for (const one of error instanceof AggregateError ? error.errors : [error]) ctx.logger.warn('a listener of skills/diagnostic failed: %s', messageOf(one))
    })
  }
}
