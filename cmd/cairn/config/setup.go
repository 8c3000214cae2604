package config

import "github.com/cairndb/cairn/node"

// Setup is all that a running node is made from.
type Setup struct {
	Node  node.Config
	Local Local
	Dev   bool
	Base  int // of the ports, 0 for the protocols' own
}
