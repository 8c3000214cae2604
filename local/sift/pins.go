package sift

import (
	"context"
	"encoding/json"
	"math"

	"github.com/cairndb/cairn/local/kit"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
)

// pinAttribute marks the memories that clients of this protocol have pinned. pinned searches for it.
const pinAttribute = "sift_pinned"

// id reads the number of a summary or an event.
func (c *call) id(name string) (uint64, error) {
	n, found, err := c.number(name)
	if err != nil || !found || n < 1 || n >= 1<<53 || n != math.Trunc(n) {
		return 0, badRequest(c.kind() + ": " + name + " must be a whole number of at least 1")
	}
	return uint64(n), nil
}

// setPin pins or unpins a memory that the workspace sees. It tries again when the memory has changed meanwhile.
func setPin(ctx context.Context, c *call) (any, error) {
	pinned := c.kind() == "pin"
	id, err := c.id("summaryId")
	if err != nil {
		return nil, err
	}
	notPinned := kit.Object{"pinned", false, "summaryId", id}
	for range maxRetries {
		kept, err := c.memoriesByID(ctx, []oplog.Seq{oplog.Seq(id)})
		if err != nil || len(kept) == 0 {
			return notPinned, err
		}
		m := kept[0].Memory
		marks := map[string]json.RawMessage{}
		if len(m.Attributes) > 0 && json.Unmarshal(m.Attributes, &marks) != nil {
			return notPinned, nil
		}
		if _, marked := marks[pinAttribute]; m.Pin == pinned && marked == pinned {
			return kit.Object{"pinned", pinned, "summaryId", id}, nil
		}
		delete(marks, pinAttribute)
		if pinned {
			marks[pinAttribute] = json.RawMessage("true")
		}
		attributes, err := json.Marshal(marks)
		if err != nil {
			return nil, err
		}
		_, err = api.Correct.Ask(ctx, c.s.cfg.Memory,
			&api.CorrectRequest{RID: m.RID, Pin: &pinned, Attributes: attributes, Expected: &m.Revision, Reason: c.kind()})
		if !isConflict(err) {
			return kit.Object{"pinned", pinned, "summaryId", id}, err
		}
	}
	return nil, errConflict
}

// pinned lists the memories that clients of this protocol have pinned, newest first.
func pinned(ctx context.Context, c *call) (any, error) {
	rows, err := c.pinnedRows(ctx)
	return kit.Object{"pinned", rows}, err
}

func (c *call) pinnedRows(ctx context.Context) ([]kit.Object, error) {
	limit, err := c.count("limit", 100, maxK)
	if err != nil || limit == 0 {
		return []kit.Object{}, err
	}
	rows, _, err := c.find(ctx, api.SearchRequest{K: limit, Match: json.RawMessage(`{"` + pinAttribute + `":true}`), Quiet: true})
	return api.Each(rows, summaryItem), err
}
