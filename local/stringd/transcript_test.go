package stringd_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestTranscripts runs the scripts in testdata: the commands of a client and their answers. The line run [topic=t]
// sends its input with /exec and prints the code and the content. The line file name=n writes a file of the agent.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata/transcripts", func(t *testing.T, path string) {
		d := start(t, nil)
		stable := stableText(d)
		datadriven.RunTest(t, path, func(t *testing.T, td *datadriven.TestData) string {
			switch td.Cmd {
			case "file":
				var name string
				td.ScanArgs(t, "name", &name)
				p := d.home(filepath.FromSlash(name))
				if err := os.MkdirAll(filepath.Dir(p), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(p, []byte(td.Input+"\n"), 0o600); err != nil {
					t.Fatal(err)
				}
				return ""
			case "cat":
				var name string
				td.ScanArgs(t, "name", &name)
				b, err := os.ReadFile(d.home(filepath.FromSlash(name)))
				if err != nil {
					return err.Error()
				}
				return string(b)
			case "run", "meta":
				topic := "main"
				td.MaybeScanArgs(t, "topic", &topic)
				o := d.exec(topic, td.Input)
				if td.Cmd == "meta" {
					return stable(fmt.Sprint(o.Meta)) + "\n"
				}
				return stable(strings.TrimSpace(o.Code+"\n"+o.Content)) + "\n"
			}
			t.Fatalf("%s: unknown command %s", td.Pos, td.Cmd)
			return ""
		})
	})
}

var (
	uuids  = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}`)
	dates  = regexp.MustCompile(`20\d\d-\d\d-\d\d(T[0-9:.]+Z)?`)
	scores = regexp.MustCompile(`\[\d\.\d\d\]`)
	temps  = regexp.MustCompile(`daemon/tmp/c\d+`)
)

// stableText removes differences between runs: it replaces ids by numbers in order of appearance.
func stableText(d *daemon) func(string) string {
	seen := map[string]string{}
	return func(s string) string {
		s = strings.ReplaceAll(s, d.home(), "HOME")
		s = temps.ReplaceAllString(strings.ReplaceAll(s, d.dir, "DIR"), "daemon/tmp/FILE")
		s = uuids.ReplaceAllStringFunc(s, func(id string) string {
			if seen[id] == "" {
				seen[id] = fmt.Sprint("ID", len(seen)+1)
			}
			return seen[id]
		})
		return scores.ReplaceAllString(dates.ReplaceAllString(s, "DATE"), "[SCORE]")
	}
}
