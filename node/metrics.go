package node

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// A Metric is a line of /metrics. Those that begin with yantrikdb are known to existing dashboards.
type Metric struct {
	Name, Help string
	Kind       string // gauge, counter, histogram
	Labels     []string

	read    func(g *gateway, put func(v float64, labels ...string)) // nil for what is counted as it happens
	buckets []float64
}

// Metrics is all that /metrics shows beside the Go runtime's own: dashboards and alerts are checked against it.
func Metrics() []Metric { return metricTable }

const (
	gaugeKind     = "gauge"
	counterKind   = "counter"
	histogramKind = "histogram"
)

// metrics is the table at work: a collector of what is read when it is asked for, and the counters of what happens.
type metrics struct {
	g        *gateway
	reg      *prometheus.Registry
	descs    []*prometheus.Desc
	counters map[string]*prometheus.CounterVec
	times    map[string]*prometheus.HistogramVec
}

func newMetrics(g *gateway) *metrics {
	m := &metrics{g: g, reg: prometheus.NewRegistry(), descs: make([]*prometheus.Desc, len(metricTable)),
		counters: map[string]*prometheus.CounterVec{}, times: map[string]*prometheus.HistogramVec{}}
	for i, t := range metricTable {
		switch {
		case t.read != nil:
			m.descs[i] = prometheus.NewDesc(t.Name, t.Help, t.Labels, nil)
		case t.Name == stageSeconds:
			m.reg.MustRegister(g.s.timings.vec)
		case t.Kind == histogramKind:
			m.times[t.Name] = prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: t.Name, Help: t.Help, Buckets: t.buckets}, t.Labels)
			m.reg.MustRegister(m.times[t.Name])
		default:
			m.counters[t.Name] = prometheus.NewCounterVec(prometheus.CounterOpts{Name: t.Name, Help: t.Help}, t.Labels)
			m.reg.MustRegister(m.counters[t.Name])
		}
	}
	m.reg.MustRegister(m, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Describe implements prometheus.Collector.
func (m *metrics) Describe(out chan<- *prometheus.Desc) {
	for _, d := range m.descs {
		if d != nil {
			out <- d
		}
	}
}

// Collect implements prometheus.Collector. It asks no peer and waits for no write.
func (m *metrics) Collect(out chan<- prometheus.Metric) {
	for i, t := range metricTable {
		if t.read == nil {
			continue
		}
		kind := prometheus.GaugeValue
		if t.Kind == counterKind {
			kind = prometheus.CounterValue
		}
		t.read(m.g, func(v float64, labels ...string) {
			out <- prometheus.MustNewConstMetric(m.descs[i], kind, v, labels...)
		})
	}
}

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.reg, promhttp.HandlerOpts{EnableOpenMetrics: true})
}

func (m *metrics) handled(handler string, d time.Duration) {
	m.times["yantrikdb_handler_duration_seconds"].WithLabelValues(handler).Observe(d.Seconds())
	m.counters["yantrikdb_requests_total"].WithLabelValues(handler).Inc()
}

func (m *metrics) refused(kind string) {
	m.counters["cairn_refusals_total"].WithLabelValues(kind).Inc()
}

func (m *metrics) status(code int) {
	m.counters["cairn_http_responses_total"].WithLabelValues(strconv.Itoa(code)).Inc()
}

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// timings is how long the service's own steps take, whichever surface asked.
type timings struct{ vec *prometheus.HistogramVec }

const stageSeconds = "cairn_stage_seconds"

func newTimings() *timings {
	return &timings{prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: stageSeconds, Help: stageHelp, Buckets: requestBuckets}, []string{"stage"})}
}

// took counts a stage that began at start. Like a sync primitive it works on a nil receiver: a service without timings counts none.
func (t *timings) took(stage string, start time.Time) {
	if t != nil {
		t.vec.WithLabelValues(stage).Observe(time.Since(start).Seconds())
	}
}
