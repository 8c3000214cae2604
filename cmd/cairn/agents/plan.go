package agents

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/cairndb/cairn/cmd/cairn/agents/edit"
	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/oplog/syncwriter"
)

// A change replaces, makes or removes one file.
type change struct {
	path          string // links resolved
	before, after []byte
	there         bool // the file is there
	gone          bool // the file goes, since it was made for an entry and is empty again
	mode          fs.FileMode
}

// A plan lists the changes that connect or disconnect a tool. Nothing is written before apply.
type plan struct {
	changes []*change
	entries []written // of the record afterwards
	kept    []string  // what was found as wanted and is not of ours
	public  bool      // new files are a project's, which others may read
}

// makePlan compares what a tool should have with what its files have. old are the entries that an earlier call wrote,
// others those of the tools' other records, which may stand in the same file.
func makePlan(public bool, want, old, others []written) (*plan, error) {
	p := &plan{public: public}
	for _, o := range slices.Backward(old) { // what was made for the first entry goes with it
		stays := slices.ContainsFunc(want, func(w written) bool { return w.at() == o.at() && w.Value == o.Value && w.Format == o.Format })
		if stays || owned(others, o) {
			continue
		}
		if err := p.drop(o); err != nil {
			return nil, err
		}
	}
	for _, w := range want {
		if err := p.put(w, old, others); err != nil {
			return nil, err
		}
	}
	p.changes = slices.DeleteFunc(p.changes, func(c *change) bool {
		return !c.gone && (c.there || len(c.after) == 0) && bytes.Equal(c.before, c.after)
	})
	return p, nil
}

// owned reports whether the same entry is among those.
func owned(all []written, w written) bool {
	return slices.ContainsFunc(all, func(o written) bool { return o.at() == w.at() && o.Value == w.Value })
}

// file returns the change of a file, which is read once.
func (p *plan) file(path string) (*change, error) {
	if real, err := filepath.EvalSymlinks(path); err == nil { // a link to the file where a user keeps it stays one
		path = real
	}
	for _, c := range p.changes {
		if c.path == path {
			return c, nil
		}
	}
	c := &change{path: path, mode: 0o600}
	if p.public {
		c.mode = 0o644
	}
	b, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err == nil {
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		c.there, c.mode = true, info.Mode().Perm()
	}
	c.before, c.after = b, bytes.Clone(b)
	p.changes = append(p.changes, c)
	return c, nil
}

// find looks for an entry in its file, as the plan leaves it.
func (p *plan) find(w written) (c *change, taken, same bool, err error) {
	if c, err = p.file(w.File); err != nil {
		return nil, false, false, err
	}
	if taken, same, err = edit.Formats[w.Format].Find(c.after, w.Entry); err != nil {
		err = fmt.Errorf("%s: %w", w.File, err)
	}
	return c, taken, same, err
}

// put adds an entry, unless it is there.
func (p *plan) put(w written, old, others []written) error {
	c, taken, same, err := p.find(w)
	if err != nil {
		return err
	}
	switch {
	case taken && same:
		for _, o := range slices.Concat(old, others) {
			if owned([]written{o}, w) {
				p.entries = append(p.entries, o)
				return nil
			}
		}
		p.kept = append(p.kept, place(w))
		return nil
	case taken && w.any:
		return nil
	case taken:
		return cli.Hint(fmt.Errorf("%s is there already, and cairn connect did not write it", place(w)),
			"remove it, or rename it, and run the command again")
	}
	w.Created = !c.there || slices.ContainsFunc(old, func(o written) bool { return o.File == w.File && o.Created })
	if c.after, w.Trace, err = edit.Formats[w.Format].Put(c.after, w.Entry); err != nil {
		return fmt.Errorf("%s: %w", w.File, err)
	}
	c.gone = false
	p.entries = append(p.entries, w)
	return nil
}

// drop removes an entry that an earlier call added. One that is gone already needs nothing.
func (p *plan) drop(o written) error {
	c, taken, same, err := p.find(o)
	switch {
	case err != nil || !taken:
		return err
	case !same:
		return cli.Hint(fmt.Errorf("%s was changed after cairn connect wrote it", place(o)),
			"remove it from the file yourself, and run the command again")
	}
	if c.after, err = edit.Formats[o.Format].Drop(c.after, o.Entry, o.Trace); err != nil {
		return fmt.Errorf("%s: %w", o.File, err)
	}
	if o.Created && len(bytes.TrimSpace(c.after)) == 0 {
		c.gone = c.there
	}
	return nil
}

// place names an entry for people.
func place(w written) string {
	if len(w.At) == 0 {
		return w.File
	}
	return w.File + ": " + w.String()
}

// apply writes the files. One that has changed since the plan was made is an error, and so is the next call's plan
// made of it.
func (p *plan) apply() error {
	for _, c := range p.changes {
		now, err := os.ReadFile(c.path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if !bytes.Equal(now, c.before) || c.there != (err == nil) {
			return cli.Hint(fmt.Errorf("%s has changed in the meantime", c.path), "run the command again; what was written already is kept")
		}
		if c.gone {
			if err := os.Remove(c.path); err != nil {
				return err
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(c.path), 0o755); err != nil {
			return err
		}
		if err := syncwriter.Replace(c.path, c.after, c.mode); err != nil {
			return err
		}
	}
	return nil
}
