package transfer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/node/api"
)

// Import returns the command `cairn import`.
func Import(s *cli.Streams) *cobra.Command {
	im := importer{s: s, began: time.Now()}
	c := &cobra.Command{Use: "import [FILE]...", Short: "Import memories from files and folders, or from stdin",
		Long: `Read files, folders or, when none is named, stdin. What they hold is found from the content:

  JSON, one value a line or not: exports of this server and of YantrikDB; what mem0 returns ({"results": […]}, relations
  too); the memory.jsonl of @modelcontextprotocol/server-memory (cairn mcp --tools server-memory shows the result);
  documents with "text", "content" or "page_content" (their other fields become metadata); texts; arrays of any of these.
  Sessions of Claude Code and Codex (~/.claude/projects, ~/.codex/sessions): what the user and the agent said. The uses
  of their tools are read by cairn sift backfill.
  Markdown: a memory for each heading with a text. The key is the path, from the folder that is named: /notes/todo.md for
  the first, /notes/todo.md#later for the one below the heading Later. A section that is removed, or whose heading is
  renamed, keeps its memory: cairn delete KEY forgets it.

A folder is read with all below it: files that end in .md, .markdown, .jsonl or .ndjson. A file that is named, or stdin, may
be compressed with gzip.

Import again whenever you like, also after an import that was cut off: what is there already stays as it is. A row with a
"key" or an "external_id" whose text or fields have changed corrects its memory. Exported memories come back as they were,
with their revisions and claims, under their ids; one whose id another memory has gets a new one, or ends the import with
--keep-ids.

A row that is rejected is reported with its number and the reason, and the others are stored; the exit code is 1 then.`,
		Example: `  cairn import ~/notes mem0.json --namespace notes
  cairn import ~/.claude/projects --db work`,
		RunE: func(c *cobra.Command, args []string) error {
			err := im.run(c.Context(), args)
			im.clear()
			if err != nil && c.Context().Err() != nil {
				err = errors.New("interrupted: the same command continues")
			}
			return im.report(err)
		}}
	im.t.Flags(c)
	im.t.DatabaseFlag(c)
	c.Flags().StringVarP(&im.namespace, "namespace", "n", "", "namespace of rows that name none")
	c.Flags().BoolVar(&im.keepIDs, "keep-ids", false, "end the import at a memory whose id is taken, instead of giving it a new one")
	return c
}

// Bounds of the rows in one request, which the server stores as one log entry.
const (
	importRows  = 200
	importBytes = 1 << 20
)

const (
	progressAfter  = 2 * time.Second // delay before progress is shown
	printedReasons = 20              // rejected rows to print; --json prints up to maxReasons
	maxReasons     = 1000
)

// A rowPlace identifies a row of a source.
type rowPlace struct {
	File string `json:"file,omitempty"` // blank: stdin
	Row  int    `json:"row"`
}

func (p rowPlace) String() string {
	if p.File == "" {
		return fmt.Sprintf("row %d", p.Row)
	}
	return fmt.Sprintf("%s: row %d", p.File, p.Row)
}

// A rejectedRow is a row that was not stored.
type rejectedRow struct {
	rowPlace
	Reason string `json:"reason"`
}

// importer sends the rows of sources to a gateway in batches. The gateway stores each row only once.
type importer struct {
	s         *cli.Streams
	t         cli.Target
	namespace string
	keepIDs   bool
	began     time.Time
	bar       *progressbar.ProgressBar // nil until progressAfter
	lines     [][]byte
	places    []rowPlace // of each line
	size      int
	done      api.Imported
	rejects   []rejectedRow
}

// run imports the rows of all sources in order.
func (im *importer) run(ctx context.Context, args []string) error {
	sources, err := sourcesOf(args)
	if err != nil {
		return err
	}
	for _, src := range sources {
		if err := im.source(ctx, src); err != nil {
			return err
		}
	}
	return im.flush(ctx)
}

func (im *importer) source(ctx context.Context, src source) error {
	in, err := src.open(ctx, im.s)
	if err != nil {
		return err
	}
	defer in.Close()
	from, err := src.reader(in)
	if err != nil {
		return fmt.Errorf("%s: %w", src.name, err)
	}
	return im.rows(ctx, src.name, from)
}

