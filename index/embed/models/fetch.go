package models

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/cairndb/cairn/oplog/pause"
	"github.com/cairndb/cairn/oplog/syncwriter"
)

// Hub is the URL that models are fetched from, unless a mirror is named.
const Hub = "https://huggingface.co"

const (
	attempts   = 5           // of a file without a byte of it in between
	retryDelay = time.Second // before the second attempt; twice as long before each further one
	stall      = time.Minute // without a byte ends an attempt
	retained   = ".part"     // folder of an incomplete model
)

// ErrWrong marks a file that is not the one that the table has.
var ErrWrong = errors.New("not the requested file")

// A Fetcher fetches models into a folder. Without a Mirror they come from the hub.
type Fetcher struct {
	Mirror string
	Folder string
	// Told, if set, is called as each file's bytes come: had bytes were there already.
	Told func(f File, had, got int64)
}

// Dir returns the directory of a model, whether or not it exists.
func (f *Fetcher) Dir(m *Model) string { return filepath.Join(f.Folder, m.Name) }

// Part returns the directory of a model's files while it is incomplete.
func (f *Fetcher) Part(m *Model) string { return f.Dir(m) + retained }

// URL returns the URL of a model's file.
func (f *Fetcher) URL(m *Model, file File) (string, error) {
	base := f.Mirror
	if base == "" {
		base = Hub
	}
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "", fmt.Errorf("mirror %q: want http://host or https://host", base)
	}
	return u.JoinPath(m.Repository, "resolve", m.Revision, file.Name).String(), nil
}

// Fetch fetches a model, unless its folder is complete, and returns the folder. Anything else in the model's place is
// an error, and stays.
func (f *Fetcher) Fetch(ctx context.Context, m *Model) (dir string, fetched bool, err error) {
	dir = f.Dir(m)
	if Verify(dir, m) == nil {
		return dir, false, m.recipe.write(dir)
	}
	if err := checkVacant(dir, m); err != nil {
		return "", false, err
	}
	part := f.Part(m)
	if err := os.MkdirAll(part, 0o700); err != nil {
		return "", false, err
	}
	for _, file := range m.Files {
		if err := f.fetchFile(ctx, m, file, filepath.Join(part, file.Name)); err != nil {
			return "", false, fmt.Errorf("%s: %w", file.Name, err)
		}
	}
	if err := errors.Join(m.recipe.write(part), syncwriter.Dir(part)); err != nil {
		return "", false, err
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, os.ErrNotExist) { // an empty folder
		return "", false, err
	}
	if err := os.Rename(part, dir); err != nil {
		return "", false, err
	}
	return dir, true, syncwriter.Dir(f.Folder)
}

// checkVacant returns an error if a model's place has something else, which may be a model of the user's own.
func checkVacant(dir string, m *Model) error {
	list, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) || err == nil && len(list) == 0 {
		return nil
	}
	if err == nil {
		err = Verify(dir, m)
	}
	return fmt.Errorf("%s is not this model (%w), and is not replaced: move it away or remove it, and run the command again", dir, err)
}

// Verify compares a folder with a model's lengths and checksums.
func Verify(dir string, m *Model) error {
	for _, file := range m.Files {
		if err := file.verify(filepath.Join(dir, file.Name)); err != nil {
			return fmt.Errorf("%s: %w", file.Name, err)
		}
	}
	return nil
}

func (f File) verify(path string) error {
	r, err := os.Open(path)
	if err != nil {
		return err
	}
	defer r.Close()
	h := sha256.New()
	n, err := io.Copy(h, r)
	if err != nil {
		return err
	}
	if n != f.Size {
		return fmt.Errorf("%w: it has %d bytes, want %d", ErrWrong, n, f.Size)
	}
	if sum := hex.EncodeToString(h.Sum(nil)); sum != f.SHA256 {
		return fmt.Errorf("%w: its SHA-256 is %s, want %s", ErrWrong, sum, f.SHA256)
	}
	return nil
}

