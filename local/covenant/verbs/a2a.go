package verbs

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/cairndb/cairn/local/covenant/home"
	"github.com/cairndb/cairn/local/covenant/mailbox"
	"github.com/cairndb/cairn/local/covenant/protocol"
	"github.com/cairndb/cairn/local/kit"
	"github.com/cairndb/cairn/local/serve"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/wire/large"
	"github.com/cairndb/cairn/wire/redact"
)

// task is a task on the wire.
type task struct {
	ID          string       `json:"id"`
	Sender      home.AgentID `json:"sender"`
	Recipient   home.AgentID `json:"recipient"`
	Intent      string       `json:"intent_text"`
	Kind        *string      `json:"task_kind,omitempty"`
	Parent      *string      `json:"parent,omitempty"`
	Deadline    *uint64      `json:"deadline_ms,omitempty"`
	Idempotency *idempotency `json:"idempotency,omitempty"`

	cacheKey string // equal for tasks of the same work; empty: no cached result may answer the task
}

type idempotency struct {
	Safety string `json:"duplicate_safety"`
	Key    string `json:"key"`
}

func readTask(f *serve.Fields) (t task) {
	t = task{ID: protocol.ID(f, "id"), Sender: home.ReadAgent(f, "sender"), Recipient: home.ReadAgent(f, "recipient"),
		Intent: f.Text("intent_text"),
		Kind:   f.OptText("task_kind"), Parent: protocol.OptID(f, "parent"), Deadline: f.OptNumber("deadline_ms")}
	if r := f.Raw("idempotency"); r != nil {
		in := serve.Parse(r)
		t.Idempotency = &idempotency{in.Text("duplicate_safety"), in.Text("key")}
		if s := t.Idempotency.Safety; in.Err != nil || s != "unsafe" && s != "idempotent" {
			f.Fail("idempotency", "not understood")
		}
	}
	return t.redacted()
}

// redacted returns the task without secrets, because the mailbox is a file. cacheKey depends on the original texts,
// so that two tasks that differ in a secret are different work.
func (t task) redacted() task {
	original := t.idempotentKey()
	t.Intent, t.Kind = redact.String(t.Intent), redactOptional(t.Kind)
	if t.Idempotency != nil {
		t.Idempotency = &idempotency{t.Idempotency.Safety, redact.String(t.Idempotency.Key)}
	}
	if t.cacheKey = original; original != t.idempotentKey() {
		t.cacheKey = fmt.Sprintf("%x", sha256.Sum256([]byte(original)))
	}
	return t
}

func (t task) idempotentKey() string {
	if t.Idempotency == nil || t.Idempotency.Safety != "idempotent" {
		return ""
	}
	work := t.Intent
	if t.Kind != nil {
		work = *t.Kind
	}
	return fmt.Sprintf("%d:%s%s", len(work), work, t.Idempotency.Key)
}

// redactOptional returns a text without secrets.
func redactOptional(s *string) *string {
	if s == nil {
		return nil
	}
	return new(redact.String(*s))
}

