package process_test

import (
	"syscall"
	"testing"
)

// mount bind-mounts a directory at another one, if the user may do that.
func mount(t *testing.T, dir, at string) {
	t.Helper()
	if err := syscall.Mount(dir, at, "", syscall.MS_BIND, ""); err != nil {
		t.Skipf("skipped: a directory cannot be mounted at another: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(at, 0); err != nil {
			t.Error(err)
		}
	})
}
