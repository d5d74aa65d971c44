import { RULES, type Rule, type Way } from './cache.ts'
import type { Figures } from './measure.ts'
import { table } from './table.ts'

const NAMES: readonly (readonly [name: string, way: Way])[] = [
  ['a topic', 'history'], ['a topic with `baseline: \'prefix\'`', 'prefix'], ['`after`', 'after'], ['the system prompt', 'system'],
]
const TITLES: Readonly<Record<Rule, string>> = { block: 'blocks of 64 tokens', unit: 'whole units', breakpoint: 'breakpoints' }

/**
 * What facts cost by channel, for `docs/channels.md`: tokens at full price, and how many times those of requests that
 * are only appended to.
 */
export function channelCosts(figures: Figures): string {
  const full = (rule: Rule, way: Way): number => figures[`cache-${rule}-${way}-full`]!.median
  const rows = NAMES.map(([name, way]) => [name, ...RULES.map((rule) => `${full(rule, way).toLocaleString('en')} (× ${(full(rule, way) / full(rule, 'ideal')).toFixed(2)})`)])
  return table(['the facts are in', ...RULES.map((rule) => TITLES[rule])], rows)
}

const REGION = /(<!-- Made from performance\.json by `npm run bench:report`\. -->\n\n).*?(\n\n<!-- End -->)/s

/** The page with its figures made anew. @throws Error where it has no place for them */
export function withChannelCosts(page: string, figures: Figures): string {
  if (!REGION.test(page)) throw new Error('docs/channels.md has no place for its figures')
  return page.replace(REGION, (_, begin: string, end: string) => `${begin}${channelCosts(figures)}${end}`)
}
