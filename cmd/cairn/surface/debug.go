package surface

import (
	"context"
	"net/http"
	"net/http/pprof"
	"path/filepath"
	"sync"
	"time"

	"github.com/cairndb/cairn/cmd/cairn/debug"
	"github.com/cairndb/cairn/local/serve"
)

// openDebug serves Go's profiles on a unix socket.
func openDebug(_ context.Context, h *host) (func() error, error) {
	path := filepath.Join(h.run, debug.Socket)
	if !h.socketPathFits("debug", path) {
		return nil, nil
	}
	ln, err := serve.Claim(path, nil) // the home belongs to this node, so an existing socket is from an earlier process
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	var wg sync.WaitGroup
	wg.Go(func() { _ = srv.Serve(ln) }) // ends with Close
	return func() error {
		err := srv.Close()
		wg.Wait()
		return err
	}, nil
}
