package standalone

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/cairndb/cairn/local/process"
)

// serveMetrics serves the server's counters over HTTP, and returns the function that stops it. If the port is taken,
// it logs that, and the server starts without metrics.
func serveMetrics(addr string, s *process.Server, log *slog.Logger) func() {
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		log.Error("[Server] metrics: listen " + addr + ": " + err.Error())
		return func() {}
	}
	log.Info("[Server] metrics: serving Prometheus counters on " + ln.Addr().String() + "/metrics")
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		for _, c := range s.Counters() {
			fmt.Fprintf(w, "# HELP %[1]s %[2]s\n# TYPE %[1]s counter\n%[1]s %[3]d\n", c.Name, c.Help, c.Value())
		}
	})
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, WriteTimeout: 30 * time.Second}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := srv.Serve(ln); err != nil && !errors.Is(err, http.ErrServerClosed) {
			log.Error("[Server] metrics: " + err.Error())
		}
	}()
	return func() { srv.Close(); <-done }
}
