package main

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"net/http/pprof"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/cairndb/cairn/cmd/cairn/debug"
)

// openDebug serves Go's profiles on a unix socket.
func openDebug(ctx context.Context, h *host) (func() error, error) {
	path := filepath.Join(h.run, debug.Socket)
	if !h.fits("debug", path) {
		return nil, nil
	}
	if st, err := os.Lstat(path); err == nil && st.Mode()&fs.ModeSocket != 0 { // the home is ours alone: what is there is an earlier process's
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}
	ln, err := new(net.ListenConfig).Listen(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, ln.Close())
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
