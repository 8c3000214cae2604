package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cairndb/cairn/node/access"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/home"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/private"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/oplog/syncwriter"
)

// openTokens decides which tokens clients may use. A new home gets its own admin token in HOME/token, and the cluster
// secret is valid only between members. The token is the first file of a home: a start that is cut short leaves no home
// that looks like an older one.
func (n *Node) openTokens() (older bool, err error) {
	if n.cfg.Tokens.ByHome {
		older = isOlderHome(n.cfg.Home)
		n.cfg.Tokens.NoMaster, n.cfg.Tokens.EnsureHome = !older, !older
	}
	return older, n.openHomeToken()
}

// isOlderHome reports whether a node has run in a home without a token. A home that a restore filled has a state and no
// key of a node.
func isOlderHome(dir string) bool {
	return !exists(filepath.Join(dir, "token")) && exists(filepath.Join(dir, home.IdentityFile))
}

// reviewOlderHome is called with the state of a home without a token. A home of an older version never had one: there
// the secret is an admin token, and stays one. If the home had a token, its file was removed.
func (n *Node) reviewOlderHome() error {
	had, err := state.Get(n.state, func(v *state.View) bool {
		return slices.ContainsFunc(v.Tokens(), func(t oplog.Token) bool { return t.Label == n.homeLabel() })
	})
	if err != nil {
		return err
	}
	if !had {
		n.log.Warn("the cluster secret is an admin token, as in older versions: make tokens for clients, and set master_token = false in [server]")
		return nil
	}
	n.cfg.Tokens.NoMaster, n.cfg.Tokens.EnsureHome = true, true
	return n.openHomeToken()
}

// openHomeToken makes HOME/token if there is none and the node is to have one.
func (n *Node) openHomeToken() error {
	if !n.cfg.Tokens.EnsureHome {
		return nil
	}
	text, err := homeToken(n.cfg.Home)
	if err == nil && text == "" {
		text = access.NewToken()
		err = syncwriter.Replace(filepath.Join(n.cfg.Home, "token"), []byte(text+"\n"), 0o600)
	}
	n.homeToken = access.HashToken(text)
	return err
}

// homeLabel returns the label of the home's token.
func (n *Node) homeLabel() string { return fmt.Sprintf("home of node %d", n.cfg.Member.NodeID) }

// tokensComplete reports whether the state has all tokens that clients may use: those that it had before the start,
// and the home's token, which a client can read from its file before the log contains it.
func (n *Node) tokensComplete() bool {
	if n.homeToken == "" || n.homeKnown.Load() {
		return n.commit.Recovered()
	}
	known, err := state.Get(n.state, func(v *state.View) bool { _, known := v.Token(n.homeToken); return known })
	if err != nil {
		return false
	}
	n.homeKnown.Store(known)
	return known && n.commit.Recovered()
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, os.ErrNotExist)
}

// homeToken reads HOME/token. It returns "" if there is none.
func homeToken(dir string) (string, error) {
	raw, err := private.Read(filepath.Join(dir, "token"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("token: %w", err)
	}
	return strings.TrimSpace(string(raw)), nil
}

// SignInLink returns a link that signs the console in with the token of HOME/token. The link works once, within a
// minute, on this machine. It returns "" if there is no such token. base is the console's address.
func (n *Node) SignInLink(base string) (string, error) {
	text, err := homeToken(n.cfg.Home)
	if err != nil || text == "" {
		return "", err
	}
	return n.gateway.SignInLink(base, text), nil
}

// ensureHomeToken registers the token of HOME/token with the cluster. The token is on disk before the log has its
// hash, so the next start registers it after a crash between the two. A revoked token stays revoked.
func (n *Node) ensureHomeToken(ctx context.Context) error {
	text, err := homeToken(n.cfg.Home)
	if err != nil || text == "" { // an operator removed the token
		return err
	}
	op := &oplog.CreateToken{Hash: access.HashToken(text), DB: oplog.DefaultDB, Label: n.homeLabel(),
		Scopes: []string{string(api.Read), string(api.Write), string(api.Admin)}, At: oplog.At(time.Now())}
	known, err := state.Get(n.state, func(v *state.View) bool { _, known := v.Token(op.Hash); return known })
	if err != nil || known {
		return err
	}
	err = n.service.Note(ctx, op)
	if errors.Is(err, &oplog.Error{Kind: oplog.Conflict}) {
		return nil // already registered, but not yet applied by this node
	}
	return err
}
