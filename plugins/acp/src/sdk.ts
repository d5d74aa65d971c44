// The one place where the SDK's code is imported; its types are imported where they are used.
export { PROTOCOL_VERSION, RequestError, agent, methods, ndJsonStream } from '@agentclientprotocol/sdk'
