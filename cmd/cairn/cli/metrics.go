package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// Metrics maps each series of a node's /metrics (name and labels) to its value.
type Metrics map[string]float64

// maxMetrics bounds the bytes read from a node's /metrics.
const maxMetrics = 4 << 20

// Metrics reads the metrics of the node whose gateway is at an address. It sends no token: metrics need none, and the
// address may come from another node.
func (t *Target) Metrics(ctx context.Context, at string) (Metrics, error) {
	hc, err := t.HTTPClient()
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at+"/metrics", nil)
	if err != nil {
		return nil, Usage(err)
	}
	resp, err := hc.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", at, resp.Status)
	}
	return ReadMetrics(io.LimitReader(resp.Body, maxMetrics))
}

// ReadMetrics parses the Prometheus text format. It skips comments.
func ReadMetrics(r io.Reader) (Metrics, error) {
	m, lines := Metrics{}, bufio.NewScanner(r)
	for lines.Scan() {
		at := strings.LastIndexByte(lines.Text(), ' ')
		if at < 0 || lines.Text()[0] == '#' {
			continue
		}
		if n, err := strconv.ParseFloat(lines.Text()[at+1:], 64); err == nil {
			m[lines.Text()[:at]] = n
		}
	}
	return m, lines.Err()
}
