import type { Figure } from './measure.ts'

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

/** A value with its unit, to three digits; what was counted, whole. */
export function shown(value: number, unit: Figure['unit']): string {
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.max(value, 0.01))))
  return `${Number(value.toFixed(digits)).toLocaleString('en', { maximumFractionDigits: digits })} ${unit === '1/s' ? 'a second' : unit}`
}
