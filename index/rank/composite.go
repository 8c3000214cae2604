package rank

import (
	"math"

	"github.com/cairndb/cairn/index/exact"
)

// Weights are a database's learned weights.
type Weights struct {
	Sim, Decay, Recency float64
	GateTau             float64
	AlphaImp            float64
	KeywordBoost        float64
	Generation          uint64
}

// DefaultWeights returns the weights of a database that has learned nothing yet.
func DefaultWeights() Weights {
	return Weights{Sim: .50, Decay: .20, Recency: .30, GateTau: .25, AlphaImp: .80, KeywordBoost: .31}
}

// decay returns how much of an importance is left after elapsed seconds without access.
func decay(importance, halfLife, elapsed float64) float64 {
	if halfLife <= 0 {
		return 0
	}
	return importance * exact.Exp(-max(elapsed, 0)/halfLife*math.Ln2)
}

// recency returns 1 for a new row, and falls by a factor of e each week; age is in seconds.
func recency(age float64) float64 { return exact.Exp(-max(age, 0) / (7 * 86400)) }

// gate lets importance count only where there is a match.
func (w Weights) gate(sim float64) float64 { return 1 / (1 + exact.Exp(float64(-12*(sim-w.GateTau)))) }

func (w Weights) importance(sim, importance float64) float64 {
	return 1 + float64(float64(w.gate(sim)*w.AlphaImp)*min(importance, 1))
}

// Rarity returns the divisor of an entity's proximity: 1 + ln of its number of mentions.
func Rarity(mentions uint64) float64 { return 1 + exact.Ln(float64(max(mentions, 1))) }

// freshness returns a factor between 1 and 1+bound.
func (w Weights) freshness(decay, recency, bound float64) float64 {
	sum := w.Decay + w.Recency
	if sum <= 0 {
		return 1
	}
	share := (float64(w.Decay*min(decay, 1)) + float64(w.Recency*recency)) / sum
	return 1 + float64(bound*share)
}
