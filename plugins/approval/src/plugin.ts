import { realpath } from 'node:fs/promises'
import type { Agent, CallDecision, ToolCall } from '@headrace/agent'
import { type Json, messageOf, sameJson } from '@headrace/message'
import type { Context } from 'cordis'
import { quoteWords, readCommand } from './command.ts'
import { Config } from './config.ts'
import { FolderAnswers } from './folder-answers.ts'
import { exactPath, leadOf } from './path.ts'
import { type JudgedCall, type Rule, parseRule } from './rule.ts'

export { Config }
export const name = 'approval'
export const inject = ['agents', 'tools']

/** How a remembered option is stored. */
interface Remembered {
  readonly rule: string
  readonly scope: 'session' | 'folder'
  /** The real path of the folder it was given in; a session may continue in another. */
  readonly folder: string
}

const LABELS: Readonly<Record<Remembered['scope'], string>> = { session: 'session and its subagents', folder: 'folder' }

/** Judges calls by rules, and remembers answers. @throws ApprovalError for an invalid rule */
export async function apply(ctx: Context, given: Partial<Config> = {}): Promise<void> {
  const config = Config(given)
  const approval = new Approval(config, (id) => ctx.agents.get(id))
  ctx.on('tools/pre-execute', async (agent, _turn, call, next) => approval.judge(agent, call, await next()))
  ctx.on('tools/execute', async (agent, _turn, call, next) => await approval.isAsJudged(agent, call)
    ? next()
    : { content: 'The call was denied: its path leads elsewhere than when it was allowed.', error: true })
  ctx.on('session/event', (agent, event) => {
    if (event.type !== 'question/answered') return
    const remember = rememberedOf(event.data.remember)
    if (remember?.scope !== 'folder' || event.data.answer !== 'allow' || !wasOffered(agent, event.data)) return
    approval.keeping = agent.session.flush().then(() => approval.folders.add(remember.folder, remember.rule))
      .catch((error: unknown) => agent.report('session/event', `an answer could not be remembered for the folder: ${messageOf(error)}`))
  })
}

class Approval {
  readonly folders = new FolderAnswers()
  /** Settles when the newest answer for a folder is stored: the next call depends on it. */
  keeping: Promise<void> = Promise.resolve()
  private readonly config: Config
  private readonly agentOf: (session: string) => Agent | undefined
  private readonly rules: Readonly<Record<'allow' | 'ask' | 'deny', readonly Rule[]>>
  /** Where the path of a call led when a rule allowed it. */
  private readonly led = new WeakMap<ToolCall, string>()

  /** @param agentOf the agent that lives here for a session */
  constructor(config: Config, agentOf: (session: string) => Agent | undefined) {
    this.config = config
    this.agentOf = agentOf
    const parse = (texts: readonly string[]): readonly Rule[] => texts.map((text) => parseRule(text, config))
    this.rules = { allow: parse(config.allow), ask: parse(config.ask), deny: parse(config.deny) }
  }

  /**
   * Applies the rules to the decision of other listeners: rules deny or ask for what others allow, and allow what
   * others would ask for.
   */
  async judge(agent: Agent, call: ToolCall, others: CallDecision): Promise<CallDecision> {
    const asks = typeof others === 'object' && 'ask' in others
    if (typeof others === 'object' && 'deny' in others) return others
    const { deny, ask, allow } = this.rules
    // No rule can match, so nothing is looked up.
    if (!asks && deny.length + ask.length === 0) return others
    const judged = await this.read(agent, call)
    const denied = deny.find((rule) => rule.matches(judged, 'wide'))
    if (denied) return { deny: `the rule ${denied.text} denies it`, rule: denied.text }
    const asked = ask.find((rule) => rule.matches(judged, 'wide'))
    const isDoubtful = judged.isUnclear && [...deny, ...ask].some((rule) => rule.isFor(call.name))
    if (!asked && !asks && !isDoubtful) return others
    const question = asks ? others : { ask: `Run ${call.name}?` }
    if (!asked && asks) {
      const allowed = allow.find((rule) => rule.matches(judged, 'strict'))?.text ?? await this.rememberedFor(agent, judged)
      if (allowed !== undefined) {
        if (judged.path) this.led.set(call, judged.path.real)
        return { allow: allowed }
      }
    }
    const { options = [{ answer: 'allow' }, { answer: 'deny' }] } = question
    // What a rule asks for is asked every time, remembered or not.
    const offers = asked ? [] : await this.offers(agent, call, judged)
    return { ...question, options: [...options, ...offers], ...(asked && { rule: asked.text }) }
  }

