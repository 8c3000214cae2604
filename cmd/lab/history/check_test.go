package history

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
)

// good is a correct history: a set and a register, with unknown outcomes and rejected attempts.
const good = `
{"op":"begin","node":2}
{"op":"add","key":"set-1","value":1,"id":"a","index":11,"from":10,"to":20}
{"op":"read","key":"set-1","mode":"linearizable","node":2,"life":1,"from":30,"to":40,"have":"1"}
{"op":"add","key":"set-1","value":2,"outcome":"unknown","from":30,"to":50}
{"op":"add","key":"set-1","value":2,"id":"b","index":15,"from":60,"to":70}
{"op":"fault","text":"kill","from":70,"to":75}
{"op":"add","key":"set-1","value":3,"outcome":"refused","from":60,"to":70}
{"op":"add","key":"set-1","value":4,"outcome":"unknown","from":60,"to":70}
{"op":"read","key":"set-1","mode":"stale","node":1,"life":1,"from":80,"to":90,"have":"1-2"}
{"op":"read","key":"set-1","mode":"index","index":11,"node":2,"life":2,"from":80,"to":90,"have":"1"}
{"op":"read","key":"set-1","mode":"index","index":15,"node":2,"life":2,"from":91,"to":99,"have":"1-2"}
{"op":"read","key":"set-1","mode":"linearizable","node":1,"life":1,"from":100,"to":110,"have":"1-2"}
{"op":"close","key":"set-1"}
{"op":"get","key":"register-1","mode":"linearizable","node":1,"life":1,"from":1,"to":2}
{"op":"write","key":"register-1","value":7,"index":20,"from":10,"to":20}
{"op":"write","key":"register-1","value":8,"outcome":"unknown","from":30,"to":40}
{"op":"get","key":"register-1","value":7,"mode":"linearizable","node":1,"life":1,"from":50,"to":60}
{"op":"get","key":"register-1","value":7,"mode":"index","index":20,"node":2,"life":1,"from":50,"to":60}
{"op":"get","key":"register-1","value":8,"mode":"linearizable","node":1,"life":1,"from":70,"to":80}
{"op":"write","key":"register-1","value":9,"index":30,"from":90,"to":100}
{"op":"get","key":"register-1","value":9,"mode":"stale","node":1,"life":1,"from":110,"to":120}
{"op":"get","key":"register-1","value":7,"mode":"stale","node":2,"life":1,"from":110,"to":120}
{"op":"close","key":"register-1"}
{"op":"final","key":"set-1","node":1,"have":"1-2,4"}
{"op":"final","key":"set-1","node":2,"have":"1-2,4"}
{"op":"final","key":"register-1","node":1,"value":9}
{"op":"final","key":"register-1","node":2,"value":9}
{"op":"end"}
`

func TestHistoryWithNothingWrong(t *testing.T) {
	t.Parallel()
	v, err := Check(strings.NewReader(good))
	if err != nil {
		t.Fatal(err)
	}
	if !v.Pass() || v.Acked != 4 || v.Retried != 1 || v.Unsure != 3 || v.Keys != 2 || v.Reads[Linearizable] != 5 || v.Reads[AtIndex] != 3 ||
		v.Reads[Stale] != 3 || v.Faults["kill"] != 1 {
		t.Errorf("%s\n%s", v, v.Details())
	}
}

