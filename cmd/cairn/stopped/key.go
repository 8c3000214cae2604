package stopped

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/cmd/cairn/config"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/home"
	"github.com/cairndb/cairn/oplog/seal"
)

// Key returns the command `cairn key`.
func Key(s *cli.Streams) *cobra.Command {
	c := &cobra.Command{Use: "key", Short: "Make, list and rotate the keys of encrypted homes; encrypt a home",
		Long: `Make, list and rotate the keys of encrypted homes; encrypt a home.

A home is encrypted when [encryption] names a master key: key_file (mode 0600), key_env or key_command. The master key
wraps data keys, which lie in HOME/keyring; those encrypt the files. Lose the master key and the home is lost.

To change the master key: put the new one on a line above the old one, restart the node, take the old line away. To
change the data keys alone: "cairn key rotate" and a restart. After either, the node rewrites its files under the new data
key while it serves, and then removes the old keys: "cairn status" says what is left. deploy/ENCRYPTION.md says what is
covered and what is not.`}
	c.AddCommand(keyNew(s), keyList(s), keyRotate(s), keyEncrypt(s))
	return c
}

// openEncrypted reads the setup of a node with a master key. It returns an error if no master key is configured.
func (n *Node) openEncrypted(errw io.Writer) (up config.Setup, err error) {
	up, err = n.Open(errw)
	switch {
	case err != nil || up.Node.Storage.Encryption.Enabled():
	case seal.Exists(up.Node.Home):
		err = config.KeyHint(fmt.Errorf("home %s is %w", up.Node.Home, seal.ErrSealed), "")
	default:
		err = cli.Hint(fmt.Errorf("home %s is not encrypted, and no master key is named", up.Node.Home),
			"`cairn key new --output FILE` makes one, and `cairn key encrypt --key-file FILE` encrypts the home of a stopped node")
	}
	return up, err
}

func keyNew(s *cli.Streams) *cobra.Command {
	var out string
	c := &cobra.Command{Use: "new", Short: "Make a master key", Args: cobra.NoArgs,
		Example: "  cairn key new --output /etc/cairn/master.key",
		RunE: func(*cobra.Command, []string) error {
			text := seal.NewMaster().Text() + "\n"
			if out == "" {
				fmt.Fprint(s.Out, text)
				return nil
			}
			f, err := os.OpenFile(out, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
			if err != nil {
				return cli.Hint(err, "it is not overwritten: files that an old key encrypted need that key")
			}
			_, err = f.WriteString(text)
			return errors.Join(err, f.Sync(), f.Close())
		}}
	c.Flags().StringVarP(&out, "output", "o", "", "file to write it to, mode 0600; standard output by default")
	return c
}

func keyList(s *cli.Streams) *cobra.Command {
	var n Node
	c := cli.WithJSON(&cobra.Command{Use: "list", Short: "List the data keys of a home", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			keys, err := n.loadKeyring(c.Context(), s.Err)
			if err != nil {
				return err
			}
			type row struct {
				ID      string    `json:"id"`
				Created time.Time `json:"created"`
				Master  string    `json:"master"`
				Active  bool      `json:"active"`
			}
			all := api.Each(keys.Keys(), func(i seal.Info) row { return row{i.ID.String(), i.Created, i.Master.String(), i.Active} })
			return cli.List(s, cli.AsJSON(c), all, "KEY|CREATED|MASTER KEY|STATE", func(r row) []any {
				return []any{r.ID, r.Created.Format(time.RFC3339), r.Master, map[bool]string{true: "active"}[r.Active]}
			})
		}})
	n.flags(c)
	return c
}

// loadKeyring reads a home's keyring without changing it.
func (n *Node) loadKeyring(ctx context.Context, errw io.Writer) (*seal.Ring, error) {
	up, err := n.openEncrypted(errw)
	if err != nil {
		return nil, err
	}
	masters, err := up.Node.Storage.Encryption.Masters(ctx)
	if err != nil {
		return nil, config.KeyHint(err, "")
	}
	keys, err := seal.Load(up.Node.Home, masters)
	if errors.Is(err, os.ErrNotExist) {
		err = fmt.Errorf("home %s is %w", up.Node.Home, seal.ErrPlain)
	}
	if err != nil {
		return nil, config.KeyHint(err, "")
	}
	return keys, nil
}

func keyRotate(s *cli.Streams) *cobra.Command {
	var n Node
	c := &cobra.Command{Use: "rotate", Short: "Make a new data key, which the node uses from its next start on", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			keys, err := n.loadKeyring(c.Context(), s.Err)
			if err != nil {
				return err
			}
			if err := keys.Rotate(); err != nil {
				return err
			}
			fmt.Fprintf(s.Out,
				"data key %s is active from the next start on; the node then rewrites its files under it and removes the old key\n",
				keys.Active())
			return nil
		}}
	n.flags(c)
	return c
}

func keyEncrypt(s *cli.Streams) *cobra.Command {
	var n Node
	c := &cobra.Command{Use: "encrypt", Short: "Encrypt the home of a stopped node", Args: cobra.NoArgs,
		Long: `Encrypt the home of a stopped node, in place: state, log, snapshots, and the files of its same-host dialects. The index is
rebuilt at the next start. It needs as much free space as the home takes. The old files are removed, not overwritten: on
many disks their content can still be recovered from the raw device.`,
		RunE: func(c *cobra.Command, _ []string) error {
			up, err := n.openEncrypted(s.Err)
			if err != nil {
				return err
			}
			if err := home.Encrypt(c.Context(), up.Node.Files()); err != nil {
				return config.KeyHint(err, "stop the node first, if it is still running")
			}
			fmt.Fprintf(s.Out, "all files of %s are encrypted\n", up.Node.Home)
			if aside, err := filepath.Glob(filepath.Join(up.Node.Home, "*.corrupt-*")); err == nil && len(aside) > 0 {
				fmt.Fprintf(s.Err, "not encrypted, left as they were: %v\n", aside)
			}
			return nil
		}}
	n.flags(c)
	return c
}
