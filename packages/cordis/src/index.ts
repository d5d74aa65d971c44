export {
  Departures, type FiberState, type Listener, Listeners, type NotRunning, type Registration, fibersOf, isActive, isBelow,
  isFailed, loadingFiber, missingServices, movingPart, originalOf, partsOf, pluginOf, registrationsOf, servicesOf,
  sortListeners, stateOf, whyNotRunning,
} from './cordis.ts'
