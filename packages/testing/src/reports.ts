import type { Report } from '@headrace/agent'
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

  constructor(allowed: boolean) {
    this.allowed = allowed
  }

  add(report: Report): void {
    this.list.push(report)
  }

  /** All that there are; they count as looked at. */
  look(): readonly Report[] {
    this.seen = this.list.length
    return this.list
  }

  /** Each report is thrown once. @throws ReportedError */
  check(): void {
    const fresh = this.list.slice(this.seen)
    this.seen = this.list.length
    if (fresh.length > 0 && !this.allowed) throw new ReportedError(fresh)
  }
}
