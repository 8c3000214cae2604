package covenant_test

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/cairndb/cairn/oplog/suite"
)

func agent(display, key string) string {
	return fmt.Sprintf(`{"display":%q,"pubkey":%q}`, display, key)
}

func taskOf(id, from, to, more string) string {
	return fmt.Sprintf(`{"id":%q,"sender":%s,"recipient":%s,"intent_text":"boil water"%s}`, id, from, to, more)
}

func send(task string) string { return `{"kind":"send_a2_a_task","task":` + task + `}` }

func post(id, status string) string {
	return fmt.Sprintf(`{"kind":"post_a2_a_result","result":{"task_id":%q,"status":%q,"content":[{"type":"json","value":{"n":18446744073709551615}}]}}`,
		id, status)
}

const (
	recvTask   = `{"kind":"try_recv_a2_a_task"}`
	recvResult = `{"kind":"try_recv_a2_a_result"}`
	queue      = `{"kind":"a2_a_queue"}`
)

func TestTaskFromOneAgentToAnother(t *testing.T) {
	t.Parallel()
	d := start(t)
	ann, annKey := d.enroll("ann@local", "a2a.send.bob@local")
	bob, bobKey := d.enroll("bob@local")
	from, to := agent("ann@local", annKey), agent("bob@local", bobKey)
	id := uuid.NewString()
	task := taskOf(id, from, to, `,"deadline_ms":1,"parent":"`+strings.ToUpper(uuid.NewString())+`"`)

	bob.refused(`a2a send rejected: task.sender "ann@local" does not match authenticated peer "bob@local"`, send(task))
	if row := bob.lastAudit(); row["type"] != "a2_a_sender_mismatch" || row["claimed_sender_display"] != "ann@local" {
		t.Errorf("%v", row)
	}
	ann.refused(`a2a send to bob@local rejected: recipient has not granted capability "a2a.recv.ann@local"`, send(task))
	if row := ann.lastAudit(); row["type"] != "a2_a_recipient_rejected" || row["action"] != "a2a.recv.ann@local" {
		t.Errorf("%v", row)
	}
	bob.grant(`"action":"a2a.recv.ann@local"`)
	ann.refused("a2a: invalid task: task_kind must not be empty when present", send(taskOf(id, from, to, `,"task_kind":" "`)))
	ann.refused("a2a: invalid task: idempotency key must not be empty",
		send(taskOf(id, from, to, `,"idempotency":{"duplicate_safety":"unsafe","key":""}`)))
	for range 2 { // a repeat of the same task does nothing
		if r := ann.want("a2_a_task_queued", send(task)); r["task_id"] != id {
			t.Errorf("%v", r)
		}
	}
	ann.refused("a2a: invalid task: duplicate task id", send(taskOf(id, from, to, "")))

	q := bob.want("a2_a_queue", queue)
	if rows := list(q["tasks"]); len(rows) != 1 || rows[0]["state"] != "queued" || rows[0]["attempt"] != 0.0 ||
		strings.Join(keys(rows[0]), ",") != "attempt,state,task" {
		t.Errorf("%v", q)
	}
	bob.refused(`a2a respond to ann@local requires capability "a2a.respond.ann@local".`, post(id, "ok"))
	if got := bob.want("a2_a_task_opt", recvTask)["task"].(object); got["id"] != id {
		t.Errorf("%v", got)
	}
	d.operator().grant(`"action":"a2a.respond.ann@local"`)
	d.operator().refused("a2a respond rejected: task_id "+id+" is not addressed to the authenticated peer", post(id, "ok"))
	if got := list(ann.want("a2_a_queue", queue)["tasks"]); len(got) != 1 || got[0]["state"] != "in_flight" {
		t.Errorf("the sender sees %v", got)
	}
	if got := list(d.operator().want("a2_a_queue", queue)["tasks"]); len(got) != 0 {
		t.Errorf("a stranger sees %v", got)
	}
}

