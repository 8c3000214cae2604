package engine

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// maxKeyTries bounds how often a keyed write is decided again: each time, another client has created, moved or deleted
// a key of it meanwhile.
const maxKeyTries = 32

// A keyedBatch is a batch of keyed writes. This node decides it from its own state, and the entry names what it was
// decided from. If the leader's log has another write of a key before it, Apply rejects the entry. This node has
// applied that other write by then, and decides again. Apply alone checks the client's own conditions.
type keyedBatch struct {
	s        *Service
	c        api.Caller
	steps    []api.BatchStep
	newer    bool // a memory of an export replaces one only if it has the higher revision
	made     []*oplog.Remember
	redacted []string
}

// store is the step of an import that stores a memory without a key, in its place among those that have one.
const store = "store"

// keyedResults holds the results of keyed steps.
type keyedResults struct {
	Written
	before []oplog.Result // by step: the memory that had the key
	after  []oplog.Result // by step: the memory that it read or wrote
	texts  []string       // by step: what the memory that it brought says
}

// applyKeyed applies all steps in one entry, or none.
func (s *Service) applyKeyed(ctx context.Context, k *keyedBatch, w write) (done keyedResults, err error) {
	if err := k.prepare(ctx); err != nil {
		return done, err
	}
	for range maxKeyTries {
		if w.ops, err = state.Get(s.state, k.decide); err != nil {
			return done, err
		}
		done.Written, err = s.propose(ctx, k.c, w)
		if !errors.Is(err, oplog.ErrHolder) {
			break
		}
	}
	switch {
	case errors.Is(err, oplog.ErrHolder):
		return done, oplog.Errorf(oplog.Unavailable, "other clients write the same keys all the time; retry")
	case errors.Is(err, oplog.ErrKeyReused):
		return done, keyReused(err)
	case err != nil:
		return done, keyConflict(k.c, err)
	}
	done.before, done.after, done.texts = make([]oplog.Result, len(k.steps)), make([]oplog.Result, len(k.steps)), make([]string, len(k.steps))
	next, made := 0, k.made
	for i, st := range k.steps {
		if st.Op != store {
			done.before[i] = done.Results[next]
			next++
		}
		if st.Op == store || bringsMemory(&st) {
			done.texts[i], made = made[0].Text, made[1:]
		}
	}
	for i, st := range k.steps {
		if done.after[i] = done.before[i]; st.Op != "get" {
			done.after[i] = done.Results[next]
			next++
		}
	}
	return done, nil
}

// keyConflict returns the error for a failed condition on a key. It names the memory under the key, or the memory
// that blocks the key, if the caller may read it.
func keyConflict(c api.Caller, err error) error {
	var e *oplog.Error
	if !errors.As(err, &e) || e.Found == nil {
		return err
	}
	code := "precondition_failed"
	if errors.Is(err, oplog.ErrPathTaken) {
		code = "key_taken"
	}
	if !c.May(api.Read) {
		return &api.Refusal{Code: code, Err: err}
	}
	more, f, there := map[string]any{"found": false}, e.Found, "no memory has it"
	if f.RID != "" {
		there = fmt.Sprintf("%s is there, at revision %d", f.Path, f.Revision)
		more["found"], more["rid"], more["key"], more["revision"], more["sha256"] = true, f.RID, f.Path, f.Revision, f.SHA256
	}
	return &api.Refusal{Code: code, Err: oplog.Errorf(e.Kind, "%s: %s", e.Text, there), More: more}
}

// checkKey rejects a text that is not a valid key.
func checkKey(path string) error {
	if err := oplog.CheckPath(path); err != nil {
		return err
	}
	if !norm.NFC.IsNormalString(path) {
		return oplog.Errorf(oplog.Invalid, "key is not in Unicode form NFC")
	}
	return nil
}

// prepare checks the steps, and makes the memories that they store.
func (k *keyedBatch) prepare(ctx context.Context) error {
	if len(k.steps) > MaxBatch {
		return oplog.Errorf(oplog.TooLarge, "batch of %d steps is over %d", len(k.steps), MaxBatch)
	}
	secrets, err := k.s.redactor(k.c.DB)
	if err != nil {
		return err
	}
	written := map[[2]string]bool{}
	for i := range k.steps {
		if err := k.check(&k.steps[i], written); err != nil {
			return err
		}
	}
	var drafts []api.Draft
	if err := k.s.state.Inspect(func(v *state.View) {
		for _, st := range k.steps {
			if st.Op == store {
				drafts = append(drafts, *st.Memory)
				secrets.draft(&drafts[len(drafts)-1], false)
			}
			if bringsMemory(&st) {
				m, held := v.Keyed(k.c.DB, st.Namespace, st.Path)
				d := *st.Memory
				if d.Namespace, d.Path, d.Key = st.Namespace, st.Path, ""; held {
					d.History = nil // the memory that is here has its own past
				}
				secrets.draft(&d, held && secrets.covers(m.Type, m.Metadata))
				drafts = append(drafts, d)
			}
		}
	}); err != nil {
		return err
	}
	k.redacted = secrets.found.Kinds()
	k.made, err = k.s.prepareDrafts(ctx, k.c, drafts)
	return err
}

