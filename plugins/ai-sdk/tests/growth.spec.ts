import { growthKit } from '@headrace/testing/growth-kit'
import * as aiSdk from '../src/index.ts'

growthKit('ai-sdk', { plugin: [aiSdk, {}] })
