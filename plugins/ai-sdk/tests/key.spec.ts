import { createAnthropic } from '@ai-sdk/anthropic'
import { createGoogleGenerativeAI } from '@ai-sdk/google'
import { createOpenAI } from '@ai-sdk/openai'
import { inspect } from 'node:util'
import { type ModelSource, aiSdkAdapter, wireFetch } from '@headrace/plugin-ai-sdk'
import { failed, rawServer } from '@headrace/testing/adapter'
import { describe, expect, it } from 'vitest'

const KEY = 'AIzaSyD-7nothing4real_0123456789abcde'
type Make = (options: { apiKey: string; baseURL: string; fetch?: typeof fetch }) => unknown

describe('the key that a package has by itself', () => {
  it.each<[string, Make]>([
    ['openai', (options) => createOpenAI(options)], ['anthropic', (options) => createAnthropic(options)], ['google', (options) => createGoogleGenerativeAI(options)],
  ])('of %s is in no part of an error, with our fetch and with its own, in any form', async (_, make) => {
    const said = [KEY, Buffer.from(KEY).toString('base64'), KEY.toLowerCase(), encodeURIComponent(KEY)]
    const body = { error: { code: 403, status: 'PERMISSION_DENIED', message: `Consumer 'api_key:${said.join(' ')}' has been suspended.` } }
    const url = await rawServer((_, response) => response.writeHead(403, { 'content-type': 'application/json' }).end(JSON.stringify(body)))
    for (const fetch of [{}, { fetch: wireFetch }]) {
      const { failure, error } = await failed(aiSdkAdapter(make({ apiKey: KEY, baseURL: url, ...fetch }) as ModelSource))
      expect(failure).toMatchObject({ kind: 'auth', status: 403, message: expect.stringContaining('[redacted]') })
      const everything = inspect(error, { depth: 20, showHidden: true }) + JSON.stringify(failure) + error.stack
      for (const form of said) expect(everything).not.toContain(form)
    }
  })
})