// redactJSON returns a value without secrets. If it contains none, it is returned unchanged.
func redactJSON(raw json.RawMessage) (json.RawMessage, error) {
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

func readResult(f *serve.Fields) (r result) {
	r = result{Task: protocol.ID(f, "task_id"), Status: f.Text("status"), Content: []content{}, Error: redactOptional(f.OptText("error_message"))}
	if r.Status != "ok" && r.Status != "error" && r.Status != "partial" {
		f.Fail("status", "not understood")
	}
	for _, raw := range f.List("content") {
		c := serve.Parse(raw)
		switch kind := c.Text("type"); kind {
		case "text":
			r.Content = append(r.Content, textBlock(redact.String(c.Text("text"))))
		case "json":
			v, ok := c.Members["value"]
			if !ok {
				c.Fail("value", "missing")
				break
			}
			v, err := redactJSON(v)
			if err != nil {
				c.Fail("value", "not understood")
			}
			r.Content = append(r.Content, content{Type: kind, Value: v})
		default:
			c.Fail("type", "not understood")
		}
		if c.Err != nil {
			f.Fail("content", c.Err.Error())
		}
	}
	return r
}

func sendTask(f *serve.Fields) Action {
	var t task
	f.Object("task", func(in *serve.Fields) { t = readTask(in) })
	return func(ctx context.Context, s *Session) (any, error) {
		if t.Sender != s.Peer {
			return nil, s.recordRejection(kit.Object{"type", "a2_a_sender_mismatch", "peer_display", s.Peer.Display,
				"claimed_sender_display", t.Sender.Display},
				fmt.Sprintf("a2a send rejected: task.sender %q does not match authenticated peer %q", t.Sender.Display, s.Peer.Display))
		}
		to, err := s.resolveRecipient(ctx, t.Recipient)
		if err != nil {
			return nil, err
		}
		if err := s.gate(ctx, peerGate("send", to, t.ID, "a2a-send:"+t.Recipient.Display)); err != nil {
			return nil, err
		}
		if err := s.recipientAccepts(ctx, t); err != nil {
			return nil, err
		}
		if err := t.check(); err != nil {
			return nil, err
		}
		box := mailbox.Task{ID: t.ID, Sender: t.Sender.Pubkey, SenderID: kit.MustJSON(t.Sender), Recipient: t.Recipient.Pubkey,
			Deadline: t.Deadline, Cache: t.cacheKey, Body: kit.MustJSON(t)}
		err = s.Mailbox.Send(home.Now(), box, func(cached json.RawMessage) (json.RawMessage, error) { return withTaskID(cached, t.ID) })
		return kit.Object{"kind", "a2_a_task_queued", "task_id", t.ID}, s.mailboxError(err, t.ID)
	}
}

// withTaskID returns a cached result as the answer to another task.
func withTaskID(body json.RawMessage, id string) (json.RawMessage, error) {
	f := serve.Parse(body)
	if f.Err != nil {
		return nil, f.Err
	}
	r := readResult(f)
	r.Task = id
	return kit.JSON(r)
}

// resolveRecipient returns the recipient of a task. A capability to send to a name is for the agent that is enrolled
// under the name. So if the task's display name is not enrolled with the task's key, the recipient is identified by
// its key only.
func (s *Session) resolveRecipient(ctx context.Context, to home.AgentID) (home.AgentID, error) {
	a, err := home.Read(ctx, s.Home, "peers", api.Identified, &api.IdentifiedRequest{Display: to.Display})
	if err == nil && (a.Identity == nil || a.Identity.Key != to.Pubkey) {
		to.Display = to.Pubkey
	}
	return to, err
}

// peerGate returns the capability check for sending to a peer or answering it.
func peerGate(verb string, with home.AgentID, id, label string) gate {
	actions := slices.Compact([]string{"a2a." + verb + "." + with.Display, "a2a." + verb + "." + with.Pubkey})
	return gate{label: label, actions: actions,
		missing: fmt.Sprintf(`a2a %s to %s requires capability "a2a.%s.%s".`, verb, with.Display, verb, with.Display),
		allows:  func(sc scope) bool { return sc.allowsTask(with.Pubkey, id) },
		reject:  fmt.Sprintf("a2a %s rejected by capability scope: peer or task does not match capability scope", verb)}
}

// recipientAccepts rejects a task if the recipient has not allowed the sender to send. An agent may always send to
// itself.
func (s *Session) recipientAccepts(ctx context.Context, t task) error {
	if t.Recipient.Same(s.Peer) {
		return nil
	}
	names := []string{"a2a.recv." + s.Peer.Display, "a2a.recv." + s.Peer.Pubkey}
	live, err := s.capabilities(ctx, t.Recipient.Pubkey, names)
	if err != nil {
		return err
	}
	for _, c := range live {
		if readScope(c.Scope).allowsTask(s.Peer.Pubkey, t.ID) {
			return nil
		}
	}
	return s.recordRejection(kit.Object{"type", "a2_a_recipient_rejected", "sender_display", s.Peer.Display, "recipient_display",
		t.Recipient.Display, "action", names[0]},
		fmt.Sprintf("a2a send to %s rejected: recipient has not granted capability %q", t.Recipient.Display, names[0]))
}

// mailboxErrors are the texts that clients get for the errors of a mailbox.
var mailboxErrors = map[error]string{
	mailbox.ErrDuplicate: "a2a: invalid task: duplicate task id",
	mailbox.ErrUnknown:   "a2a: task TASK was never dispatched through this daemon",
	mailbox.ErrFinal:     "a2a: task TASK already has a final result",
	mailbox.ErrNotLeased: "a2a: task TASK is not currently leased",
}

var errMailbox = errors.New("a2a: mailbox failed")

// mailboxError returns the error that a client gets for an error of the mailbox. Disk errors are only logged.
func (s *Session) mailboxError(err error, task string) error {
	if text, ok := mailboxErrors[err]; ok {
		return errors.New(strings.ReplaceAll(text, "TASK", task))
	}
	return s.PublicError(err, "mailbox not written", errMailbox)
}

func tryRecvTask(*serve.Fields) Action {
	return func(_ context.Context, s *Session) (any, error) {
		body, err := s.Mailbox.Lease(home.Now(), s.Peer.Pubkey, protocol.NewID(), kit.MustJSON(s.Peer))
		return kit.Object{"kind", "a2_a_task_opt", "task", body}, s.mailboxError(err, "")
	}
}

func postResult(f *serve.Fields) Action {
	var r result
	f.Object("result", func(in *serve.Fields) { r = readResult(in) })
	return func(ctx context.Context, s *Session) (any, error) {
		t, ok := s.Mailbox.Task(r.Task)
		if !ok {
			return nil, s.recordRejection(kit.Object{"type", "a2_a_result_rejected", "task_id", r.Task, "reason", "unknown_task"},
				fmt.Sprintf("a2a respond rejected: task_id %s was never dispatched through this daemon", r.Task))
		}
		var sender home.AgentID
		if json.Unmarshal(t.SenderID, &sender) != nil {
			return nil, errMailbox
		}
		if err := s.gate(ctx, peerGate("respond", sender, r.Task, "a2a-respond:"+r.Task)); err != nil {
			return nil, err
		}
		if t.Recipient != s.Peer.Pubkey {
			return nil, s.recordRejection(kit.Object{"type", "a2_a_result_rejected", "task_id", r.Task, "reason", "not_recipient"},
				fmt.Sprintf("a2a respond rejected: task_id %s is not addressed to the authenticated peer", r.Task))
		}
		return kit.Object{"kind", "a2_a_result_posted", "task_id", r.Task}, s.post(r)
	}
}

// post stores a result for the sender of its task.
func (s *Session) post(r result) error {
	body, err := kit.JSON(r)
	if err != nil {
		return err
	}
	return s.mailboxError(s.Mailbox.Post(home.Now(), mailbox.Result{Task: r.Task, Final: r.Status != "partial", Body: body}), r.Task)
}

// repairTask ends the lease of a worker that died. Only the operator may do so, because no agent can know that
// another one has died.
func repairTask(f *serve.Fields) Action {
	id, action := protocol.ID(f, "task_id"), f.Text("action")
	if action != "requeue" && action != "force_error" {
		f.Fail("action", "not understood")
	}
	reason := redact.String(serve.ValueOr(f.OptText("reason"), "forced by the operator"))
	return operatorOnly("a2a repair requires the operator identity", func(_ context.Context, s *Session) (any, error) {
		answer := kit.Object{"kind", "a2_a_task_repaired", "task_id", id}
		if action == "requeue" {
			return answer, s.mailboxError(s.Mailbox.Requeue(home.Now(), id), id)
		}
		return answer, s.post(result{Task: id, Status: "error", Content: []content{}, Error: &reason})
	})
}

func tryRecvResult(*serve.Fields) Action {
	return func(_ context.Context, s *Session) (any, error) {
		body, err := s.Mailbox.Take(home.Now(), s.Peer.Pubkey)
		return kit.Object{"kind", "a2_a_result_opt", "result", body}, s.mailboxError(err, "")
	}
}

// recentTasks returns the newest unfinished tasks that the caller sent or is to receive, oldest first.
func recentTasks(f *serve.Fields) Action {
	limit := f.Count("limit", 10)
	return func(_ context.Context, s *Session) (any, error) {
		tasks := lastRows(s.Mailbox.Tasks(s.Peer.Pubkey), limit)
		return kit.Object{"kind", "a2_a_tasks", "tasks", api.Each(tasks, func(e mailbox.Entry) json.RawMessage { return e.Body })}, nil
	}
}

// recentResults returns the newest results for the caller, oldest first. It does not remove them.
func recentResults(f *serve.Fields) Action {
	limit := f.Count("limit", 10)
	return func(_ context.Context, s *Session) (any, error) {
		return kit.Object{"kind", "a2_a_results", "results", lastRows(s.Mailbox.Results(s.Peer.Pubkey, math.MaxUint64), limit)}, nil
	}
}

// lastRows returns the last rows of a list, at most limit.
func lastRows[T any](rows []T, limit uint64) []T {
	return rows[uint64(len(rows))-min(uint64(len(rows)), limit):]
}

func taskQueue(f *serve.Fields) Action {
	limit, age, within := f.Count("limit", 10), f.OptNumber("min_lease_age_ms"), f.OptNumber("deadline_within_ms")
	state := f.OptText("state_filter")
	if state != nil && *state != "queued" && *state != "in_flight" {
		f.Fail("state_filter", "not understood")
	}
	return func(_ context.Context, s *Session) (any, error) {
		at := home.Now()
		entries := s.Mailbox.Queue(s.Peer.Pubkey, func(e mailbox.Entry) bool {
			switch {
			case state != nil && (*state == "in_flight") != (e.Lease != nil),
				age != nil && e.Lease != nil && at-min(at, e.Lease.At) < *age,
				within != nil && (e.Deadline == nil || *e.Deadline > at && *e.Deadline-at > *within):
				return false
			}
			return true
		})
		tasks := api.Each(entries[:min(uint64(len(entries)), limit)], func(e mailbox.Entry) kit.Object {
			row := kit.Object{"state", "queued", "task", e.Body}
			if l := e.Lease; l != nil {
				row = kit.Object{"state", "in_flight", "task", e.Body, "lease_id", l.ID, "leased_to", l.To, "leased_at_ms", l.At}
			}
			return append(row, "attempt", e.Attempt)
		})
		return kit.Object{"kind", "a2_a_queue", "tasks", tasks, "results", s.Mailbox.Results(s.Peer.Pubkey, limit)}, nil
	}
}
