package main

import (
	"math"
	"runtime/metrics"
)

// pauses counts this process's garbage collection pauses by length.
type pauses struct{ Counts, Bounds []float64 }

// pauseReport summarizes the pauses of a period. Values are upper bounds of the runtime's histogram buckets.
type pauseReport struct {
	Count int     `json:"count"`
	P99   float64 `json:"p99_ms"`
	Max   float64 `json:"max_ms"`
}

func readPauses() pauses {
	s := []metrics.Sample{{Name: "/sched/pauses/total/gc:seconds"}}
	metrics.Read(s)
	if s[0].Value.Kind() != metrics.KindFloat64Histogram {
		return pauses{}
	}
	h := s[0].Value.Float64Histogram()
	p := pauses{Bounds: h.Buckets}
	for _, n := range h.Counts {
		p.Counts = append(p.Counts, float64(n))
	}
	return p
}

// since returns the pauses after an earlier reading.
func (p pauses) since(before pauses) (r pauseReport) {
	if len(p.Counts) != len(before.Counts) {
		return r
	}
	var total, seen float64
	for i := range p.Counts {
		total += p.Counts[i] - before.Counts[i]
	}
	r.Count = int(total)
	for i := range p.Counts {
		n := p.Counts[i] - before.Counts[i]
		if n == 0 {
			continue
		}
		end := p.Bounds[i+1] * 1000
		if math.IsInf(end, 1) {
			end = p.Bounds[i] * 1000
		}
		if seen < .99*total {
			r.P99 = end
		}
		seen += n
		r.Max = end
	}
	return r
}
