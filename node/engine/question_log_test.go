package engine

import (
	"strings"
	"testing"
	"time"

	"github.com/cairndb/cairn/oplog"
)

// TestALongQuestionIsNotKept: the table holds thousands of questions, so a question that is too long before it is
// folded is not kept either.
func TestALongQuestionIsNotKept(t *testing.T) {
	t.Parallel()
	log := newQuestionLog()
	log.note(1, "", "who "+strings.Repeat(" ", 60_000)+"pays", nil, time.Now())
	log.note(1, "", strings.Repeat("who ", maxAskedText), nil, time.Now())
	if kept := log.gaps(1, oplog.Reach{}); len(kept) > 0 {
		t.Errorf("a question of %d bytes is kept", len(kept[0].Query))
	}
	if log.note(1, "", "who pays", nil, time.Now()); len(log.gaps(1, oplog.Reach{})) != 1 {
		t.Error("a short question is not kept")
	}
}
