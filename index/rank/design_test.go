package rank

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// TestDesignHasTheWeights: the tables of DESIGN.md have each weight once, with its default, and the name in the
// column `without` turns that weight off.
func TestDesignHasTheWeights(t *testing.T) {
	page, err := os.ReadFile("DESIGN.md")
	if err != nil {
		t.Fatal(err)
	}
	cells := map[string][]string{} // keys are weights
	for _, row := range regexp.MustCompile("(?m)^\\| (?:`\\w+\\.go` )?`(\\w+)` \\| (.*) \\|$").FindAllStringSubmatch(string(page), -1) {
		if cells[row[1]] != nil {
			t.Errorf("%s has two rows", row[1])
		}
		cells[row[1]] = strings.Split(row[2], " | ")
	}
	want := map[string]string{}
	say := func(v any) string {
		s := strings.Trim(fmt.Sprint(v), "[]")
		return strings.ReplaceAll(regexp.MustCompile(`\b0\.`).ReplaceAllString(s, "."), " ", ", ")
	}
	fields := func(of any) {
		for v, i := reflect.ValueOf(of), 0; i < v.NumField(); i++ {
			if name := v.Type().Field(i).Name; v.Field(i).Kind() != reflect.Struct && name != "Generation" {
				want[name] = say(v.Field(i).Interface())
			}
		}
	}
	fields(Defaults())
	fields(DefaultWeights())
	for name, v := range map[string]any{"minPeers": minPeers, "outlierFrom": outlierFrom, "maxRelief": maxRelief, "outlierUnit": outlierUnit, "maxOutlier": maxOutlier,
		"minDeviations": minDeviations, "liftBase": liftBase, "spreadShares": spreadShares, "fillShare": fillShare, "equalsShare": equalsShare,
		"imagined": imagined, "often": often, "briefLength": briefLength, "strongHit": strongHit, "anyRow": anyRow, "byEvidence": byEvidence, "byFirst": byFirst,
		"byLead": byLead, "loneLead": loneLead, "byBehind": byBehind,
		"byBehindTimes": byBehindTimes, "unsure": unsure, "merit": merit, "nearlySame": nearlySame} {
		want[name] = say(v)
	}
	for name, value := range want {
		if row := cells[name]; len(row) == 0 || row[0] != value {
			t.Errorf("%s is %s, the page says %q", name, value, row)
		}
	}
	off := map[string]bool{}
	for name, row := range cells {
		if _, there := want[name]; !there {
			t.Errorf("%s is no weight", name)
		}
		if len(row) != 3 || row[1] == "" {
			continue
		}
		signal, set := strings.Trim(row[1], "`"), Defaults()
		if off[signal] = true; !set.Off(signal) || !reflect.ValueOf(set).FieldByName(name).IsZero() {
			t.Errorf("without %s %s still counts", signal, name)
		}
	}
	for _, signal := range Switches() {
		if !off[signal] {
			t.Errorf("no row says what %s turns off", signal)
		}
	}
}
