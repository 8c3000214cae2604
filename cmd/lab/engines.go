package main

import (
	"bufio"
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/cairndb/cairn/cmd/cairn/bench"
	"github.com/cairndb/cairn/index/stock"
)

// A searchEngine is another search engine with default settings and an index for each conversation. All texts are
// added before the first question.
type searchEngine interface {
	add(conv, id, text string) error
	// ask returns the ids of the K best texts of a conversation, best first, and how long the engine took to find
	// them.
	ask(conv, question string, k int) (ids []string, took time.Duration, err error)
	close() error
}

// searchEngines maps names to the engines that recall is compared with. An engine without a directory works in
// memory.
var searchEngines = map[string]func(ctx context.Context, dir string) (searchEngine, error){
	"bleve": func(ctx context.Context, dir string) (searchEngine, error) {
		return &stockBleve{ctx: ctx, dir: dir, convs: map[string]*bleveIndex{}}, nil
	},
	"fts5": func(ctx context.Context, dir string) (searchEngine, error) { return openFTS5(ctx, dir) },
}

// openEngine opens an engine, which the rig closes.
func openEngine(ctx context.Context, l *bench.Rig, name, dir string) (searchEngine, error) {
	e, err := searchEngines[name](ctx, dir)
	if err == nil {
		l.OnClose(e.close)
	}
	return e, err
}

// stockBleve is Bleve: English analyzer, BM25.
type stockBleve struct {
	ctx   context.Context
	dir   string
	convs map[string]*bleveIndex
}

type bleveIndex struct {
	*stock.Index
	waiting int  // texts added since the last flush
	merged  bool // its segments are merged into one
}

// bleveBatch is the number of texts in a batch of an index in files. An index in memory is built in one batch,
// because Bleve's scores depend on segments.
const bleveBatch = 2000

func (e *stockBleve) add(conv, id, text string) error {
	x := e.convs[conv]
	if x == nil {
		dir := ""
		if e.dir != "" {
			dir = filepath.Join(e.dir, fmt.Sprint("index", len(e.convs)))
		}
		ix, err := stock.Open(dir)
		if err != nil {
			return err
		}
		x = &bleveIndex{Index: ix}
		e.convs[conv] = x
	}
	if err := x.Add(id, text); err != nil || e.dir == "" {
		return err
	}
	if x.waiting++; x.waiting < bleveBatch {
		return nil
	}
	x.waiting = 0
	return x.Flush()
}

func (e *stockBleve) ask(conv, question string, k int) ([]string, time.Duration, error) {
	x := e.convs[conv]
	if x == nil {
		return nil, 0, nil
	}
	if !x.merged {
		settle := func() error { return x.Merge(e.ctx) }
		if e.dir == "" {
			settle = x.Flush
		}
		if err := settle(); err != nil {
			return nil, 0, err
		}
		x.merged = true
	}
	began := time.Now()
	ids, err := x.Ask(question, k)
	return ids, time.Since(began), err
}

func (e *stockBleve) close() error {
	var errs []error
	for _, x := range e.convs {
		errs = append(errs, x.Close())
	}
	return errors.Join(errs...)
}

// fts5 is SQLite's full-text search (Porter stemmer, BM25), in a Python child process with the sqlite3 module.
type fts5 struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	to  *bufio.Writer
	out *json.Decoder
}

//go:embed fts5.py
var fts5Program string

func openFTS5(ctx context.Context, dir string) (*fts5, error) {
	python, err := exec.LookPath("python3")
	if err != nil {
		return nil, fmt.Errorf("--against fts5 asks the SQLite of Python's library: %w", err)
	}
	file := ":memory:"
	if dir != "" {
		file = filepath.Join(dir, "texts.db")
	}
	e := &fts5{cmd: exec.CommandContext(ctx, python, "-c", fts5Program, file)}
	e.cmd.Stderr = os.Stderr
	if e.in, err = e.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := e.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	e.to, e.out = bufio.NewWriterSize(e.in, 1<<20), json.NewDecoder(out)
	if err := e.cmd.Start(); err != nil {
		return nil, err
	}
	if _, err := e.reply(); err != nil {
		return nil, errors.Join(err, e.close())
	}
	return e, nil
}

// fts5Reply is an output line of the child.
type fts5Reply struct {
	IDs   []string `json:"ids"`
	MS    float64  `json:"ms"`
	Error string   `json:"error"`
}

func (e *fts5) reply() (r fts5Reply, err error) {
	if err := e.out.Decode(&r); err != nil {
		return r, fmt.Errorf("fts5: python3 ended: %w", err)
	}
	if r.Error != "" {
		return r, fmt.Errorf("fts5: %s", r.Error)
	}
	return r, nil
}

func (e *fts5) send(m any) error {
	line, err := json.Marshal(m)
	if err == nil {
		_, err = e.to.Write(append(line, '\n'))
	}
	return e.explain(err)
}

// explain replaces an error of writing to the child with the child's own error, if it reported one.
func (e *fts5) explain(err error) error {
	if err == nil {
		return nil
	}
	_, why := e.reply()
	return cmp.Or(why, err)
}

func (e *fts5) add(conv, id, text string) error {
	return e.send(map[string]string{"conv": conv, "id": id, "text": text})
}

func (e *fts5) ask(conv, question string, k int) ([]string, time.Duration, error) {
	if err := e.send(map[string]any{"conv": conv, "question": question, "k": k}); err != nil {
		return nil, 0, err
	}
	if err := e.to.Flush(); err != nil {
		return nil, 0, e.explain(err)
	}
	r, err := e.reply()
	return r.IDs, time.Duration(r.MS * float64(time.Millisecond)), err
}

func (e *fts5) close() error {
	err := e.in.Close() // the child ends at the end of its input
	if end := e.cmd.Wait(); end != nil {
		err = errors.Join(err, fmt.Errorf("fts5: python3: %w", end))
	}
	return err
}
