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

// openTokens decides which tokens clients may use, as soon as the state is open. A new home has its own admin token in
// HOME/token, and only members use the cluster secret. A home with a state and without such a token, now or before, is
// older: there the secret is an admin token, and stays one.
func (n *Node) openTokens(older bool) error {
	if n.cfg.Tokens.ByHome {
		if older {
			had, err := state.Get(n.state, func(v *state.View) bool {
				return slices.ContainsFunc(v.Tokens(), func(t oplog.Token) bool { return t.Label == n.homeLabel() })
			})
			if err != nil {
				return err
			}
			older = !had // else the file was removed, or a restore has filled the home
		}
		n.cfg.Tokens.NoMaster, n.cfg.Tokens.EnsureHome = !older, !older
		if older {
			n.log.Warn("the cluster secret is an admin token, as in older versions: make tokens for clients, and set master_token = false in [server]")
		}
	}
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

// seemsOlder reports whether a home has files of a node and no token.
func seemsOlder(dir string) bool {
	return !there(filepath.Join(dir, "token")) && (there(filepath.Join(dir, home.StateDir)) || there(filepath.Join(dir, "raft")))
}

// homeLabel is the label of the home's token.
func (n *Node) homeLabel() string { return fmt.Sprintf("home of node %d", n.cfg.Member.NodeID) }

// whole reports whether this node knows what it may be requested: all that it had before it was started, and the
// token of its home, which a client may read and show before the log has it.
func (n *Node) whole() bool {
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
	op := &oplog.CreateToken{Hash: access.HashToken(text), DB: oplog.DefaultDB, Label: n.homeLabel(),
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
