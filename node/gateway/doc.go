// Package gateway is the HTTP port of a node. It serves each row of the table of operations at its path, as JSON,
// NDJSON or an event stream. It also serves the OpenAPI document and the reference, and the parts that the node
// passes to it: the tools for models, the console and the metrics.
//
// The gateway only translates bytes to requests (package api) and answers to bytes. It does not know the limits of an
// operation, the state or the log, and of the cluster only the leader. A node opens one Gateway on its HTTP listener
// and closes it before everything behind the door.
//
// The gateway reads only the header of a caller without a valid token, never the body. Gateway's methods may be
// called from any goroutine. No lock is held during network operations.
package gateway
