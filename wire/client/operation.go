package client

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/field"
)

// Query executes a read-only operation of the HTTP reference (under /docs of a node), by name. request and answer are
// values for encoding/json with the fields in the reference; request may be nil. If the connection breaks, Query
// retries on another node.
func (c *Client) Query(ctx context.Context, operation string, request, answer any) error {
	return c.operation(ctx, retryRead, operation, request, answer)
}

// Change executes a writing operation of the HTTP reference. It is sent to the leader once: if the connection breaks,
// the error is ErrUnknownOutcome.
func (c *Client) Change(ctx context.Context, operation string, request, answer any) error {
	return c.operation(ctx, neverRetry, operation, request, answer)
}

// Repeat is Change for an idempotent operation: one with an idempotency key in the request, or one that names all
// that it changes. If the connection breaks, Repeat retries, also on another node.
func (c *Client) Repeat(ctx context.Context, operation string, request, answer any) error {
	return c.operation(ctx, retryIdempotent, operation, request, answer)
}

func (c *Client) operation(ctx context.Context, kind retryRule, name string, request, answer any) error {
	m := wire.Operation{Name: name}
	if request != nil {
		var err error
		if m.Request, err = json.Marshal(request); err != nil {
			return fmt.Errorf("request of %s: %w", name, err)
		}
	}
	var r wire.OperationResult
	if err := c.call(ctx, kind, wire.OpOperation, &m, wire.OpOperationResult, &r); err != nil {
		return err
	}
	var at struct {
		Index field.Token `json:"log_index"`
	}
	if kind != retryRead && json.Unmarshal(r.Answer, &at) == nil {
		c.noteWrite(at.Index)
	}
	if answer == nil {
		return nil
	}
	if err := json.Unmarshal(r.Answer, answer); err != nil {
		return fmt.Errorf("answer of %s: %w", name, err)
	}
	return nil
}

// ownIndex returns the log position that a read must reflect; 0 for none.
func (c *Client) ownIndex() field.Token {
	if !c.cfg.OwnWrites {
		return 0
	}
	return c.Index()
}

// A Memory is a stored memory. Query "memory" returns more of it.
type Memory struct {
	RID        string          `json:"rid"`
	Text       string          `json:"text"`
	Type       string          `json:"memory_type"`
	Namespace  string          `json:"namespace"`
	Domain     string          `json:"domain"`
	Source     string          `json:"source"`
	SessionID  string          `json:"session_id"`
	Created    time.Time       `json:"created_at_iso"`
	Updated    time.Time       `json:"updated_at_iso"`
	Importance float64         `json:"importance"`
	Valence    float64         `json:"valence"`
	Certainty  float64         `json:"certainty"`
	Metadata   json.RawMessage `json:"metadata"`
	Attributes json.RawMessage `json:"attributes"`           // nil: it has none
	Status     string          `json:"consolidation_status"` // active, consolidated or tombstoned
	Revision   uint32          `json:"revision"`             // how often it was corrected
}

// Get returns a memory by its id, also one that was merged or forgotten. An unknown id is an *Error with
// CodeMemoryNotFound.
func (c *Client) Get(ctx context.Context, rid string) (m Memory, err error) {
	err = c.Query(ctx, "memory", struct {
		RID   string      `json:"rid"`
		Index field.Token `json:"min_index,omitzero"`
	}{rid, c.ownIndex()}, &m)
	return m, err
}

// A Listing selects the memories of a list. Zero values do not filter.
type Listing struct {
	Namespace string    `json:"namespace,omitempty"`
	Domain    string    `json:"domain,omitempty"`
	Type      string    `json:"memory_type,omitempty"`
	Source    string    `json:"source,omitempty"`
	After     time.Time `json:"after,omitzero"`  // created at this time or later
	Before    time.Time `json:"before,omitzero"` // created before this time
	// attributes and fields to filter by, such as {"project":"atlas","priority":{"gte":2}}
	Filter json.RawMessage `json:"filter,omitempty"`
	Sort   string          `json:"sort,omitempty"` // created_at, the default, importance or last_access
	Offset int             `json:"offset,omitempty"`
	Limit  int             `json:"limit,omitempty"` // 50; 200 at most
	// log position that the list must reflect; 0: that of this client's writes, if Config.OwnWrites is set
	Index field.Token `json:"min_index,omitzero"`
}

// List returns a page of active memories, newest first, and their total number in the namespace or database. Memories
// returns all pages.
func (c *Client) List(ctx context.Context, l Listing) (page []Memory, total uint64, err error) {
	var a struct {
		Items []Memory `json:"items"`
		Total uint64   `json:"total"`
	}
	l.Index = cmp.Or(l.Index, c.ownIndex())
	err = c.Query(ctx, "memories", l, &a)
	return a.Items, a.Total, err
}

// Memories yields all active memories of a listing, newest first, and reads them page by page. After an error it
// ends. Listing.Sort must not be set.
func (c *Client) Memories(ctx context.Context, l Listing) iter.Seq2[Memory, error] {
	return func(yield func(Memory, error) bool) {
		q := struct {
			Listing
			Cursor string `json:"cursor,omitempty"`
		}{Listing: l}
		q.Index = cmp.Or(l.Index, c.ownIndex())
		for {
			var a struct {
				Items  []Memory `json:"items"`
				Cursor string   `json:"cursor"`
			}
			if err := c.Query(ctx, "memories", q, &a); err != nil {
				yield(Memory{}, err)
				return
			}
			for _, m := range a.Items {
				if !yield(m, nil) {
					return
				}
			}
			if q.Offset, q.Cursor = 0, a.Cursor; q.Cursor == "" {
				return
			}
		}
	}
}

// A Correction changes a memory. Nil fields keep their values. Metadata is merged by key, and null removes a key.
type Correction struct {
	RID        string          `json:"rid"`
	Reason     string          `json:"reason"` // shown with the revisions
	Text       *string         `json:"new_text,omitempty"`
	Importance *float64        `json:"new_importance,omitempty"`
	Valence    *float64        `json:"new_valence,omitempty"`
	Metadata   json.RawMessage `json:"metadata_merge,omitempty"`
	Attributes json.RawMessage `json:"new_attributes,omitempty"` // replaces all attributes; {} removes them
}

// Correct changes a memory in place and returns the number of its corrections. The earlier content stays as a
// revision. Correct is sent once: after ErrUnknownOutcome, Get shows whether it happened.
func (c *Client) Correct(ctx context.Context, m Correction) (revision uint64, err error) {
	var a struct {
		Revision uint64 `json:"revision"`
	}
	err = c.Change(ctx, "correct", m, &a)
	return a.Revision, err
}

// A Context holds what an agent should know at the start of its work.
type Context struct {
	Summary   string     `json:"narrative_head"` // of the newest session that has one
	Memories  []Reminder `json:"top_decisions"`  // the most important of the newest
	Conflicts uint64     `json:"open_conflict_count"`
	Triggers  uint64     `json:"pending_trigger_count"`
}

// A Reminder is the beginning of a memory.
type Reminder struct {
	RID        string  `json:"rid"`
	Text       string  `json:"snippet"`
	Type       string  `json:"memory_type"`
	Importance float64 `json:"importance"`
}

// Context returns what an agent should know at the start of its work in a namespace; blank for the default one.
func (c *Client) Context(ctx context.Context, namespace string) (a Context, err error) {
	err = c.Query(ctx, "digest", struct {
		Namespace string      `json:"namespace"`
		Index     field.Token `json:"min_index,omitzero"`
	}{namespace, c.ownIndex()}, &a)
	return a, err
}
