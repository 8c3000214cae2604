package covenant_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/uuid"
)

// TestATaskGoesWhereItsNameSays: a capability to send to one agent is none to send to another that a task gives its
// name.
func TestATaskGoesWhereItsNameSays(t *testing.T) {
	t.Parallel()
	d := start(t)
	ann, annKey := d.enroll("ann@local", "a2a.send.bob@local")
	_, bobKey := d.enroll("bob@local", "a2a.recv.ann@local")
	carol, carolKey := d.enroll("carol@local", "a2a.recv.ann@local")
	me := agent("ann@local", annKey)
	ann.refused(`a2a send to `+carolKey+` requires capability "a2a.send.`+carolKey+`".`, send(taskOf(uuid.NewString(), me, agent("bob@local", carolKey), "")))
	ann.refused("a2a send to carol@local requires capability", send(taskOf(uuid.NewString(), me, agent("carol@local", carolKey), "")))
	if got := carol.want("a2_a_task_opt", recvTask)["task"]; got != nil {
		t.Errorf("carol got %v", got)
	}
	ann.want("a2_a_task_queued", send(taskOf(uuid.NewString(), me, agent("bob@local", bobKey), "")))
	dan, danKey := d.enroll("dan@local", "a2a.send."+bobKey)
	dan.refused("a2a send to bob@local rejected: recipient has not granted capability", send(taskOf(uuid.NewString(), agent("dan@local", danKey), agent("bob@local", bobKey), "")))
}

// TestBootstrapRowsAfterACrash: a node that died while it wrote the rows of the first capabilities writes the others at
// its next start, and none of them twice.
func TestBootstrapRowsAfterACrash(t *testing.T) {
	t.Parallel()
	d := start(t)
	d.operator() // the operator is known, and so the rows are written
	for _, kept := range []int{3, 0, 7} {
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"events.jsonl", "events.chain.jsonl"} {
			path := filepath.Join(d.cfg.Home, "audit", name)
			raw, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, bytes.Join(bytes.SplitAfter(raw, []byte("\n"))[:kept], nil), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		d.serve()
		c := d.operator()
		rows := map[any]bool{}
		for _, row := range c.audit() {
			rows[row["signature_b58"]] = true
		}
		if n := len(c.audit()); n != 7 || len(rows) != 7 {
			t.Errorf("after %d rows there are %d, for %d capabilities", kept, n, len(rows))
		}
	}
}