// TestPlantedViolationsAreFound changes one thing in a correct history. The check finds this violation and only those
// that follow from it.
func TestPlantedViolationsAreFound(t *testing.T) {
	t.Parallel()
	const setClosed, registerClosed = `{"op":"close","key":"set-1"}`, `{"op":"close","key":"register-1"}`
	const finalSet, finalRegister = `{"op":"final","key":"set-1","node":2,"have":"1-2,4"}`, `{"op":"final","key":"register-1","node":2,"value":9}`
	for _, c := range []struct {
		what     string
		old, new string // what it reads in place of a line of the good one
		want     string
	}{
		{"an acknowledged number is gone in the end", finalSet, `{"op":"final","key":"set-1","node":2,"have":"2,4"}`, Lost},
		{"nothing of a set is left on a node", finalSet, `{"op":"final","key":"set-1","node":2}`, Lost},
		{"a register is in the end what it was before", finalRegister, `{"op":"final","key":"register-1","node":2,"value":7}`, Lost},
		{"a number is there twice in the end", finalSet, `{"op":"final","key":"set-1","node":2,"have":"1-2,4","twice":"2"}`, Twice},
		{"a number is there twice in a read", setClosed,
			`{"op":"read","key":"set-1","mode":"stale","node":1,"life":1,"from":200,"to":210,"have":"1-2","twice":"1"}` + setClosed, Twice},
		{"asked again, it has another id", setClosed,
			`{"op":"add","key":"set-1","value":2,"id":"c","index":16,"from":80,"to":90}` + setClosed, Twice},
		{"a linearizable read lacks what was acknowledged", setClosed,
			`{"op":"read","key":"set-1","mode":"linearizable","node":2,"life":3,"from":71,"to":79,"have":"1"}` + setClosed, Missed},
		{"a linearizable read is empty", setClosed,
			`{"op":"read","key":"set-1","mode":"linearizable","node":2,"life":3,"from":21,"to":29}` + setClosed, Missed},
		{"a linearizable read lacks what another has shown before", `{"op":"close","key":"set-1"}`,
			`{"op":"read","key":"set-1","mode":"stale","node":1,"life":1,"from":112,"to":115,"have":"1-2,4"}` +
				`{"op":"read","key":"set-1","mode":"linearizable","node":2,"life":3,"from":120,"to":130,"have":"1-2"}` + setClosed, Missed},
		{"a read at an index lacks what was acknowledged there", setClosed,
			`{"op":"read","key":"set-1","mode":"index","index":15,"node":2,"life":3,"from":71,"to":79,"have":"1"}` + setClosed, Behind},
		{"a register at an index is older", registerClosed,
			`{"op":"get","key":"register-1","value":7,"mode":"index","index":30,"node":2,"life":3,"from":130,"to":140}` + registerClosed, Behind},
		{"a node shows less than before", setClosed,
			`{"op":"read","key":"set-1","mode":"stale","node":1,"life":1,"from":120,"to":130,"have":"1"}` + setClosed, Back},
		{"a node shows an older register than before", registerClosed,
			`{"op":"get","key":"register-1","value":7,"mode":"stale","node":1,"life":1,"from":130,"to":140}` + registerClosed, Back},
		{"a number is there that was never asked for", setClosed,
			`{"op":"read","key":"set-1","mode":"stale","node":2,"life":3,"from":200,"to":210,"have":"1-2,9"}` + setClosed,
			Ghost + " " + Lost},
		{"a number is there before it was asked for", setClosed,
			`{"op":"read","key":"set-1","mode":"stale","node":2,"life":3,"from":11,"to":15,"have":"2"}` + setClosed, Ghost + " " + Missed},
		{"a number is there that was refused", finalSet, `{"op":"final","key":"set-1","node":2,"have":"1-4"}`, Ghost},
		{"a linearizable get is older than an acknowledged write", registerClosed,
			`{"op":"get","key":"register-1","value":7,"mode":"linearizable","node":2,"life":3,"from":130,"to":140}` + registerClosed, Disorder},
		{"the states differ", `{"op":"end"}`, `{"op":"end","text":"node 2 is at another state"}`, Different},
		{"writes do not go on", `{"op":"end"}`, `{"op":"silent","text":"after a kill"}{"op":"end"}`, Silence},
		{"the run broke off", `{"op":"end"}`, ``, Broken},
		{"a node has not shown a key in the end", finalRegister, ``, Broken},
		{"a key was not closed", registerClosed, ``, Broken},
	} {
		text := strings.Replace(good, c.old, c.new, 1)
		if text == good {
			t.Fatalf("%s: the line is not there", c.what)
		}
		v, err := Check(strings.NewReader(text))
		if err != nil {
			t.Errorf("%s: %v", c.what, err)
			continue
		}
		if c.what == "a key was not closed" { // its finals come before it is judged
			delete(v.Counts, Lost)
		}
		got := strings.Join(slices.Sorted(maps.Keys(v.Counts)), " ")
		if v.Pass() || got != c.want {
			t.Errorf("%s: found %s, want %s\n%s", c.what, got, c.want, v.Details())
		}
		if line := v.String(); !strings.HasPrefix(line, "FAIL: ") || !strings.Contains(line, strings.Fields(c.want)[0]) {
			t.Errorf("%s: %s", c.what, line)
		}
	}
}

func TestHistoryIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	var have Bits
	have.Add(0, 1, 2, 63, 64, 65, 200)
	for _, r := range []Record{{Op: Read, Key: "set-1", Have: have}, {Op: Read, Key: "set-1"}} {
		if err := json.NewEncoder(&b).Encode(r); err != nil {
			t.Fatal(err)
		}
	}
	want := `{"op":"read","key":"set-1","have":"0-2,63-65,200"}` + "\n" + `{"op":"read","key":"set-1"}` + "\n"
	if b.String() != want {
		t.Errorf("%s\nwant\n%s", b.String(), want)
	}
	var back Bits
	if err := back.UnmarshalText([]byte(have.String())); err != nil || back.String() != have.String() {
		t.Errorf("%v, %v: want %v", back, err, have)
	}
}

func TestBrokenHistoriesAreRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`{"op":"read"`, `{"op":"sing"}`, `{"op":"add","value":-1}`, `{"op":"read","have":"3-1"}`,
		`{"op":"read","have":"1-99999999999"}`, `{"op":"read","have":"x"}`} {
		if v, err := Check(strings.NewReader(text)); err == nil {
			t.Errorf("%s: %s", text, v)
		}
	}
}
