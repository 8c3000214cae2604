package raft

import (
	"errors"
	"fmt"

	hraft "github.com/hashicorp/raft"
)

// Errors that callers test for.
var (
	ErrNotLeader      = errors.New("not the leader")
	ErrNoLeader       = errors.New("no leader elected")
	ErrUnknownOutcome = errors.New("leadership was lost while the record was under way")
	ErrUnavailable    = errors.New("the log takes no records now")
	ErrRefused        = errors.New("refused")
)

// translateError maps the library's errors to ours: either the record certainly did not enter the log, or its outcome
// is unknown.
func translateError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, hraft.ErrNotLeader):
		return ErrNotLeader
	case errors.Is(err, hraft.ErrLeadershipTransferInProgress): // for a moment no member accepts records
		return fmt.Errorf("%w: %w", ErrNoLeader, err)
	case errors.Is(err, hraft.ErrEnqueueTimeout):
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	default: // lost leadership, shut down, or aborted by a restore: the next leader may commit it
		return fmt.Errorf("%w: %w", ErrUnknownOutcome, err)
	}
}
