package stringd

import (
	"syscall"
	"testing"
)

// TestUnlockedThoughCopied: between fork and exec, a child holds copies of all descriptors of its parent, including
// that of the lock.
func TestUnlockedThoughCopied(t *testing.T) {
	dir := t.TempDir()
	lock, err := lockDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	child, err := syscall.Dup(int(lock.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(child)
	if _, err := lockDir(dir); err == nil {
		t.Error("locked twice")
	}
	if err := unlockDir(lock); err != nil {
		t.Fatal(err)
	}
	again, err := lockDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
}
