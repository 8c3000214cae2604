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
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/private"
	"github.com/cairndb/cairn/oplog/syncwriter"
)

// mint makes the client token of HOME/token when the file is missing or its token is no longer known. The text
// is on disk before the log learns its hash, so a crash between the two leaves a token that the next start registers.
func (n *Node) mint(ctx context.Context) error {
	path := filepath.Join(n.cfg.Home, "token")
	raw, err := private.Read(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("token: %w", err)
	}
	text := strings.TrimSpace(string(raw))
	if text == "" {
		text = access.NewToken()
		if err := syncwriter.Replace(path, []byte(text+"\n"), 0o600); err != nil {
			return fmt.Errorf("token: %w", err)
		}
	}
	if _, err := n.access.Authenticate(text); err == nil {
		return nil
	}
	return n.service.Note(ctx, &oplog.CreateToken{Hash: access.HashToken(text), DB: oplog.DefaultDB, Label: "minted by cairn dev",
		Scopes: []string{string(api.Read), string(api.Write), string(api.Admin)}, At: oplog.At(time.Now())})
}
