package cairntest

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/cairndb/cairn/raft/rafttest"
)

// AsCairn is the environment variable that makes the test binary of cmd/cairn run as cairn, so that its tests can
// start real processes.
const AsCairn = "CAIRN_TEST_BE_CAIRN"

// Main is the TestMain of cmd/cairn. It runs as cairn if AsCairn is set, or else runs the tests, atOnce at a time.
func Main(m *testing.M, cairn func(), atOnce int) {
	if os.Getenv(AsCairn) != "" {
		cairn()
		return
	}
	Binary = func() string { return os.Args[0] }
	if err := os.Setenv("CAIRN_CONTEXTS", os.DevNull); err != nil { // do not use the developer's contexts
		panic("cairntest: " + err.Error())
	}
	os.Exit(rafttest.Overlap(m, atOnce))
}

// Binary returns the path of a cairn executable: the test binary of cmd/cairn, or for the packages below it a shared
// build.
var Binary = sync.OnceValue(func() string {
	path, err := build()
	if err != nil {
		panic(fmt.Sprintf("cairntest: %v", err))
	}
	return path
})

// build builds cairn into the user's cache, where other packages reuse it. go build links it again only if the
// sources have changed.
func build() (path string, err error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return "", fmt.Errorf("go list -m: %w", err)
	}
	root := strings.TrimSpace(string(out))
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "cairn-test", fmt.Sprintf("%x", sha256.Sum256([]byte(root)))[:12])
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, lock.Close()) }() // closing the file releases the lock
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", err
	}
	path = filepath.Join(dir, "cairn")
	c := exec.Command("go", "build", "-buildvcs=false", "-o", path, "./cmd/cairn")
	c.Dir = root
	// Like releases and tests without the race detector, so that compiled packages are reused.
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := c.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, nil
}
