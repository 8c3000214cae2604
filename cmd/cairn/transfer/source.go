package transfer

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cairndb/cairn/cmd/cairn/cli"
)

// A source is a file to import, or stdin.
type source struct {
	name string // as it is shown; blank for stdin
	path string // blank for stdin
	key  string // of its memories, for Markdown
}

// rowReader reads the rows of a source; io.EOF behind the last. An unreadable error is the last.
type rowReader interface {
	next() (importRow, error)
	row() int // the number of the row that was read last
}

// unreadable says that a source cannot be read any farther.
type unreadable struct{ err error }

func (e *unreadable) Error() string { return e.err.Error() }
func (e *unreadable) Unwrap() error { return e.err }

// suffixes end the names of files that are read of a folder.
var suffixes = []string{".md", ".markdown", ".jsonl", ".ndjson"}

// sourcesOf finds the files that arguments name, in order; stdin when there are none.
func sourcesOf(args []string) (all []source, err error) {
	for _, arg := range args {
		if arg == "-" {
			all = append(all, source{})
			continue
		}
		info, err := os.Stat(arg)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, cli.Hint(fmt.Errorf("%s: no such file or folder", arg),
				"arguments are files and folders; --db names the database, and - reads stdin")
		} else if err != nil {
			return nil, err
		}
		whole, err := filepath.Abs(arg)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			all = append(all, source{name: arg, path: arg, key: keyOf(filepath.Base(whole))})
			continue
		}
		below, err := filesBelow(arg, filepath.Base(whole))
		if err != nil {
			return nil, err
		}
		all = append(all, below...)
	}
	if len(args) == 0 {
		return []source{{}}, nil
	}
	return all, distinct(all)
}

// distinct rejects two files of Markdown that have the same keys: the second would take the place of the first.
func distinct(all []source) error {
	paths := map[string]string{}
	for _, src := range all {
		if !src.markdown() {
			continue
		}
		path, err := filepath.Abs(src.path)
		if err != nil {
			return err
		}
		if other, taken := paths[src.key]; taken && other != path {
			return cli.Usage(cli.Hint(fmt.Errorf("%s and %s have the same key, %s: the second would take the place of the first",
				other, path, src.key),
				"import the folder that both are in, or each into a namespace of its own"))
		}
		paths[src.key] = path
	}
	return nil
}

// markdown reports whether a file is Markdown by its name.
func (src source) markdown() bool {
	return slices.Contains([]string{".md", ".markdown"}, src.suffix())
}

// json reports whether a file is JSON by its name.
func (src source) json() bool {
	return slices.Contains([]string{".json", ".jsonl", ".ndjson"}, src.suffix())
}

// suffix is the ending of a file's name, without that of its compression.
func (src source) suffix() string {
	return filepath.Ext(strings.TrimSuffix(strings.ToLower(src.path), ".gz"))
}

// filesBelow finds the files of a folder, in the order of their paths. Hidden ones, and links, are left out.
func filesBelow(root, name string) (all []source, err error) {
	err = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path != root && strings.HasPrefix(e.Name(), ".") && e.IsDir():
			return fs.SkipDir
		case !e.Type().IsRegular() || strings.HasPrefix(e.Name(), ".") || !slices.Contains(suffixes, strings.ToLower(filepath.Ext(path))):
			return nil
		}
		below, err := filepath.Rel(root, path)
		all = append(all, source{name: path, path: path, key: keyOf(filepath.Join(name, below))})
		return err
	})
	if err == nil && len(all) == 0 {
		err = fmt.Errorf("%s: no file in it ends in %s", root, strings.Join(suffixes, ", "))
	}
	return all, err
}

func (src source) open(ctx context.Context, s *cli.Streams) (io.ReadCloser, error) {
	if src.path == "" {
		return io.NopCloser(s.Input(ctx)), nil
	}
	return os.Open(src.path)
}

// looked bounds the beginning of a source that is looked at to find out what it holds.
const looked = 256 << 10

// reader chooses by the content, and by the name where that says Markdown or JSON: a text that begins with a bracket
// may be either, and a file of JSON lines whose first line is damaged is not one long memory.
func (src source) reader(in io.Reader) (rowReader, error) {
	b := bufio.NewReaderSize(in, looked)
	if magic, _ := b.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		unpacked, err := gzip.NewReader(b)
		if err != nil {
			return nil, err
		}
		b = bufio.NewReaderSize(unpacked, looked)
	}
	if _, err := b.Peek(1); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	begin, err := b.Peek(b.Buffered()) // of a pipe, what has come
	if err != nil {
		return nil, err
	}
	if mark := []byte("\uFEFF"); bytes.HasPrefix(begin, mark) { // which JSON does not know
		begin = begin[len(mark):]
		if _, err := b.Discard(len(mark)); err != nil {
			return nil, err
		}
	}
	first := bytes.TrimSpace(begin)
	switch {
	case src.markdown(), src.path != "" && !src.json() && len(first) > 0 && !strings.ContainsRune(`{["`, rune(first[0])):
		return newMarkdown(b, src)
	case isTranscript(begin):
		return newSession(b, src.path), nil
	}
	return newRows(b), nil
}

// keyOf makes a key of a path.
func keyOf(path string) string {
	return "/" + cmp.Or(strings.Trim(normalized(filepath.ToSlash(path)), "/"), "file")
}
