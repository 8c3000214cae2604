package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/client"
)

// TestALoneNodeIsKilledAndItsLogIsGone removes files of a single node's log. Records that remain in other files must
// not be lost. The node must name the missing records and not start, and neither the node nor the doctor may remove
// anything, until the owner accepts the loss.
func TestALoneNodeIsKilledAndItsLogIsGone(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	suite.NotShort(t, "changes or reads files of stopped nodes")
	p, home := cairntest.StartDev(t)
	raw, err := os.ReadFile(filepath.Join(home, "token"))
	if err != nil {
		t.Fatal(err)
	}
	token, acked := strings.TrimSpace(string(raw)), map[string]string{}
	put := func(count int) {
		t.Helper()
		c, err := client.Dial(t.Context(), client.Config{Addrs: []string{p.Line.Wire}, Token: token})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		for range count {
			putAndRecord(t, c, wire.NewRemember(fmt.Sprintf("memory number %d", len(acked))), acked)
		}
	}
	gone := func(names ...string) {
		t.Helper()
		p.Kill()
		for _, name := range names {
			if err := os.RemoveAll(filepath.Join(home, "raft", name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	put(40)
	gone("log/meta")
	p.Launch()()
	checkExport(t, p, token, acked)
	if err := p.Stop(); err != nil { // so that its state is on the disk
		t.Fatal(err)
	}
	p.Launch()()
	put(10)
	gone("log")

	before := movedAside(t, home)
	if out, code := cairntest.Run(t, "doctor", "--home", home); code != cli.ExitFailed {
		t.Errorf("doctor: exit %d, %s", code, out)
	}
	for range 2 {
		p.Launch()
		p.ExpectFailure("records lost", "cairn recover --accept-loss")
		if !strings.Contains(p.Log.String(), `level=ERROR msg="records lost"`) {
			t.Errorf("no error is logged:\n%s", p.Log)
		}
	}
	if after := movedAside(t, home); !slices.Equal(after, before) {
		t.Errorf("moved aside were %q, are %q", before, after)
	}
	if out, code := cairntest.Run(t, "recover", "--home", home); code != cli.ExitUsage || out != "" {
		t.Errorf("recover without a word: exit %d, %s", code, out)
	}
	if out, code := cairntest.Run(t, "recover", "--accept-loss", "--home", home); code != 0 ||
		!strings.Contains(out, "goes on without these records: any from ") {
		t.Fatalf("recover: exit %d, %s", code, out)
	}
	p.Launch()()
	rows := exportedBy(t, p, token)
	for rid, text := range rows {
		if acked[rid] != text {
			t.Errorf("%s holds %q", rid, text)
		}
	}
	acked = rows
	put(5)
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	p.Launch()()
	checkExport(t, p, token, acked)
}

// movedAside returns the files of a home that a node has moved aside.
func movedAside(t *testing.T, home string) (all []string) {
	t.Helper()
	for _, pattern := range []string{"*.corrupt-*", "raft/*.corrupt-*"} {
		found, err := filepath.Glob(filepath.Join(home, pattern))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, found...)
	}
	return all
}
