package covenant

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/cairndb/cairn/local/covenant/mailbox"
	"github.com/cairndb/cairn/local/kit"
	"github.com/cairndb/cairn/wire/large"
	"github.com/cairndb/cairn/wire/redact"
)

// task is a task on the wire.
type task struct {
	ID          string       `json:"id"`
	Sender      AgentID      `json:"sender"`
	Recipient   AgentID      `json:"recipient"`
	Intent      string       `json:"intent_text"`
	Kind        *string      `json:"task_kind,omitempty"`
	Parent      *string      `json:"parent,omitempty"`
	Deadline    *uint64      `json:"deadline_ms,omitempty"`
	Idempotency *idempotency `json:"idempotency,omitempty"`

	work string // equal for tasks that are the same piece of work; empty for tasks that no earlier result may answer
}

type idempotency struct {
	Safety string `json:"duplicate_safety"`
	Key    string `json:"key"`
}

func readTask(f *fields) (t task) {
	t = task{ID: f.uuid("id"), Sender: readAgent(f, "sender"), Recipient: readAgent(f, "recipient"), Intent: f.text("intent_text"),
		Kind: f.optText("task_kind"), Parent: f.optUUID("parent"), Deadline: f.optNumber("deadline_ms")}
	if r := f.raw("idempotency"); r != nil {
		in := parse(r)
		t.Idempotency = &idempotency{in.text("duplicate_safety"), in.text("key")}
		if s := t.Idempotency.Safety; in.err != nil || s != "unsafe" && s != "idempotent" {
			f.fail("idempotency", "not understood")
		}
	}
	return t.masked()
}

// masked is the task without its secrets: the mailbox is a file. Whether two tasks are the same work is decided by the
// texts as they were sent.
func (t task) masked() task {
	was := t.sameWork()
	t.Intent, t.Kind = redact.String(t.Intent), masked(t.Kind)
	if t.Idempotency != nil {
		t.Idempotency = &idempotency{t.Idempotency.Safety, redact.String(t.Idempotency.Key)}
	}
	if t.work = was; was != t.sameWork() {
		t.work = fmt.Sprintf("%x", sha256.Sum256([]byte(was)))
	}
	return t
}

func (t task) sameWork() string {
	if t.Idempotency == nil || t.Idempotency.Safety != "idempotent" {
		return ""
	}
	what := t.Intent
	if t.Kind != nil {
		what = *t.Kind
	}
	return fmt.Sprintf("%d:%s%s", len(what), what, t.Idempotency.Key)
}

// masked is a text without its secrets.
func masked(s *string) *string {
	if s == nil {
		return nil
	}
	return new(redact.String(*s))
}

// maskedJSON is a value without its secrets. One that holds none stays as it was written.
func maskedJSON(raw json.RawMessage) (json.RawMessage, error) {
	v, err := large.JSON(raw)
	if err != nil {
		return nil, err
	}
	if clean, differs := redact.JSON(v); differs {
		return kit.JSON(clean)
	}
	return raw, nil
}

func (t task) check() error {
	switch {
	case t.Kind != nil && strings.TrimSpace(*t.Kind) == "":
		return errors.New("a2a: invalid task: task_kind must not be empty when present")
	case t.Idempotency != nil && strings.TrimSpace(t.Idempotency.Key) == "":
		return errors.New("a2a: invalid task: idempotency key must not be empty")
	}
	return nil
}

type result struct {
	Task    string    `json:"task_id"`
	Status  string    `json:"status"`
	Content []content `json:"content"`
	Error   *string   `json:"error_message,omitempty"`
}

func readResult(f *fields) (r result) {
	r = result{Task: f.uuid("task_id"), Status: f.text("status"), Content: []content{}, Error: masked(f.optText("error_message"))}
	if r.Status != "ok" && r.Status != "error" && r.Status != "partial" {
		f.fail("status", "not understood")
	}
	for _, raw := range f.list("content") {
		c := parse(raw)
		switch kind := c.text("type"); kind {
		case "text":
			r.Content = append(r.Content, textBlock(redact.String(c.text("text"))))
		case "json":
			v, ok := c.m["value"]
			if !ok {
				c.fail("value", "missing")
				break
			}
			v, err := maskedJSON(v)
			if err != nil {
				c.fail("value", "not understood")
			}
			r.Content = append(r.Content, content{Type: kind, Value: v})
		default:
			c.fail("type", "not understood")
		}
		if c.err != nil {
			f.fail("content", c.err.Error())
		}
	}
	return r
}

