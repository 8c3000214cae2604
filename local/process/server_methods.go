package process

import (
	"runtime"

	"github.com/cairndb/cairn/local/kit"
	"github.com/cairndb/cairn/node/api"
)

func ping(*Server) (any, error) { return kit.Object{"pong", true}, nil }

func version(s *Server) (any, error) {
	return kit.Object{"version", s.cfg.Version, "platform", runtime.GOOS, "arch", runtime.GOARCH}, nil
}

func capabilities(s *Server) (any, error) {
	names := api.Each(s.methods, func(m method) string { return m.name })
	return kit.Object{"version", s.cfg.Version, "methods", names, "features", []string{"process.stdin.offset"}}, nil
}

// shutdown sends no answer, because the connection closes.
func shutdown(s *Server) (any, error) {
	if s.cfg.Stop != nil {
		s.cfg.Stop()
	}
	s.StopReading() // the program that runs the server then calls Close
	return noAnswer{}, nil
}

// noAnswer is the result of a method that sends no answer.
type noAnswer struct{}

// A Counter is a monotonic counter for the metrics page.
type Counter struct {
	Name, Help string
	Value      func() int64
}

// Counters returns the server's counters.
func (s *Server) Counters() []Counter {
	return []Counter{
		{"claustrum_connections_total", "Connections accepted.", s.count.conns.Load},
		{"claustrum_process_spawns_total", "Processes started.", s.count.spawns.Load},
		{"claustrum_process_exits_total", "Processes ended.", s.count.exits.Load},
		{"claustrum_reattaches_total", "Reattaches to a process that was found.", s.count.reattaches.Load},
		{"claustrum_stream_bytes_total", "Bytes of output read, stdout and stderr.", s.count.output.Load},
		{"claustrum_stdin_bytes_total", "Bytes of input accepted.", s.count.input.Load},
	}
}
