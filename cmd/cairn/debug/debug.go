package debug

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/cmd/cairn/config"
	"github.com/cairndb/cairn/cmd/cairn/doctor"
)

// Socket is the name of the profiling socket in a node's run directory. Only the node's user on its host can connect.
const Socket = "debug.sock"

// Command returns the command `cairn debug`.
func Command(a *cli.Streams) *cobra.Command {
	group := &cobra.Command{Use: "debug", Short: "Diagnostics for support: bundle"}
	var t cli.Target
	var path, out string
	c := &cobra.Command{
		Use: "bundle", Short: "Collect diagnostics of a node into one file, without secrets and memories", Args: cobra.NoArgs,
		Long: `Collect diagnostics of a node into one file: the doctor's findings, status, metrics, a dump of its goroutines and heap,
its configuration without secrets, and the names and sizes of its files. The file holds no memory text, token or secret.
Profiles come over HOME/run/debug.sock; by hand: curl --unix-socket HOME/run/debug.sock http://x/debug/pprof/`,
		RunE: func(c *cobra.Command, _ []string) error { return bundle(c.Context(), a, &t, path, out) },
	}
	t.Flags(c)
	c.Flags().StringVarP(&path, "config", "c", "", "configuration of the node; without it, the dev node in --home is examined")
	c.Flags().StringVarP(&out, "output", "o", "cairn-debug.tar.gz", "file to write; an existing file is not overwritten")
	group.AddCommand(c)
	return group
}

func bundle(ctx context.Context, a *cli.Streams, t *cli.Target, path, out string) error {
	f, err := os.OpenFile(out, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return cli.Hint(err, "it is not overwritten: name another file with --output")
	} else if err != nil {
		return err
	}
	if err := errors.Join(writeParts(ctx, a, t, path, f), f.Close()); err != nil {
		return errors.Join(err, os.Remove(out))
	}
	return a.PrintResult(t.JSON, map[string]string{"file": out}, "%s", out)
}

// writeParts writes the archive. A part that cannot be made says why.
func writeParts(ctx context.Context, a *cli.Streams, t *cli.Target, path string, w io.Writer) (err error) {
	z := gzip.NewWriter(w)
	tw := tar.NewWriter(z)
	defer func() { err = errors.Join(err, tw.Close(), z.Close()) }()
	var said bytes.Buffer
	home := doctor.Report(ctx, t, path, &cli.Streams{In: a.In, Out: &said, Err: io.Discard})
	for _, part := range []struct {
		name string
		make func() ([]byte, error)
	}{
		{"version.txt", func() ([]byte, error) { return []byte(cli.ThisBuild().String() + "\n"), nil }},
		{"doctor.txt", func() ([]byte, error) { return said.Bytes(), nil }},
		{"status.json", func() ([]byte, error) { return page(ctx, t, "/v1/cluster") }},
		{"metrics.txt", func() ([]byte, error) { return page(ctx, t, "/metrics") }},
		{"config.toml", func() ([]byte, error) { return config.Redacted(path) }},
		{"files.txt", func() ([]byte, error) { return listing(home) }},
		{"goroutines.txt", func() ([]byte, error) { return profile(ctx, home, "goroutine?debug=2") }},
		{"heap.pprof", func() ([]byte, error) { return profile(ctx, home, "heap") }},
	} {
		b, err := part.make()
		if err != nil {
			b = []byte("not available: " + err.Error() + "\n")
		}
		h := &tar.Header{Name: "cairn-debug/" + part.name, Mode: 0o600, Size: int64(len(b)), ModTime: time.Now()}
		if err := tw.WriteHeader(h); err != nil {
			return err
		}
		if _, err := tw.Write(b); err != nil {
			return err
		}
	}
	return nil
}

// maxPart bounds the size of a part of a bundle.
const maxPart = 64 << 20

func listing(home string) ([]byte, error) {
	var b bytes.Buffer
	err := filepath.WalkDir(home, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			fmt.Fprintf(&b, "%v\n", err)
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return nil // removed meanwhile
		}
		rel, err := filepath.Rel(home, path)
		fmt.Fprintf(&b, "%s %12d %s %s\n", info.Mode(), info.Size(), info.ModTime().UTC().Format(time.RFC3339), rel)
		return err
	})
	return b.Bytes(), err
}

func profile(ctx context.Context, home, name string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	tr := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(home, "run", Socket))
	}}
	defer tr.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://debug/debug/pprof/"+name, nil)
	if err != nil {
		return nil, err
	}
	resp, err := (&http.Client{Transport: tr}).Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return io.ReadAll(io.LimitReader(resp.Body, maxPart))
}

func page(ctx context.Context, t *cli.Target, path string) ([]byte, error) {
	ctx, cancel := t.Context(ctx)
	defer cancel()
	r, err := t.Request(ctx, http.MethodGet, path, nil)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(io.LimitReader(r, maxPart))
}
