package covenant_test

import (
	"testing"

	"github.com/google/uuid"
)

// TestATaskGoesWhereItsNameSays: a capability to send to one agent is none to send to another that a task gives its name.
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
