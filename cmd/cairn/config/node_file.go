package config

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"text/template"

	"github.com/cairndb/cairn/cmd/cairn/cli"
)

// NodeFile holds the values for a new configuration file.
type NodeFile struct {
	NodeID                          int
	DataDir, Bind                   string
	WirePort, HTTPPort, ClusterPort int
	Advertise, Secret               string
	Peers                           []string
	HeartbeatMS, ElectionMS         int    // 0: the default of a node
	TLS                             string // directory of the certificates; empty for plain text
	InsecurePeers                   bool   // plain text between machines
	Master                          bool   // the cluster secret is an admin token
	Local                           bool   // several nodes share the machine: the surfaces of each have a home and ports of their own
	StringPort, CovenantPort        int
}

// PortsEach is the number of ports of each node when several share a machine.
const PortsEach = 10

// NodeHere is node id of several that share this machine; its ports are in its own row behind base.
func NodeHere(data string, id, of, base int, secret string) NodeFile {
	at := func(id, offset int) int { return base + PortsEach*(id-1) + offset }
	n := NodeFile{NodeID: id, DataDir: data, Bind: "127.0.0.1", WirePort: at(id, 0), HTTPPort: at(id, 1),
		ClusterPort: at(id, 3), Advertise: Loopback(at(id, 3)),
		Secret: secret, Local: true, StringPort: at(id, StringOffset), CovenantPort: at(id, CovenantOffset)}
	for other := 1; other <= of; other++ {
		if other != id {
			n.Peers = append(n.Peers, Loopback(at(other, 3)))
		}
	}
	return n
}

// Here reports whether the node and its peers, of which there are some, talk over loopback alone.
func (n NodeFile) Here() bool {
	elsewhere := func(addr string) bool {
		host, _, err := net.SplitHostPort(addr)
		return err != nil || host != "localhost" && !net.ParseIP(host).IsLoopback()
	}
	return len(n.Peers) > 0 && !elsewhere(n.Advertise) && !slices.ContainsFunc(n.Peers, elsewhere)
}

// WriteHere writes the configurations of so many nodes that share this machine: nodeN.toml in a directory, with a home
// below it, as edit leaves it; see Write.
func WriteHere(dir string, of, base int, secret string, edit func(*NodeFile) error) (paths []string, err error) {
	if _, err := NodeHere(dir, of, of, base, secret).render(); err != nil { // its ports are the highest
		return nil, err
	}
	for id := 1; id <= of; id++ {
		home := filepath.Join(dir, fmt.Sprintf("node%d", id))
		data, err := filepath.Abs(home) // a node that is started elsewhere must not begin an empty home there
		if err != nil {
			return paths, err
		}
		if err := Write(home+".toml", NodeHere(data, id, of, base, secret), edit); err != nil {
			return paths, err
		}
		paths = append(paths, home+".toml")
	}
	return paths, nil
}

//go:embed node.toml.tmpl
var nodeTemplate string

var configTemplate = template.Must(template.New("config").Parse(nodeTemplate))

// render returns the file's text; values that a node would not start with are an error.
func (n NodeFile) render() ([]byte, error) {
	var b bytes.Buffer
	if err := configTemplate.Execute(&b, n); err != nil {
		return nil, err
	}
	f, _, err := Parse(b.Bytes())
	if err == nil {
		err = f.checkNumbers()
	}
	if err == nil {
		_, err = f.valid()
	}
	if err != nil {
		return nil, cli.Usage(err)
	}
	return b.Bytes(), nil
}

// Write writes the configuration of a node as edit leaves it, nil for as it is. It never overwrites, because a lost
// secret cannot be had back; and where there is a file edit is not called, so that nothing that belongs to it changes.
func Write(path string, n NodeFile, edit func(*NodeFile) error) error {
	const kept = "it is not overwritten: move it away first"
	if _, err := os.Lstat(path); err == nil {
		return cli.Hint(&os.PathError{Op: "open", Path: path, Err: os.ErrExist}, kept)
	}
	if edit != nil {
		if err := edit(&n); err != nil {
			return err
		}
	}
	text, err := n.render()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return cli.Hint(err, kept)
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}

// Loopback is a port of this machine alone.
func Loopback(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }

// The first ports of rows that FreeRow gives: below the range from which the system gives outgoing connections theirs,
// so that nothing takes them between then and their use but another's unlucky choice. Browsers refuse to open 10080,
// which was another service's once.
const (
	firstPort = 10_100
	endOfRows = 30_000
)

// A process gives out ports in order, beginning at a random one; given counts the ports that it has given out.
var (
	startPort = rand.IntN(endOfRows - firstPort)
	given     atomic.Int64
)

// FreeRow finds n free ports in a row. A process gets each of them once, unless it has had all: a node that is down can
// start again on its own.
func FreeRow(n int) (base int, err error) {
	for range 200 {
		base = firstPort + (startPort+int(given.Add(int64(n)))-n)%(endOfRows-firstPort)
		if err = allFree(base, n); err == nil {
			return base, nil
		}
	}
	return 0, fmt.Errorf("no %d free ports in a row: %w", n, err)
}

func allFree(base, n int) error {
	for p := base; p < base+n; p++ {
		ln, err := net.Listen("tcp", Loopback(p))
		if err != nil {
			return err
		}
		ln.Close()
	}
	return nil
}
