import type { Plugin } from 'cordis'
import { BriefingService, type Topic } from '@headrace/briefing'

/** Where standing facts go. */
export type Channel = 'history' | 'prefix' | 'after' | 'system'

/** Topics that open in the prefix. */
class PrefixBriefing extends BriefingService {
  override topic(topic: Topic): () => void {
    return super.topic({ ...topic, baseline: 'prefix' })
  }
}

/** What many agents do: each fact is a section of the system prompt, as it is now. */
class SystemBriefing extends BriefingService {
  override topic({ key, order = 0, content }: Topic): () => void {
    const { ctx } = this
    let text = ''
    const stop = ctx.on('agent/pre-step', async (agent, _turn, _step, next) => {
      const now = typeof content === 'string' ? content : await content(agent)
      if (typeof now !== 'symbol') text = now ?? ''
      return next()
    })
    const remove = ctx.get('system')!.section({ key, order, content: () => text })
    return () => {
      stop()
      remove()
    }
  }
}

/** The briefing service that takes topics of every plugin to a channel. */
export function briefingOn(channel: Channel): Plugin {
  if (channel === 'prefix') return PrefixBriefing as unknown as Plugin
  return (channel === 'system' ? SystemBriefing : BriefingService) as unknown as Plugin
}
