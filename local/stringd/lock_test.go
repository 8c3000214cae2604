package stringd

import (
	"syscall"
	"testing"
)

// TestUnlockedThoughCopied: between its fork and its exec a child has every descriptor of its parent, the lock's too.
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
