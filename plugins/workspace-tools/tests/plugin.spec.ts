import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Context } from 'cordis'
import * as plugin from '@headrace/plugin-workspace-tools'
import type { ToolDefinition } from '@headrace/agent'
import { describe, expect, it } from 'vitest'

type Defined = Pick<ToolDefinition, 'name' | 'description' | 'parameters'>

async function load(config?: Partial<plugin.Config>) {
  const ctx = new Context()
  const defined: Defined[] = []
  ctx.provide('tools', { define: (tool: Defined) => { defined.push(tool) } })
  const fiber = await ctx.plugin(plugin, config)
  return { ctx, fiber, defined }
}

describe('the plugin', () => {
  it('defines all tools by default, and those the config names', async () => {
    expect((await load()).defined.map(({ name }) => name)).toEqual(['read', 'write', 'edit', 'list', 'glob', 'grep', 'bash', 'background'])
    expect((await load({ tools: ['grep', 'read'] })).defined.map(({ name }) => name)).toEqual(['read', 'grep'])
  })

  it('refuses a config with an unknown tool or a relative root', async () => {
    await expect(load({ tools: ['fly' as never] })).rejects.toThrow()
    await expect(load({ roots: ['lib'] })).rejects.toThrow('roots must be absolute folders, not "lib"')
  })

  it('tells the model nothing of workspace, machine or day: two loads are equal to the byte', async () => {
    const texts = []
    for (const cwd of ['/', process.cwd()]) {
      const before = process.cwd()
      process.chdir(cwd)
      texts.push(JSON.stringify((await load()).defined.map(({ name, description, parameters }) => ({ name, description, parameters }))))
      process.chdir(before)
    }
    expect(texts[0]).toBe(texts[1])
    expect(texts[0]).not.toMatch(/linux|darwin|win32|20\d\d|\/work|\/home/i)
  })

  it('every tool has a schema that names each field, refuses others, and has no default that only we know', async () => {
    for (const { parameters } of (await load()).defined) {
      const schema = parameters as unknown as { properties: Record<string, { description: string }>; required: string[] }
      expect(schema).toMatchObject({ type: 'object', additionalProperties: false })
      for (const field of Object.values(schema.properties)) expect(field.description).toMatch(/\.$/)
      for (const name of schema.required) expect(schema.properties).toHaveProperty(name)
    }
  })

  it('its README shows what the model sees, to the byte', async () => {
    const readme = readFileSync(join(import.meta.dirname, '../README.md'), 'utf8')
    const chapter = readme.slice(readme.indexOf('## What the model sees'))
    for (const { name, description, parameters } of (await load()).defined) {
      const fields = Object.entries((parameters as unknown as { properties: Record<string, { description: string }> }).properties)
      expect(chapter).toContain(`**${name}**: ${description}`)
      for (const [field, schema] of fields) expect(chapter).toContain(`- \`${field}\`: ${schema.description}`)
    }
  })

  it('its README names every option with its default', () => {
    const readme = readFileSync(join(import.meta.dirname, '../README.md'), 'utf8')
    for (const [option, value] of Object.entries(new plugin.Config({}))) {
      if (option === 'env') continue
      const shown = typeof value === 'number' ? String(value) : JSON.stringify(value).replaceAll(',', ', ')
      expect(readme).toContain(`| \`${option}\` | \`${shown}\` |`)
    }
  })
})
