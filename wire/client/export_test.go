package client

import "github.com/cairndb/cairn/oplog/suite"

// Enduring returns the configuration of a client that never closes a silent connection during a test, and does not
// return to a late server.
func Enduring(cfg Config) Config {
	cfg.waits = serverTimeouts{pong: suite.Patience, late: suite.Patience}
	return cfg
}
