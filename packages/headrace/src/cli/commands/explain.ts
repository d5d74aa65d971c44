import { DONE } from '../base/error.ts'
import { chooseDispatch, explainRequest } from '../base/explanation.ts'
import { type StoreOptions, findLog, readAll, storeOf } from '../base/store.ts'
import { linesOf, withoutTexts } from '../show/explanation.ts'
import type { Terminal } from '../show/terminal.ts'

export interface ExplainOptions extends StoreOptions {
  readonly json?: true
  /** Whole texts instead of first words. */
  readonly full?: true
}

/** `headrace explain`: a request in its parts, who put each there, what changed and what was sent before. */
export async function explain(what: string, step: string | undefined, options: ExplainOptions, terminal: Terminal): Promise<number> {
  const events = await readAll(await findLog(await storeOf(options), what))
  const explanation = explainRequest(events, chooseDispatch(events, step))
  if (options.json) terminal.json(options.full ? explanation : withoutTexts(explanation))
  else for (const line of linesOf(explanation, options.full === true)) terminal.print(line)
  return DONE
}
