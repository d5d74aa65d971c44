import { type Script, lastUser, overflow, rateLimit, serverError } from '@headrace/model-server'

/** Three models behind one address: `large` is down or too small for what it is asked, `medium` is overloaded, `small` is always there. */
export const script: Script = (body) => {
  const prompt = lastUser(body)
  if (body.model === 'large' && prompt === 'Are you there?') return rateLimit(20)
  if (body.model === 'large' && prompt === 'This is long.') return overflow(body, 1_000)
  if (body.model === 'medium' && prompt === 'Are you there?') return serverError(503)
  return `I am ${body.model}.`
}
