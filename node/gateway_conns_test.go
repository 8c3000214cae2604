package node

import (
	"errors"
	"net"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/cairndb/cairn/oplog/suite"
)

// TestGatewayConnectionsAreBounded fills the gateway with connections without a token. The next connection replaces
// the oldest.
func TestGatewayConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	const most = 5
	n, err := Open(t.Context(),
		Config{Home: filepath.Join(t.TempDir(), "h"),
			Addresses: Addresses{Wire: "127.0.0.1:0", HTTP: "127.0.0.1:0", Cluster: "127.0.0.1:0"}, Seams: Seams{NoSync: true},
			Limits: Limits{MaxConns: most}})
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
	if !alive() {
		t.Errorf("connection %d was not served", most+1)
	}
	for i, nc := range open {
		if err := nc.SetReadDeadline(time.Now().Add(suite.Patience)); err != nil {
			t.Fatal(err)
		}
		if i > 0 {
			if err := nc.SetReadDeadline(time.Now().Add(10 * time.Millisecond)); err != nil {
				t.Fatal(err)
			}
		}
		var late net.Error
		if _, err := nc.Read(make([]byte, 1)); (errors.As(err, &late) && late.Timeout()) == (i == 0) {
			t.Errorf("connection %d: %v", i, err)
		}
	}
}
