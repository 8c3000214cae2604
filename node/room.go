package node

import "context"

// room is memory for what clients send that is large: who wants some waits for it in turn.
type room struct {
	turn  chan struct{}
	units chan struct{}
}

const (
	roomUnit  = 1 << 20
	roomUnits = 256 // over all connections
)

func newRoom() *room {
	return &room{turn: make(chan struct{}, 1), units: make(chan struct{}, roomUnits)}
}

// take waits until there is room for n bytes, and returns what gives it back.
func (r *room) take(ctx context.Context, n int) (release func(), ok bool) {
	want := (n + roomUnit - 1) / roomUnit
	select {
	case r.turn <- struct{}{}: // one at a time fills up: two halves would wait for each other
	case <-ctx.Done():
		return nil, false
	}
	defer func() { <-r.turn }()
	give := func(n int) {
		for range n {
			<-r.units
		}
	}
	for got := range want {
		select {
		case r.units <- struct{}{}:
		case <-ctx.Done():
			give(got)
			return nil, false
		}
	}
	return func() { give(want) }, true
}
