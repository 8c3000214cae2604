package mem0

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire/field"
)

// succeeded is the status of a completed call.
const succeeded = "SUCCEEDED"

// A message is a part of a conversation. Its content is a text or a list of parts.
type message struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

// text returns the text of the content, and the number of its parts that are not text, such as images.
func (m *message) text() (s string, skipped int, err error) {
	if absent(m.Content) || json.Unmarshal(m.Content, &s) == nil {
		return s, 0, nil
	}
	type part struct{ Type, Text string }
	var parts []part
	var one part
	if json.Unmarshal(m.Content, &parts) != nil {
		if json.Unmarshal(m.Content, &one) != nil {
			return "", 0, oplog.Errorf(oplog.Invalid, "messages: want a content that is a text or a list of parts")
		}
		parts = []part{one}
	}
	var texts []string
	for _, p := range parts {
		if p.Type != "text" {
			skipped++
			continue
		}
		texts = append(texts, p.Text)
	}
	return strings.Join(texts, "\n"), skipped, nil
}

// messages parses a list of messages, a single message, or a text.
func messages(raw json.RawMessage) (list []message, err error) {
	var one message
	var s string
	switch {
	case json.Unmarshal(raw, &s) == nil:
		return []message{{"user", raw}}, nil
	case json.Unmarshal(raw, &list) == nil:
		return list, nil
	case json.Unmarshal(raw, &one) == nil:
		return []message{one}, nil
	}
	return nil, oplog.Errorf(oplog.Invalid, "messages: want a list of {role, content}")
}

// An addRequest holds the fields of an addition that have an effect. Others are accepted and ignored.
type addRequest struct {
	ids
	Messages  json.RawMessage `json:"messages"`
	Metadata  fields          `json:"metadata"`
	Infer     *bool           `json:"infer"`
	Expires   string          `json:"expiration_date"`
	Immutable bool            `json:"immutable"`
	Timestamp *float64        `json:"timestamp"`
	Observed  string          `json:"observation_date"`
	Format    string          `json:"output_format"`
}

// additions are the memories of an addition, their texts, and the number of skipped parts.
type additions struct {
	memories []object
	texts    []string
	skipped  int
}

func (in *addRequest) additions() (all additions, err error) {
	entities := fields{}
	for name, v := range in.named() {
		entities[name] = quoted(string(v))
	}
	if len(entities) == 0 {
		return all, oplog.Errorf(oplog.Invalid, "name one of user_id, agent_id, app_id or run_id: a memory belongs to one at least")
	}
	attributes, rest, err := splitMetadata(in.Metadata, entities, in.Immutable)
	if err != nil {
		return all, err
	}
	each := object{"namespace": oplog.Mem0Namespace, "attributes": attributes, "metadata": rest}
	if in.Expires != "" {
		if each["expires_at"], err = endOfDay(in.Expires); err != nil {
			return all, err
		}
	}
	if in.Observed != "" {
		each["created_at"] = asField("@created_at", quoted(in.Observed))
	}
	if in.Timestamp != nil {
		each["created_at"] = *in.Timestamp
	}
	list, err := messages(in.Messages)
	if err != nil {
		return all, err
	}
	for i := range list {
		s, skipped, err := list[i].text()
		if err != nil {
			return all, err
		}
		all.skipped += skipped
		if list[i].Role == "system" || strings.TrimSpace(s) == "" {
			continue
		}
		m := maps.Clone(each)
		m["text"] = s
		if list[i].Role != "" {
			m["source"] = list[i].Role
		}
		all.memories, all.texts = append(all.memories, m), append(all.texts, s)
	}
	if len(all.memories) == 0 {
		return all, oplog.Errorf(oplog.Invalid, "messages: none of them has a text to store")
	}
	return all, nil
}

// add returns the handler that stores each message as a memory, all or none.
func add(as shape) func(*exchange) (any, error) {
	return func(x *exchange) (any, error) {
		var in addRequest
		if err := x.Decode(&in); err != nil {
			return nil, err
		}
		all, err := in.additions()
		if err != nil {
			return nil, err
		}
		values := object{"memories": all.memories}
		if key := field.HeaderText(x.R.Header.Get("Idempotency-Key")); key != "" {
			values["idempotency_key"] = key
		}
		a, err := api.RememberBatch.For(&x.Exchange, values)
		if err != nil {
			return nil, err
		}
		results := make([]object, len(a.RIDs))
		for i, rid := range a.RIDs {
			results[i] = added(rid, all.texts[i])
		}
		switch {
		case as == legacy && in.Format != "v1.1":
			return results, nil
		case as != platform:
			return object{"results": results}, nil
		}
		message := "Memories added."
		if in.Infer == nil || *in.Infer {
			message = "Memories added as given: this server infers nothing."
		}
		if all.skipped > 0 {
			message += fmt.Sprintf(" Parts that are no text were left out: %d.", all.skipped)
		}
		return object{"status": succeeded, "event_id": a.RIDs[0], "message": message, "results": results}, nil
	}
}

func added(rid, text string) object {
	return object{"id": rid, "memory": text, "event": "ADD", "data": object{"memory": text}}
}

// A change is the body of an update. Its metadata replaces the old metadata.
type change struct {
	Text     *string         `json:"text"`
	Data     *string         `json:"data"` // older name of text
	Metadata fields          `json:"metadata"`
	Expires  json.RawMessage `json:"expiration_date"` // null: never
	At       json.RawMessage `json:"timestamp"`
}

