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
	Local                           bool   // several nodes share the machine, so each node's surfaces get their own home and ports
	StringPort, CovenantPort        int
}

// PortsEach is the number of ports of each node when several share a machine.
const PortsEach = 10

// LocalNode returns the configuration of node id, one of several on this machine. Its ports are in its own block of
// PortsEach ports from base.
func LocalNode(data string, id, of, base int, secret string) NodeFile {
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

// OnLoopback reports whether the node has peers, and it and all peers have loopback addresses.
func (n NodeFile) OnLoopback() bool {
	elsewhere := func(addr string) bool {
		host, _, err := net.SplitHostPort(addr)
		return err != nil || host != "localhost" && !net.ParseIP(host).IsLoopback()
	}
	return len(n.Peers) > 0 && !elsewhere(n.Advertise) && !slices.ContainsFunc(n.Peers, elsewhere)
}

// WriteLocalCluster writes the configurations of several nodes on this machine: dir/nodeN.toml, each with the home
// dir/nodeN. edit may change each; see Write.
func WriteLocalCluster(dir string, of, base int, secret string, edit func(*NodeFile) error) (paths []string, err error) {
	if _, err := LocalNode(dir, of, of, base, secret).render(); err != nil { // validates the highest ports
		return nil, err
	}
	for id := 1; id <= of; id++ {
		home := filepath.Join(dir, fmt.Sprintf("node%d", id))
		data, err := filepath.Abs(home) // absolute: a node started in another directory must not create an empty home there
		if err != nil {
			return paths, err
		}
		if err := Write(home+".toml", LocalNode(data, id, of, base, secret), edit); err != nil {
			return paths, err
		}
		paths = append(paths, home+".toml")
	}
	return paths, nil
}

//go:embed node.toml.tmpl
var nodeTemplate string

var configTemplate = template.Must(template.New("config").Parse(nodeTemplate))

// render returns the file's text; a usage error if a node would not start with it.
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
		_, err = f.validNode()
	}
	if err != nil {
		return nil, cli.Usage(err)
	}
	return b.Bytes(), nil
}

// Write writes the configuration of a node after edit, which may be nil, has changed it. It never overwrites a file,
// because a lost secret cannot be recovered. If the file exists it does not call edit, which may issue certificates.
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

// Loopback returns the address of a port on loopback.
func Loopback(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }

// The range of ports that FreePorts searches. It is below the ephemeral ports of outgoing connections, so another
// process can take a port before its use only by choosing the same one. It is above 10080, which browsers refuse to
// open.
const (
	firstPort = 10_100
	endPort   = 30_000
)

// A process hands out ports in order from a random start; portsGiven counts them.
var (
	startPort  = rand.IntN(endPort - firstPort)
	portsGiven atomic.Int64
)

// FreePorts returns the first of n consecutive free ports. Within a process it returns a port only once, unless the
// range is exhausted, so a stopped node can start again on its ports.
func FreePorts(n int) (base int, err error) {
	for range 200 {
		base = firstPort + (startPort+int(portsGiven.Add(int64(n)))-n)%(endPort-firstPort)
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
