import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { Lab } from './command.ts'

let lab: Lab
beforeEach(() => void (lab = new Lab()))
afterEach(() => lab.close())

function write(name: string, text: string): void {
  mkdirSync(join(lab.cwd, '.agents', 'skills', name), { recursive: true })
  writeFileSync(join(lab.cwd, '.agents', 'skills', name, 'SKILL.md'), text)
}

it('run says what is left out, once, and nothing of what is only odd; skills says both', async () => {
  write('odd', '---\nname: other\ndescription: Is odd.\nargument-hint: x\n---\nBody')
  write('bad', 'no frontmatter')
  const server = await lab.serve(() => 'ok')
  const { code, err } = await lab.prompt(server, ['Hi'])
  expect(code).toBe(0)
  expect(err.split('\n').filter((line) => line.includes('SKILL.md'))).toEqual([expect.stringContaining('bad')])
  const told = (await lab.run(['skills'])).err.split('\n').filter((line) => line.includes('SKILL.md'))
  expect(told.map((line) => `${line.split(':')[0]} ${/(bad|odd)\/SKILL/.exec(line)?.[1]}`).sort()).toEqual(['error bad', 'warning odd', 'warning odd'])
})

it('skills lists what an agent here could open, and says what is wrong with the others', async () => {
  write('pdf-tools', '---\nname: pdf-tools\ndescription: Makes PDFs.\n---\nBody')
  expect(await lab.run(['skills'])).toMatchObject({ code: 0, out: expect.stringMatching(/^pdf-tools {2}project {2}\S+pdf-tools {2}Makes PDFs\.\n/m) as string })
  write('bad', 'no frontmatter')
  const { code, out, err } = await lab.run(['skills', '--json'])
  expect(code).toBe(1)
  const rows = out.trim().split('\n').map((line) => JSON.parse(line) as { type: string; code?: string })
  expect(rows).toMatchObject([{ type: 'skill', name: 'pdf-tools' }, { type: 'diagnostic', code: 'FRONTMATTER_MISSING', severity: 'error' }])
  expect(err).toBe('')
})
