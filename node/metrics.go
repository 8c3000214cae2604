package node

import (
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/cairndb/cairn/oplog"
)

// metrics is what /metrics shows. Everything is read when it is asked for, but the times of requests.
type metrics struct {
	reg      *prometheus.Registry
	seconds  *prometheus.HistogramVec
	requests *prometheus.CounterVec
}

// gauge is a number that is read from the service.
type gauge struct {
	name, help string
	value      func(*Service) float64
}

// gauges are the numbers of this node. Those that begin with yantrikdb are known to existing dashboards.
var gauges = []gauge{
	{"cairn_applied_index", "Log index this node has applied.", func(s *Service) float64 { return float64(s.machine.applied.get()) }},
	{"cairn_indexed_index", "Log index this node can find.", func(s *Service) float64 { return float64(s.machine.indexed.get()) }},
	{"cairn_index_lag_entries", "Entries applied and not yet findable.", func(s *Service) float64 {
		a, i := s.machine.applied.get(), s.machine.indexed.get()
		return float64(a - min(a, i))
	}},
	{"cairn_commit_index", "Log index known to be committed.", func(s *Service) float64 { return float64(s.raft.Status().CommitIndex) }},
	{"cairn_apply_lag_entries", "Entries committed and not yet applied here.", func(s *Service) float64 {
		c, a := s.raft.Status().CommitIndex, uint64(s.machine.applied.get())
		return float64(c - min(a, c))
	}},
	{"cairn_term", "Current term.", func(s *Service) float64 { return float64(s.raft.Term()) }},
	{"cairn_is_leader", "1 when this node takes writes.", func(s *Service) float64 { return number(s.machine.leads()) }},
	{"cairn_has_leader", "1 when somebody leads, as far as this node knows.", func(s *Service) float64 { _, ok := s.machine.leader(); return number(ok) }},
	{"cairn_wire_connections", "Clients connected to the wire port.", func(s *Service) float64 { return float64(s.Connections()) }},
	{"cairn_write_queue", "Entries waiting to be proposed.", func(s *Service) float64 { return float64(len(s.proposer.queue)) }},
	{"cairn_lag_seconds", "How far this node is behind the leader.", func(s *Service) float64 { return s.lag().Seconds() }},
	{"cairn_uptime_seconds", "Time since the node started.", func(s *Service) float64 { return time.Since(s.started).Seconds() }},
	{"yantrikdb_engines_loaded", "Databases.", func(s *Service) float64 { return float64(s.databases()) }},
}

// perDatabase are the counters of each database.
var perDatabase = []struct {
	name, help string
	value      func(oplog.Stats) uint64
}{
	{"yantrikdb_active_memories", "Active memories.", func(st oplog.Stats) uint64 { return st.Active }},
	{"yantrikdb_consolidated_memories", "Memories merged into others.", func(st oplog.Stats) uint64 { return st.Consolidated }},
	{"yantrikdb_edges", "Relations.", func(st oplog.Stats) uint64 { return st.Edges }},
	{"yantrikdb_open_conflicts", "Open conflicts.", func(st oplog.Stats) uint64 { return st.OpenConflicts }},
	{"yantrikdb_operations_total", "Operations applied.", func(st oplog.Stats) uint64 { return st.Operations }},
}

var requestBuckets = []float64{0.0001, 0.0005, 0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60}

func newMetrics(s *Service) *metrics {
	m := &metrics{reg: prometheus.NewRegistry(),
		seconds:  prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "yantrikdb_handler_duration_seconds", Help: "Time to answer a request.", Buckets: requestBuckets}, []string{"handler"}),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "yantrikdb_requests_total", Help: "Requests answered."}, []string{"handler"}),
	}
	m.reg.MustRegister(m.seconds, m.requests, databaseCounters{s}, clusterGauges{s})
	for _, g := range gauges {
		m.reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: g.name, Help: g.help}, func() float64 { return g.value(s) }))
	}
	return m
}

func (m *metrics) handled(handler string, d time.Duration) {
	m.seconds.WithLabelValues(handler).Observe(d.Seconds())
	m.requests.WithLabelValues(handler).Inc()
}

func (m *metrics) handler() http.Handler { return promhttp.HandlerFor(m.reg, promhttp.HandlerOpts{}) }

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// databaseCounters collects the counters of all databases: their number changes.
type databaseCounters struct{ s *Service }

// Describe implements prometheus.Collector; what is collected is described by itself.
func (databaseCounters) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c databaseCounters) Collect(out chan<- prometheus.Metric) {
	_ = c.s.state.Read(func(v *oplog.View) error { // a closing state has nothing to count
		for _, d := range v.Databases() {
			st := v.Stats(d.ID)
			for _, p := range perDatabase {
				kind := prometheus.GaugeValue
				if p.name == "yantrikdb_operations_total" {
					kind = prometheus.CounterValue
				}
				out <- prometheus.MustNewConstMetric(prometheus.NewDesc(p.name, p.help, []string{"db"}, nil), kind, float64(p.value(st)), d.Name)
			}
		}
		return nil
	})
}

// clusterGauges collects what existing dashboards ask of a cluster.
type clusterGauges struct{ s *Service }

// Describe implements prometheus.Collector.
func (clusterGauges) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector. It asks nobody: what the leader heard last is what is known.
func (c clusterGauges) Collect(out chan<- prometheus.Metric) {
	id := fmt.Sprint(c.s.cfg.NodeID)
	one := func(name, help string, v float64) {
		out <- prometheus.MustNewConstMetric(prometheus.NewDesc(name, help, []string{"node_id"}, nil), prometheus.GaugeValue, v, id)
	}
	rs := c.s.raft.Status()
	_, led := c.s.machine.leader()
	one("yantrikdb_cluster_term", "Current term.", float64(rs.Term))
	one("yantrikdb_cluster_is_leader", "1 when this node takes writes.", number(c.s.machine.leads()))
	one("yantrikdb_cluster_healthy", "1 when somebody leads.", number(led))
	for _, m := range rs.Members {
		if m.ID == c.s.cfg.NodeID || !c.s.machine.leads() {
			continue
		}
		role := "voter"
		if !m.Voter {
			role = "readreplica"
		}
		out <- prometheus.MustNewConstMetric(prometheus.NewDesc("yantrikdb_cluster_peer_reachable", "1 when the peer answered lately.", []string{"addr", "role"}, nil),
			prometheus.GaugeValue, number(time.Since(m.LastSeen) < 2*c.s.cfg.Election), m.Addr, role)
	}
}
