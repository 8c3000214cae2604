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

// A change creates, replaces or removes one file.
type change struct {
	path          string // symbolic links resolved
	before, after []byte
	exists        bool // the file exists
	remove        bool // remove the file: it was created for an entry and is empty again
	mode          fs.FileMode
}

// A plan lists the changes that connect or disconnect a tool. Only apply writes them.
type plan struct {
	changes      []*change
	entries      []writtenEntry // of the record after apply
	alreadyThere []string       // entries that exist already and that connect did not write
	public       bool           // new files belong to a project, so others may read them
}

// makePlan compares the wanted entries with the files. old are the entries of an earlier call; others are the entries
// of all other records, which may be in the same files.
func makePlan(public bool, want, old, others []writtenEntry) (*plan, error) {
	p := &plan{public: public}
	for _, o := range slices.Backward(old) { // in reverse, so that containers added for the first entry are empty when it is removed
		stays := slices.ContainsFunc(want, func(w writtenEntry) bool {
			return w.placeKey() == o.placeKey() && w.Value == o.Value && w.Format == o.Format
		})
		if stays || containsEntry(others, o) {
			continue
		}
		if err := p.removeEntry(o); err != nil {
			return nil, err
		}
	}
	for _, w := range want {
		if err := p.addEntry(w, old, others); err != nil {
			return nil, err
		}
	}
	p.changes = slices.DeleteFunc(p.changes, func(c *change) bool {
		return !c.remove && (c.exists || len(c.after) == 0) && bytes.Equal(c.before, c.after)
	})
	return p, nil
}

// containsEntry reports whether all contains the entry, by place and value.
func containsEntry(all []writtenEntry, w writtenEntry) bool {
	return slices.ContainsFunc(all, func(o writtenEntry) bool { return o.placeKey() == w.placeKey() && o.Value == w.Value })
}

// fileChange returns the plan's change of a file. It reads the file on the first call.
func (p *plan) fileChange(path string) (*change, error) {
	if real, err := filepath.EvalSymlinks(path); err == nil { // edit a link's target, not the link
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
		c.exists, c.mode = true, info.Mode().Perm()
	}
	c.before, c.after = b, bytes.Clone(b)
	p.changes = append(p.changes, c)
	return c, nil
}

// find looks for an entry in its file after the plan's changes so far.
func (p *plan) find(w writtenEntry) (c *change, taken, same bool, err error) {
	if c, err = p.fileChange(w.File); err != nil {
		return nil, false, false, err
	}
	if taken, same, err = edit.Formats[w.Format].Find(c.after, w.Entry); err != nil {
		err = fmt.Errorf("%s: %w", w.File, err)
	}
	return c, taken, same, err
}

// addEntry adds an entry unless it exists already.
func (p *plan) addEntry(w writtenEntry, old, others []writtenEntry) error {
	c, taken, same, err := p.find(w)
	if err != nil {
		return err
	}
	switch {
	case taken && same:
		for _, o := range slices.Concat(old, others) {
			if containsEntry([]writtenEntry{o}, w) {
				p.entries = append(p.entries, o)
				return nil
			}
		}
		p.alreadyThere = append(p.alreadyThere, describeEntry(w))
		return nil
	case taken && w.anyValue:
		return nil
	case taken:
		return cli.Hint(fmt.Errorf("%s is there already, and cairn connect did not write it", describeEntry(w)),
			"remove it, or rename it, and run the command again")
	}
	w.Created = !c.exists || slices.ContainsFunc(old, func(o writtenEntry) bool { return o.File == w.File && o.Created })
	if c.after, w.Trace, err = edit.Formats[w.Format].Put(c.after, w.Entry); err != nil {
		return fmt.Errorf("%s: %w", w.File, err)
	}
	c.remove = false
	p.entries = append(p.entries, w)
	return nil
}

// removeEntry removes an entry that an earlier call added, if it still exists.
func (p *plan) removeEntry(o writtenEntry) error {
	c, taken, same, err := p.find(o)
	switch {
	case err != nil || !taken:
		return err
	case !same:
		return cli.Hint(fmt.Errorf("%s was changed after cairn connect wrote it", describeEntry(o)),
			"remove it from the file yourself, and run the command again")
	}
	if c.after, err = edit.Formats[o.Format].Remove(c.after, o.Entry, o.Trace); err != nil {
		return fmt.Errorf("%s: %w", o.File, err)
	}
	if o.Created && len(bytes.TrimSpace(c.after)) == 0 {
		c.remove = c.exists
	}
	return nil
}

// describeEntry returns the file and path of an entry for messages.
func describeEntry(w writtenEntry) string {
	if len(w.At) == 0 {
		return w.File
	}
	return w.File + ": " + w.String()
}

// apply writes the files. It returns an error if a file has changed since the plan was made; files written before
// stay.
func (p *plan) apply() error {
	for _, c := range p.changes {
		now, err := os.ReadFile(c.path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if !bytes.Equal(now, c.before) || c.exists != (err == nil) {
			return cli.Hint(fmt.Errorf("%s has changed in the meantime", c.path), "run the command again; what was written already is kept")
		}
		if c.remove {
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
