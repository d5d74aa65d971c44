import { RULES, type Rule, WAYS, type Way } from './cache.ts'
import type { Figures } from './measure.ts'
import { table } from './table.ts'

const TEXT = `Three recorded sessions of 20 turns each, of one or two, three or four, and six or seven steps a turn, with every context plugin on: a working
directory with nested AGENTS.md, thirty skills, tools that read files; the branch changes in turn 7, AGENTS.md in turn 11, the day in turn 14, and
before turn 17 another process takes the session up. Each goes through simulated provider caches, empty at first; a token is four characters of the
JSON. The three are summed up. Counted, not timed: the same at every run and on every machine.
\`npm run e2e:cache\` asks a real endpoint, where HEADRACE_E2E_MODEL names a model.`.replaceAll('\n', ' ')

const RULE_TEXTS: Readonly<Record<Rule, string>> = {
  block: 'blocks of 64 tokens (DeepSeek at first, vLLM, OpenAI)',
  unit: 'whole units (DeepSeek today)',
  breakpoint: 'breakpoints after tools and system, prefix, and history (Anthropic; at full price is also what it bills as written)',
}

const WAY_TEXTS: Readonly<Record<Way, string>> = {
  bare: '**bare**: the ideal with each fact told as text alone, without a word or a frame around it: less cannot be told.',
  ideal: 'An **ideal** request has what was sent, tools, system prompt and messages, each once and at the place where it first stood, and is only ever appended to.',
  history: '**history**, the default: facts are topics, told in the history and announced when they change; nothing that was sent ever moves.',
  prefix: '**prefix** (`baseline: \'prefix\'`): topics open ahead of the history, survive compaction, and are the same until a process that resumes composes them anew from facts that have changed: then all behind them is paid again.',
  after: '**after** (`channel: \'after\'` of environment): day and branch ride last on every request and are paid on each; where only whole units are read from the cache, so is what came since the unit before, for no unit ends in front of them.',
  system: '**system**: the facts baked into the system prompt, as many agents do: each change of a day, a branch or an AGENTS.md pays the whole history again.',
}

/** What facts cost by where they go. */
export function cacheSection(figures: Figures): string {
  const of = (rule: Rule, way: Way, part: 'full' | 'cached'): number => figures[`cache-${rule}-${way}-${part}`]!.median
  const rows = WAYS.map((way) => [way, ...RULES.flatMap((rule) => {
    const [full, cached] = [of(rule, way, 'full'), of(rule, way, 'cached')]
    return [full.toLocaleString('en'), (full / of(rule, 'ideal', 'full')).toFixed(3), cached.toLocaleString('en')]
  })])
  return [
    '## What the facts cost in a provider\'s cache', TEXT,
    ...RULES.map((rule) => `${capital(rule)}: ${RULE_TEXTS[rule]}.`),
    table(['facts in', ...RULES.flatMap((rule) => [`${rule}: full price`, 'to the ideal', 'cached'])], rows),
    WAYS.map((way) => `- ${WAY_TEXTS[way]}`).join('\n'),
  ].join('\n\n')
}

function capital(word: string): string {
  return word[0]!.toUpperCase() + word.slice(1)
}
