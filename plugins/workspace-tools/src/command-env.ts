import type { EnvConfig } from './config.ts'

/** A word of a name that says its value is a secret: `OPENAI_API_KEY`, `GITHUB_TOKEN`, `AWS_SECRET_ACCESS_KEY`, `PGPASSWORD`. */
const SECRET = /(?:^|_)(?:API)?KEYS?(?:_|$)|TOKEN|SECRET|PASSWORD|PASSWD|_PWD|PASSPHRASE|CREDENTIAL|_AUTH(?:_CONFIG)?$/i

/**
 * What a command sees of our variables: all but those whose names look like secrets. A command's output goes to the
 * model, and from there to a provider and into the log.
 */
export function commandEnv(own: Readonly<Record<string, string | undefined>>, config: EnvConfig, cwd: string): Record<string, string> {
  const env: Record<string, string> = {}
  for (const [name, value] of Object.entries(own)) {
    if (value !== undefined && (!SECRET.test(name) || config.keep.includes(name))) env[name] = value
  }
  return { ...env, PWD: cwd, ...config.set }
}
