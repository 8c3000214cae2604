package process

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

type pathParams struct {
	Path     string `json:"path"`
	MaxBytes int64  `json:"maxBytes"`
}

// maxRead bounds what files.read holds in memory, whatever the client allows.
const maxRead = 256 << 20

func filesStat(_ *Server, raw json.RawMessage) (any, *rpcError) {
	p, e := bind[pathParams](raw)
	if e != nil {
		return nil, e
	}
	var r struct {
		Exists bool   `json:"exists"`
		IsDir  bool   `json:"isDir"`
		Size   int64  `json:"size"`
		Mode   string `json:"mode"`
	}
	if i, err := os.Stat(p.Path); err == nil {
		r.Exists, r.IsDir, r.Size, r.Mode = true, i.IsDir(), i.Size(), i.Mode().String()
	}
	return r, nil
}

func filesValidate(_ *Server, raw json.RawMessage) (any, *rpcError) {
	p, e := bind[pathParams](raw)
	if e != nil {
		return nil, e
	}
	var r struct {
		Valid bool   `json:"valid"`
		IsDir bool   `json:"isDir"`
		Error string `json:"error,omitempty"`
	}
	if i, err := os.Stat(p.Path); err == nil {
		r.Valid, r.IsDir = true, i.IsDir()
	} else {
		r.Error = "Path does not exist"
	}
	return r, nil
}

type listEntry struct {
	Name  string `json:"name"`
	Path  string `json:"path"`
	IsDir bool   `json:"isDir"`
}

// filesList leaves out hidden names and follows links to say what is a directory.
func filesList(_ *Server, raw json.RawMessage) (any, *rpcError) {
	p, e := bind[pathParams](raw)
	if e != nil {
		return nil, e
	}
	f, err := os.OpenFile(p.Path, os.O_RDONLY|syscall.O_DIRECTORY, 0) // a pipe would wait for its writer
	if err != nil {
		return nil, internal(err)
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	if err != nil {
		return nil, internal(err)
	}
	slices.Sort(names)
	entries := []listEntry{}
	for _, n := range names {
		if strings.HasPrefix(n, ".") {
			continue
		}
		full := filepath.Join(p.Path, n)
		i, err := os.Stat(full)
		entries = append(entries, listEntry{n, full, err == nil && i.IsDir()})
	}
	return struct {
		Entries []listEntry `json:"entries"`
	}{entries}, nil
}

type readResult struct {
	Content string `json:"content"`
	Exists  bool   `json:"exists"`
}

func filesRead(_ *Server, raw json.RawMessage) (any, *rpcError) {
	p, e := bind[pathParams](raw)
	if e != nil {
		return nil, e
	}
	i, err := os.Stat(p.Path)
	if err != nil {
		return readResult{}, nil
	}
	limit := int64(maxRead)
	if p.MaxBytes > 0 {
		limit = min(limit, p.MaxBytes)
	}
	switch {
	case i.IsDir():
		return nil, refuse(codeParams, "files.read: path is a directory")
	case !i.Mode().IsRegular():
		return nil, refuse(codeParams, "files.read: not a regular file")
	case i.Size() > limit:
		return nil, refuse(codeParams, "files.read: file exceeds maxBytes")
	}
	f, err := os.OpenFile(p.Path, os.O_RDONLY|nonblock, 0) // it may have become a pipe since
	if errors.Is(err, fs.ErrNotExist) {
		return readResult{}, nil
	}
	if err != nil {
		return nil, internal(err)
	}
	defer f.Close()
	if i, err := f.Stat(); err != nil || !i.Mode().IsRegular() {
		return nil, refuse(codeParams, "files.read: not a regular file")
	}
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, internal(err)
	}
	if int64(len(b)) > limit {
		return nil, refuse(codeParams, "files.read: file exceeds maxBytes")
	}
	return readResult{string(b), true}, nil
}
