package node_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/client"
)

// BenchmarkRecallOverBoth asks the same of the gateway and of the wire port in turn, and says what each took at its median.
func BenchmarkRecallOverBoth(b *testing.B) {
	c := start(b, 1)
	w := c.web(0)
	for i := range 20 {
		batch := make([]obj, 100)
		for j := range batch {
			batch[j] = obj{"text": fmt.Sprintf("memory %d of batch %d about topic %d and person %d", j, i, j%17, (i*j)%23)}
		}
		w.ok("POST", "/v1/remember/batch", obj{"memories": batch})
	}
	cl, err := client.Dial(b.Context(), client.Config{Addrs: []string{c.nodes[0].Addrs().Wire}, Token: secret})
	if err != nil {
		b.Fatal(err)
	}
	defer cl.Close()
	question, err := json.Marshal(obj{"query": "person 7 and topic 3", "top_k": 10})
	if err != nil {
		b.Fatal(err)
	}
	var overHTTP, overWire []time.Duration
	for b.Loop() {
		began := time.Now()
		req, err := http.NewRequest("POST", w.base+"/v1/recall", bytes.NewReader(question))
		if err != nil {
			b.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+secret)
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != http.StatusOK {
			b.Fatal(resp.StatusCode, err)
		}
		resp.Body.Close()
		overHTTP = append(overHTTP, time.Since(began))

		began = time.Now()
		q := wire.NewRecall("person 7 and topic 3")
		if _, _, err := cl.Recall(b.Context(), q); err != nil {
			b.Fatal(err)
		}
		overWire = append(overWire, time.Since(began))
	}
	b.ReportMetric(float64(median(overHTTP).Microseconds()), "http-p50-µs")
	b.ReportMetric(float64(median(overWire).Microseconds()), "wire-p50-µs")
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}
