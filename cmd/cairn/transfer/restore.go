package transfer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/cmd/cairn/config"
	"github.com/cairndb/cairn/cmd/cairn/stopped"
	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/home"
	"github.com/cairndb/cairn/oplog/private"
	"github.com/cairndb/cairn/oplog/snapshot/archive"
)

// restoreRun is one run of `cairn restore`.
type restoreRun struct {
	stopped.Node
	t              cli.Target
	from, at       string
	database, into string
	to             archive.Target
}

// Restore returns the command `cairn restore`.
func Restore(s *cli.Streams) *cobra.Command {
	var r restoreRun
	c := &cobra.Command{
		Use: "restore --from DIR", Short: "Restore a backup into an empty home, or one database into a live cluster", Args: cobra.NoArgs,
		Example: `  cairn restore --from ./backups --config node1.toml          # this node founds the cluster; the others join with empty homes
  cairn restore --from ./backups --home ./restored            # for cairn dev --home ./restored
  cairn restore --from ./backups --config node1.toml --at 2026-03-01T12:00:00Z
  cairn restore --from ./backups --database work --into work-again --endpoints 10.0.0.1:7437`,
		Long: `Restore a backup into an empty home, or one database into a live cluster.

Into a home: the node becomes the only member of a cluster that begins where the backup ends; nodes that are configured
with it as a peer and start with empty homes join it. Tokens and databases are as they were. The cluster id is the old
one: never let nodes of the old cluster connect to the new one.

Into a live cluster (--database): the memories and relations of one database are written through the cluster like an
import, with their ids, revisions and claims; sessions, other claims, aliases, policies, what think found, forgotten
memories and the log are not restored.

--at restores up to an index of the log or a time, both inclusive, and leaves out what came later; a time without a
fraction is the whole of its second. Without --at, everything is restored. A file that is missing between two others
is an error. Inside a log range with a purge, --at restores only one of the other databases (--database); the error
names the nearest indexes that restore all of them.`,
		RunE: func(c *cobra.Command, _ []string) (err error) {
			if r.from == "" {
				return cli.Usage(errors.New("restore needs --from"))
			}
			if r.into != "" && r.database == "" {
				return cli.Usage(errors.New("--into needs --database"))
			}
			if r.Config != "" && r.database != "" {
				return cli.Usage(errors.New("--database restores into a live cluster: name it with --endpoints or --home, not with --config"))
			}
			if r.to, err = parsePoint(r.at); err != nil {
				return err
			}
			if r.database != "" {
				return restoreDatabase(c.Context(), s, &r)
			}
			if r.Config == "" && !c.Flags().Changed("home") {
				return cli.Usage(errors.New("restore needs --config or --home, or --database for a live cluster"))
			}
			r.Home = r.t.Home
			return restoreHome(c.Context(), s, &r)
		},
	}
	r.t.Flags(c)
	r.Key.Flags(c)
	c.Flags().StringVar(&r.from, "from", "", "directory of backups")
	c.Flags().StringVar(&r.at, "at", "", "an index of the log or a time (RFC 3339, a date, 2h for two hours ago); everything by default")
	c.Flags().StringVarP(&r.Config, "config", "c", "", "configuration of the node to restore into")
	c.Flags().StringVar(&r.database, "database", "", "restore only this database, into a live cluster")
	c.Flags().StringVar(&r.into, "into", "",
		"with --database: the database to restore into, created if it does not exist; the same name by default")
	return c
}

func restoreHome(ctx context.Context, s *cli.Streams, r *restoreRun) error {
	up, err := r.Open(s.Err)
	if err != nil {
		return err
	}
	at, err := home.Restore(ctx, up.Node.Files(), r.from, r.to)
	switch {
	case errors.Is(err, archive.ErrGap):
		return cli.Hint(err,
			"copy the missing file back, or restore what is before it: --at INDEX, with an index from `cairn backup list "+private.Quote(r.from)+"`")
	case errors.Is(err, archive.ErrNoBackup):
		return cli.Hint(err, "`cairn backup list "+private.Quote(r.from)+"` lists what is there")
	case errors.Is(err, archive.ErrPurged):
		return cli.Hint(err, "or restore one of the other databases up to there, into a live cluster: --database NAME")
	case err != nil:
		return config.KeyHint(err, "")
	}
	return s.PrintResult(r.t.JSON, map[string]any{"home": up.Node.Home, "index": at.Index, "state_hash": at.Sum.String()},
		"restored to index %d, state %s, in %s", at.Index, at.Sum, up.Node.Home)
}

// restoreDatabase restores the backup into a temporary node on loopback, and copies one database from there.
func restoreDatabase(ctx context.Context, s *cli.Streams, r *restoreRun) (err error) {
	dir, err := archive.Scratch()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	cfg := node.Config{Home: filepath.Join(dir, "home"),
		Addresses: node.Addresses{Wire: config.Loopback(0), HTTP: config.Loopback(0)}, Tokens: node.Tokens{EnsureHome: true},
		Version: cli.BuildVersion(), Storage: node.Storage{Encryption: r.Key.Source()}}
	r.to.Database = r.database
	if _, err := home.Restore(ctx, cfg.Files(), r.from, r.to); err != nil {
		return config.KeyHint(err, "")
	}
	n, err := node.Open(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.Close()) }()
	if err := n.Ready(ctx); err != nil {
		return err
	}
	scratch := cli.Target{Endpoints: []string{"http://" + n.Addrs().HTTP}, TokenFile: filepath.Join(cfg.Home, "token"), Timeout: r.t.Timeout}
	has, err := cli.Call(ctx, &scratch, api.Databases, nil)
	if err != nil {
		return err
	}
	names := api.Each(has.Databases, func(d api.Database) string { return d.Name })
	if !slices.Contains(names, r.database) {
		return fmt.Errorf("the backup has no database '%s': it has %s", r.database, strings.Join(names, ", "))
	}
	rows, err := scratch.Request(ctx, "GET", "/v1/export?database="+url.QueryEscape(r.database), nil)
	if err != nil {
		return fmt.Errorf("database '%s' of the backup: %w", r.database, err)
	}
	defer rows.Close()
	return importInto(ctx, s, r, rows)
}

func importInto(ctx context.Context, s *cli.Streams, r *restoreRun, rows io.Reader) error {
	into := cmp.Or(r.into, r.database)
	there, err := cli.Call(ctx, &r.t, api.Databases, nil)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(there.Databases, func(d api.Database) bool { return d.Name == into }) {
		if _, err := cli.Call(ctx, &r.t, api.CreateDatabase, api.CreateDatabaseRequest{Name: into}); err != nil {
			return err
		}
	}
	r.t.Database = into
	im := importer{s: s, t: r.t, began: time.Now()}
	err = im.rows(ctx, "", newRows(rows))
	if err == nil {
		err = im.flush(ctx)
	}
	if im.clear(); err == nil && im.done.Refused > 0 {
		err = errors.New(countRejected(im.done))
	}
	if err != nil {
		return fmt.Errorf("%w (%s were restored)", err, countStored(im.done))
	}
	return s.PrintResult(r.t.JSON, map[string]any{"database": into, "memories": im.done.Memories, "edges": im.done.Edges},
		"restored %s into '%s'", countStored(im.done), into)
}
