/** Cordis' context, with what this package adds to it. */
export type { Context } from 'cordis'
export type { Adapter, AdapterTools, WireRecord } from './contract/adapter.ts'
export type {
  Agent, AskOptions, CancelOptions, KeepOptions, PromptOptions, ReplaceOptions, RewindOptions, SideAnswer,
} from './contract/agent.ts'
export { AgentError, CancelledError, LimitError, ModelError, ParkedError, SeamError } from './contract/error.ts'
export type {
  ChildNote, ErrorDecision, OverrideNote, PostExecuted, PostExecution, PromptDecision, Report, RequestMessages,
  StepDecision, Submission,
} from './contract/events.ts'
export type { Keyed } from './contract/keyed.ts'
export type { AgentOptions, ContextProvider, CreateOptions, ForkOptions, ResumeOptions, Widening } from './contract/options.ts'
export type { Limits, Settings } from './contract/settings.ts'
export type { AnswerOptions, InputQuestion, PermissionAnswer } from './contract/question.ts'
export type { SystemSection } from './contract/system.ts'
export type {
  CallDecision, McpContent, McpResult, OutcomeInput, Permission, ToolAsked, ToolCall, ToolDefinition, ToolJson, ToolOutcome,
  ToolOutput, ToolRun, ToolSchemaLike,
} from './contract/tool.ts'
export type { OutputSchema, Step, ToolStart, Turn, TurnEvent, TurnHandle, TurnResult } from './contract/turn.ts'
export { override } from './seams/dispatch.ts'
export { scopeOf, serves } from './seams/owner.ts'
export type { AgentsService, ContributionSource } from './services/agents.ts'
export type { LlmService } from './services/llm.ts'
export { Config, apply, name } from './services/plugin.ts'
export type { SessionsService } from './services/sessions.ts'
export type { SystemService } from './services/system.ts'
export type { ToolsService } from './services/tools.ts'
