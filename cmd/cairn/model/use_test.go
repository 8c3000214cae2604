package model

import (
	"testing"
	"time"

	"github.com/cairndb/cairn/node/api"
)

func TestEmbedProgress(t *testing.T) {
	t.Parallel()
	is := &api.EmbeddingAnswer{Done: 300, Of: 1000, Missing: 700, EmbedderState: &api.EmbedderState{Up: true}}
	if got, want := embedProgress(is, 100, 4*time.Second), "300 of 1000 memories, 50 a second, 14s left"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := embedProgress(is, 300, time.Second), "300 of 1000 memories"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	is.Up = false
	if got, want := embedProgress(is, 100, time.Second), "300 of 1000 memories, the model does not answer"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
