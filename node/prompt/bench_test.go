package prompt

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkWrite formats 50 memories of 200 letters in 1,000 tokens.
func BenchmarkWrite(b *testing.B) {
	var rows []Row
	for i := range mostRows {
		rows = append(rows, fact(uint64(i), strings.Repeat(fmt.Sprintf("Sentence %d of this memory tells of another thing. ", i*i), 4)))
	}
	for b.Loop() {
		Write("which sentence tells of 1764?", rows, Budget{Tokens: 1000})
	}
}

const mostRows = 50
