package recovery

import (
	"testing"

	hraft "github.com/hashicorp/raft"
)

func BenchmarkChain(b *testing.B) {
	c := Chain{last: Link{Origin: 1}}
	r := &hraft.Log{Term: 1, Data: make([]byte, 1024)}
	for b.Loop() {
		r.Index++
		if err := c.Add([]*hraft.Log{r}); err != nil {
			b.Fatal(err)
		}
	}
}