// maxChangeTries bounds the attempts of an update while other clients change the memory.
const maxChangeTries = 8

// change corrects a memory. It tries again if another client changes the memory at the same time.
func (x *exchange) change(rid string, in *change) error {
	for tries := 1; ; tries++ {
		m, err := x.activeMemory(rid, false)
		if err != nil {
			return err
		}
		values, err := in.correction(m)
		if err == nil {
			_, err = api.Correct.For(&x.Exchange, values)
		}
		if tries == maxChangeTries || !api.RefusedAs(err, "revision_conflict") {
			return err
		}
	}
}

// correction returns the change as fields of the table's operation.
func (in *change) correction(m *api.Memory) (object, error) {
	s := parseMemory(m)
	if s.kept.Immutable {
		return nil, oplog.Errorf(oplog.Invalid, "memory %s is immutable: delete it and add another", m.RID)
	}
	if in.At != nil {
		return nil, oplog.Errorf(oplog.Invalid, "timestamp: a memory keeps its date; delete it and add another")
	}
	values := object{"rid": m.RID, "reason": "updated"}
	if in.Text == nil {
		in.Text = in.Data
	}
	if in.Text != nil {
		values["new_text"] = *in.Text
	}
	if string(in.Expires) == "null" {
		values["new_ttl"] = 0
	} else if in.Expires != nil {
		var date string
		_ = json.Unmarshal(in.Expires, &date) // endOfDay rejects a value that is not a string
		at, err := endOfDay(date)
		if err != nil {
			return nil, err
		}
		values["new_expires_at"] = at.Format(time.RFC3339)
	}
	if in.Metadata != nil {
		attributes, rest, err := splitMetadata(in.Metadata, s.entities, false)
		if err != nil {
			return nil, err
		}
		for name := range s.rest {
			if _, stays := rest[name]; !stays {
				rest[name] = json.RawMessage("null")
			}
		}
		values["new_attributes"], values["metadata_merge"], values["expected_revision"] = attributes, rest, m.Revision
	}
	if len(values) == 2 {
		return nil, oplog.Errorf(oplog.Invalid, "want one of text, metadata and expiration_date")
	}
	return values, nil
}

func update(as shape) func(*exchange) (any, error) {
	return func(x *exchange) (any, error) {
		var in change
		if err := x.Decode(&in); err != nil {
			return nil, err
		}
		rid := x.R.PathValue("id")
		if err := x.change(rid, &in); err != nil {
			return nil, err
		}
		if as == selfHosted {
			return object{"message": "Memory updated successfully!"}, nil
		}
		m, err := x.activeMemory(rid, false)
		if err != nil {
			return nil, err
		}
		return show(m), nil
	}
}

// maxBatch bounds the memories of a batch.
const maxBatch = 1000

// batch reads a batch, and checks that all its memories exist before any is changed.
func (x *exchange) batch() (rids []string, changes []change, err error) {
	var in struct {
		Memories []struct {
			ID string `json:"memory_id"`
			change
		} `json:"memories"`
	}
	if err := x.Decode(&in); err != nil {
		return nil, nil, err
	}
	if len(in.Memories) == 0 || len(in.Memories) > maxBatch {
		return nil, nil, oplog.Errorf(oplog.Invalid, "memories: want 1 to %d, got %d", maxBatch, len(in.Memories))
	}
	for i := range in.Memories {
		one := &in.Memories[i]
		if _, err := x.activeMemory(one.ID, false); err != nil {
			if errors.Is(err, oplog.ErrNoMemory) {
				err = oplog.Errorf(oplog.NotFound, "no memory %.64q: nothing was changed", one.ID)
			}
			return nil, nil, err
		}
		rids, changes = append(rids, one.ID), append(changes, one.change)
	}
	return rids, changes, nil
}

// updateMany changes one memory after the other. After a failure the earlier ones stay changed; the error tells how
// many.
func (x *exchange) updateMany() (any, error) {
	rids, changes, err := x.batch()
	if err != nil {
		return nil, err
	}
	for i, rid := range rids {
		if err := x.change(rid, &changes[i]); err != nil {
			if e, ok := errors.AsType[*oplog.Error](err); i > 0 && ok {
				err = &oplog.Error{Kind: e.Kind, Text: e.Text + countDone(i), Err: err}
			}
			return nil, err
		}
	}
	return object{"message": "Successfully updated " + api.Many(len(rids), "memory", "memories")}, nil
}

// removeMany deletes all memories of a batch, or none.
func (x *exchange) removeMany() (any, error) {
	rids, _, err := x.batch()
	if err != nil {
		return nil, err
	}
	if _, err := api.ForgetMany.Do(x.R.Context(), x.Door, x.C, &api.ForgetManyRequest{RIDs: rids}); err != nil {
		return nil, err
	}
	return object{"message": "Successfully deleted " + api.Many(len(rids), "memory", "memories")}, nil
}

func (x *exchange) remove() (any, error) {
	m, err := x.activeMemory(x.R.PathValue("id"), false)
	if err == nil {
		_, err = api.Forget.For(&x.Exchange, object{"rid": m.RID, "reason": "deleted"})
	}
	if err != nil {
		return nil, err
	}
	return object{"message": "Memory deleted successfully!"}, nil
}
