// Package gateway is the port for HTTP: each row of the table of operations at its path, as JSON, lines of JSON or an
// event stream; the document that says so; and, handed to it by the node, the tools for models, the console and the
// metrics.
//
// It translates bytes to requests (api) and answers to bytes, and no more: it knows no limit of an operation and
// nothing of the state, the log or the cluster beyond who leads. A node opens one Gateway on its HTTP listener and
// closes it before all that is behind the door.
//
// A caller without a right token costs a header: its body is not read. Gateway's methods may be called from any
// goroutine; no lock is held over the network.
package gateway
