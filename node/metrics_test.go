package node_test

import (
	"strings"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/cairndb/cairn/index/rerank"
	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/node/engine"
)

// TestMetricsAreTheTable checks that the metrics page has every metric of the table, with its kind and labels, and no
// others of ours.
func TestMetricsAreTheTable(t *testing.T) {
	t.Parallel()
	reranker, err := rerank.New(rerank.Config{URL: "http://127.0.0.1/rerank"}) // not asked: one answer needs no order
	if err != nil {
		t.Fatal(err)
	}
	c := startWith(t, 3, func(_ int, cfg *node.Config) {
		cfg.Embedder, cfg.Reranker, cfg.Backup.Dir = builtin(t, 64), reranker, t.TempDir()
	})
	w := c.web(c.leader())
	w.ok("POST", "/v1/remember", obj{"text": "counted"})
	w.ok("POST", "/v1/recall", obj{"query": "counted"})
	w.send("POST", "/v1/recall", obj{})
	body := scrape(t, w.base, secret)
	p := expfmt.NewTextParser(model.LegacyValidation)
	shown, err := p.TextToMetricFamilies(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range engine.MetricTable {
		f := shown[m.Name]
		if m.Name == "cairn_certificate_seconds" {
			if f != nil {
				t.Error("a node without certificates tells when they end")
			}
			continue
		}
		if f == nil {
			t.Errorf("%s is not shown", m.Name)
			continue
		}
		delete(shown, m.Name)
		if kind := strings.ToLower(f.GetType().String()); kind != m.Kind {
			t.Errorf("%s is %s, want %s", m.Name, kind, m.Kind)
		}
		var labels []string
		for _, l := range f.Metric[0].Label {
			labels = append(labels, l.GetName())
		}
		if strings.Join(labels, " ") != strings.Join(m.Labels, " ") {
			t.Errorf("%s has labels %v, want %v", m.Name, labels, m.Labels)
		}
		if f.GetHelp() == "" {
			t.Errorf("%s has no help", m.Name)
		}
	}
	for name := range shown {
		if strings.HasPrefix(name, "cairn_") || strings.HasPrefix(name, "yantrikdb_") {
			t.Errorf("%s is not in the table", name)
		}
	}
	for _, want := range []string{`yantrikdb_handler_duration_seconds_count{handler="recall"} 2`,
		`yantrikdb_requests_total{handler="remember"} 1`,
		`yantrikdb_active_memories{db="default"} 1`, `cairn_refusals_total{kind="invalid"} 1`,
		`cairn_stage_seconds_count{stage="commit"}`} {
		if !strings.Contains(body, want) {
			t.Errorf("no %s", want)
		}
	}
}
