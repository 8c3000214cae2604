package memorystores

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire/field"
)

// deletedBy begins the reason of a deletion by this API. The actor follows.
const deletedBy = "deleted by "

// A version is the content of a memory after one change.
type version struct {
	number    uint32
	operation string
	content   string
	path      string
	by        string
	created   float64
	redacted  float64 // time of the redaction; 0 if not redacted
}

// versionsOf returns the versions of a memory, oldest first.
func (x *exchange) versionsOf(m *api.Memory) (all []version, err error) {
	since := m.Created
	add := func(number uint32, text string, metadata []byte, path string, redacted float64) {
		v := version{number: number, operation: "modified", path: path, created: since, redacted: redacted}
		if v.content, v.by = contentOf(text, metadata); number == 0 {
			v.operation = "created"
		}
		all = append(all, v)
	}
	past, err := x.AllRevisions(m.RID, "versions")
	if err != nil {
		return nil, err
	}
	for _, r := range past {
		add(r.Number, r.Text, r.Metadata, r.Path, r.Erased)
		since = r.Until
	}
	add(m.Revision, m.Text, m.Metadata, m.Path, 0)
	if m.Status == oplog.Tombstoned.String() {
		v := version{number: m.Revision + 1, operation: "deleted", path: m.Path, created: m.Updated}
		if m.Reason != nil {
			v.by, _ = strings.CutPrefix(*m.Reason, deletedBy)
		}
		all = append(all, v)
	}
	return all, nil
}

func (v *version) show(store, rid string, full bool) object {
	o := object{"id": versionID(rid, v.number), "type": "memory_version", "memory_store_id": store,
		"memory_id": memoryPrefix + rid, "operation": v.operation, "path": v.path,
		"created_at": field.UnixOrNone(v.created).UTC().Format(time.RFC3339Nano),
		"created_by": object{"type": "api_actor", "api_key_id": v.by},
		"content":    nil, "content_sha256": nil, "content_size_bytes": nil, "redacted_at": nil, "redacted_by": nil}
	if v.redacted != 0 {
		o["path"], o["redacted_at"] = nil, field.UnixOrNone(v.redacted).UTC().Format(time.RFC3339Nano)
	} else if v.operation != "deleted" {
		o["content_sha256"], o["content_size_bytes"] = sha256Of(v.content), len(v.content)
		if full {
			o["content"] = v.content
		}
	}
	return o
}

// version returns the version in the path, with its store and its memory's id.
func (x *exchange) version() (s *store, rid string, v *version, err error) {
	if s, err = x.store(); err != nil {
		return nil, "", nil, err
	}
	id := x.R.PathValue("id")
	absent := oplog.Errorf(oplog.NotFound, "no memory version %.80q in the memory store %s", id, s.id)
	name, ok := strings.CutPrefix(id, versionPrefix)
	rid, number, cut := strings.Cut(name, "_")
	n, bad := strconv.ParseUint(number, 10, 32)
	if !ok || !cut || bad != nil {
		return nil, "", nil, absent
	}
	m, err := x.memory(s, memoryPrefix+rid, true)
	if err != nil {
		return nil, "", nil, err
	}
	all, err := x.versionsOf(m)
	if err != nil {
		return nil, "", nil, err
	}
	for i := range all {
		if uint64(all[i].number) == n {
			return s, rid, &all[i], nil
		}
	}
	return nil, "", nil, absent
}

func (x *exchange) getVersion() (any, error) {
	full, err := x.fullView(true)
	if err != nil {
		return nil, err
	}
	x.C.Quiet = true
	s, rid, v, err := x.version()
	if err != nil {
		return nil, err
	}
	return v.show(s.id, rid, full), nil
}

