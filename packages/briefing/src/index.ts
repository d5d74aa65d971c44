export { BriefingService, type Config } from './briefing.ts'
export { type Reading, type Topic, unavailable } from './topic.ts'
export { BriefingService as default } from './briefing.ts'