// rows sends the rows of a source. If the source cannot be read any further, it rejects that row and returns.
func (im *importer) rows(ctx context.Context, name string, from rowReader) error {
	for {
		r, err := from.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		var line []byte
		if err == nil {
			if im.namespace != "" && !r.has("namespace") && r.text("type") != "edge" {
				r.setText("namespace", im.namespace)
			}
			line, err = r.line()
		}
		at := rowPlace{name, from.row()}
		_, gone := errors.AsType[*unreadableError](err)
		switch {
		case gone:
			im.reject(at, fmt.Errorf("%w; nothing after it was read", err))
			return nil
		case err != nil:
			im.reject(at, err)
			continue
		}
		im.lines, im.places, im.size = append(im.lines, line), append(im.places, at), im.size+len(line)
		if len(im.lines) == importRows || im.size >= importBytes {
			if err := im.flush(ctx); err != nil {
				return err
			}
		}
	}
}

// flush sends the collected lines.
func (im *importer) flush(ctx context.Context) error {
	lines, places := im.lines, im.places
	im.lines, im.places, im.size = nil, nil, 0
	if len(lines) == 0 {
		return nil
	}
	path := im.t.WithDatabase(api.Import.Path() + "?skip_refused=true")
	if im.keepIDs {
		path = im.t.WithDatabase(api.Import.Path() + "?keep_ids=true")
	}
	answer, err := im.t.Request(ctx, api.Import.Method(), path, cli.NDJSON(bytes.Join(lines, nil))) // no timeout: the database's rate limit may slow it down
	if err != nil {
		return im.endedAt(err, places)
	}
	defer answer.Close()
	var done api.Imported
	if err := json.NewDecoder(answer).Decode(&done); err != nil {
		return err
	}
	im.done.Memories, im.done.Edges, im.done.Kept = im.done.Memories+done.Memories, im.done.Edges+done.Edges, im.done.Kept+done.Kept
	for _, r := range done.Reasons {
		if r.Line >= 1 && r.Line <= len(places) {
			im.reject(places[r.Line-1], errors.New(r.Reason))
		}
	}
	im.done.Refused += done.Refused - len(done.Reasons)
	return im.showProgress(len(lines))
}

// endedAt returns the error with the row at which the gateway ended the import, and counts the rows stored before it.
func (im *importer) endedAt(err error, places []rowPlace) error {
	refused, ok := errors.AsType[*cli.HTTPError](err)
	if !ok || refused.Line == 0 {
		return err
	}
	im.done.Memories, im.done.Edges = im.done.Memories+refused.Memories, im.done.Edges+refused.Edges
	return fmt.Errorf("%s: %s", places[min(refused.Line, len(places))-1], refused.Reason)
}

// reject records a rejected row, and prints the first printedReasons of them.
func (im *importer) reject(at rowPlace, err error) {
	if im.done.Refused++; len(im.rejects) < maxReasons {
		im.rejects = append(im.rejects, rejectedRow{at, err.Error()})
	}
	if im.done.Refused <= printedReasons && !im.t.JSON {
		im.clear()
		fmt.Fprintf(im.s.Err, "%s: %s\n", at, err)
	}
}

// showProgress advances the bar. The bar appears after progressAfter.
func (im *importer) showProgress(rows int) error {
	if im.bar == nil && time.Since(im.began) > progressAfter {
		im.bar = im.s.Progress("importing rows")
		rows = im.done.Memories + im.done.Edges + im.done.Kept + im.done.Refused
	}
	if im.bar == nil {
		return nil
	}
	return im.bar.Add(rows)
}

func (im *importer) clear() {
	if im.bar != nil {
		_ = im.bar.Clear() // ignore a closed terminal
	}
}

// report prints the result. It returns an error if rows were rejected.
func (im *importer) report(err error) error {
	d := im.done
	if im.t.JSON {
		out := map[string]any{"memories": d.Memories, "edges": d.Edges, "kept": d.Kept, "refused": d.Refused}
		if len(im.rejects) > 0 {
			out["reasons"] = im.rejects
		}
		if failed := im.s.JSON(out); failed != nil {
			return failed
		}
	}
	kept := ""
	if d.Kept > 0 {
		kept = "; " + api.Many(d.Kept, "was there already", "were there already")
	}
	switch {
	case err != nil:
		return fmt.Errorf("%w (%s were imported%s)", err, countStored(d), kept)
	case d.Refused > 0:
		return fmt.Errorf("%s (%s were imported%s)", countRejected(d), countStored(d), kept)
	case !im.t.JSON:
		fmt.Fprintf(im.s.Err, "imported %s%s\n", countStored(d), kept)
	}
	return nil
}

// countStored formats the numbers of stored memories and relations.
func countStored(d api.Imported) string {
	return api.Many(d.Memories, "memory", "memories") + " and " + api.Many(d.Edges, "relation", "relations")
}

func countRejected(d api.Imported) string {
	return api.Many(d.Refused, "row was rejected", "rows were rejected")
}
