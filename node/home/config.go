package home

import (
	"log/slog"
	"slices"
	"time"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/seal"
	"github.com/cairndb/cairn/oplog/state"
)

// Config holds the part of a node's configuration that concerns its files. node.Config.Files creates it, with the
// defaults filled in.
type Config struct {
	Dir        string
	Logger     *slog.Logger
	Encryption seal.Source
	Kept       func(*seal.Ring) ([]Kept, error) // returns the files that other surfaces of this host seal
	RetainOps  int
	RetainTime time.Duration

	NodeID          uint32
	Secret          string // the cluster secret, as configured
	Peers           bool   // other members are configured
	Addr, Advertise string // where peers find this node
}

// SoleNode reports whether neither the state nor the configuration names another node. It fails if the list of nodes
// cannot be read.
func SoleNode(cfg Config, st *state.State) (yes bool, err error) {
	return state.Get(st, func(v *state.View) bool {
		return !cfg.Peers && !slices.ContainsFunc(v.Nodes(), func(i oplog.NodeInfo) bool { return i.ID != cfg.NodeID })
	})
}