// check completes a step and rejects one that can never succeed. written has the keys of the steps before.
func (k *keyedBatch) check(st *api.BatchStep, written map[[2]string]bool) error {
	st.Namespace = orDefault(st.Namespace)
	if st.IfSHA256 = strings.ToLower(st.IfSHA256); st.IfSHA256 != "" {
		if b, err := hex.DecodeString(st.IfSHA256); err != nil || len(b) != sha256.Size {
			return oplog.Errorf(oplog.Invalid, "if_sha256: want 64 hex digits")
		}
	}
	keys := []string{st.Path}
	switch {
	case st.Op == store:
		return nil
	case st.Op == "rename" && st.Memory != nil && st.To == st.Path:
		return oplog.Errorf(oplog.Invalid, "rename of %s to itself changes nothing: put the memory", st.Path)
	case st.Op == "rename":
		keys = append(keys, st.To)
	case st.Op == "put" && st.Memory == nil:
		return oplog.Errorf(oplog.Invalid, "put of %s needs a memory", st.Path)
	case st.Op == "get":
		return cmp.Or(checkKey(st.Path), oplog.CheckNames(st.Namespace))
	}
	for i, path := range keys {
		at := [2]string{st.Namespace, path}
		if err := checkKey(path); err != nil {
			return err
		}
		if written[at] && (i == 0 || path != st.Path) {
			return oplog.Errorf(oplog.Invalid, "two steps write the key %s", path)
		}
		written[at] = true
	}
	return cmp.Or(oplog.CheckNames(st.Namespace), checkSize("reason", len(st.Reason), MaxReason))
}

// decide makes the operations: for each step the condition on its key, then for each that writes what it writes. There
// are as many whatever the state is, so the results of a repeated request are found in their places.
func (k *keyedBatch) decide(v *state.View) (ops []oplog.Op) {
	var writes []oplog.Op
	var draft *oplog.Remember
	now, made := oplog.At(k.s.now()), k.made
	for _, st := range k.steps {
		if st.Op == store {
			writes, made = append(writes, made[0]), made[1:]
			continue
		}
		guard := &oplog.Keyed{Namespace: st.Namespace, Path: st.Path, IfAbsent: st.IfAbsent, IfRevision: st.IfRevision,
			IfSHA256: st.IfSHA256}
		ops = append(ops, guard)
		if st.Op == "get" {
			continue
		}
		m, held := v.Keyed(k.c.DB, st.Namespace, st.Path)
		if !held {
			m = &oplog.Memory{}
		}
		guard.Holder = &m.RID
		if bringsMemory(&st) {
			draft, made = made[0], made[1:]
		}
		write := oplog.Op(&oplog.Keyed{Namespace: st.Namespace, Path: st.Path}) // nothing is to be written
		switch {
		case st.Op == "put":
			switch {
			case !held:
				write = draft
			case k.newer && st.Memory.History != nil && st.Memory.History.Revision <= m.Revision,
				len(st.Memory.Embedding) == 0 && unchanged(m, draft, st.Memory):
				guard.At = &m.Revision
			default:
				write = correction(m, draft, &st, now)
			}
		case st.Op == "rename" && held && st.To != st.Path:
			op := &oplog.Correct{RID: m.RID, At: now}
			if bringsMemory(&st) {
				op = correction(m, draft, &st, now)
			}
			op.Path, op.Reason = &st.To, cmp.Or(st.Reason, "renamed")
			write = op
		case st.Op == "rename":
			guard.Must = true
		case held:
			write = &oplog.Forget{RID: m.RID, At: now, Reason: st.Reason}
		}
		writes = append(writes, write)
	}
	return append(ops, writes...)
}

// bringsMemory reports whether a step brings a memory to make of the one that has the key.
func bringsMemory(st *api.BatchStep) bool {
	return st.Memory != nil && (st.Op == "put" || st.Op == "rename")
}

// unchanged reports whether a memory is already what a put makes of it.
func unchanged(m *oplog.Memory, to *oplog.Remember, said *api.Draft) bool {
	return (!setsExpiry(said) || m.Expires == to.Expires) && (said.Searchable == nil || m.Unsearchable == to.Unsearchable) &&
		m.Text == to.Text && m.Importance == to.Importance && m.Valence == to.Valence && m.Certainty == to.Certainty && m.Pin == to.Pin &&
		string(orObject(m.Metadata)) == string(orObject(to.Metadata)) && string(m.Attributes) == string(to.Attributes)
}

// correction returns the correction that gives a memory the content of a put.
func correction(m *oplog.Memory, to *oplog.Remember, st *api.BatchStep, now oplog.Time) *oplog.Correct {
	op := &oplog.Correct{RID: m.RID, Importance: &to.Importance, Valence: &to.Valence, Certainty: &to.Certainty, Pin: &to.Pin,
		Metadata: orObject(to.Metadata), Attributes: orObject(to.Attributes), Reason: st.Reason, At: now,
		Approval: oplog.Approval{Stamp: to.Stamp}}
	if setsExpiry(st.Memory) {
		op.Expires = &to.Expires
	}
	if op.Searchable = st.Memory.Searchable; m.Text != to.Text || op.Searchable != nil || len(st.Memory.Embedding) > 0 {
		op.Text, op.Vector, op.Extractor, op.Entities, op.Claims = &to.Text, to.Vector, to.Extractor, to.Entities, to.Claims
	}
	return op
}

// setsExpiry reports whether a draft says when its memory expires.
func setsExpiry(said *api.Draft) bool { return said.TTL != nil || !said.Expires.IsZero() }

// orObject returns metadata or attributes for a correction: an empty object in place of nil, which would leave them
// unchanged.
func orObject(metadata []byte) []byte {
	if metadata == nil {
		return []byte("{}")
	}
	return metadata
}

func sha256Of(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
