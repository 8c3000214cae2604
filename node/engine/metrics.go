package engine

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/cairndb/cairn/node/access"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/engine/operate"
)

// A Metric is a line of /metrics. Names that begin with yantrikdb are those that existing dashboards know.
type Metric struct {
	Name, Help string
	Kind       string // gauge, counter, histogram
	Labels     []string

	read    func(m scrape, put func(v float64, labels ...string)) // nil for a metric that is counted as it happens
	buckets []float64
}

const (
	gaugeKind     = "gauge"
	counterKind   = "counter"
	histogramKind = "histogram"
)

// Metrics holds the values of the table: some are read when /metrics is requested, others are counters.
type Metrics struct {
	s        *Service
	wire     *access.Conns
	Gateway  GatewayLoad // set before the gateway serves
	reg      *prometheus.Registry
	descs    []*prometheus.Desc
	counters map[string]*prometheus.CounterVec
	times    map[string]*prometheus.HistogramVec
}

// GatewayLoad reports the gateway's work in progress.
type GatewayLoad interface {
	Connections() int
	Streams() int
	Busy() int
}

// NewMetrics makes the metrics of a node whose wire port has these connections.
func NewMetrics(s *Service, wire *access.Conns) *Metrics {
	m := &Metrics{s: s, wire: wire, reg: prometheus.NewRegistry(), descs: make([]*prometheus.Desc, len(MetricTable)),
		counters: map[string]*prometheus.CounterVec{}, times: map[string]*prometheus.HistogramVec{}}
	for i, t := range MetricTable {
		switch {
		case t.read != nil:
			m.descs[i] = prometheus.NewDesc(t.Name, t.Help, t.Labels, nil)
		case t.Name == stageSeconds:
			m.reg.MustRegister(s.measured.stages)
		case t.Kind == histogramKind:
			m.times[t.Name] = prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: t.Name, Help: t.Help, Buckets: t.buckets}, t.Labels)
			m.reg.MustRegister(m.times[t.Name])
		default:
			m.counters[t.Name] = prometheus.NewCounterVec(prometheus.CounterOpts{Name: t.Name, Help: t.Help}, t.Labels)
			m.reg.MustRegister(m.counters[t.Name])
		}
	}
	m.reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Show writes the node's own lines for all callers, and those of databases for callers that may use them: a token
// sees its own, an administrator's all. Without a token they are one sum.
func (m *Metrics) Show(w http.ResponseWriter, r *http.Request, c *api.Caller) {
	if c != nil && c.Spaces.Bind() { // its database's lines count other namespaces, too
		c = nil
	}
	lines := prometheus.NewRegistry()
	lines.MustRegister(scrape{m, c})
	promhttp.HandlerFor(prometheus.Gatherers{m.reg, lines}, promhttp.HandlerOpts{EnableOpenMetrics: true}).ServeHTTP(w, r)
}

// A scrape collects values for one caller. It asks no peer and waits for no write.
type scrape struct {
	*Metrics
	caller *api.Caller // nil for one without a token
}

// Describe implements prometheus.Collector.
func (m scrape) Describe(out chan<- *prometheus.Desc) {
	for i, t := range MetricTable {
		if t.read != nil {
			out <- m.descs[i]
		}
	}
}

// Collect implements prometheus.Collector.
func (m scrape) Collect(out chan<- prometheus.Metric) {
	for i, t := range MetricTable {
		if t.read != nil {
			t.read(m, func(v float64, labels ...string) {
				out <- prometheus.MustNewConstMetric(m.descs[i], t.valueType(), v, labels...)
			})
		}
	}
}

func (t Metric) valueType() prometheus.ValueType {
	if t.Kind == counterKind {
		return prometheus.CounterValue
	}
	return prometheus.GaugeValue
}

// anyDatabase is the label of a sum over all databases. No database can have this name.
const anyDatabase = "*"

// Handled implements gateway.Metrics, as Refused, Answered and Show do.
func (m *Metrics) Handled(operation string, d time.Duration) {
	m.times["yantrikdb_handler_duration_seconds"].WithLabelValues(operation).Observe(d.Seconds())
	m.counters["yantrikdb_requests_total"].WithLabelValues(operation).Inc()
}

// Refused counts a rejection.
func (m *Metrics) Refused(kind string) {
	m.counters["cairn_refusals_total"].WithLabelValues(kind).Inc()
}

// Answered counts an answer.
func (m *Metrics) Answered(code int) {
	m.counters["cairn_http_responses_total"].WithLabelValues(strconv.Itoa(code)).Inc()
}

func boolValue(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

const stageSeconds = "cairn_stage_seconds"

func newStages() *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: stageSeconds, Help: stageHelp, Buckets: requestBuckets},
		[]string{"stage"})
}

// observeStage counts a stage of a write or a recall that began at start.
func (s *Service) observeStage(stage string, start time.Time) {
	s.measured.stages.WithLabelValues(stage).Observe(time.Since(start).Seconds())
}

// conditions returns the metric of the cluster's condition: 1 for the current one, 0 for the others.
func conditions(m scrape, put func(float64, ...string)) {
	now, _ := m.s.cluster.Condition(context.Background()) // bounded by what a status waits for a member
	for _, word := range operate.Conditions {
		put(boolValue(word == now), word)
	}
}