// The recent lists return the end of the list, only for the sender and the recipient, and remove nothing.
func TestRecentOfTheMailbox(t *testing.T) {
	t.Parallel()
	d := start(t)
	ann, annKey := d.enroll("ann@local", "a2a.send.ann@local", "a2a.respond.ann@local")
	me := agent("ann@local", annKey)
	ids := []string{uuid.NewString(), uuid.NewString(), uuid.NewString()}
	for _, id := range ids {
		ann.want("a2_a_task_queued", send(taskOf(id, me, me, "")))
	}
	tasks := func(c *client, more string) (got []string) {
		for _, row := range list(c.want("a2_a_tasks", `{"kind":"recent_a2_a_tasks"`+more+`}`)["tasks"]) {
			got = append(got, row["id"].(string))
		}
		return got
	}
	ann.want("a2_a_task_opt", recvTask)
	for more, want := range map[string][]string{"": ids, `,"limit":2`: ids[1:], `,"limit":0`: nil} {
		if got := tasks(ann, more); !slices.Equal(got, want) {
			t.Errorf("tasks%s: %v, want %v", more, got, want)
		}
	}
	ann.want("a2_a_result_posted", post(ids[0], "ok"))
	if got := tasks(ann, ""); !slices.Equal(got, ids[1:]) {
		t.Errorf("after the first has ended: %v", got)
	}
	for range 2 {
		if got := list(ann.want("a2_a_results", `{"kind":"recent_a2_a_results"}`)["results"]); len(got) != 1 ||
			got[0]["task_id"] != ids[0] {
			t.Errorf("results: %v", got)
		}
	}
	if got := tasks(d.operator(), ""); got != nil {
		t.Errorf("a stranger sees %v", got)
	}
	ann.refused("intent: "+ids[0]+" has no checkpoint to resume from", `{"kind":"resume_intent","intent_id":"`+ids[0]+`"}`)
	if got := list(ann.want("debits", `{"kind":"recent_debits","limit":3}`)["debits"]); len(got) != 0 {
		t.Errorf("debits: %v", got)
	}
}

func TestMailbox(t *testing.T) {
	t.Parallel()
	d := start(t)
	c := d.operator()
	me := func() string {
		s := capabilities(c, 1)[0]["capability"].(object)["subject"].(object)
		return agent(s["display"].(string), s["pubkey"].(string))
	}()
	c.grant(`"action":"a2a.send.user@local"`)
	unknown := uuid.NewString()
	c.refused("a2a respond rejected: task_id "+unknown+" was never dispatched through this daemon", post(unknown, "ok"))
	if row := c.lastAudit(); row["type"] != "a2_a_result_rejected" || row["reason"] != "unknown_task" || row["task_id"] != unknown {
		t.Errorf("%v", row)
	}
	id := uuid.NewString()
	c.want("a2_a_task_queued", send(taskOf(id, me, me, `,"deadline_ms":1`))) // the deadline has passed; the task is delivered nevertheless
	c.refused("a2a respond to user@local requires capability", post(id, "ok"))
	c.grant(`"action":"a2a.respond.user@local"`)
	c.refused("a2a: task "+id+" is not currently leased", post(id, "ok"))
	if got := c.want("a2_a_task_opt", recvTask)["task"].(object); got["id"] != id || got["deadline_ms"] != 1.0 ||
		strings.Join(keys(got), ",") != "deadline_ms,id,intent_text,recipient,sender" {
		t.Errorf("%v", got)
	}
	if got := c.want("a2_a_task_opt", recvTask); got["task"] != nil {
		t.Errorf("a task was given twice: %v", got)
	}
	d.restart() // leases survive a restart
	c = d.operator()
	row := list(c.want("a2_a_queue", queue)["tasks"])[0]
	if row["state"] != "in_flight" || row["attempt"] != 1.0 || row["lease_id"] == nil || row["leased_at_ms"] == nil ||
		row["leased_to"].(object)["display"] != "user@local" {
		t.Errorf("%v", row)
	}
	for _, f := range []struct {
		filter string
		n      int
	}{{`"state_filter":"queued"`, 0}, {`"state_filter":"in_flight"`, 1}, {`"min_lease_age_ms":60000`, 0}, {`"min_lease_age_ms":0`, 1},
		{`"deadline_within_ms":0`, 1}, {`"limit":0`, 0}, {`"state_filter":null,"min_lease_age_ms":null,"deadline_within_ms":null`, 1}} {
		if got := list(c.want("a2_a_queue", `{"kind":"a2_a_queue",`+f.filter+`}`)["tasks"]); len(got) != f.n {
			t.Errorf("%s: %d rows, want %d", f.filter, len(got), f.n)
		}
	}
	for _, status := range []string{"partial", "partial", "ok"} {
		if r := c.want("a2_a_result_posted", post(id, status)); r["task_id"] != id {
			t.Errorf("%v", r)
		}
	}
	for _, again := range []string{"ok", "error", "partial"} {
		c.refused("a2a: task "+id+" already has a final result", post(id, again))
	}
	q := c.want("a2_a_queue", queue)
	if len(q["tasks"].([]any)) != 0 || len(q["results"].([]any)) != 3 {
		t.Errorf("%v", q)
	}
	for _, status := range []string{"partial", "partial", "ok"} {
		c.send(recvResult)
		raw := string(c.recv())
		if !strings.Contains(raw, `"status":"`+status+`"`) || !strings.Contains(raw, "18446744073709551615") {
			t.Errorf("want %s: %s", status, raw)
		}
	}
	if r := c.want("a2_a_result_opt", recvResult); r["result"] != nil {
		t.Errorf("%v", r)
	}
}

