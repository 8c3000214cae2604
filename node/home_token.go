package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
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

// openTokens decides, before the home has a state, which tokens clients may use. A new home has its own admin token in
// HOME/token, and only members use the cluster secret. A home with a state and without such a token is older: there the
// secret is an admin token, and stays one.
func (n *Node) openTokens() error {
	path := filepath.Join(n.cfg.Home, "token")
	if n.cfg.Tokens.ByHome {
		old := !there(path) && (there(filepath.Join(n.cfg.Home, home.StateDir)) || there(filepath.Join(n.cfg.Home, "raft")))
		n.cfg.Tokens.NoMaster, n.cfg.Tokens.EnsureHome = !old, !old
		if old {
			n.log.Warn("the cluster secret is an admin token, as in older versions: make tokens for clients, and set master_token = false in [server]")
		}
	}
	if !n.cfg.Tokens.EnsureHome {
		return nil
	}
	text, err := homeToken(n.cfg.Home)
	if err == nil && text == "" {
		text = access.NewToken()
		err = syncwriter.Replace(path, []byte(text+"\n"), 0o600)
	}
	n.homeToken = access.HashToken(text)
	return err
}

// whole reports whether this node knows what it may be asked for: all that it had before it was started, and the token
// of its home, which a client may read and show before the log has it.
func (n *Node) whole() bool {
	if n.homeToken == "" || n.homeKnown.Load() {
		return n.commit.Whole()
	}
	known, err := state.Get(n.state, func(v *state.View) bool { _, known := v.Token(n.homeToken); return known })
	if err != nil {
		return false
	}
	n.homeKnown.Store(known)
	return known && n.commit.Whole()
}

func there(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, os.ErrNotExist)
}

// homeToken reads HOME/token; it returns a blank text when there is none.
func homeToken(dir string) (string, error) {
	raw, err := private.Read(filepath.Join(dir, "token"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("token: %w", err)
	}
	return strings.TrimSpace(string(raw)), nil
}

// SignInLink returns a link that signs the console in with the token of HOME/token, once, within a minute, on this
// machine; blank when there is no such token. base is the console's address.
func (n *Node) SignInLink(base string) (string, error) {
	text, err := homeToken(n.cfg.Home)
	if err != nil || text == "" {
		return "", err
	}
	return n.gateway.SignInLink(base, text), nil
}

// ensureHomeToken registers the token of HOME/token with the cluster. The text is on disk before the log has its hash,
// so a crash between the two leaves a token that the next start registers. A revoked token stays revoked.
func (n *Node) ensureHomeToken(ctx context.Context) error {
	text, err := homeToken(n.cfg.Home)
	if err != nil || text == "" { // an operator removed it
		return err
	}
	op := &oplog.CreateToken{Hash: access.HashToken(text), DB: oplog.DefaultDB, Label: fmt.Sprintf("home of node %d", n.cfg.Member.NodeID),
		Scopes: []string{string(api.Read), string(api.Write), string(api.Admin)}, At: oplog.At(time.Now())}
	known, err := state.Get(n.state, func(v *state.View) bool { _, known := v.Token(op.Hash); return known })
	if err != nil || known {
		return err
	}
	err = n.service.Note(ctx, op)
	if errors.Is(err, &oplog.Error{Kind: oplog.Conflict}) {
		return nil // another member has the same, and this one has not heard of it yet
	}
	return err
}
