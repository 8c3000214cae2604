package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/client"
)

func (a *app) exportCmd() *cobra.Command {
	var t cli.Target
	c := &cobra.Command{Use: "export [DATABASE]", Short: "Write a database as JSON lines to stdout: memories, then relations", Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 1 {
				t.Database = args[0]
			}
			r, err := t.Request(c.Context(), "GET", t.In("/v1/export"), nil)
			if err != nil {
				return err
			}
			defer r.Close()
			n, err := io.Copy(a.Out, r)
			if err != nil {
				return fmt.Errorf("export broke off after %d bytes: %w", n, err)
			}
			return nil
		}}
	t.Flags(c)
	t.InDatabase(c)
	return c
}

// importRow is a line of an export: a memory or an edge.
type importRow struct {
	Type       string          `json:"type"`
	Text       string          `json:"text"`
	MemoryType string          `json:"memory_type"`
	Importance *float64        `json:"importance"`
	Valence    float64         `json:"valence"`
	HalfLife   *float64        `json:"half_life"`
	Created    instant         `json:"created_at"`
	Metadata   json.RawMessage `json:"metadata"`
	Namespace  string          `json:"namespace"`
	Certainty  *float64        `json:"certainty"`
	Domain     string          `json:"domain"`
	Source     string          `json:"source"`
	Emotion    *string         `json:"emotional_state"`
	Session    string          `json:"session_id"`
	Src        string          `json:"src"`
	Dst        string          `json:"dst"`
	RelType    string          `json:"rel_type"`
	Weight     *float64        `json:"weight"`
	foreign
}

func (r *importRow) memory() wire.Remember {
	m := wire.NewRemember(r.Text)
	m.Valence, m.CreatedAt, m.Namespace, m.Domain, m.EmotionalState, m.SessionID = r.Valence, float64(r.Created), r.Namespace, r.Domain, r.Emotion, r.Session
	for _, o := range []struct {
		from *float64
		to   *float64
	}{{r.Importance, &m.Importance}, {r.HalfLife, &m.HalfLife}, {r.Certainty, &m.Certainty}} {
		if o.from != nil && (o.to != &m.HalfLife || *o.from > 0) { // a memory without a half-life is exported with 0
			*o.to = *o.from
		}
	}
	if r.MemoryType != "" {
		m.MemoryType = r.MemoryType
	}
	if r.Source != "" {
		m.Source = r.Source
	}
	if string(r.Metadata) != "null" {
		m.Metadata = wire.JSON(r.Metadata)
	}
	return m
}

// ImportBatch is how many memories share an entry.
const ImportBatch = 200

func (a *app) importCmd() *cobra.Command {
	var t cli.Target
	c := &cobra.Command{Use: "import [DATABASE]", Short: "Import memories as JSON from stdin into a database; they get new ids", Args: cobra.MaximumNArgs(1),
		Long: `Read JSON lines from stdin into a database; memories get new ids. Beside exports of this server and of YantrikDB it reads
what mem0 returns ({"results": […]}, relations too), documents with "text", "content" or "page_content" (what else they
say becomes metadata), texts, and arrays of any of these. A row that cannot be read ends the import, and the error has its
number; the rows before it are stored.`,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 1 {
				t.Database = args[0]
			}
			cl, err := t.Dial(c.Context())
			if err != nil {
				return err
			}
			defer cl.Close()
			im := importer{c: cl, bar: a.Progress("importing")}
			if err := im.run(c.Context(), a.Input(c.Context())); err != nil {
				return fmt.Errorf("row %d: %w (%d memories and %d relations were imported)", im.line, err, im.memories, im.edges)
			}
			if t.JSON {
				return a.JSON(map[string]int{"memories": im.memories, "edges": im.edges})
			}
			fmt.Fprintf(a.Err, "imported %d memories and %d relations\n", im.memories, im.edges)
			return nil
		}}
	t.Flags(c)
	t.InDatabase(c)
	return c
}

type importer struct {
	c                     *client.Client
	bar                   *progressbar.ProgressBar
	batch                 wire.RememberBatch
	rows                  []int // of the batch's memories
	line, memories, edges int
}

// run stores rows in their order. The memories before an edge, the end or a row that cannot be read are stored first, or their error is the one that
// is returned; line is the row that it is of.
func (im *importer) run(ctx context.Context, in io.Reader) error {
	for from := newRows(in); ; {
		r, err := from.next()
		if err == nil && r.Type != "edge" {
			im.batch.Memories, im.rows = append(im.batch.Memories, r.memory()), append(im.rows, from.n)
			if len(im.rows) < ImportBatch {
				continue
			}
		}
		im.line = from.n
		if err := im.flush(ctx); err != nil {
			return err
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err == nil && r.Type == "edge":
			err = im.edge(ctx, &r)
		}
		if err != nil {
			return err
		}
	}
}

func (im *importer) edge(ctx context.Context, r *importRow) error {
	m := wire.Relate{Entity: r.Src, Target: r.Dst, Relationship: r.RelType, Weight: 1}
	if r.Weight != nil {
		m.Weight = *r.Weight
	}
	if _, err := im.c.Relate(ctx, m); err != nil {
		return err
	}
	im.edges++
	return nil
}

func (im *importer) flush(ctx context.Context) error {
	if len(im.batch.Memories) == 0 {
		return nil
	}
	batch, rows := im.batch, im.rows
	im.batch, im.rows = wire.RememberBatch{}, nil
	rids, err := im.c.RememberBatch(ctx, batch)
	var refused *client.Error
	if errors.As(err, &refused) && refused.Code == wire.CodeInvalidPayload { // of none of them anything is stored
		return im.oneByOne(ctx, batch.Memories, rows)
	}
	if err != nil {
		return err
	}
	im.memories += len(rids)
	return im.bar.Add(len(rids))
}

// oneByOne stores the memories of a refused batch up to the memory that caused the refusal, whose row is then line.
func (im *importer) oneByOne(ctx context.Context, memories []wire.Remember, rows []int) error {
	for i, m := range memories {
		if _, err := im.c.Remember(ctx, m); err != nil {
			im.line = rows[i]
			return err
		}
		im.memories++
		if err := im.bar.Add(1); err != nil {
			return err
		}
	}
	return nil
}
