import { execFile } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { isSecretName } from '../src/initial-environment.ts'

const LIB = fileURLToPath(new URL('../lib/index.js', import.meta.url))

/** What a process says that was started with these variables, and hides its secrets. */
async function said(env: Readonly<Record<string, string>>, code: string): Promise<unknown> {
  const program = `const { hideInitialSecrets } = await import(${JSON.stringify(LIB)})
    const { readFileSync } = await import('node:fs')
    const block = () => readFileSync('/proc/self/environ', 'utf8').split('\\0').filter((line) => line !== '').sort()
    ${code}`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program], { env })
  return JSON.parse(stdout)
}

/** False where the system lets no process write to its own memory. */
function canClear(): boolean {
  try {
    closeSync(openSync('/proc/self/mem', 'r+'))
    return true
  } catch {
    return false
  }
}

if (process.platform === 'linux' && !canClear()) it('was not tried: this system lets no process write to its own memory', () => expect(canClear()).toBe(false))
if (process.platform === 'linux' && canClear()) {
  describe('the variables a process was started with', () => {
    it('lose the values of secrets, each to its last byte; process.env and its children have them', async () => {
      const env = { A_KEY: 'one', B: 'plain=x', C_TOKEN: 'zw\u00f6lf', D_SECRET: '', E: '' }
      expect(await said(env, `hideInitialSecrets()
        const { execFileSync } = await import('node:child_process')
        const child = execFileSync(process.execPath, ['-p', 'process.env.C_TOKEN'], { encoding: 'utf8' }).trim()
        console.log(JSON.stringify([block(), { ...process.env }, child]))`)).toEqual([['A_KEY=', 'B=plain=x', 'C_TOKEN=', 'D_SECRET=', 'E='], env, env.C_TOKEN])
    })

    it('are left to what the program made of them: changed, removed, added', async () => {
      expect(await said({ A_KEY: 'one', B_KEY: 'two' }, `process.env.A_KEY = 'other'; delete process.env.B_KEY; process.env.C_KEY = 'new'
        hideInitialSecrets(); hideInitialSecrets()
        console.log(JSON.stringify([block(), { ...process.env }]))`)).toEqual([['A_KEY=', 'B_KEY='], { A_KEY: 'other', C_KEY: 'new' }])
    })

    it('stay as they are where a worker asks: the main thread would lose its values', async () => {
      expect(await said({ A_KEY: 'one' }, `const { Worker } = await import('node:worker_threads')
        const worker = new Worker('import(' + JSON.stringify(${JSON.stringify(LIB)}) + ').then((files) => files.hideInitialSecrets())', { eval: true })
        await new Promise((resolve) => worker.on('exit', resolve))
        console.log(JSON.stringify([block(), process.env.A_KEY]))`)).toEqual([['A_KEY=one'], 'one'])
    })
  })
}

it('a name says that its value is a secret', () => {
  expect(['OPENAI_API_KEY', 'GITHUB_TOKEN', 'AWS_SECRET_ACCESS_KEY', 'PGPASSWORD', 'MYSQL_PWD'].map(isSecretName)).toEqual(Array(5).fill(true))
  expect(['PATH', 'KEYBOARD', 'SSH_AUTH_SOCK', 'PWD', 'OLDPWD'].map(isSecretName)).toEqual(Array(5).fill(false))
})
