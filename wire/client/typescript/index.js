// The client of Cairn's HTTP API for Node 20 and later, and for other runtimes with fetch. It needs no other package.
export { Client } from "./client.js";
export { CairnError, UnknownOutcomeError } from "./errors.js";
export { newKey } from "./encode.js";