// redactVersion erases the content of a version for good. It rejects the last version, which has the current content.
func (x *exchange) redactVersion() (any, error) {
	s, rid, v, err := x.version()
	if err != nil {
		return nil, err
	}
	m, err := x.memory(s, memoryPrefix+rid, true)
	if err != nil {
		return nil, err
	}
	if v.number >= m.Revision {
		return nil, oplog.Errorf(oplog.Conflict,
			"the last version of a memory cannot be redacted: update the memory first, or erase it with POST /v1/erase")
	}
	named := object{"rids": []string{rid}, "revisions": []uint32{v.number}}
	shown, err := api.Erase.For(&x.Exchange, named)
	if err != nil {
		return nil, err
	}
	if named["confirm"] = shown.Confirm; shown.Confirm != "" { // empty if it was redacted before
		if _, err := api.Erase.For(&x.Exchange, named); err != nil {
			return nil, err
		}
		if _, _, v, err = x.version(); err != nil {
			return nil, err
		}
	}
	return v.show(s.id, rid, true), nil
}

// listVersions lists versions memory by memory. The cursor is a memory's id and the number of the next version.
func (x *exchange) listVersions() (any, error) {
	full, limit, after, err := x.pageAndView()
	if err != nil {
		return nil, err
	}
	within, err := x.createdRange()
	if err != nil {
		return nil, err
	}
	s, err := x.store()
	if err != nil {
		return nil, err
	}
	x.C.Quiet = true
	wanted := func(v *version) bool {
		operation, key := x.Params.Get("operation"), x.Params.Get("api_key_id")
		return (operation == "" || v.operation == operation) && (key == "" || v.by == key) && within(v.created) &&
			!x.Params.Has("session_id") && !x.Params.Has("service_account_id")
	}
	var rows []object
	looked := 0
	next, err := x.eachMemory(s, after, func(m *api.Memory, from uint64) (uint64, bool, error) {
		all, err := x.versionsOf(m)
		for i := range all {
			switch v := &all[i]; {
			case uint64(v.number) < from:
			case len(rows) == limit || looked == maxScanned:
				return uint64(v.number), false, err
			default:
				if looked++; wanted(v) {
					rows = append(rows, v.show(s.id, m.RID, full))
				}
			}
		}
		return 0, true, err
	})
	if err != nil {
		return nil, err
	}
	return pageOf(rows, next), nil
}

// eachMemory calls f for each memory of a store, deleted or not, from a cursor on; with memory_id in the query only
// for that one. f gets the number of the first version to return. It returns the number to continue at, and false if
// the page is full.
func (x *exchange) eachMemory(s *store, cursor string, f func(m *api.Memory, from uint64) (uint64, bool, error)) (next string, err error) {
	only := x.Params.Get("memory_id")
	rid, number, _ := strings.Cut(cursor, " ")
	from, _ := strconv.ParseUint(number, 10, 32)
	visit := func(rid string) (bool, error) {
		begin := from
		from = 0
		m, err := x.memory(s, memoryPrefix+rid, true)
		if oplog.IsKind(err, oplog.NotFound) && (only == "" || cursor != "") {
			return true, nil // it has no path, or has expired or been erased
		}
		if err != nil {
			return false, err
		}
		at, more, err := f(m, begin)
		if !more {
			next = fmt.Sprintf("%s %d", rid, at)
		}
		return more, err
	}
	if only != "" {
		_, err := visit(strings.TrimPrefix(only, memoryPrefix))
		return next, err
	}
	if rid != "" {
		if more, err := visit(rid); err != nil || !more {
			return next, err
		}
	}
	for pages := 0; pages < maxScanned/maxPageSize; pages++ {
		q := &api.RecordsRequest{Walk: api.Walk{Since: rid, Order: "asc"}, Fresh: x.Fresh}
		q.Namespace, q.Limit, q.Gone = s.id, maxPageSize, true
		page, err := api.Records.Do(x.R.Context(), x.Door, x.C, q)
		if err != nil {
			return "", err
		}
		for _, r := range page.Records {
			if more, err := visit(r.RID); err != nil || !more {
				return next, err
			}
		}
		if page.Next == nil {
			return "", nil
		}
		rid = *page.Next
	}
	return rid + " 4294967295", nil // after all versions of this memory
}
