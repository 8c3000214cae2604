package mind

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// BenchmarkLookFor measures a text that replaces nothing, and one that may replace another.
func BenchmarkLookFor(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	var made []string
	for range 45 {
		made = append(made, fmt.Sprintf("word%dx", rng.IntN(50_000)))
	}
	for name, text := range map[string]string{"made": strings.Join(made, " "),
		"stated": "Billing is Camille's service now, ask her before touching the proration code, because invoices of last month are counted there."} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				Read(text).LookFor()
			}
		})
	}
}
