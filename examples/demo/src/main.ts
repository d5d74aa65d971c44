import type { ChildProcess } from 'node:child_process'
import { createModelServer } from '@headrace/model-server'
import { ended, startHeadrace } from './command.ts'
import { type Project, makeProject } from './project.ts'
import { PROMPT, demoScript } from './script.ts'

/** Milliseconds before each piece of an answer, so that the streaming can be seen. */
const DELAY = 15

/** The running command, so that it ends with us. */
let running: ChildProcess | undefined

function say(text = ''): void {
  process.stdout.write(`${text}\n`)
}

/** Runs the real command in the project, with its output visible. @throws where it fails */
async function headrace(project: Project, args: readonly string[]): Promise<void> {
  say(`\n$ headrace ${args.map((arg) => (/\s/.test(arg) ? JSON.stringify(arg) : arg)).join(' ')}`)
  running = startHeadrace(project, args)
  const code = await ended(running)
  if (code !== 0) throw new Error(`headrace ${args[0]} ended with ${code}`)
}

async function demo(project: Project): Promise<void> {
  if (!project.git) say('(There is no git here; the project goes without.)')
  if (project.passes()) throw new Error('the tests of the project should fail at first')
  const server = await createModelServer(demoScript({ delay: DELAY }))
  try {
    say(`The model of this demo is SCRIPTED: a small program at ${server.url} that speaks the`)
    say('protocol of OpenAI. Everything else is real: the command, HTTP, the files, the tests, the log.')
    say(`A small shop with a failing test is in ${project.cwd}, until the demo ends.`)
    await headrace(project, ['run', PROMPT, '--yes', '--model', 'scripted', '--base-url', server.url])
  } finally {
    await server.close()
  }
  if (!project.passes()) throw new Error('the tests of the project still fail')
  await headrace(project, ['explain', 'last'])
  await headrace(project, ['verify', 'last'])
}

async function main(): Promise<number> {
  const project = makeProject()
  // Ctrl-C reaches the command by itself, SIGTERM does not; when the command has ended, we clean up and end.
  process.on('SIGINT', () => undefined).on('SIGTERM', () => running?.kill('SIGTERM'))
  try {
    await demo(project)
    say('\nDone: the test is fixed, and every request is verified from the log. The shop and its log are deleted again.')
    return 0
  } catch (error) {
    process.stderr.write(`demo: ${error instanceof Error ? error.message : String(error)}\n`)
    return 1
  } finally {
    project.remove()
  }
}

process.exitCode = await main()
