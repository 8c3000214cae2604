package index_test

import (
	_ "embed"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/index/stock"
)

//go:embed testdata/probe.tsv
var probeRows string

// A probeRow is a question and the only text that answers it. The texts of all rows are in one namespace.
type probeRow struct{ kind, language, question, text string }

// TestProbe asks 200 questions of ten kinds in more than ten languages. For each kind, nine of ten questions must
// find their text among the first ten hits. It logs the results of stock Bleve and, if sqlite3 is installed, of FTS5
// with trigrams.
func TestProbe(t *testing.T) {
	t.Parallel()
	var rows []probeRow
	for line := range strings.Lines(probeRows) {
		f := strings.Split(strings.TrimSpace(line), "\t")
		if len(f) != 4 {
			t.Fatalf("%q: want kind, language, question and text", line)
		}
		rows = append(rows, probeRow{f[0], f[1], f[2], f[3]})
	}
	ours, peers := askReplica(t, rows), map[string][]bool{"bleve": askStock(t, rows)}
	if fts5 := askTrigrams(t, rows); fts5 != nil {
		peers["fts5 trigram"] = fts5
	}
	var kinds []string
	for _, r := range rows {
		if !slices.Contains(kinds, r.kind) {
			kinds = append(kinds, r.kind)
		}
	}
	for _, kind := range kinds {
		share := func(hit []bool) float64 {
			n, hits := 0.0, 0.0
			for i, r := range rows {
				if r.kind == kind {
					if n++; hit[i] {
						hits++
					}
				}
			}
			return hits / n
		}
		line := fmt.Sprintf("%-10s hit@10 %.2f", kind, share(ours))
		for _, p := range []string{"bleve", "fts5 trigram"} {
			if hit, ok := peers[p]; ok {
				line += fmt.Sprintf(", %s %.2f", p, share(hit))
			}
		}
		t.Log(line)
		if share(ours) < .9 {
			t.Errorf("%s: fewer than nine in ten are found", kind)
		}
	}
	for i, r := range rows {
		if !ours[i] {
			t.Logf("missed: %s %s %q: %q", r.kind, r.language, r.question, r.text)
		}
	}
}

func askReplica(t *testing.T, rows []probeRow) (hit []bool) {
	r, l := openReplica(t), newLog(t)
	for i, row := range rows {
		l.add(1, remember(fmt.Sprint(i), row.text))
	}
	r.apply(l.records, len(rows))
	for i, row := range rows {
		hit = append(hit, slices.ContainsFunc(r.ask(index.Query{Text: row.question, K: 10}),
			func(h index.Hit) bool { return h.Memory.RID == fmt.Sprint(i) }))
	}
	return hit
}

func askStock(t *testing.T, rows []probeRow) (hit []bool) {
	x, err := stock.Open("")
	must(t, err)
	defer x.Close()
	for i, row := range rows {
		must(t, x.Add(fmt.Sprint(i), row.text))
	}
	for i, row := range rows {
		ids, err := x.Ask(row.question, 10)
		must(t, err)
		hit = append(hit, slices.Contains(ids, fmt.Sprint(i)))
	}
	return hit
}

// askTrigrams searches SQLite for any word of the question with three letters or more.
func askTrigrams(t *testing.T, rows []probeRow) (hit []bool) {
	path, err := exec.LookPath("sqlite3")
	if err != nil {
		t.Log("fts5 trigram: no sqlite3 here")
		return nil
	}
	var b strings.Builder
	b.WriteString("create virtual table t using fts5(x, tokenize='trigram');\n")
	for i, row := range rows {
		fmt.Fprintf(&b, "insert into t(rowid, x) values(%d, '%s');\n", i, strings.ReplaceAll(row.text, "'", "''"))
	}
	for i, row := range rows {
		var words []string
		for _, w := range strings.FieldsFunc(row.question, func(r rune) bool { return unicode.IsSpace(r) || r == '\'' || r == '"' }) {
			if len([]rune(w)) > 2 {
				words = append(words, `"`+w+`"`)
			}
		}
		fmt.Fprintf(&b, "select count(*) from (select rowid as id from t where t match '%s' order by rank limit 10) where id=%d;\n",
			strings.Join(append(words, `"\u0001none"`), " OR "), i)
	}
	c := exec.CommandContext(t.Context(), path, ":memory:")
	c.Stdin = strings.NewReader(b.String())
	out, err := c.CombinedOutput()
	lines := strings.Fields(string(out))
	if err != nil || len(lines) != len(rows) {
		t.Logf("fts5 trigram: this sqlite3 does not answer: %v %.200s", err, out)
		return nil
	}
	for _, l := range lines {
		hit = append(hit, l == "1")
	}
	return hit
}