// fetchFile fetches one file. After an attempt that made progress it tries again at once.
func (f *Fetcher) fetchFile(ctx context.Context, m *Model, file File, path string) error {
	at, err := f.URL(m, file)
	if err != nil {
		return err
	}
	connected := false
	for failed := 0; ; {
		size := length(path)
		if size > file.Size {
			return removeWrong(path, fmt.Errorf("%w: it has %d bytes, want %d", ErrWrong, size, file.Size))
		}
		if size == file.Size {
			f.report(file, size, 0)
			if err := file.verify(path); err != nil {
				return removeWrong(path, err)
			}
			return nil
		}
		err := f.appendRest(ctx, at, file, path, size)
		var refused *statusError
		var dial *net.OpError
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, ErrWrong):
			return removeWrong(path, err)
		case errors.As(err, &refused) && !refused.passes():
			return err
		case length(path) > size:
			failed, connected = 0, true
			continue
		case err == nil: // the answer ended too early, and the next one may as well
			connected, err = true, fmt.Errorf("%s: %w", at, io.ErrUnexpectedEOF)
		case !connected && errors.As(err, &dial) && dial.Op == "dial": // without a network, fail at once
			return err
		}
		if failed++; failed == attempts {
			return err
		}
		if err := pause.For(ctx, retryDelay<<(failed-1)); err != nil {
			return err
		}
	}
}

// removeWrong removes a file that cannot become the right one, so that the next attempt starts over.
func removeWrong(path string, err error) error {
	if e := os.Remove(path); e != nil && !errors.Is(e, os.ErrNotExist) {
		return errors.Join(err, e)
	}
	return fmt.Errorf("%w; it was removed, and the next attempt fetches it again", err)
}

func length(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

func (f *Fetcher) report(file File, had, got int64) {
	if f.Told != nil {
		f.Told(file, had, got)
	}
}

// A statusError is an HTTP answer without the file.
type statusError struct {
	status int
	at     string
}

func (r *statusError) Error() string {
	return fmt.Sprintf("%s answers %d %s", r.at, r.status, http.StatusText(r.status))
}

// passes reports whether the same request may succeed later.
func (r *statusError) passes() bool {
	return r.status >= 500 || r.status == http.StatusTooManyRequests || r.status == http.StatusRequestTimeout
}

// appendRest requests the missing part of a file, once, and appends it.
func (f *Fetcher) appendRest(ctx context.Context, at string, file File, path string, had int64) (err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watch := time.AfterFunc(stall, func() { cancel(fmt.Errorf("no byte within %s", stall)) })
	defer watch.Stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return err
	}
	if had > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", had))
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	mode := os.O_CREATE | os.O_WRONLY
	switch {
	case resp.StatusCode == http.StatusPartialContent && strings.HasPrefix(resp.Header.Get("Content-Range"), fmt.Sprintf("bytes %d-", had)):
		mode |= os.O_APPEND
	case resp.StatusCode == http.StatusOK: // the whole file, even if a part was requested
		mode |= os.O_TRUNC
		had = 0
	default:
		return &statusError{resp.StatusCode, at}
	}
	if n := resp.ContentLength; n >= 0 && had+n != file.Size {
		return fmt.Errorf("%w: %s has %d bytes, want %d", ErrWrong, at, had+n, file.Size)
	}
	w, err := os.OpenFile(path, mode, 0o600)
	if err != nil {
		return err
	}
	f.report(file, had, 0)
	_, err = io.Copy(w, &countingReader{r: io.LimitReader(resp.Body, file.Size-had+1), told: func(n int64) {
		watch.Reset(stall)
		f.report(file, had, n)
	}})
	if err != nil && context.Cause(ctx) != nil {
		err = context.Cause(ctx)
	}
	return errors.Join(err, w.Sync(), w.Close())
}

// countingReader reports the bytes that are read through it.
type countingReader struct {
	r    io.Reader
	told func(n int64)
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	if n > 0 {
		c.told(int64(n))
	}
	return n, err
}
