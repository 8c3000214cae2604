package door

import (
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/cairndb/cairn/oplog/suite"
)

// pair returns both ends of a connection.
func pair(t testing.TB, dial func(server netip.AddrPort) (io.Closer, error), at string) (client io.Closer, server net.Conn) {
	t.Helper()
	ln, err := net.Listen("tcp", at)
	if err != nil {
		t.Skipf("this machine has no %s: %v", at, err)
	}
	defer ln.Close()
	if client, err = dial(ln.Addr().(*net.TCPAddr).AddrPort()); err != nil {
		t.Fatal(err)
	}
	if server, err = ln.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close(); server.Close() })
	return client, server
}

func dialTCP(a netip.AddrPort) (io.Closer, error) { return net.Dial("tcp", a.String()) }

// dialMapped connects an IPv6 socket to an IPv4 address, as some programs do.
func dialMapped(a netip.AddrPort) (io.Closer, error) {
	fd, err := syscall.Socket(syscall.AF_INET6, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), "mapped"), syscall.Connect(fd, &syscall.SockaddrInet6{Port: int(a.Port()), Addr: a.Addr().As16()})
}

// Both lookups agree on the owner of a connection's remote end, and on a connection without one.
func TestOwners(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, at string
		dial     func(netip.AddrPort) (io.Closer, error)
	}{
		{"IPv4", "127.0.0.1:0", dialTCP}, {"IPv6", "[::1]:0", dialTCP},
		{"IPv4 from a socket of IPv6", "127.0.0.1:0", dialMapped}, {"IPv4 at a listener of both", "[::]:0", dialTCP},
	} {
		t.Run(c.name, func(t *testing.T) {
			dial := c.dial
			if strings.HasPrefix(c.at, "[::]") {
				dial = func(a netip.AddrPort) (io.Closer, error) {
					return c.dial(netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), a.Port()))
				}
			}
			client, server := pair(t, dial, c.at)
			if o := ownerOf(server.RemoteAddr(), server.LocalAddr()); o != (owner{os.Geteuid(), true}) {
				t.Errorf("owner %+v", o)
			}
			ends := func(a net.Addr) netip.AddrPort {
				ap := a.(*net.TCPAddr).AddrPort()
				return netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port())
			}
			from, to := ends(server.RemoteAddr()), ends(server.LocalAddr())
			uid, inode, err := scanTables(from, to)
			if err != nil || int(uid) != os.Geteuid() || inode == 0 {
				t.Errorf("the tables say uid %d, inode %d, %v", uid, inode, err)
			}
			if u, i, err := querySocket(from, to); err != nil {
				t.Logf("this kernel answers no questions about single sockets (%v): only its tables were looked at", err)
			} else if u != uid || i != inode {
				t.Errorf("the kernel says uid %d, inode %d, its tables %d, %d", u, i, uid, inode)
			}
			client.Close()
			// a process that was forked meanwhile shares the socket until its exec
			suite.Eventually(t, "no owner of a socket that the client has closed", func() bool {
				return !ownerOf(server.RemoteAddr(), server.LocalAddr()).known
			})
			server.Close()
			if o := ownerOf(server.RemoteAddr(), server.LocalAddr()); o.known {
				t.Errorf("a connection that is over: %+v", o)
			}
		})
	}
}

// A listener on the client's port is not mistaken for the client.
func TestListenerIsNoClient(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	if o := ownerOf(ln.Addr(), &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 9}); o.known {
		t.Errorf("owner %+v", o)
	}
}

// Another user of the host is recognized, even after it has sent its request and closed the socket, when the kernel
// reports uid 0.
func TestOtherUser(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("not root: no process of another user can be started")
	}
	const other = 4242
	host, port, _ := net.SplitHostPort(serve(t, &Door{}, "127.0.0.1:0"))
	say := func(uid uint32, script string) string {
		c := exec.CommandContext(t.Context(), "/bin/bash", "-c", script, "bash", host, port)
		c.Dir = "/"
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	const request = `exec 3<>/dev/tcp/$1/$2; printf 'GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n' >&3; `
	if got := say(0, request+"cat <&3"); !strings.HasSuffix(got, "in") {
		t.Errorf("root: %q", got)
	}
	if got := say(other, request+"cat <&3"); !strings.Contains(got, "403") || !strings.Contains(got, "Not your node: connect as uid 0") {
		t.Errorf("another user: %q", got)
	}
	// The client closes before the lookup: its connection is accepted after it is gone.
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	host, port, _ = net.SplitHostPort(ln.Addr().String())
	say(other, request)
	c, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if o := ownerOf(c.RemoteAddr(), c.LocalAddr()); o.known {
		t.Errorf("another user's socket that is closed has owner %+v", o)
	}
}

func BenchmarkOwner(b *testing.B) {
	_, server := pair(b, dialTCP, "127.0.0.1:0")
	from, to := server.RemoteAddr().(*net.TCPAddr).AddrPort(), server.LocalAddr().(*net.TCPAddr).AddrPort()
	b.Run("ask", func(b *testing.B) {
		for b.Loop() {
			if _, _, err := querySocket(from, to); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("scan", func(b *testing.B) {
		for b.Loop() {
			if _, _, err := scanTables(from, to); err != nil {
				b.Fatal(err)
			}
		}
	})
}
