import { isSecretName } from '@headrace/files'
import type { EnvConfig } from './config.ts'

/**
 * No person is at the terminal of a command: editors accept the text as it is, pagers show everything, and password
 * prompts fail. Git commits without a message would wait for an editor until their time is up.
 */
const UNATTENDED: Readonly<Record<string, string>> = {
  EDITOR: 'true', VISUAL: 'true', GIT_EDITOR: 'true', GIT_SEQUENCE_EDITOR: 'true',
  PAGER: 'cat', GIT_PAGER: 'cat', MANPAGER: 'cat', GH_PAGER: 'cat', BAT_PAGER: 'cat', DELTA_PAGER: 'cat', PSQL_PAGER: 'cat', SYSTEMD_PAGER: 'cat', AWS_PAGER: '',
  GIT_TERMINAL_PROMPT: '0', GIT_ASKPASS: 'true', SSH_ASKPASS: 'true', SSH_ASKPASS_REQUIRE: 'never', SUDO_ASKPASS: 'true', GCM_INTERACTIVE: 'never', GH_PROMPT_DISABLED: '1',
  PIP_NO_INPUT: '1', DEBIAN_FRONTEND: 'noninteractive', TERM: 'dumb', NO_COLOR: '1',
}

/**
 * What a command sees of our variables: all but those whose names look like secrets. A command's output goes to the
 * model, and from there to a provider and into the log.
 */
export function commandEnv(own: Readonly<Record<string, string | undefined>>, config: EnvConfig, cwd: string): Record<string, string> {
  const env: Record<string, string> = {}
  for (const [name, value] of Object.entries(own)) {
    if (value !== undefined && (!isSecretName(name) || config.keep.includes(name))) env[name] = value
  }
  return { ...env, PWD: cwd, ...config.set }
}

/** The same with variables for a command without a person; what the config keeps or sets is not changed. */
export function unattendedEnv(env: Readonly<Record<string, string>>, { keep, set }: EnvConfig): Record<string, string> {
  const others = Object.entries(UNATTENDED).filter(([name]) => !keep.includes(name) && !Object.hasOwn(set, name))
  return { ...env, ...Object.fromEntries(others) }
}
