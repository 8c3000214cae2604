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
	name string // for messages; blank for stdin
	path string // blank for stdin
	key  string // of its memories, if it is Markdown
}

// rowReader reads the rows of a source. next returns io.EOF after the last row. After an unreadableError there are no
// more rows; after other errors there are.
type rowReader interface {
	next() (importRow, error)
	row() int // number of the last row that next read
}

// unreadableError reports that a source cannot be read any further.
type unreadableError struct{ err error }

func (e *unreadableError) Error() string { return e.err.Error() }
func (e *unreadableError) Unwrap() error { return e.err }

// suffixes are the endings of the files that are read in a folder.
var suffixes = []string{".md", ".markdown", ".jsonl", ".ndjson"}

// sourcesOf returns the sources for the arguments, in order; stdin if there are none.
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
			all = append(all, source{name: arg, path: arg, key: pathKey(strings.TrimSuffix(filepath.Base(whole), ".gz"))})
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
	return all, checkDistinctKeys(all)
}

// checkDistinctKeys returns an error if two Markdown files have the same key, because the second would replace the
// first.
func checkDistinctKeys(all []source) error {
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

// suffix returns the ending of a file's name, ignoring .gz.
func (src source) suffix() string {
	return filepath.Ext(strings.TrimSuffix(strings.ToLower(src.path), ".gz"))
}

// filesBelow returns the importable files below a folder, by path. It omits hidden files and links.
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
		all = append(all, source{name: path, path: path, key: pathKey(filepath.Join(name, below))})
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

// sniffSize bounds the beginning of a source that is used to detect its format.
const sniffSize = 256 << 10

// reader returns the rowReader for a source. It detects the format from the content, but a name that says Markdown or
// JSON decides: a text that begins with a bracket may be either, and JSON lines with a damaged first line must not be
// imported as one text.
func (src source) reader(in io.Reader) (rowReader, error) {
	b := bufio.NewReaderSize(in, sniffSize)
	if magic, _ := b.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		unpacked, err := gzip.NewReader(b)
		if err != nil {
			return nil, err
		}
		b = bufio.NewReaderSize(unpacked, sniffSize)
	}
	if _, err := b.Peek(1); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	begin, err := b.Peek(b.Buffered()) // from a pipe: the bytes so far
	if err != nil {
		return nil, err
	}
	if mark := []byte("\uFEFF"); bytes.HasPrefix(begin, mark) { // a byte order mark, which JSON does not allow
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

// pathKey returns the key for a path.
func pathKey(path string) string {
	return "/" + cmp.Or(strings.Trim(normalize(filepath.ToSlash(path)), "/"), "file")
}
