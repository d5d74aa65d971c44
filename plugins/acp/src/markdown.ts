/** A text as a block of code, whatever it has in it: an editor renders Markdown, and a tool's words must stay words. */
export function fenced(text: string, language = ''): string {
  const fence = '`'.repeat(Math.max(3, longestRun(text) + 1))
  return `${fence}${language}\n${text}${text.endsWith('\n') || text === '' ? '' : '\n'}${fence}`
}

/** A text of one line as code. */
export function code(text: string): string {
  const ticks = '`'.repeat(longestRun(text) + 1)
  const pad = text.startsWith('`') || text.endsWith('`') ? ' ' : ''
  return `${ticks}${pad}${text}${pad}${ticks}`
}

function longestRun(text: string): number {
  return Math.max(0, ...(text.match(/`+/g) ?? []).map((run) => run.length))
}

/** Characters that drive a terminal, but for line ends and tabs. */
// oxlint-disable-next-line no-control-regex
const DRIVING = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g

/** What a terminal may be given: one character at a time, so that it does not matter how the text is cut. */
export function inert(text: string): string {
  return text.replace(DRIVING, '\ufffd')
}
