/** Takes keys out of a text. */
export type Redact = (text: string) => string

const GONE = '[redacted]'
/** Shorter ones guard nothing, and would tear holes into every message. */
const SHORTEST = 4

/** What looks like a key, for models that keep theirs to themselves. */
const PATTERNS: readonly (readonly [RegExp, string])[] = [
  [/\b(bearer|basic)\s+(?=\S*[\d_*=])[^\s"',;}]{8,}/gi, `$1 ${GONE}`],
  [/\b(sk|rk|pk|gsk|xai|hf)[-_][\w*.-]{6,}/g, GONE],
  [/\/\/[^/@\s"']+@/g, `//${GONE}@`],
  [/([?&](?:api[-_]?key|key|token|access_token|signature)=)[^&\s"']+/gi, `$1${GONE}`],
]

/** Redacts these secrets, however they are escaped, and whatever looks like one. */
export function redactor(secrets: Iterable<string>): Redact {
  const forms = new Set<string>()
  for (const secret of secrets) {
    if (secret.length < SHORTEST) continue
    for (const form of [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)]) forms.add(form)
  }
  const ordered = [...forms].sort((a, b) => b.length - a.length)
  return (text) => {
    const known = ordered.reduce((rest, form) => rest.replaceAll(form, GONE), text)
    return PATTERNS.reduce((rest, [pattern, replacement]) => rest.replace(pattern, replacement), known)
  }
}
