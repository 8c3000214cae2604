package serve

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/cairndb/cairn/local/door"
)

// AcceptHTTP serves a listener. The door decides which requests reach next; reject answers the others. base is the
// parent context of all requests. end stops the server: it waits for running requests during the grace period and
// then cancels them.
func (w *Work) AcceptHTTP(ln net.Listener, d *door.Door, base context.Context, reject func(http.ResponseWriter, *http.Request, string),
	next http.Handler) (end func(grace time.Duration) error) {
	behind := http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if why := d.RejectReason(r); why != "" {
			rw.Header().Set("Connection", "close")
			reject(rw, r, why)
			return
		}
		next.ServeHTTP(rw, r)
	})
	srv := &http.Server{Handler: behind, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		BaseContext: func(net.Listener) context.Context { return base }, ErrorLog: slog.NewLogLogger(w.Log.Handler(), slog.LevelDebug)}
	w.Go(func() {
		if err := d.Serve(srv, ln, w.Log); !errors.Is(err, http.ErrServerClosed) {
			w.Log.Error("http ended", "addr", ln.Addr().String(), "err", err)
		}
	})
	return func(grace time.Duration) error {
		ctx, cancel := context.WithTimeout(context.Background(), grace)
		defer cancel()
		if srv.Shutdown(ctx) != nil {
			return srv.Close()
		}
		return nil
	}
}

// Reply sends JSON. It ignores write errors, because a client that is gone needs no answer.
func Reply(w http.ResponseWriter, status int, body []byte) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body)
}