  /** False where the path of a call that a rule allowed leads elsewhere now: another call may have changed it. */
  async isAsJudged(agent: Agent, call: ToolCall): Promise<boolean> {
    const real = this.led.get(call)
    return real === undefined || (await this.read(agent, call)).path?.real === real
  }

  private async read({ cwd }: Agent, { name: tool, input }: ToolCall): Promise<JudgedCall> {
    const { commands, paths } = this.config
    if (Object.hasOwn(commands, tool)) {
      const command = input[commands[tool]!]
      if (typeof command !== 'string') return { tool, isUnclear: true }
      const line = readCommand(command)
      return { tool, command: line, isUnclear: line.words === undefined }
    }
    if (!Object.hasOwn(paths, tool)) return { tool, isUnclear: false }
    const path = input[paths[tool]!] ?? '.'
    const led = typeof path === 'string' ? await leadOf(cwd, path).catch(() => undefined) : undefined
    return { tool, ...(led && { path: led }), isUnclear: led === undefined }
  }

  /** The remembered answer that allows a call, as the log names it. */
  private async rememberedFor(agent: Agent, judged: JudgedCall): Promise<string | undefined> {
    const folder = await realpath(agent.cwd)
    for (const one of [agent, ...makersOf(agent, this.agentOf)]) {
      for (const answered of one.remembered) {
        const kept = rememberedOf(answered.remember)
        const isHere = answered.answer === 'allow' && kept?.scope === 'session' && kept.folder === folder && wasOffered(one, answered)
        if (isHere && this.allows(kept.rule, judged)) return `${kept.rule}, remembered for the session${one === agent ? '' : ` ${one.id}`}`
      }
    }
    await this.keeping
    for (const rule of await this.folders.of(folder)) if (this.allows(rule, judged)) return `${rule}, remembered for the folder`
    return undefined
  }

  private allows(rule: string, judged: JudgedCall): boolean {
    return parseRule(rule, this.config).matches(judged, 'strict')
  }

  /** What can be remembered of an answer: exactly this command, or exactly this path; never more than was shown. */
  private async offers({ cwd }: Agent, { name: tool }: ToolCall, judged: JudgedCall): Promise<{ answer: 'allow'; label: string; remember: Json }[]> {
    if (!this.config.remember) return []
    const words = judged.command?.words && quoteWords(judged.command.words)
    const inner = words ?? (judged.path?.inside === undefined ? undefined : exactPath(judged.path.inside))
    if (inner === undefined) return []
    const rule = `${tool}(${inner})`
    const folder = await realpath(cwd)
    const scopes = await this.folders.canKeep(cwd) ? ['session', 'folder'] as const : ['session'] as const
    return scopes.map((scope) => ({ answer: 'allow', label: labelOf({ rule, scope }), remember: { rule, scope, folder } }))
  }
}

/**
 * Agents that this one works for, nearest first: what a person allows them for their session holds for whoever does a part of their work in
 * the same folder. Only those that live here and whose own log names it: any log may say that it stands under another.
 */
function makersOf(agent: Agent, agentOf: (session: string) => Agent | undefined): readonly Agent[] {
  const makers: Agent[] = []
  for (let child = agent; ;) {
    const { under } = child.session.origin ?? {}
    const maker = under && agentOf(under.session)
    if (!maker || maker === agent || makers.includes(maker)) return makers
    const from = Math.max(maker.session.first, under.call.assistant)
    const isNamed = [...maker.session.events(from)].some(({ type, data }) => type === 'agent/child' && data.session === child.id)
    if (!isNamed) return makers
    makers.push(maker)
    child = maker
  }
}

function labelOf({ rule, scope }: Pick<Remembered, 'rule' | 'scope'>): string {
  return `allow ${rule} from now on, in this ${LABELS[scope]}`
}

/** False where another plugin offered it, in other words than ours: the person has not seen what would be remembered. */
function wasOffered({ session }: Agent, { question, remember }: Pick<Agent['remembered'][number], 'question' | 'remember'>): boolean {
  // What was before memory begins was judged in an earlier life.
  if (question < session.first) return true
  const asked = session.at(question)
  const kept = rememberedOf(remember)
  return asked?.type === 'question/asked' && asked.data.kind === 'permission' && kept !== undefined
    && asked.data.options?.some((option) => option.label === labelOf(kept) && sameJson(option.remember ?? null, remember ?? null)) === true
}

function rememberedOf(value: Json | undefined): Remembered | undefined {
  const { rule, scope, folder } = (typeof value === 'object' && value !== null ? value : {}) as Partial<Record<string, unknown>>
  const isOne = typeof rule === 'string' && (scope === 'session' || scope === 'folder') && typeof folder === 'string'
  return isOne ? { rule, scope, folder } : undefined
}