func TestIdempotentTaskIsAnsweredFromMemory(t *testing.T) {
	t.Parallel()
	d := start(t)
	c := d.operator()
	s := capabilities(c, 1)[0]["capability"].(object)["subject"].(object)
	me := agent(s["display"].(string), s["pubkey"].(string))
	c.grant(`"action":"a2a.send.user@local"`)
	c.grant(`"action":"a2a.respond.user@local"`)
	task := func(key, safety string) (string, string) {
		id := uuid.NewString()
		return id, send(taskOf(id, me, me, fmt.Sprintf(`,"task_kind":"boil","idempotency":{"duplicate_safety":%q,"key":%q}`, safety, key)))
	}
	first, body := task("k1", "idempotent")
	c.want("a2_a_task_queued", body)
	c.want("a2_a_task_opt", recvTask)
	c.want("a2_a_result_posted", post(first, "ok"))
	c.want("a2_a_result_opt", recvResult)
	d.restart()
	c = d.operator()
	second, body := task("k1", "idempotent")
	c.want("a2_a_task_queued", body)
	if r := c.want("a2_a_task_opt", recvTask); r["task"] != nil {
		t.Errorf("the recipient got a task that was done before: %v", r)
	}
	if r := c.want("a2_a_result_opt", recvResult)["result"].(object); r["task_id"] != second || r["status"] != "ok" {
		t.Errorf("%v", r)
	}
	// two tasks that are equal after masking
	for _, x := range [][2]string{{"k2", "idempotent"}, {"k1", "unsafe"}, {"password=one1one1", "idempotent"},
		{"password=two2two2", "idempotent"}} {
		id, body := task(x[0], x[1])
		c.want("a2_a_task_queued", body)
		if r := c.want("a2_a_task_opt", recvTask)["task"]; r == nil || r.(object)["id"] != id {
			t.Errorf("%v was not delivered: %v", x, r)
		}
		c.want("a2_a_result_posted", post(id, "ok"))
	}
}

