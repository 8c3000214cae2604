package node_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/raft/logstore"
	"github.com/cairndb/cairn/raft/rafttest"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/client"
)

// slowFiles blocks the opening of the log's files until the test permits it.
type slowFiles struct {
	logstore.OS
	asked, goOn chan struct{}
}

func (f slowFiles) Open(name string) (logstore.File, error) {
	f.asked <- struct{}{}
	<-f.goOn
	return f.OS.Open(name)
}

// TestAnswersBeforeTheLogIsOpen starts a node whose log opens slowly. It answers stale recalls on both ports and
// reports that it may be behind; all other requests wait for the log.
func TestAnswersBeforeTheLogIsOpen(t *testing.T) {
	t.Parallel()
	c := start(t, 1)
	if _, err := c.dial(0).Remember(t.Context(), wire.NewRemember("the lighthouse has a keeper")); err != nil {
		t.Fatal(err)
	}
	c.stop(0)
	asked, goOn := make(chan struct{}, 8), make(chan struct{})
	cfg := c.cfgs[0] // the ports stay the same
	cfg.Seams.LogFiles = slowFiles{asked: asked, goOn: goOn}
	opened := make(chan error, 1)
	go func() {
		n, err := node.Open(t.Context(), cfg)
		c.nodes[0] = n
		opened <- err
	}()
	<-asked
	cl, err := client.Dial(t.Context(), client.Config{Addrs: []string{cfg.Addresses.Wire}, Token: secret})
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	hits, end, err := cl.Recall(t.Context(), wire.NewRecall("keeper"))
	if err != nil || len(hits) != 1 || end.Index == 0 || end.LagSeconds != nil {
		t.Errorf("wire: %d memories at %d, %v s behind, want it unknown; %v", len(hits), end.Index, end.LagSeconds, err)
	}
	ctx := suite.Context(t)
	ask, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+cfg.Addresses.HTTP+"/v1/recall",
		strings.NewReader(`{"query": "keeper"}`))
	if err != nil {
		t.Fatal(err)
	}
	ask.Header.Set("Content-Type", "application/json")
	ask.Header.Set("Authorization", "Bearer "+secret)
	res, err := http.DefaultClient.Do(ask)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("http: %v, %v", res, err)
	}
	res.Body.Close()
	short, end2 := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer end2()
	newest := wire.NewRecall("keeper")
	newest.Consistency = "linearizable"
	if _, _, err := cl.Recall(short, newest); err == nil {
		t.Error("a linearizable recall was answered without a log")
	}
	wrote := make(chan error, 1)
	go func() {
		_, err := cl.Remember(t.Context(), wire.NewRemember("and a boat"))
		wrote <- err
	}()
	select {
	case err := <-opened:
		t.Fatalf("the node opened without a log (%v)", err)
	case err := <-wrote:
		t.Fatalf("a write was answered without a log (%v)", err)
	default:
	}
	close(goOn)
	if err := <-opened; err != nil {
		t.Fatal(err)
	}
	c.ready(0)
	if err := <-wrote; err != nil { // the request waited for the log, and then for a leader
		t.Error(err)
	}
}

// brokenFiles is a log that cannot be opened.
type brokenFiles struct{ logstore.OS }

var errBroken = errors.New("this log does not open")

func (brokenFiles) Open(string) (logstore.File, error) { return nil, errBroken }

// TestALogThatDoesNotOpen checks that an index that waits for a log that cannot be opened keeps its files, and that
// the node returns the log's error.
func TestALogThatDoesNotOpen(t *testing.T) {
	t.Parallel()
	c := start(t, 1)
	frame := wire.RememberBatch{}
	for i := range index.SmallRows + 1 { // more than an index without files can hold
		frame.Memories = append(frame.Memories, wire.NewRemember(fmt.Sprint("the lighthouse has keeper ", i)))
	}
	if _, err := c.dial(0).RememberBatch(t.Context(), frame); err != nil {
		t.Fatal(err)
	}
	c.stop(0)
	files, before := filepath.Join(c.cfgs[0].Home, "index"), filepath.Join(t.TempDir(), "index")
	if err := rafttest.CopyHome(before, files); err != nil {
		t.Fatal(err)
	}
	c.open(0)
	c.ready(0)
	if _, err := c.dial(0).Remember(t.Context(), wire.NewRemember("and a boat")); err != nil {
		t.Fatal(err)
	}
	c.stop(0)
	if err := errors.Join(os.RemoveAll(files), rafttest.CopyHome(files, before)); err != nil {
		t.Fatal(err)
	}

	log, cfg := &lines{}, c.cfgs[0]
	cfg.Seams.LogFiles, cfg.Logger = brokenFiles{}, slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	if _, err := node.Open(t.Context(), cfg); !errors.Is(err, errBroken) || strings.Contains(err.Error(), "index") {
		t.Fatalf("opened with %v", err)
	}
	if said := log.String(); strings.Contains(said, "index") {
		t.Errorf("an index was made, or its files were called unusable:\n%s", said)
	}
	cfg.Seams.LogFiles = nil
	c.cfgs[0] = cfg
	c.open(0)
	c.ready(0)
	if said := log.String(); strings.Contains(said, "not used") || !strings.Contains(said, "index ready") {
		t.Errorf("the index did not begin with its files:\n%s", said)
	}
	if r := find(t, c.dial(0), "boat"); len(r) != 1 {
		t.Errorf("afterwards: %+v", r)
	}
}

// TestALoneNodeGrows gives a single node a peer port and lets another node join; the members find it at its new
// address.
func TestALoneNodeGrows(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	c := startWith(t, 1, func(_ int, cfg *node.Config) { cfg.Addresses.Cluster = "" })
	if at := c.nodes[0].Addrs().Cluster; at != "" {
		t.Fatalf("a peer port is open at %s", at)
	}
	if _, err := c.dial(0).Remember(t.Context(), wire.NewRemember("written alone")); err != nil {
		t.Fatal(err)
	}
	c.stop(0)
	c.cfgs[0].Addresses.Cluster = rafttest.Addr(t)
	c.open(0)
	c.ready(0)
	second := c.cfgs[0]
	second.Home, second.Member.NodeID = filepath.Join(t.TempDir(), "h"), 2
	second.Addresses.Wire, second.Addresses.HTTP, second.Addresses.Cluster = rafttest.Addr(t), rafttest.Addr(t), rafttest.Addr(t)
	second.Member.Peers = []string{c.cfgs[0].Addresses.Cluster}
	c.cfgs, c.nodes = append(c.cfgs, second), append(c.nodes, nil)
	c.open(1)
	c.ready(1)
	if r := find(t, c.dial(1), "alone"); len(r) != 1 {
		t.Errorf("on the second node: %+v", r)
	}
	suite.Eventually(t, "the first at its address", func() bool {
		st := c.nodes[1].Service().Cluster().Status(t.Context())
		return len(st.Peers) == 1 && st.Peers[0].Addr == c.cfgs[0].Addresses.Cluster && st.Peers[0].Reachable
	})
	c.stop(0)
	c.cfgs[0].Addresses.Cluster = ""
	if n, err := node.Open(t.Context(), c.cfgs[0]); err == nil || !strings.Contains(err.Error(), "cluster_port") {
		t.Errorf("a member of two without a peer port: %v", err)
		n.Close()
	}
}
