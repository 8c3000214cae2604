// Package transfer moves data in and out of a cluster: import, export, backup and restore.
package transfer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"strconv"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/node/api"
)

// Export is `cairn export`.
func Export(s *cli.Streams) *cobra.Command {
	var t cli.Target
	var filter string
	c := &cobra.Command{Use: "export [DATABASE]", Short: "Write a database as JSON lines to stdout: memories, then relations", Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 1 {
				t.Database = args[0]
			}
			r, err := t.Request(c.Context(), "GET", t.In("/v1/export?filter="+url.QueryEscape(filter)), nil)
			if err != nil {
				return err
			}
			defer r.Close()
			n, err := io.Copy(s.Out, r)
			if err != nil {
				return fmt.Errorf("export broke off after %d bytes: %w", n, err)
			}
			return nil
		}}
	t.Flags(c)
	t.InDatabase(c)
	c.Flags().StringVar(&filter, "filter", "", "only memories that pass a filter, as of recall; then no relations")
	return c
}

// Import is `cairn import`.
func Import(s *cli.Streams) *cobra.Command {
	var t cli.Target
	var keep bool
	c := &cobra.Command{Use: "import [DATABASE]", Short: "Import memories as JSON from stdin into a database", Args: cobra.MaximumNArgs(1),
		Long: `Read JSON lines from stdin into a database. Besides exports of this server and of YantrikDB it reads what mem0 returns
({"results": […]}, relations too), the memory.jsonl of @modelcontextprotocol/server-memory (cairn mcp --tools server-memory
shows the result), documents with "text", "content" or "page_content" (their other fields become
metadata), texts, and arrays of any of these. A row that cannot be read ends the import, and the error has its number; the
rows before it are stored.

Exported memories come back as they were, with their revisions and claims. They keep their ids; a memory whose id is taken gets a
new one, or ends the import with --keep-ids.`,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 1 {
				t.Database = args[0]
			}
			im := importer{t: &t, keep: keep, bar: s.Progress("importing")}
			if err := im.run(c.Context(), s.Input(c.Context())); err != nil {
				return fmt.Errorf("row %d: %w (%d memories and %d relations were imported)", im.line, err, im.done.Memories, im.done.Edges)
			}
			if t.JSON {
				return s.JSON(map[string]int{"memories": im.done.Memories, "edges": im.done.Edges})
			}
			fmt.Fprintf(s.Err, "imported %d memories and %d relations\n", im.done.Memories, im.done.Edges)
			return nil
		}}
	t.Flags(c)
	t.InDatabase(c)
	c.Flags().BoolVar(&keep, "keep-ids", false, "end the import at a memory whose id is taken, instead of giving it a new one")
	return c
}

// Bounds of the rows that are sent in one request, which the server stores as one entry.
const (
	importRows  = 200
	importBytes = 1 << 20
)

// importer sends rows to a gateway in small requests, so that a row that is refused is found.
type importer struct {
	t     *cli.Target
	keep  bool
	bar   *progressbar.ProgressBar
	lines [][]byte
	rows  []int // of the lines
	size  int
	line  int // row that the import has come to
	done  api.Imported
}

// run stores rows in their order. It stores the rows before the end, or before one that cannot be read, first; when
// that fails, it returns their error. line is the row that the error concerns.
func (im *importer) run(ctx context.Context, in io.Reader) error {
	for from := newRows(in); ; {
		r, err := from.next()
		var line []byte
		if err == nil {
			line, err = r.line()
		}
		if err == nil {
			im.lines, im.rows, im.size = append(im.lines, line), append(im.rows, from.n), im.size+len(line)
			if len(im.rows) < importRows && im.size < importBytes {
				continue
			}
		}
		im.line = from.n
		if err := im.flush(ctx); err != nil {
			return err
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// imported matches the gateway's answer for an import that it ended: the line, the reason, and what is stored.
var imported = regexp.MustCompile(`^line \d+: (.*) \((\d+) memories and (\d+) relations were imported\)$`)

// flush sends the lines that wait. When they are refused, those that are not stored are sent one by one up to the line
// that caused it.
func (im *importer) flush(ctx context.Context) error {
	lines, rows := im.lines, im.rows
	im.lines, im.rows, im.size = nil, nil, 0
	if len(lines) == 0 {
		return nil
	}
	err := im.send(ctx, bytes.Join(lines, nil))
	var refused *cli.HTTPError
	if !errors.As(err, &refused) || refused.Status/100 != 4 {
		return err
	}
	said := imported.FindStringSubmatch(refused.Text)
	if said == nil {
		return err
	}
	memories, _ := strconv.Atoi(said[2]) // they are digits
	edges, _ := strconv.Atoi(said[3])
	im.done.Memories, im.done.Edges = im.done.Memories+memories, im.done.Edges+edges
	if len(lines) == 1 {
		return errors.New(said[1])
	}
	for i := min(memories+edges, len(lines)); i < len(lines); i++ {
		im.lines, im.rows, im.line = lines[i:i+1], rows[i:i+1], rows[i]
		if err := im.flush(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (im *importer) send(ctx context.Context, lines []byte) error {
	path := im.t.In(api.Import.Path())
	if im.keep {
		path = im.t.In(api.Import.Path() + "?keep_ids=true")
	}
	answer, err := im.t.Request(ctx, api.Import.Method(), path, cli.NDJSON(lines)) // as long as the database's rate makes it last
	if err != nil {
		return err
	}
	defer answer.Close()
	var done api.Imported
	if err := json.NewDecoder(answer).Decode(&done); err != nil {
		return err
	}
	im.done.Memories, im.done.Edges = im.done.Memories+done.Memories, im.done.Edges+done.Edges
	return im.bar.Add(done.Memories)
}
