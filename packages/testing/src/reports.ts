import type { Report, TurnResult } from '@headrace/agent'
import { HeadraceError } from '@headrace/message'

/** Something went wrong in a harness's app, did not stop the agent, and no test looked at it. */
export class ReportedError extends HeadraceError {
  readonly reports: readonly Report[]

  constructor(reports: readonly Report[]) {
    const lines = reports.map(({ plugin, seam, problem }) => `plugin ${plugin} in ${seam}: ${problem}`)
    super('REPORTED', `${lines.join('\n')}\n(a test that means it reads harness.reports, or makes its harness with { reports: 'allow' })`)
    this.reports = reports
  }
}

/** What was reported, and how much of it a test has looked at. */
export class Reports {
  private readonly list: Report[] = []
  private readonly allowed: boolean
  private seen = 0
  /** Turns that a seam broke, and whose result no test has looked at. */
  private readonly broken = new Set<Report>()

  constructor(allowed: boolean) {
    this.allowed = allowed
  }

  add(report: Report): void {
    this.list.push(report)
  }

  /**
   * The result of a turn. Where a plugin's seam broke the turn, that is a report too, until a test looks at why the turn ended: a host
   * would see it fail.
   */
  turn(result: TurnResult): TurnResult {
    const { reason, error } = result
    const [, plugin = 'loop', seam = 'turn', problem = error?.message ?? ''] = /^plugin (\S+) in (\S+): (.*)$/s.exec(error?.message ?? '') ?? []
    if (reason !== 'error' || error?.code !== 'SEAM_FAILED') return result
    const report: Report = Object.freeze({ kind: 'failed', plugin, seam, problem: `${problem}; the turn ended with it` })
    this.broken.add(report)
    const looked = <T>(value: T) => ({ enumerable: true, get: (): T => (this.broken.delete(report), value) })
    return Object.defineProperties({ ...result }, { reason: looked(reason), error: looked(error) })
  }

  /** All reports; they count as read. */
  look(): readonly Report[] {
    this.seen = this.list.length
    return this.list
  }

  /** Each report is thrown once. @throws ReportedError */
  check(): void {
    const fresh = this.list.slice(this.seen)
    this.seen = this.list.length
    fresh.push(...this.broken)
    this.broken.clear()
    if (fresh.length > 0 && !this.allowed) throw new ReportedError(fresh)
  }
}
