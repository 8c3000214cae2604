//go:build full || soak

package bench

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
)

// TestBenchLoadPrintsWhatWasAchieved uses a rate that a node cannot keep. The table and the file show the achieved
// rate, not the target.
func TestBenchLoadPrintsWhatWasAchieved(t *testing.T) {
	t.Parallel()
	p, home := cairntest.StartDev(t)
	file := filepath.Join(t.TempDir(), "figures.json")
	start := time.Now()
	out, code := cairntest.Run(t, "bench", "load", "--endpoints", p.Line.Wire, "--home", home, "--workload", "recall",
		"--clients", "1", "--fill", "10",
		"--rate", "200000", "--warm-up", "0s", "--for", "2ms", "-o", file)
	most := time.Since(start).Seconds()
	raw, err := os.ReadFile(file)
	if code != 0 || err != nil {
		t.Fatalf("exit %d, %v: %s", code, err, out)
	}
	var r LoadReport
	if err := json.Unmarshal(raw, &r); err != nil || len(r.Runs) != 1 {
		t.Fatalf("%v: %s", err, raw)
	}
	n := r.Runs[0]
	if n.Target != 200_000 || n.Requests == 0 || n.Failed != 0 {
		t.Fatalf("got %+v", n)
	}
	if least := n.Max / 1000; n.Seconds < least || n.Seconds > most {
		t.Errorf("the slowest answer came %.4f s after it was due, the command took %.4f s, and the run is said to have taken %.4f s",
			least, most, n.Seconds)
	}
	if achieved := float64(n.Requests) / n.Seconds; n.Rate != achieved || n.Rate >= n.Target {
		t.Errorf("%d requests in %.4f s are %.0f a second; told are %.0f, and asked for were %.0f", n.Requests, n.Seconds,
			achieved, n.Rate, n.Target)
	}
	if row := fmt.Sprintf("recall 1 200000 %.0f ", n.Rate); !strings.Contains(strings.Join(strings.Fields(out), " "), " "+row) {
		t.Errorf("the file says %q, the table %s", row, out)
	}
}

// TestLoadQuestionsFind: a load's questions consist of words in its memories.
func TestLoadQuestionsFind(t *testing.T) {
	l := &Loader{rng: rand.New(rand.NewPCG(1, 2))}
	var stored strings.Builder
	for k := range 100 {
		text := l.Memory(k).Text
		if n := len(strings.Fields(text)); n < 40 {
			t.Fatalf("a memory has %d words: %q", n, text)
		}
		stored.WriteString(text + " ")
	}
	for k := range words {
		for _, w := range strings.Fields(l.Question(k)) {
			if !strings.Contains(stored.String(), " "+w+" ") {
				t.Errorf("question %d asks for %q, which none of 100 memories has", k, w)
			}
		}
	}
}
