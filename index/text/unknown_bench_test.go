package text

import (
	"math/rand/v2"
	"testing"
)

// lettered returns a word that has only letters, made from a number.
func lettered(n int) string {
	var b []byte
	for n += 26 * 26 * 26; n > 0; n /= 26 {
		b = append(b, byte('a'+n%26), "aeiou"[n%5])
	}
	return string(b)
}

// BenchmarkUnknown searches 20,000 rows for a word that no row has.
func BenchmarkUnknown(b *testing.B) {
	r := rand.New(rand.NewPCG(7, 8))
	x := openAt(b, b.TempDir())
	for i := range uint32(20) {
		var rows []Row
		for j := range uint32(1000) {
			text := ""
			for range 40 {
				f := r.Float64()
				text += lettered(int(f*f*f*40_000)) + " "
			}
			rows = append(rows, Row{Row: i*1000 + j, Text: text})
		}
		apply(b, x, rows)
	}
	settle(b, x)
	for b.Loop() {
		find(b, x, Query{Text: lettered(40_000 + r.IntN(10_000))})
	}
}
