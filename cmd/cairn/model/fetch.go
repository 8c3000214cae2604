package model

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/index/embed/models"
)

// ListedModel is a row of `cairn embed list --json`.
type ListedModel struct {
	models.Model
	Size int64  `json:"size"`
	Dir  string `json:"dir,omitempty"` // directory, if it was fetched already
}

func embedList(s *cli.Streams) *cobra.Command {
	var home string
	c := cli.WithJSON(&cobra.Command{Use: "list", Short: "List the known models", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			rows := make([]ListedModel, len(models.Known))
			for i, m := range models.Known {
				rows[i] = ListedModel{Model: m, Size: m.Size()}
				if dir := (&models.Fetcher{Folder: modelsFolder(home)}).Dir(&m); isDir(dir) {
					rows[i].Dir = dir
				}
			}
			err := cli.List(s, cli.AsJSON(c), rows, "NAME|KIND|DIMENSIONS|SIZE|LICENCE|HERE|FOR", func(r ListedModel) []any {
				return []any{r.Name, r.Kind, r.Dim, cli.Size(r.Size), r.Licence, map[bool]string{true: "yes", false: "-"}[r.Dir != ""], r.For}
			})
			if err != nil || cli.AsJSON(c) {
				return err
			}
			for _, r := range rows {
				fmt.Fprintf(s.Out, "\n%s is %s at %s\n", r.Name, r.Repository, r.Revision)
				for _, f := range r.Files {
					fmt.Fprintf(s.Out, "  %s  %s  %d bytes\n", f.SHA256, f.Name, f.Size)
				}
			}
			return nil
		}})
	cli.HomeFlag(c.Flags(), &home, homeUsage)
	return c
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// FetchResult is the output of `cairn embed fetch --json`.
type FetchResult struct {
	Name    string `json:"name"`
	Kind    string `json:"kind"`
	Dir     string `json:"dir"`
	Size    int64  `json:"size"`
	Fetched bool   `json:"fetched"` // false: it was there already
}

func embedFetch(s *cli.Streams) *cobra.Command {
	var home, mirror string
	c := cli.WithJSON(&cobra.Command{Use: "fetch NAME", Short: "Download a known model into the data directory",
		Args: cobra.ExactArgs(1), ValidArgs: models.Names(),
		Long: `Download a known model into HOME/models/NAME, from the model hub or a mirror of it. The SHA-256 of each file is checked
("cairn embed list" shows them), so the mirror need not be trusted. An interrupted download is resumed by the next run.

Without a network, copy the files into HOME/models/NAME.part yourself and run the command: it checks them and completes the model.`,
		RunE: func(c *cobra.Command, args []string) error {
			m, ok := models.Find(args[0])
			if !ok {
				return cli.Usagef("model %q is not known: want one of %s; for another model name its directory, in `cairn dev --embed DIR` or [embedding] path",
					args[0], strings.Join(models.Names(), ", "))
			}
			f := &models.Fetcher{Mirror: mirror, Folder: modelsFolder(home)}
			if _, err := f.URL(m, m.Files[0]); err != nil {
				return cli.Usage(fmt.Errorf("--mirror: %w", err))
			}
			bars := &fileBars{s: s}
			f.Told = bars.update
			dir, fetched, err := f.Fetch(c.Context(), m)
			bars.finish()
			if err != nil {
				return fetchAdvice(fmt.Errorf("fetch %s: %w", m.Name, err), f, m)
			}
			did := "is here and whole"
			if fetched {
				did = "fetched and verified, " + cli.Size(m.Size())
			}
			return s.PrintResult(cli.AsJSON(c), FetchResult{m.Name, m.Kind, dir, m.Size(), fetched}, "%s: %s\n%s", m.Name, did, dir)
		}})
	cli.HomeFlag(c.Flags(), &home, homeUsage)
	c.Flags().StringVar(&mirror, "mirror", "", "fetch below this URL, which has the hub's paths; "+models.Hub+" by default")
	return c
}

// fetchAdvice adds to a network error how to copy the files by hand.
func fetchAdvice(err error, f *models.Fetcher, m *models.Model) error {
	_, unreached := errors.AsType[*url.Error](err)
	_, unnamed := errors.AsType[*net.DNSError](err)
	if !unreached && !unnamed {
		return err
	}
	at := *f
	at.Mirror = "" // list the public addresses
	var list strings.Builder
	for _, file := range m.Files {
		u, e := at.URL(m, file)
		if e != nil {
			return err
		}
		fmt.Fprintf(&list, "\n  %s", u)
	}
	return cli.Hint(err,
		fmt.Sprintf("--mirror names another server. Without a network, bring these files into %s and run the command again, which checks them:%s",
			f.Part(m), list.String()))
}

// fileBars shows the progress of each file: a bar on a terminal, or else one line.
type fileBars struct {
	s   *cli.Streams
	of  models.File
	bar *progressbar.ProgressBar
}

func (b *fileBars) update(f models.File, had, got int64) {
	if b.of != f {
		b.finish()
		b.of, b.bar = f, b.s.Bytes(f.Name, f.Size)
		if !cli.IsTerminal(b.s.Err) {
			fmt.Fprintf(b.s.Err, "%s: %s, %s of it here\n", f.Name, cli.Size(f.Size), cli.Size(had))
		}
	} else if got > 0 {
		_ = b.bar.Add64(got) // ignore errors of the bar
		return
	}
	_ = b.bar.Set64(had)
}

func (b *fileBars) finish() {
	if b.bar != nil {
		_ = b.bar.Exit()
	}
}
