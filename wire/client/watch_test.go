package client_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/client"
	"github.com/cairndb/cairn/wire/field"
)

var errEnough = errors.New("enough")

// stored returns an event of the log.
func stored(index, number int) *wire.Event {
	return &wire.Event{EventType: "stored", Data: wire.JSON(fmt.Sprintf(`{"index":%d,"number":%d}`, index, number))}
}

// subscriptions runs a peer that answers each SUBSCRIBE with the next function, and records the cursors.
func subscriptions(t *testing.T, each ...func(*session, wire.Frame) bool) (p *peer, cursors func() []field.Token) {
	var mu sync.Mutex // connections are served side by side
	var from []field.Token
	p = serve(t, func(s *session, f wire.Frame) bool {
		var m wire.Subscribe
		if err := wire.Unpack(f, &m, wire.MaxPlainClient); err != nil {
			t.Error(err)
		}
		mu.Lock()
		from = append(from, m.Cursor)
		nth := min(len(from), len(each)) - 1
		mu.Unlock()
		return each[nth](s, f)
	})
	return p, func() []field.Token {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(from)
	}
}

// TestWatchTakesItsPlaceFromTheLogAlone: the index in "leader" and "lagged" events may be ahead of the events sent,
// so a watch does not resume from it. A connection that breaks after them loses no event.
func TestWatchTakesItsPlaceFromTheLogAlone(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"leader", "lagged"} {
		p, cursors := subscriptions(t, func(s *session, f wire.Frame) bool {
			s.send(f, wire.OpEvent, stored(5, 0))
			s.send(f, wire.OpEvent, &wire.Event{EventType: name, Data: wire.JSON(`{"index":7}`)})
			return false
		}, func(s *session, f wire.Frame) bool {
			for i := 5; i <= 7; i++ {
				s.send(f, wire.OpEvent, stored(i, 0))
			}
			return true
		})
		var got []string
		err := dial(t, p).Watch(t.Context(), wire.Subscribe{Cursor: 4}, func(e wire.Event) error {
			got = append(got, e.EventType+string(e.Data))
			if strings.Contains(string(e.Data), `"index":7,`) {
				return errEnough
			}
			return nil
		})
		want := []string{`stored{"index":5,"number":0}`, name + `{"index":7}`, `stored{"index":6,"number":0}`,
			`stored{"index":7,"number":0}`}
		if !errors.Is(err, errEnough) || !slices.Equal(got, want) || !slices.Equal(cursors(), []field.Token{4, 4}) {
			t.Errorf("%s: %v, cursors %v\n got %v\nwant %v", name, err, cursors(), got, want)
		}
	}
}

// TestWatchLeavesASilentServer: a watch itself detects a dead server, because there may be no other call.
func TestWatchLeavesASilentServer(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	var hear atomic.Bool
	hear.Store(true)
	silent := serveAuth(t, hear.Load, func(s *session, f wire.Frame) bool {
		s.send(f, wire.OpEvent, stored(5, 0))
		hear.Store(false)
		return true
	})
	alive, _ := subscriptions(t, func(s *session, f wire.Frame) bool {
		s.send(f, wire.OpEvent, stored(5, 0))
		s.send(f, wire.OpEvent, stored(6, 0))
		return true
	})
	var got []string
	err := dial(t, silent, alive).Watch(suite.Context(t), wire.Subscribe{Cursor: 4}, func(e wire.Event) error {
		if got = append(got, string(e.Data)); len(got) == 2 {
			return errEnough
		}
		return nil
	})
	if want := []string{`{"index":5,"number":0}`, `{"index":6,"number":0}`}; !errors.Is(err, errEnough) || !slices.Equal(got, want) {
		t.Errorf("%v: got %v, want %v", err, got, want)
	}
}

// TestWatchWaitsWhereItIsTold: after a rate limit error, a watch retries at the time in the error.
func TestWatchWaitsWhereItIsTold(t *testing.T) {
	t.Parallel()
	p, cursors := subscriptions(t, func(s *session, f wire.Frame) bool {
		s.send(f, wire.OpError,
			&wire.Error{Code: wire.CodeInternal, Message: "too many requests", Details: wire.JSON(`{"retry_after_ms":30}`)})
		return true
	}, func(s *session, f wire.Frame) bool {
		s.send(f, wire.OpEvent, stored(5, 0))
		return true
	})
	err := dial(t, p).Watch(t.Context(), wire.Subscribe{Cursor: 4}, func(wire.Event) error { return errEnough })
	if !errors.Is(err, errEnough) || len(cursors()) != 2 {
		t.Errorf("%v after %v", err, cursors())
	}
}

// TestCloseEndsAWatch: Close also ends a watch, which has its own connection.
func TestCloseEndsAWatch(t *testing.T) {
	t.Parallel()
	p, _ := subscriptions(t, func(s *session, f wire.Frame) bool {
		s.send(f, wire.OpEvent, stored(5, 0))
		return true
	})
	c, ended := dial(t, p), make(chan error, 1)
	first := make(chan struct{})
	go func() {
		ended <- c.Watch(suite.Context(t), wire.Subscribe{Cursor: 4}, func(wire.Event) error {
			close(first)
			return nil
		})
	}()
	suite.Receive(t, "an event", first)
	c.Close()
	if err := suite.Receive(t, "the watch to end", ended); !errors.Is(err, client.ErrClosed) {
		t.Errorf("it ends with %v", err)
	}
}

// TestWatchMissesNoEventOfARecord: after a reconnect within a record, a delivered event does not come again, because
// its memory no longer passes the filter.
func TestWatchMissesNoEventOfARecord(t *testing.T) {
	t.Parallel()
	p, _ := subscriptions(t, func(s *session, f wire.Frame) bool {
		s.send(f, wire.OpEvent, stored(5, 0))
		s.send(f, wire.OpEvent, stored(5, 1))
		return false
	}, func(s *session, f wire.Frame) bool {
		s.send(f, wire.OpEvent, stored(5, 1))
		s.send(f, wire.OpEvent, stored(5, 2))
		s.send(f, wire.OpEvent, stored(6, 0))
		return true
	})
	var got []string
	err := dial(t, p).Watch(suite.Context(t), wire.Subscribe{Cursor: 4}, func(e wire.Event) error {
		if got = append(got, string(e.Data)); strings.Contains(got[len(got)-1], `"index":6`) {
			return errEnough
		}
		return nil
	})
	want := []string{`{"index":5,"number":0}`, `{"index":5,"number":1}`, `{"index":5,"number":2}`, `{"index":6,"number":0}`}
	if !errors.Is(err, errEnough) || !slices.Equal(got, want) {
		t.Errorf("%v: got %v, want %v", err, got, want)
	}
}
