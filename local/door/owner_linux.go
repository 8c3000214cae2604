package door

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// lookupOwner returns the owner of the socket that is bound to client and connected to server. It queries the kernel
// for that one socket, which is fast however many there are. If the kernel rejects such queries, it reads the whole
// table.
//
// A socket without an inode has no owner. Its client has closed it, and the kernel then reports uid 0, whichever user
// created it.
func lookupOwner(client, server netip.AddrPort) owner {
	uid, inode, err := querySocket(client, server)
	if err != nil {
		uid, inode, err = scanTables(client, server)
	}
	if err != nil || inode == 0 || int64(uid) == overflowUID() {
		return owner{}
	}
	return owner{int(uid), true}
}

// overflowUID is the uid that the kernel reports for users outside the node's user namespace; -1 if the namespace
// covers all users.
var overflowUID = sync.OnceValue(func() int64 {
	users, err := os.ReadFile("/proc/self/uid_map")
	if err == nil && slices.Equal(strings.Fields(string(users)), []string{"0", "0", "4294967295"}) {
		return -1
	}
	b, err := os.ReadFile("/proc/sys/kernel/overflowuid")
	if n, e := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64); err == nil && e == nil {
		return n
	}
	return 65534
})

// From linux/sock_diag.h and linux/inet_diag.h: a request is a header and an inet_diag_req_v2, a reply a header and
// an inet_diag_msg. Ports and addresses are in network order, all other numbers in native order.
const (
	diagByFamily = 20
	headerSize   = 16
	requestSize  = headerSize + 56
	answerSize   = headerSize + 72
	socketID     = headerSize + 8 // offset of the inet_diag_sockid in the request
	answerID     = headerSize + 4 // and in the answer
)

var errNoSuchSocket = errors.New("no such socket")

// querySocket looks a socket up in the kernel by its two addresses (NETLINK_SOCK_DIAG).
func querySocket(client, server netip.AddrPort) (uid, inode uint32, err error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, unix.NETLINK_INET_DIAG)
	if err != nil {
		return 0, 0, err
	}
	defer unix.Close(fd)
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 1}); err != nil {
		return 0, 0, err
	}
	b := make([]byte, requestSize)
	ne := binary.NativeEndian
	ne.PutUint32(b[0:], requestSize)
	ne.PutUint16(b[4:], diagByFamily)
	ne.PutUint16(b[6:], unix.NLM_F_REQUEST)
	b[headerSize] = unix.AF_INET
	if client.Addr().Is6() {
		b[headerSize] = unix.AF_INET6
	}
	b[headerSize+1] = unix.IPPROTO_TCP
	ne.PutUint32(b[headerSize+4:], ^uint32(0)) // in any state
	putID(b[socketID:], client, server)
	ne.PutUint64(b[socketID+40:], ^uint64(0)) // with any cookie
	if err := unix.Sendto(fd, b, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return 0, 0, err
	}
	a := make([]byte, 4<<10)
	n, _, err := unix.Recvfrom(fd, a, 0)
	if err != nil {
		return 0, 0, err
	}
	if n < answerSize || ne.Uint16(a[4:]) != diagByFamily {
		return 0, 0, errNoSuchSocket
	}
	// If there is no connected socket, the kernel returns one that listens on the client's port.
	want := make([]byte, 36)
	putID(want, client, server)
	if string(want[:4]) != string(a[answerID:answerID+4]) {
		return 0, 0, errNoSuchSocket
	}
	return ne.Uint32(a[headerSize+64:]), ne.Uint32(a[headerSize+68:]), nil
}

// putID encodes the two ports and addresses of a socket.
func putID(b []byte, local, remote netip.AddrPort) {
	binary.BigEndian.PutUint16(b[0:], local.Port())
	binary.BigEndian.PutUint16(b[2:], remote.Port())
	copy(b[4:], local.Addr().AsSlice())
	copy(b[20:], remote.Addr().AsSlice())
}

// scanMu serializes the reads of the tables, so that many clients at once cause one read at a time.
var scanMu sync.Mutex

// scanTables reads the tables of all sockets. An IPv4 connection may be in the table of IPv6.
func scanTables(client, server netip.AddrPort) (uid, inode uint32, err error) {
	scanMu.Lock()
	defer scanMu.Unlock()
	mapped := func(a netip.AddrPort) netip.AddrPort {
		return netip.AddrPortFrom(netip.AddrFrom16(a.Addr().As16()), a.Port())
	}
	if client.Addr().Is4() {
		if uid, inode, err = scanTable("/proc/net/tcp", client, server); err == nil {
			return uid, inode, nil
		}
	}
	return scanTable("/proc/net/tcp6", mapped(client), mapped(server))
}

func scanTable(path string, client, server netip.AddrPort) (uid, inode uint32, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	ends := " " + tableAddr(client) + " " + tableAddr(server) + " "
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if !strings.Contains(lines.Text(), ends) {
			continue
		}
		col := strings.Fields(lines.Text())
		if len(col) < 10 {
			break
		}
		u, err1 := strconv.ParseUint(col[7], 10, 32)
		i, err2 := strconv.ParseUint(col[9], 10, 32)
		return uint32(u), uint32(i), errors.Join(err1, err2)
	}
	if err := lines.Err(); err != nil {
		return 0, 0, err
	}
	return 0, 0, errNoSuchSocket
}

// tableAddr formats an address as the tables do: native-order words in hex, a colon, the port.
func tableAddr(a netip.AddrPort) string {
	var b strings.Builder
	for s := a.Addr().AsSlice(); len(s) > 0; s = s[4:] {
		fmt.Fprintf(&b, "%08X", binary.NativeEndian.Uint32(s))
	}
	fmt.Fprintf(&b, ":%04X", a.Port())
	return b.String()
}
