import { Secrets } from '@headrace/wire'
import fc from 'fast-check'
import { expect, it } from 'vitest'

const key = fc.stringMatching(/^[A-Za-z0-9+/=_.:"&-]{16,60}$/)

it('no eight characters of a key in a row are left of a text, whatever stands around it and in which case', () => {
  fc.assert(fc.property(key, fc.string(), fc.string(), fc.nat(), fc.boolean(), (secret, before, after, at, upper) => {
    const part = secret.slice(at % (secret.length - 8), at % (secret.length - 8) + 8)
    const said = new Secrets().add(secret).redact(`${before}${upper ? part.toUpperCase() : part}${after}`)
    expect(said.toLowerCase()).not.toContain(part.toLowerCase())
  }))
})

it('nor of its escapes and its base64, wherever that begins', () => {
  fc.assert(fc.property(key, fc.string({ maxLength: 5 }), (secret, before) => {
    const forms = [encodeURIComponent(secret), JSON.stringify({ secret }), Buffer.from(`${before}${secret}`).toString('base64'), Buffer.from(secret).toString('hex')]
    for (const form of forms) expect(new Secrets().add(secret).redact(form)).toContain('[redacted]')
  }))
})

it('what goes out in a header or a query is a secret, whoever set it; another header is none', () => {
  const headers: [string, string][] = [['authorization', 'Bearer one-secret-of-mine'], ['x-goog-api-key', 'two-secret-of-mine'], ['content-type', 'application/json'], ['proxy-authorization', `Basic ${btoa('me:three-secret-of-mine')}`]]
  const secrets = new Secrets().request('https://four-user:five-secret-of-mine@host/v1?key=six-secret-of-mine&alt=sse', headers)
  const said = secrets.redact('one-secret-of-mine two-secret-of-mine three-secret-of-mine five-secret-of-mine six-secret-of-mine application/json')
  expect(said).toMatch(/^(\[redacted\] ){5}application\/json$/)
})

it('what providers put in front of their keys is left, and tells whose it is', () => {
  const said = new Secrets().add('sk-ant-api03-nothing-of-yours-0123456789').redact('a key such as sk-ant-api03-… is wrong')
  expect(said).toContain('sk-ant-api03')
})
