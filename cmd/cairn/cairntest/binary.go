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

// AsCairn in the environment makes the test binary of cmd/cairn the real thing, so that its tests run real processes.
const AsCairn = "CAIRN_TEST_BE_CAIRN"

// Main is TestMain of cmd/cairn: its test binary is cairn when it is asked to be. It runs so many tests at once.
func Main(m *testing.M, cairn func(), atOnce int) {
	if os.Getenv(AsCairn) != "" {
		cairn()
		return
	}
	Binary = func() string { return os.Args[0] }
	if err := os.Setenv("CAIRN_CONTEXTS", os.DevNull); err != nil { // tests have no contexts of the user's
		panic("cairntest: " + err.Error())
	}
	os.Exit(rafttest.Overlap(m, atOnce))
}

// Binary is the path of a cairn to run: the test binary of cmd/cairn, and for the packages below it one build that they
// share.
var Binary = sync.OnceValue(func() string {
	path, err := build()
	if err != nil {
		panic(fmt.Sprintf("cairntest: %v", err))
	}
	return path
})

// build links cairn into the user's cache, where the next package finds it; it is linked again when the sources have
// changed.
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
	defer func() { err = errors.Join(err, lock.Close()) }() // which unlocks it
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", err
	}
	path = filepath.Join(dir, "cairn")
	c := exec.Command("go", "build", "-buildvcs=false", "-o", path, "./cmd/cairn")
	c.Dir = root
	c.Env = append(os.Environ(), "CGO_ENABLED=0") // as it is shipped, and as the tests without the race detector have compiled it
	if out, err := c.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, nil
}
