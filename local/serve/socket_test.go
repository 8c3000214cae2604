package serve

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// place returns a path that is short enough for a socket.
func place(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "serve")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return filepath.Join(dir, "some.sock")
}

func mode(t *testing.T, path string) fs.FileMode {
	t.Helper()
	i, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	return i.Mode()
}

// Claim replaces a stale socket, but neither the socket of a live server nor a file of another kind.
func TestClaim(t *testing.T) {
	t.Parallel()
	path := place(t)
	first, err := Claim(path, Answers)
	if err != nil {
		t.Fatal(err)
	}
	if m := mode(t, path); m != os.ModeSocket|0o600 {
		t.Errorf("mode %s", m)
	}
	if _, err := Claim(path, Answers); err == nil || !strings.Contains(err.Error(), path+" is served by another process") {
		t.Errorf("a live one's path: %v", err)
	}
	if !Answers(path) || !first.InPlace() {
		t.Error("the first one has lost its path")
	}
	second, err := Claim(path, nil)
	if err != nil || first.InPlace() || !second.InPlace() {
		t.Fatalf("taken over: %v", err)
	}
	if err := first.Close(); err != nil || !Answers(path) {
		t.Errorf("the end of the first one (%v) took the path of the second", err)
	}
	second.abandon(t)
	third, err := Claim(path, Answers)
	if err != nil {
		t.Fatalf("a stale one's path: %v", err)
	}
	if err := third.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after Close: %v", err)
	}
	if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Claim(path, nil); !errors.Is(err, ErrNoSocket) || !strings.HasPrefix(err.Error(), path) {
		t.Errorf("a file: %v", err)
	}
}

// abandon closes the listener and leaves the socket file, as a killed process does.
func (s *Socket) abandon(t *testing.T) {
	t.Helper()
	if err := s.UnixListener.Close(); err != nil {
		t.Fatal(err)
	}
}

// A socket has mode 0600 from its creation, whatever the umask.
func TestASocketIsPrivateFromTheFirst(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux gives a socket the mode of its descriptor")
	}
	path := place(t)
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	ln, err := bind(path)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	if m := mode(t, path); m.Perm() != 0o600 {
		t.Errorf("mode %s", m)
	}
}

// The longest path that the system allows is accepted. The error for a longer one names it.
func TestLongPaths(t *testing.T) {
	t.Parallel()
	dir := filepath.Dir(place(t))
	longest := len(syscall.RawSockaddrUnix{}.Path) - 1
	path := filepath.Join(dir, strings.Repeat("x", longest-len(dir)-1))
	s, err := Claim(path, Answers)
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	_, err = Claim(path+"xx", Answers)
	if want := "listen unix " + path + "xx: bind: invalid argument"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	_, err = Claim("/no/such/s", nil)
	if want := "listen unix /no/such/s: bind: no such file or directory"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestClaimsAtOnce: of servers that claim one path concurrently, each succeeds, one after the other. The last one is
// reached at the path.
func TestClaimsAtOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s.sock")
	for round := range 50 {
		var all [4]*Socket
		var group sync.WaitGroup
		for i := range all {
			group.Go(func() {
				s, err := Claim(path, nil)
				if err != nil {
					t.Errorf("round %d: %v", round, err)
				}
				all[i] = s
			})
		}
		group.Wait()
		c, err := net.Dial("unix", path)
		if err != nil {
			t.Fatalf("round %d: nobody listens: %v", round, err)
		}
		owners := 0
		for _, s := range all {
			if s == nil {
				continue
			}
			if s.InPlace() {
				owners++
				s.SetDeadline(time.Now().Add(time.Second))
				if a, err := s.Accept(); err != nil {
					t.Errorf("round %d: the owner is not reached: %v", round, err)
				} else {
					a.Close()
				}
			}
			s.Close()
		}
		c.Close()
		if owners != 1 {
			t.Errorf("round %d: %d owners", round, owners)
		}
	}
}

// TestASuccessorKeepsItsSocket: a server that closes while another one replaces its socket does not remove the new
// socket.
func TestASuccessorKeepsItsSocket(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s.sock")
	old, err := Claim(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for round := range 2000 {
		var group sync.WaitGroup
		var next *Socket
		group.Go(func() { old.Close() })
		group.Go(func() { next, err = Claim(path, nil) })
		group.Wait()
		if err != nil || !next.InPlace() {
			t.Fatalf("round %d: %v, it has its path: %v", round, err, err == nil && next.InPlace())
		}
		old = next
	}
	old.Close()
}
