package node

import (
	"net"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/cairndb/cairn/oplog/suite"
)

// TestGatewayConnectionsAreBounded: one connection more than the gateway may have is closed, and its place is there again when
// another has ended.
func TestGatewayConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	const most = 5
	n, err := Open(t.Context(), Config{Home: filepath.Join(t.TempDir(), "h"), Addresses: Addresses{Wire: "127.0.0.1:0", HTTP: "127.0.0.1:0", Cluster: "127.0.0.1:0"}, Seams: Seams{NoSync: true}, Limits: Limits{MaxConns: most}})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	var open []net.Conn
	for range most {
		nc, err := net.Dial("tcp", n.Addrs().HTTP)
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		open = append(open, nc)
	}
	suite.Eventually(t, "the node to see its connections", func() bool { return n.gateway.Connections() == most })
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	alive := func() bool {
		resp, err := client.Get("http://" + n.Addrs().HTTP + "/v1/health")
		if err != nil {
			return false
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	}
	if alive() {
		t.Errorf("connection %d was served", most+1)
	}
	open[0].Close()
	suite.Eventually(t, "a place after a connection has ended", alive)
}
