import type { Context } from 'cordis'

type Exporter = Parameters<Context['logger']['exporter']>[0]

/**
 * Adds an exporter of Cordis' log that outlives its plugin, so that failures during the unload of the plugin or the app are exported.
 * Cordis' own `ctx.logger.exporter()` ends all of a fiber's effects at once, and the exporter with them.
 */
export function addLastingExporter(ctx: Context, exporter: Exporter): void {
  const { exporters } = ctx.logger
  // Cordis' own keys count up from 1.
  const key = -ctx.fiber.uid!
  exporters.set(key, exporter)
  const remove = (): void => void (exporters.get(key) === exporter && exporters.delete(key))
  ctx.effect(() => () => void unloaded(ctx).then(remove), 'exporter')
}

/** Resolves when neither the plugin of a context nor its app is loading or unloading, and what failed meanwhile was logged. */
async function unloaded({ fiber, root }: Context): Promise<void> {
  for (let moving = fiber.inertia ?? root.fiber.inertia; moving; moving = fiber.inertia ?? root.fiber.inertia) await moving
  await new Promise((resolve) => setImmediate(resolve))
}
