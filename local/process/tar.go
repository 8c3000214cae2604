package process

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/cairndb/cairn/local/kit"
	"github.com/cairndb/cairn/oplog/syncwriter"
)

type tarParams struct {
	Archive string `json:"archivePath"`
	Dest    string `json:"destDir"`
}

// maxExtracted bounds the total size of the files of an archive.
const maxExtracted = 4 << 30

// maxPadding bounds the bytes after the end of an archive.
const maxPadding = 64 << 20

// extractTar empties destDir, unpacks a gzip tar into it, and removes the archive, even after an error. It writes
// nothing outside of destDir, even through links.
func extractTar(_ *Server, p tarParams) (any, error) {
	if p.Archive == "" || p.Dest == "" {
		return nil, rpcErrorf(codeParams, "archivePath and destDir are required")
	}
	n, err := unpack(p.Archive, p.Dest)
	if err != nil {
		return kit.Object{"success", false, "fileCount", 0, "error", err.Error()}, nil
	}
	return kit.Object{"success", true, "fileCount", n}, nil
}

func unpack(archive, dest string) (files int, err error) {
	dir := filepath.Clean(dest)
	if !filepath.IsAbs(dir) || dir == "/" {
		return 0, fmt.Errorf("destDir must be an absolute, non-root path: %q", dest)
	}
	if containsHome(dir) {
		return 0, fmt.Errorf("destDir must not be or contain the home directory: %q", dest)
	}
	f, err := os.OpenFile(archive, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe would wait for its writer
	if err != nil {
		return 0, fmt.Errorf("open archive: %w", err)
	}
	defer f.Close()
	if i, err := f.Stat(); err != nil || !i.Mode().IsRegular() {
		return 0, fmt.Errorf("open archive: open %s: not a regular file", archive)
	}
	defer os.Remove(archive) // also after an error
	z, err := gzip.NewReader(f)
	if err != nil {
		return 0, fmt.Errorf("gzip: %w", err)
	}
	if err := os.RemoveAll(dir); err != nil {
		return 0, fmt.Errorf("clean destDir: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return 0, fmt.Errorf("mkdir destDir: %w", err)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return 0, fmt.Errorf("mkdir destDir: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return 0, fmt.Errorf("mkdir destDir: %w", err)
	}
	defer root.Close()
	if files, err = extractEntries(root, dir, tar.NewReader(z)); err != nil {
		return 0, err
	}
	if n, err := io.Copy(io.Discard, io.LimitReader(z, maxPadding)); err != nil { // gzip checks its checksum at the end of the stream
		return 0, fmt.Errorf("gzip: %w", err)
	} else if n == maxPadding {
		return 0, errSize
	}
	if err := writeFile(root, ".synced", strings.NewReader("")); err != nil {
		return 0, fmt.Errorf("write .synced: %w", err)
	}
	return files, nil
}

// containsHome reports whether a directory is the home directory or one of its parents, through any links, mounts or
// spelling. If dir itself is a link, only the link would be removed, so its target does not count.
func containsHome(dir string) bool {
	home, err := os.UserHomeDir()
	if err != nil {
		return false
	}
	if within(filepath.Clean(home), dir) {
		return true
	}
	parent, perr := filepath.EvalSymlinks(filepath.Dir(dir))
	home, herr := filepath.EvalSymlinks(home)
	return perr == nil && herr == nil && (within(home, filepath.Join(parent, filepath.Base(dir))) || isAncestor(home, dir))
}

// isAncestor reports whether dir is the same file as path or as one of its parents.
func isAncestor(path, dir string) bool {
	i, err := os.Lstat(dir)
	if err != nil {
		return false
	}
	for {
		if at, err := os.Stat(path); err == nil && os.SameFile(i, at) {
			return true
		}
		if path == filepath.Dir(path) {
			return false
		}
		path = filepath.Dir(path)
	}
}

// within reports whether path is dir or below it.
func within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

var errSize = errors.New("extraction size limit exceeded")

func extractEntries(root *os.Root, dir string, t *tar.Reader) (files int, err error) {
	left := int64(maxExtracted)
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return 0, fmt.Errorf("gzip: %w", err)
		}
		if h.Typeflag == tar.TypeXGlobalHeader {
			continue
		}
		name, err := filepath.Rel(dir, filepath.Join(dir, h.Name))
		if err != nil || !filepath.IsLocal(name) {
			return 0, fmt.Errorf("unsafe path in archive: %s", h.Name)
		}
		switch h.Typeflag {
		case tar.TypeDir:
			err = makeDirs(root, name)
		case tar.TypeReg:
			if left -= h.Size; left < 0 {
				return 0, errSize
			}
			if err = makeDirs(root, filepath.Dir(name)); err == nil {
				err = writeFile(root, name, t)
			}
			files++
		default:
			return 0, fmt.Errorf("unsupported tar entry type %c: %s", h.Typeflag, h.Name)
		}
		if err != nil {
			return 0, fmt.Errorf("gzip: %w", err)
		}
	}
}

// makeDirs creates a directory and its parents with mode 0700.
func makeDirs(root *os.Root, name string) error {
	if name == "." {
		return nil
	}
	if err := makeDirs(root, filepath.Dir(name)); err != nil {
		return err
	}
	if err := root.Mkdir(name, 0o700); err != nil {
		if i, serr := root.Lstat(name); !errors.Is(err, fs.ErrExist) || serr != nil || !i.IsDir() {
			return err
		}
	}
	return root.Chmod(name, 0o700)
}

// syncEvery bounds the unsynced bytes of a file, because the log of a node on the same disk would have to wait for
// them. Extracting 200 MB takes 0.45 s with it and 0.2 s without.
const syncEvery = 1 << 20

func writeFile(root *os.Root, name string, r io.Reader) error {
	f, err := root.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(&syncwriter.Writer{W: f, File: f, Every: syncEvery}, r)
	return errors.Join(err, f.Chmod(0o600), f.Close())
}
