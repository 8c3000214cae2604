package bench

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/client"
)

// startRun holds the times from a node's start to its first answers.
type startRun struct {
	After string  `json:"after"`          // how it had ended
	Read  float64 `json:"first_answer_s"` // a recall, stale, that finds what it must
	Ready float64 `json:"ready_s"`
}

// measureStarts ends the node in both ways and starts it again.
func measureStarts(ctx context.Context, n *devNode, ask wire.Recall) (runs []startRun, err error) {
	for _, end := range []struct {
		name string
		sig  syscall.Signal
	}{{"SIGTERM", syscall.SIGTERM}, {"SIGKILL", syscall.SIGKILL}} {
		if err := n.end(end.sig); err != nil {
			return runs, err
		}
		addr, began := n.line.Wire, time.Now()
		up := n.launch(ctx)
		read, err := n.firstAnswer(ctx, addr, ask)
		if err != nil {
			return runs, fmt.Errorf("after %s: %w", end.name, err)
		}
		if err := <-up; err != nil {
			return runs, err
		}
		runs = append(runs, startRun{After: end.name, Read: read.Sub(began).Seconds(), Ready: time.Since(began).Seconds()})
	}
	return runs, nil
}

// firstAnswer asks until it is answered, and returns when. The node listens before it can answer, so there is nothing to wait
// for but its ports.
func (n *devNode) firstAnswer(ctx context.Context, addr string, ask wire.Recall) (at time.Time, err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	var cl *client.Client
	for cl == nil {
		if cl, err = client.Dial(ctx, client.Config{Addrs: []string{addr}, Token: n.token}); err != nil && cli.Wait(ctx, 10*time.Millisecond) != nil {
			return at, err
		}
	}
	results, _, err := cl.Recall(ctx, ask)
	at = time.Now()
	if err == nil && len(results) < ask.TopK {
		err = fmt.Errorf("%d of %d memories found", len(results), ask.TopK)
	}
	return at, errors.Join(err, cl.Close())
}
