import { createModelServer, steps, toolResults } from '@headrace/model-server'

/** The model's endpoint, and how to close it. */
export interface Endpoint {
  readonly model: string
  readonly baseURL: string | undefined
  close(): Promise<void>
}

/**
 * The model of `HEADRACE_MODEL` and `HEADRACE_BASE_URL`; without them a scripted one behind real HTTP, with a note that
 * says so.
 */
export async function endpoint(): Promise<Endpoint> {
  const { HEADRACE_MODEL: model, HEADRACE_BASE_URL: baseURL } = process.env
  if (model) return { model, baseURL, close: async () => undefined }
  process.stderr.write('The model is SCRIPTED; set HEADRACE_MODEL for a real one, e.g. deepseek/deepseek-flash.\n')
  const server = await createModelServer(steps([
    { toolCalls: [{ name: 'list', arguments: { path: '.' } }] },
    (body) => `I see ${toolResults(body).at(-1)?.text.trim().split('\n').length} things here:\n${toolResults(body).at(-1)?.text}`,
  ]))
  return { model: 'scripted', baseURL: server.url, close: () => server.close() }
}
