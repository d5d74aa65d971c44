import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { overflow, serverError, steps } from '@headrace/model-server'
import { Lab, at } from './command.ts'

let lab: Lab
beforeEach(() => { lab = new Lab() })
afterEach(() => lab.close())

const READ = { text: 'I look.', toolCalls: [{ name: 'read', arguments: { path: 'a.txt' } }, { name: 'read', arguments: { path: 'b.txt' } }] }

describe('headrace verify --wire', () => {
  it('makes the bodies of a session again in another process, after a resume and a failure, and sends nothing', async () => {
    const server = await lab.serve(steps([READ, 'Done.']))
    await lab.prompt(server, ['one', '--session', 's'])
    await lab.prompt(server, ['two', '--session', 's'])
    const sent = server.requests.length
    expect(await lab.start(['verify', 's', '--wire']).ended).toMatchObject({ code: 0, out: `${sent} equal, 0 differ, 0 not comparable (session s)\n` })
    expect(server.requests).toHaveLength(sent)
    expect((await lab.run(['verify', 's'])).out).toMatch(/^ok: /)
  })

  it('says what cannot be compared, and why', async () => {
    const server = await lab.serve(() => 'Done.')
    await lab.run(['run', 'one', '--session', 's', '--model', 'openai/gpt-4o', '--base-url', server.url], { env: { OPENAI_API_KEY: 'none-of-yours' } })
    const { code, out } = await lab.run(['verify', 's', '--wire'])
    expect(code).toBe(2)
    expect(out).toMatch(/^not comparable: event \d+: its provider is set up otherwise here/)
  })
})

describe('what a script reads', () => {
  it('is the answer, not the half of one that came before it (W12)', async () => {
    const server = await lab.serve((_, { index }) => (index === 0 ? { text: 'Half of it, and th', breakAfter: 1 } : 'The whole.'))
    expect(await lab.prompt(server, ['Hi'])).toMatchObject({ code: 0, out: 'The whole.\n', err: expect.stringContaining('goes out again') })
  })

  it.each([
    ['content_filter', 'refused to answer'], ['length', 'cut off at the model\'s output limit'],
  ] as const)('says where an answer is none: %s (W13)', async (finish, words) => {
    const server = await lab.serve(() => ({ text: 'No.', finish }))
    expect(await lab.prompt(server, ['Hi'])).toMatchObject({ code: 3, out: 'No.\n', err: expect.stringContaining(words) })
  })

  it('a failure that will be the same again is told once, and the window with it (W9, W15)', async () => {
    const server = await lab.serve(() => ({ error: { status: 429, code: 'insufficient_quota', message: 'You exceeded your current quota, please check your plan and billing details.' } }))
    expect(await lab.prompt(server, ['Hi'])).toMatchObject({ code: 1, err: expect.stringContaining('insufficient_quota') })
    expect(server.requests).toHaveLength(1)
    const small = await lab.serve((body) => overflow(body, 512))
    await lab.prompt(small, ['Hi', '--session', 'o'])
    const ends = (await lab.events('o')).filter(({ type }) => type === 'request/end')
    expect(ends.at(-1)).toMatchObject({ data: { error: { kind: 'overflow', window: 512 } } })
  })

  it('a clock is set on the command line, and named when it runs down (W11)', async () => {
    const server = await lab.serve((_, { index }) => (index === 0 ? { hang: true } : serverError(400)))
    const { err } = await lab.prompt(server, ['Hi', '--first-byte', '1'])
    expect(err).toContain('has not begun to answer after 1 s (its firstByte clock)')
    expect(await lab.prompt(server, ['Hi', '--idle', 'soon'])).toMatchObject({ code: 2 })
  })

  it('knows the price of a model that is in the table', async () => {
    const server = await lab.serve(() => ({ text: 'ok', usage: { input: 1_000_000, cached: 0, output: 100_000 } }))
    const { err } = await lab.run(['run', 'Hi', '--model', 'openai/gpt-4o', '--base-url', server.url], { env: { OPENAI_API_KEY: 'none-of-yours' } })
    expect(err).toContain('$3.5000')
  })
})

it('an image and a PDF go with a prompt; a model that cannot see is told so', async () => {
  const server = await lab.serve(() => 'Seen.')
  const [png, pdf] = ['shot.png', 'paper.pdf'].map((name) => join(lab.root, name))
  writeFileSync(png!, Buffer.from('iVBORw0KGgo=', 'base64'))
  writeFileSync(pdf!, '%PDF-1.4')
  const flags = ['--image', png!, '--image', pdf!, '--base-url', server.url]
  const env = { HEADRACE_API_KEY: 'none-of-yours' }
  expect(await lab.run(['run', 'Look', '--model', 'openai/gpt-4o', ...flags], { env })).toMatchObject({ code: 0, out: 'Seen.\n' })
  expect(await lab.run(['run', 'Look', '--model', 'deepseek/deepseek-flash', ...flags], { env })).toMatchObject({ code: 0 })
  const [seeing, blind] = server.requests.map(({ raw }) => raw)
  expect(seeing).toContain('"image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}')
  expect(seeing).toContain('"filename":"paper.pdf"')
  expect(blind).toContain('[an image (image/png) stands here, which this model cannot read]')
  expect(await lab.run(['run', 'Look', '--image', 'a.txt', '--model', 'm', '--base-url', server.url])).toMatchObject({ code: 2 })
})

it('an endpoint of one\'s own takes a base URL as it is pasted (W18)', async () => {
  const server = await lab.serve(() => 'ok')
  const url = ` ${server.url}/chat/completions?tag=1 `
  expect(await lab.run(['run', 'Hi', '--model', 'any', '--base-url', url])).toMatchObject({ code: 0, out: 'ok\n' })
  expect(server.requests[0]!.path).toBe('/v1/chat/completions?tag=1')
  expect(at(server)).toContain('--base-url')
})