func sendTask(f *fields) action {
	var t task
	f.object("task", func(in *fields) { t = readTask(in) })
	return func(ctx context.Context, s *session) (any, error) {
		if t.Sender != s.peer {
			return nil, s.refuse(kit.Object{"type", "a2_a_sender_mismatch", "peer_display", s.peer.Display, "claimed_sender_display", t.Sender.Display},
				fmt.Sprintf("a2a send rejected: task.sender %q does not match authenticated peer %q", t.Sender.Display, s.peer.Display))
		}
		if err := s.gate(ctx, dealing("send", t.Recipient, t.ID, "a2a-send:"+t.Recipient.Display)); err != nil {
			return nil, err
		}
		if err := s.recipientAccepts(ctx, t); err != nil {
			return nil, err
		}
		if err := t.check(); err != nil {
			return nil, err
		}
		body, err := kit.JSON(t)
		if err != nil {
			return nil, err
		}
		from, err := kit.JSON(t.Sender)
		if err != nil {
			return nil, err
		}
		box := mailbox.Task{ID: t.ID, Sender: t.Sender.Pubkey, SenderID: from, Recipient: t.Recipient.Pubkey, Deadline: t.Deadline, Cache: t.work, Body: body}
		err = s.box.Send(now(), box, func(cached json.RawMessage) (json.RawMessage, error) { return renamed(cached, t.ID) })
		return kit.Object{"kind", "a2_a_task_queued", "task_id", t.ID}, s.boxError(err, t.ID)
	}
}

// renamed is a cached result as the answer to another task.
func renamed(body json.RawMessage, id string) (json.RawMessage, error) {
	f := parse(body)
	if f.err != nil {
		return nil, f.err
	}
	r := readResult(f)
	r.Task = id
	return kit.JSON(r)
}

// dealing is the gate of sending to an agent, or answering one.
func dealing(what string, with AgentID, id, label string) gate {
	return gate{label: label, actions: []string{"a2a." + what + "." + with.Display, "a2a." + what + "." + with.Pubkey},
		missing: fmt.Sprintf(`a2a %s to %s requires capability "a2a.%s.%s".`, what, with.Display, what, with.Display),
		allows:  func(sc scope) bool { return sc.task(with.Pubkey, id) },
		reject:  fmt.Sprintf("a2a %s rejected by capability scope: peer or task does not match capability scope", what)}
}

// recipientAccepts refuses a task whose recipient has not granted its sender to send. An agent may always send to
// itself.
func (s *session) recipientAccepts(ctx context.Context, t task) error {
	if t.Recipient.is(s.peer) {
		return nil
	}
	names := []string{"a2a.recv." + s.peer.Display, "a2a.recv." + s.peer.Pubkey}
	live, err := s.capabilities(ctx, t.Recipient.Pubkey, names)
	if err != nil {
		return err
	}
	for _, c := range live {
		if readScope(c.Scope).task(s.peer.Pubkey, t.ID) {
			return nil
		}
	}
	return s.refuse(kit.Object{"type", "a2_a_recipient_rejected", "sender_display", s.peer.Display, "recipient_display", t.Recipient.Display, "action", names[0]},
		fmt.Sprintf("a2a send to %s rejected: recipient has not granted capability %q", t.Recipient.Display, names[0]))
}

// refusals are the texts that clients are told of the mailbox's refusals.
var refusals = map[error]string{
	mailbox.ErrDuplicate: "a2a: invalid task: duplicate task id",
	mailbox.ErrUnknown:   "a2a: task TASK was never dispatched through this daemon",
	mailbox.ErrFinal:     "a2a: task TASK already has a final result",
	mailbox.ErrNotLeased: "a2a: task TASK is not currently leased",
}

var errMailbox = errors.New("a2a: mailbox failed")

// boxError is the error that a client is told of a mailbox that refused a task. The reason of a disk is in the log
// alone.
func (s *session) boxError(err error, task string) error {
	for refusal, text := range refusals {
		if errors.Is(err, refusal) {
			return errors.New(strings.ReplaceAll(text, "TASK", task))
		}
	}
	return s.told(err, "mailbox not written", errMailbox)
}

func tryRecvTask(*fields) action {
	return func(_ context.Context, s *session) (any, error) {
		to, err := kit.JSON(s.peer)
		if err != nil {
			return nil, err
		}
		body, err := s.box.Lease(now(), s.peer.Pubkey, newID(), to)
		return kit.Object{"kind", "a2_a_task_opt", "task", body}, s.boxError(err, "")
	}
}

