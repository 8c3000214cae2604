package standalone

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
)

// installResult is the output of -install.
type installResult struct {
	ServerVersion string `json:"serverVersion"`
	OS            string `json:"os"`
	Arch          string `json:"arch"`
	Libc          string `json:"libc"`
	CliPath       string `json:"cliPath"`
	WasPresent    bool   `json:"cliWasPresent"`
	Error         string `json:"cliError,omitempty"`
}

func printResult(w io.Writer, f installResult) {
	b, _ := json.Marshal(f) // strings and a bool
	fmt.Fprintf(w, "__INSTALL_RESULT__%s\n", b)
}

const (
	fetchPrefix     = ".fetch-"
	versionTimeout  = 15 * time.Second
	lddTimeout      = 5 * time.Second
	downloadTimeout = 10 * time.Minute
	maxCompressed   = 1 << 30
	maxCLI          = 1 << 30
)

// install makes sure that the command line tool is installed and runs. An error is part of the result.
func install(o *options, id string) installResult {
	f := installResult{ServerVersion: id, OS: runtime.GOOS, Arch: runtime.GOARCH, Libc: libc()}
	if o.cliDir == "" || o.cliVersion == "" {
		return f
	}
	v := o.cliVersion
	if v == "." || v == ".." || strings.ContainsRune(v, '/') || strings.HasPrefix(v, fetchPrefix) {
		f.Error = fmt.Sprintf("cli version %q must be a single path component", v)
		return f
	}
	f.CliPath = filepath.Join(o.cliDir, v)
	if runnable(f.CliPath) {
		f.WasPresent = true
		return f
	}
	if err := installCLI(o, f.CliPath); err != nil {
		f.Error = err.Error()
		return f
	}
	prune(o.cliDir, v, o.cliKeep)
	return f
}

func libc() string {
	if runtime.GOOS != "linux" {
		return ""
	}
	if m, _ := filepath.Glob("/lib/ld-musl-*.so.*"); len(m) > 0 {
		return "musl"
	}
	ctx, cancel := context.WithTimeout(context.Background(), lddTimeout)
	defer cancel()
	out, _ := exec.CommandContext(ctx, "ldd", "--version").CombinedOutput() // the ldd of musl exits with 1
	if strings.Contains(strings.ToLower(string(out)), "musl") {
		return "musl"
	}
	return "glibc"
}

func runnable(path string) bool {
	if i, err := os.Stat(path); err != nil || !i.Mode().IsRegular() {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), versionTimeout)
	defer cancel()
	c := exec.CommandContext(ctx, path, "--version")
	c.WaitDelay = time.Second
	return c.Run() == nil
}

// installCLI downloads and unpacks the command line tool into a temporary file, checks that it runs, and renames it
// to path.
func installCLI(o *options, path string) error {
	var in io.ReadCloser
	var err error
	checked := o.cliChecksum != ""
	switch {
	case o.cliZst != "":
		if in, err = os.Open(o.cliZst); err != nil {
			return fmt.Errorf("opening input: %w", err)
		}
	case o.cliURL != "":
		if in, err = download(o.cliURL); err != nil {
			return fmt.Errorf("download failed: %w", err)
		}
		checked = true
	default:
		return fmt.Errorf("cli %s missing and no --cli-url or --cli-zst provided", o.cliVersion)
	}
	defer in.Close()
	if err := os.MkdirAll(o.cliDir, 0o700); err != nil {
		return fmt.Errorf("mkdir cli dir: %w", err)
	}
	blob, err := os.CreateTemp(o.cliDir, fetchPrefix+"*")
	if err != nil {
		return fmt.Errorf("mkdir cli dir: %w", err)
	}
	defer os.Remove(blob.Name())
	defer blob.Close()
	sum := sha256.New()
	if err := copyLimited(blob, in, sum); err != nil {
		if o.cliZst != "" {
			return fmt.Errorf("opening input: %w", err)
		}
		return fmt.Errorf("download failed: %w", err)
	}
	if actual := hex.EncodeToString(sum.Sum(nil)); checked && !strings.EqualFold(actual, o.cliChecksum) {
		return fmt.Errorf("checksum mismatch: expected=%s, actual=%s", o.cliChecksum, actual)
	}
	if err := unzstd(blob, path); err != nil {
		return err
	}
	if o.cliZst != "" {
		_ = os.Remove(o.cliZst) // a file that cannot be removed does no harm
	}
	return nil
}

// copyLimited copies a bounded download to a file and to the checksum.
func copyLimited(blob *os.File, in io.Reader, sum hash.Hash) error {
	n, err := io.Copy(io.MultiWriter(blob, sum), io.LimitReader(in, maxCompressed+1))
	if err == nil && n > maxCompressed {
		err = fmt.Errorf("more than %d bytes", maxCompressed)
	}
	if err != nil {
		return err
	}
	_, err = blob.Seek(0, io.SeekStart)
	return err
}

func unzstd(blob io.Reader, path string) error {
	z, err := zstd.NewReader(blob, zstd.WithDecoderMaxMemory(maxCLI), zstd.WithDecoderConcurrency(1))
	if err != nil {
		return fmt.Errorf("decompressing: %w", err)
	}
	defer z.Close()
	out, err := os.CreateTemp(filepath.Dir(path), fetchPrefix+"*")
	if err != nil {
		return fmt.Errorf("mkdir cli dir: %w", err)
	}
	defer os.Remove(out.Name()) // fails after the rename
	n, err := io.Copy(out, io.LimitReader(z, maxCLI+1))
	if err == nil && n > maxCLI {
		err = fmt.Errorf("decompressed CLI exceeds %d bytes", maxCLI)
	}
	if err = errors.Join(err, out.Chmod(0o755), out.Sync(), out.Close()); err != nil {
		return fmt.Errorf("decompressing: %w", err)
	}
	if !runnable(out.Name()) {
		return fmt.Errorf("installed cli at %s is not runnable", path)
	}
	return os.Rename(out.Name(), path)
}

func download(url string) (io.ReadCloser, error) {
	c := &http.Client{Timeout: downloadTimeout}
	resp, err := c.Get(url)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		resp.Body.Close()
		return nil, fmt.Errorf("status %d", resp.StatusCode)
	}
	return resp.Body, nil
}

// prune removes all but the n newest versions. It never removes the current one.
func prune(dir, current string, n int) {
	entries, err := os.ReadDir(dir)
	if err != nil || n <= 0 {
		return
	}
	type version struct {
		name string
		at   time.Time
	}
	var all []version
	for _, e := range entries {
		if i, err := e.Info(); err == nil && i.Mode().IsRegular() && !strings.HasPrefix(e.Name(), ".") {
			all = append(all, version{e.Name(), i.ModTime()})
		}
	}
	slices.SortFunc(all, func(a, b version) int { return b.at.Compare(a.at) })
	for i, v := range all {
		if i >= n && v.name != current {
			_ = os.Remove(filepath.Join(dir, v.name)) // the next install tries again
		}
	}
}