// Only the operator can requeue or end the task of a worker that died.
func TestRepairs(t *testing.T) {
	t.Parallel()
	d := start(t)
	op := d.operator()
	op.grant(`"action":"a2a.send.user@local"`)
	subject := capabilities(op, 1)[0]["capability"].(object)["subject"].(object)
	me := agent(subject["display"].(string), subject["pubkey"].(string))
	ids := []string{uuid.NewString(), uuid.NewString(), uuid.NewString()}
	for _, id := range ids {
		op.want("a2_a_task_queued", send(taskOf(id, me, me, "")))
	}
	mend := func(id, how string) string {
		return fmt.Sprintf(`{"kind":"repair_a2_a_task","task_id":%q,"action":%q,"reason":"password=hunter2hunter2"}`, id, how)
	}
	leased := func() any { return op.want("a2_a_task_opt", recvTask)["task"].(object)["id"] }
	op.refused("a2a: task "+ids[0]+" is not currently leased", mend(ids[0], "requeue"))
	if got := leased(); got != ids[0] {
		t.Fatalf("%v", got)
	}
	if got := leased(); got != ids[1] {
		t.Fatalf("%v", got)
	}
	peer, _ := d.enroll("ann@local")
	peer.refused("a2a repair requires the operator identity", mend(ids[0], "requeue"))
	if r := op.want("a2_a_task_repaired", mend(ids[0], "requeue")); r["task_id"] != ids[0] {
		t.Errorf("%v", r)
	}
	d.restart()
	op = d.operator()
	if got := leased(); got != ids[0] { // before the task that was queued after it
		t.Errorf("the next task is %v", got)
	}
	if q := op.want("a2_a_queue", queue)["tasks"].([]any); len(q) != 3 || q[2].(map[string]any)["attempt"] != 2.0 {
		t.Errorf("%v", q)
	}
	op.want("a2_a_task_repaired", mend(ids[1], "force_error"))
	r := op.want("a2_a_result_opt", recvResult)["result"].(map[string]any)
	if r["task_id"] != ids[1] || r["status"] != "error" || r["error_message"] != "password=[REDACTED:secret]" {
		t.Errorf("%v", r)
	}
	op.refused("a2a: task "+ids[1]+" already has a final result", mend(ids[1], "requeue"))
	unknown := uuid.NewString()
	op.refused("a2a: task "+unknown+" was never dispatched through this daemon", mend(unknown, "force_error"))
	op.send(mend(ids[0], "forget"))
	if got := string(op.recv()); got != malformed {
		t.Error(got)
	}
	op.ended()
}

func TestEveryTaskIsLeasedOnce(t *testing.T) {
	t.Parallel()
	d := start(t)
	c := d.operator()
	s := capabilities(c, 1)[0]["capability"].(object)["subject"].(object)
	me := agent(s["display"].(string), s["pubkey"].(string))
	c.grant(`"action":"a2a.send.user@local"`)
	const tasks, workers = 60, 8
	for range tasks {
		c.want("a2_a_task_queued", send(taskOf(uuid.NewString(), me, me, "")))
	}
	var mu sync.Mutex
	seen := map[string]int{}
	var wg sync.WaitGroup
	for range workers {
		w := d.operator()
		wg.Go(func() {
			for {
				w.send(recvTask)
				var r struct{ Task *struct{ ID string } }
				if err := json.Unmarshal(w.recv(), &r); err != nil || r.Task == nil {
					return
				}
				mu.Lock()
				seen[r.Task.ID]++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if len(seen) != tasks {
		t.Errorf("%d tasks were delivered, want %d", len(seen), tasks)
	}
	for id, n := range seen {
		if n != 1 {
			t.Errorf("task %s was leased %d times", id, n)
		}
	}
}

func TestPythonClient(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed")
	}
	d := start(t)
	out, err := exec.CommandContext(t.Context(), python, "testdata/client.py", d.cfg.Home).CombinedOutput()
	if err != nil || !strings.HasSuffix(strings.TrimSpace(string(out)), "ok") {
		t.Fatalf("%v\n%s", err, out)
	}
}
