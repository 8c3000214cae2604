package memorystores

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
)

const (
	memoryPrefix  = "mem_"
	versionPrefix = "memver_"
	maxContent    = 102_400 // bytes
)

// reservedKey is the key of metadata under which this dialect stores its own data.
const reservedKey = "@memory_stores"

// extras is the value under reservedKey.
type extras struct {
	By      string  `json:"by"`                // the writer
	Content *string `json:"content,omitempty"` // the content, if it is blank
}

const blankText = "(blank)"

// contentOf returns the content and the writer of a memory or a revision.
func contentOf(text string, metadata json.RawMessage) (content, by string) {
	var all struct {
		Kept extras `json:"@memory_stores"`
	}
	_ = json.Unmarshal(metadata, &all) // valid, because it was checked before it was stored
	if all.Kept.Content != nil && text == blankText {
		return *all.Kept.Content, all.Kept.By
	}
	return text, all.Kept.By
}

func sha256Of(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

// show returns a memory in the API's format.
func show(store string, m *api.Memory, full bool) object {
	content, _ := contentOf(m.Text, m.Metadata)
	o := object{"id": memoryPrefix + m.RID, "type": "memory", "memory_store_id": store,
		"memory_version_id": versionID(m.RID, m.Revision), "path": m.Path,
		"content_sha256": sha256Of(content), "content_size_bytes": len(content), "created_at": m.CreatedAt,
		"updated_at": m.UpdatedAt, "content": nil}
	if full {
		o["content"] = content
	}
	return o
}

func versionID(rid string, revision uint32) string {
	return fmt.Sprintf("%s%s_%d", versionPrefix, rid, revision)
}

// draft returns the fields of a memory with a content. The other fields are those of the current memory, if any.
func (x *exchange) draft(content string, current *api.Memory) object {
	k := extras{By: x.C.Who()}
	o := object{"searchable": true, "text": content}
	if strings.TrimSpace(content) == "" {
		k.Content = &content
		o["searchable"], o["text"] = false, blankText
	}
	metadata := object{}
	if current != nil {
		_ = json.Unmarshal(current.Metadata, &metadata) // valid, because it was checked before it was stored
		o["importance"], o["valence"], o["certainty"], o["pin"] = current.Importance, current.Valence, current.Certainty, current.Pin
		if len(current.Attributes) > 0 {
			o["attributes"] = current.Attributes
		}
	}
	metadata[reservedKey] = k
	o["metadata"] = metadata
	return o
}

func checkContent(content string) error {
	if len(content) > maxContent {
		return oplog.Errorf(oplog.Invalid, "content: want at most %d bytes, got %d", maxContent, len(content))
	}
	return nil
}

// memory returns the memory with an id in a store. deletedToo also permits a deleted one.
func (x *exchange) memory(s *store, id string, deletedToo bool) (*api.Memory, error) {
	absent := oplog.Errorf(oplog.NotFound, "no memory %.80q in the memory store %s", id, s.id)
	rid, ok := strings.CutPrefix(id, memoryPrefix)
	if !ok {
		return nil, absent
	}
	m, err := api.Get.Do(x.R.Context(), x.Door, x.C, &api.GetRequest{RID: rid, Fresh: x.Fresh})
	switch {
	case oplog.IsKind(err, oplog.NotFound, oplog.Invalid):
		return nil, absent
	case err != nil:
		return nil, err
	case m.Namespace != s.id || m.Path == "" || m.Status != oplog.Active.String() && !(deletedToo && m.Status == oplog.Tombstoned.String()):
		return nil, absent
	}
	return m, nil
}

// pathConflict converts an error about a taken path to one of this API.
func pathConflict(err error, store *store) error {
	var refused *api.Refusal
	if !errors.As(err, &refused) || refused.Code != "key_taken" && refused.Code != "precondition_failed" {
		return err
	}
	path, _ := refused.More["key"].(string)
	rid, _ := refused.More["rid"].(string)
	if rid == "" || path == "/"+store.id { // another client changed or deleted the store itself
		return err
	}
	return &apiError{http.StatusConflict, "memory_path_conflict_error", "the path is taken by the memory at " + path,
		object{"conflicting_memory_id": memoryPrefix + rid, "conflicting_path": path}}
}

func (x *exchange) createMemory() (any, error) {
	var q struct {
		Path    string  `json:"path"`
		Content *string `json:"content"`
	}
	if err := x.Decode(&q); err != nil {
		return nil, err
	}
	full, err := x.fullView(false)
	if err != nil {
		return nil, err
	}
	if q.Content == nil {
		return nil, oplog.Errorf(oplog.Invalid, "content: want a text, \"\" for an empty memory")
	}
	if err := checkContent(*q.Content); err != nil {
		return nil, err
	}
	var rid string
	var s *store
	err = x.retryOnConflict(func() error {
		if s, err = x.writableStore(); err != nil {
			return err
		}
		step := object{"op": "put", "namespace": s.id, "key": q.Path, "memory": x.draft(*q.Content, nil), "if_absent": true}
		a, err := api.Batch.For(&x.Exchange, object{"steps": []object{s.unchangedStep(), step}})
		if err != nil {
			return pathConflict(err, s)
		}
		rid = a.Results[1].RID
		return nil
	})
	if err != nil {
		return nil, err
	}
	return x.readBack(s, rid, full)
}

// writableStore returns the store in the path, unless it is archived.
func (x *exchange) writableStore() (*store, error) {
	s, err := x.store()
	if err == nil && s.Archived != "" {
		err = errArchived
	}
	return s, err
}

func (x *exchange) readBack(s *store, rid string, full bool) (any, error) {
	x.C.Quiet = true
	m, err := x.memory(s, memoryPrefix+rid, false)
	if err != nil {
		return nil, err
	}
	return show(s.id, m, full), nil
}

func (x *exchange) getMemory() (any, error) {
	full, err := x.fullView(true)
	if err != nil {
		return nil, err
	}
	s, err := x.store()
	if err != nil {
		return nil, err
	}
	m, err := x.memory(s, x.R.PathValue("id"), false)
	if err != nil {
		return nil, err
	}
	return show(s.id, m, full), nil
}

// An updateRequest holds the fields of an update. Null and absent fields change nothing.
type updateRequest struct {
	Content      *string `json:"content"`
	Path         *string `json:"path"`
	Precondition *struct {
		Type   string `json:"type"`
		SHA256 string `json:"content_sha256"`
	} `json:"precondition"`
}

// step returns the write of the update, or nil if the memory is already as requested.
func (q *updateRequest) step(x *exchange, m *api.Memory) (object, error) {
	content, _ := contentOf(m.Text, m.Metadata)
	before, path := content, m.Path
	if q.Content != nil {
		content = *q.Content
	}
	if q.Path != nil {
		path = *q.Path
	}
	if content == before && path == m.Path {
		return nil, nil
	}
	if q.Precondition != nil {
		if err := checkSHA256(before, q.Precondition.SHA256); err != nil {
			return nil, err
		}
	}
	step := object{"op": "put", "namespace": m.Namespace, "key": m.Path, "if_revision": m.Revision,
		"memory": x.draft(content, m), "reason": "updated"}
	if path != m.Path {
		step["op"], step["to"], step["reason"] = "rename", path, "renamed"
	}
	return step, nil
}

// checkSHA256 compares a content with the hash that a client expects.
func checkSHA256(content, sum string) error {
	if b, err := hex.DecodeString(sum); err != nil || len(b) != sha256.Size {
		return oplog.Errorf(oplog.Invalid, "content_sha256: want 64 hex digits")
	}
	if !strings.EqualFold(sha256Of(content), sum) {
		return &apiError{http.StatusConflict, "memory_precondition_failed_error",
			"the memory's content has another SHA-256: read it and decide again", nil}
	}
	return nil
}

func (x *exchange) updateMemory() (any, error) {
	var q updateRequest
	if err := x.Decode(&q); err != nil {
		return nil, err
	}
	full, err := x.fullView(false)
	if err != nil {
		return nil, err
	}
	if q.Content != nil {
		if err := checkContent(*q.Content); err != nil {
			return nil, err
		}
	}
	if q.Precondition != nil && q.Precondition.Type != "content_sha256" {
		return nil, oplog.Errorf(oplog.Invalid, "precondition: want the type content_sha256, got %.40q", q.Precondition.Type)
	}
	x.C.Quiet = true
	var s *store
	var m *api.Memory
	err = x.retryOnConflict(func() error {
		if s, err = x.writableStore(); err != nil {
			return err
		}
		if m, err = x.memory(s, x.R.PathValue("id"), false); err != nil {
			return err
		}
		step, err := q.step(x, m)
		if err != nil || step == nil {
			return err
		}
		_, err = api.Batch.For(&x.Exchange, object{"steps": []object{s.unchangedStep(), step}})
		if api.RefusedAs(err, "key_taken") {
			return pathConflict(err, s)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return x.readBack(s, m.RID, full)
}

func (x *exchange) deleteMemory() (any, error) {
	x.C.Quiet = true
	id := x.R.PathValue("id")
	err := x.retryOnConflict(func() error {
		s, err := x.store()
		if err != nil {
			return err
		}
		m, err := x.memory(s, id, false)
		if err != nil {
			return err
		}
		if sum := x.Params.Get("expected_content_sha256"); sum != "" {
			content, _ := contentOf(m.Text, m.Metadata)
			if err := checkSHA256(content, sum); err != nil {
				return err
			}
		}
		_, err = api.Delete.For(&x.Exchange, object{"namespace": s.id, "key": m.Path, "if_revision": m.Revision, "reason": deletedBy + x.C.Who()})
		return err
	})
	if err != nil {
		return nil, err
	}
	return object{"id": id, "type": "memory_deleted"}, nil
}

func (x *exchange) listMemories() (any, error) {
	full, limit, after, err := x.pageAndView()
	if err != nil {
		return nil, err
	}
	s, err := x.store()
	if err != nil {
		return nil, err
	}
	prefix, depth := x.Params.Get("path_prefix"), x.Params.Get("depth")
	if prefix != "" && (prefix[0] != '/' || prefix[len(prefix)-1] != '/') {
		return nil, oplog.Errorf(oplog.Invalid, "path_prefix: want a path that begins and ends with /, got %.80q", prefix)
	}
	if depth != "" && depth != "0" && depth != "1" {
		return nil, oplog.Errorf(oplog.Invalid, "depth: want 0 or 1, got %.20q", depth)
	}
	q := object{"namespace": s.id, "after": after, "limit": limit, "full": true}
	if len(prefix) > 1 {
		q["prefix"] = strings.TrimSuffix(prefix, "/")
	}
	if depth == "1" {
		q["depth"] = 1
	}
	a, err := api.ListKeys.For(&x.Exchange, q)
	if err != nil {
		return nil, err
	}
	rows, next := make([]object, len(a.Keys)), ""
	for i, row := range a.Keys {
		if row.Memory == nil {
			rows[i] = object{"type": "memory_prefix", "path": row.Path}
		} else {
			rows[i] = show(s.id, row.Memory, full)
		}
	}
	if a.Next != nil {
		next = *a.Next
	}
	return pageOf(rows, next), nil
}
