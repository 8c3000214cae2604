package wireport

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire"
)

// TestARequestCutOffMayBeRepeated: a node that stops during a request answers that nothing was written, or that the
// outcome is unknown, and counts neither as its own error.
func TestARequestCutOffMayBeRepeated(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	x := Errors{Log: slog.New(slog.NewTextHandler(&log, nil))}
	for err, code := range map[error]wire.Code{
		context.Canceled: wire.CodeNoQuorum,
		fmt.Errorf("embedder: %w", context.DeadlineExceeded):            wire.CodeNoQuorum,
		&oplog.Error{Kind: oplog.UnknownOutcome, Err: context.Canceled}: wire.CodeInternal,
	} {
		op, w := x.Of(err)
		if op != wire.OpError || w.Code != code || strings.Contains(string(w.Details), "unknown_outcome") != (code == wire.CodeInternal) {
			t.Errorf("%v: %v %+v", err, op, w)
		}
		if e, known := api.Classify(err); !known || e.Kind == oplog.Internal {
			t.Errorf("%v is an error of the node's own", err)
		}
	}
	if log.Len() > 0 {
		t.Errorf("logged: %s", log.String())
	}
}

// TestEveryFieldHasItsPartner: each field of a message has its counterpart in the table.
func TestEveryFieldHasItsPartner(t *testing.T) {
	for _, ready := range translations {
		ready()
	}
	if len(translations) < 10 {
		t.Errorf("%d translations", len(translations))
	}
}