func postResult(f *fields) action {
	var r result
	f.object("result", func(in *fields) { r = readResult(in) })
	return func(ctx context.Context, s *session) (any, error) {
		t, ok := s.box.Task(r.Task)
		if !ok {
			return nil, s.refuse(kit.Object{"type", "a2_a_result_rejected", "task_id", r.Task, "reason", "unknown_task"},
				fmt.Sprintf("a2a respond rejected: task_id %s was never dispatched through this daemon", r.Task))
		}
		var sender AgentID
		if json.Unmarshal(t.SenderID, &sender) != nil {
			return nil, errMailbox
		}
		if err := s.gate(ctx, dealing("respond", sender, r.Task, "a2a-respond:"+r.Task)); err != nil {
			return nil, err
		}
		if t.Recipient != s.peer.Pubkey {
			return nil, s.refuse(kit.Object{"type", "a2_a_result_rejected", "task_id", r.Task, "reason", "not_recipient"},
				fmt.Sprintf("a2a respond rejected: task_id %s is not addressed to the authenticated peer", r.Task))
		}
		return kit.Object{"kind", "a2_a_result_posted", "task_id", r.Task}, s.post(r)
	}
}

// post gives a result to the sender of its task.
func (s *session) post(r result) error {
	body, err := kit.JSON(r)
	if err != nil {
		return err
	}
	return s.boxError(s.box.Post(now(), mailbox.Result{Task: r.Task, Final: r.Status != "partial", Body: body}), r.Task)
}

// repairTask takes a task from a worker that died. Only the operator may: no agent can tell that another has died.
func repairTask(f *fields) action {
	id, how := f.uuid("task_id"), f.text("action")
	if how != "requeue" && how != "force_error" {
		f.fail("action", "not understood")
	}
	reason := redact.String(or(f.optText("reason"), "forced by the operator"))
	return operatorOnly("a2a repair requires the operator identity", func(_ context.Context, s *session) (any, error) {
		answer := kit.Object{"kind", "a2_a_task_repaired", "task_id", id}
		if how == "requeue" {
			return answer, s.boxError(s.box.Requeue(now(), id), id)
		}
		return answer, s.post(result{Task: id, Status: "error", Content: []content{}, Error: &reason})
	})
}

func tryRecvResult(*fields) action {
	return func(_ context.Context, s *session) (any, error) {
		body, err := s.box.Take(now(), s.peer.Pubkey)
		return kit.Object{"kind", "a2_a_result_opt", "result", body}, s.boxError(err, "")
	}
}

// recentTasks are the newest tasks that the caller sent or is to receive and that no final result has ended, oldest
// first.
func recentTasks(f *fields) action {
	limit := f.count("limit", 10)
	return func(_ context.Context, s *session) (any, error) {
		tasks := []json.RawMessage{}
		for _, e := range newest(s.box.Tasks(s.peer.Pubkey), limit) {
			tasks = append(tasks, e.Body)
		}
		return kit.Object{"kind", "a2_a_tasks", "tasks", tasks}, nil
	}
}

// recentResults are the newest results that wait for the caller, oldest first. They stay.
func recentResults(f *fields) action {
	limit := f.count("limit", 10)
	return func(_ context.Context, s *session) (any, error) {
		results := append([]json.RawMessage{}, newest(s.box.Results(s.peer.Pubkey, math.MaxUint64), limit)...)
		return kit.Object{"kind", "a2_a_results", "results", results}, nil
	}
}

// newest are the last rows of a list, at most limit.
func newest[T any](rows []T, limit uint64) []T {
	return rows[uint64(len(rows))-min(uint64(len(rows)), limit):]
}

func taskQueue(f *fields) action {
	limit, age, within := f.count("limit", 10), f.optNumber("min_lease_age_ms"), f.optNumber("deadline_within_ms")
	state := f.optText("state_filter")
	if state != nil && *state != "queued" && *state != "in_flight" {
		f.fail("state_filter", "not understood")
	}
	return func(_ context.Context, s *session) (any, error) {
		at := now()
		entries := s.box.Queue(s.peer.Pubkey, func(e mailbox.Entry) bool {
			switch {
			case state != nil && (*state == "in_flight") != (e.Lease != nil),
				age != nil && e.Lease != nil && at-min(at, e.Lease.At) < *age,
				within != nil && (e.Deadline == nil || *e.Deadline > at && *e.Deadline-at > *within):
				return false
			}
			return true
		})
		tasks, results := []kit.Object{}, []json.RawMessage{}
		for _, e := range entries[:min(uint64(len(entries)), limit)] {
			row := kit.Object{"state", "queued", "task", e.Body}
			if l := e.Lease; l != nil {
				row = kit.Object{"state", "in_flight", "task", e.Body, "lease_id", l.ID, "leased_to", l.To, "leased_at_ms", l.At}
			}
			tasks = append(tasks, append(row, "attempt", e.Attempt))
		}
		results = append(results, s.box.Results(s.peer.Pubkey, limit)...)
		return kit.Object{"kind", "a2_a_queue", "tasks", tasks, "results", results}, nil
	}
}
