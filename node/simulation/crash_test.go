package simulation

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/oplog/suite"
)

var stride = flag.Int("stride", suite.Count(120, 12, 1),
	"TestACrashOfAllFiles: the machine ends with each such step of the files of state, log and snapshots")

// TestACrashOfAllFiles ends the machine of a single node at each step of the files of its state, log and snapshots.
// Any part of the unsynced bytes is lost. After the restart, acknowledged memories must exist exactly once, also when
// they are written again under the same key, and the node must accept writes.
func TestACrashOfAllFiles(t *testing.T) {
	warm()
	kinds := make(chan string, 10_000)
	t.Cleanup(func() {
		close(kinds)
		count := map[string]int{}
		for k := range kinds {
			count[k]++
		}
		t.Logf("crashes: %v", count)
		for _, k := range []string{"state create", "state write", "state sync", "state link", "state remove", "log create",
			"log write", "log sync", "log rename", "log remove", "snapshot create", "snapshot write", "snapshot sync",
			"snapshot rename", "snapshot remove"} {
			if count[k] == 0 && *stride == 1 {
				t.Errorf("no crash at a %s", k)
			}
		}
	})
	by := *stride
	if testing.Short() {
		by *= 12
	}
	for step := 0; step < lastStep; step += by {
		t.Run(fmt.Sprint("step=", step), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { kinds <- crashAt(t, step) })
		})
	}
}

const (
	lastStep  = 740 // about as many as a run has; the number varies with background work
	crashKeys = 90  // enough writes that old snapshots and segments of the log are removed
)

// crashAt ends a node at a step of its files, checks it after a restart, and returns the kind of the step.
func crashAt(t *testing.T, step int) string {
	c := newCluster(t, uint64(step), 1, crashKeys/4)
	defer c.close()
	d := c.disks[0]
	fault := d.schedule(anyDisk, true, step, rand.New(rand.NewPCG(uint64(step), 3)))
	acked := map[int]string{}
	for k := 0; k < crashKeys && !fault.hasStruck(); k++ {
		if rid, err := c.putOnce(k); err == nil {
			acked[k] = rid
		}
		time.Sleep(300 * time.Millisecond) // a node checks every one to two seconds whether to take a snapshot
	}
	if !fault.hasStruck() {
		if err := d.strike(); err != nil {
			t.Fatal(err)
		}
		fault.step = "none .snap"
	}
	c.stop(0)
	c.open(0)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	n := c.node(0)
	if err := n.Ready(ctx); err != nil {
		t.Fatalf("step %d (%s): %v", step, fault.step, err)
	}
	c.onlyOnce(acked, fmt.Sprintf("step %d (%s)", step, fault.step))
	for k := range crashKeys {
		rid, err := c.putOnce(k)
		if was, ok := acked[k]; err != nil || ok && rid != was {
			t.Errorf("step %d (%s): write %d again is %s, and was %s: %v", step, fault.step, k, rid, was, err)
		}
		acked[k] = rid
	}
	c.onlyOnce(acked, fmt.Sprintf("step %d (%s), written again", step, fault.step))
	op, _, _ := strings.Cut(fault.step, " ")
	if strings.Contains(fault.step, ".snap") {
		return "snapshot " + op
	}
	if strings.Contains(fault.step, ".seg") || strings.HasSuffix(fault.step, " meta") || strings.HasSuffix(fault.step, "meta.new") {
		return "log " + op
	}
	return "state " + op
}

// crashText returns the text of memory k. It is random, so that the compressed log still fills segments.
func crashText(k int) string {
	b := make([]byte, 2<<10)
	rand.NewChaCha8([32]byte{byte(k)}).Read(b)
	return fmt.Sprintf("memory %d %x", k, b)
}

// putOnce writes memory k under its own key.
func (c *cluster) putOnce(k int) (rid string, err error) {
	n := c.node(0)
	caller, err := n.Access().Local("default")
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(c.t.Context(), 3*time.Second)
	defer cancel()
	r, err := api.Remember.Do(ctx, n.Service(), caller,
		&api.RememberRequest{Draft: api.Draft{Key: fmt.Sprint("key ", k), Text: crashText(k), Importance: 0.5}})
	if err != nil {
		return "", err
	}
	return r.RID, nil
}

// onlyOnce checks that a single node has every acknowledged memory, and no memory twice.
func (c *cluster) onlyOnce(acked map[int]string, when string) {
	times := map[string]int{}
	c.readState(0, func(v *state.View, db oplog.DB) error {
		v.Memories(db, 0, func(m *oplog.Memory) bool { times[m.Text]++; return true })
		for k, rid := range acked {
			if m, ok := v.Memory(db, rid); !ok || m.Text != crashText(k) {
				c.t.Errorf("%s: memory %d, %s, is lost", when, k, rid)
			}
		}
		return nil
	})
	for text, n := range times {
		if n > 1 {
			c.t.Errorf("%s: %.12q is there %d times", when, text, n)
		}
	}
}
