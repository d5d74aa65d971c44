import { growthKit } from '@headrace/testing/growth-kit'
import * as models from '../src/index.ts'

growthKit('models', { plugin: [models, {}] })
