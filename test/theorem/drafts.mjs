// Random drafts of events, with values in every place that takes any JSON: nested up to and beyond what an event may be, made of pieces
// that were copied by themselves, and full of texts that are hard to keep. Plain JavaScript, for a test and the child that it kills.

/** Numbers from 0 to below 1, from a seed: the same in every process. */
export function randomOf(seed) {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}

const TEXTS = ['', 'a', '","sum":"00000000"}', '\u2028\u2029\u0085\r\n\0', '😀\u{10ffff}\ufeff', '\ud800', '__proto__', '1', 'é', '\\"}]', 'x'.repeat(5000)]
const NUMBERS = [0, 1, -1, 1e21, 5e-324, 0.1, Number.MAX_SAFE_INTEGER, -0, NaN, Infinity]

/** @param copy gives a value as its maker would that copied it before: `copyJson` */
export function draftsOf(random, copy) {
  const pick = (list) => list[Math.floor(random() * list.length)]
  const leaf = () => pick([() => pick(TEXTS), () => pick(NUMBERS), () => pick([true, false, null]), () => [], () => ({})])()
  /** A value, now and then copied on its way, wrapped so many times. */
  const nested = (depth) => {
    let value = leaf()
    for (let level = 0; level < depth; level++) {
      const key = pick(['a', '10', '2', '__proto__', 'é', 'type', 'in'])
      value = random() < 0.5 ? [value] : { [key]: value }
      if (random() < 0.1 && typeof value === 'object') {
        try {
          value = copy(value)
        } catch {
          return { refused: true }
        }
      }
    }
    return random() < 0.3 && typeof value === 'object' ? { copied: value, beside: leaf() } : value
  }
  const any = () => nested(random() < 0.5 ? Math.floor(random() * 4) : 110 + Math.floor(random() * 25))
  const object = () => ({ any: any() })
  const text = (role) => ({ role, content: [{ type: 'text', text: pick(TEXTS), ...(random() < 0.5 && { metadata: object() }) }] })
  const header = () => ({
    reason: 'fallback', owners: {},
    header: {
      config: { model: 'p/m', ...(random() < 0.3 && { providerOptions: object() }), ...(random() < 0.3 && { output: object() }) },
      ...(random() < 0.5 && { tools: [{ name: 'n', description: pick(TEXTS), parameters: object() }] }),
      ...(random() < 0.3 && { before: [text('system')] }),
    },
  })
  const places = [
    () => ({ type: 'note/any', data: object() }),
    () => ({ type: 'note/any', data: { ...object(), blobs: ['0'.repeat(64)] } }),
    () => ({ type: 'context/message', data: { message: text('system'), owner: 'x/y', more: any() } }),
    () => ({ type: 'prompt/queued', data: { input: text('user'), owner: 'user', ...(random() < 0.3 && { context: any() }), ...(random() < 0.3 && { output: object() }), ...(random() < 0.3 && { config: { providerOptions: object() } }) } }),
    () => ({ type: 'request/header', data: header() }),
    () => ({ type: 'turn/cancel', data: { turn: 9, reason: pick(TEXTS), more: any() } }),
    () => ({ type: 'session/title', data: { title: pick(TEXTS), owner: 'app', more: any() } }),
  ]
  return () => Array.from({ length: 1 + Math.floor(random() * 3) }, () => pick(places)())
}
