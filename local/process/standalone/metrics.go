package standalone

import (
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"

	"github.com/cairndb/cairn/local/process"
)

// serveMetrics offers the server's counters over HTTP; a port that is taken is no reason not to start. What it returns
// ends it.
func serveMetrics(addr string, s *process.Server, log *slog.Logger) func() {
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		log.Error("[Server] metrics: listen " + addr + ": " + err.Error())
		return func() {}
	}
	log.Info("[Server] metrics: serving Prometheus counters on " + ln.Addr().String() + "/metrics")
	reg := prometheus.NewRegistry()
	for _, c := range s.Counters() {
		reg.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: c.Name, Help: c.Help}, func() float64 { return float64(c.Value()) }))
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		families, err := reg.Gather()
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		format := expfmt.NewFormat(expfmt.TypeTextPlain)
		w.Header().Set("Content-Type", string(format))
		for _, f := range families {
			if _, err := expfmt.MetricFamilyToText(w, f); err != nil {
				return // the client left
			}
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
