package client

import "github.com/cairndb/cairn/oplog/suite"

// Enduring returns a configuration of a client that takes no server for gone while a test waits, and that does not go
// back to a late one meanwhile.
func Enduring(cfg Config) Config {
	cfg.waits = waits{pong: suite.Patience, late: suite.Patience}
	return cfg
}
