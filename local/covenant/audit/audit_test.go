package audit

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cairndb/cairn/oplog/suite"
)

var quiet = slog.New(slog.DiscardHandler)

func open(t testing.TB, dir string) *Log {
	t.Helper()
	l, err := Open(dir, nil, quiet)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeOnce(l) })
	return l
}

func closeOnce(l *Log) {
	select {
	case <-l.done:
	default:
		l.Close()
	}
}

var issuer = map[string]string{"display": "user@local", "pubkey": "FAe4sisG95oZ42w7buUn5qEE4TAnfTTFPiguZUHmhiF"}

func add(t testing.TB, l *Log, n int) {
	t.Helper()
	for range n {
		if err := l.Append(fmt.Sprintf("id-%d", l.Rows()), time.UnixMilli(int64(1000+l.Rows())), issuer,
			map[string]string{"type": "test<>"}); err != nil {
			t.Fatal(err)
		}
	}
}

func verify(t testing.TB, l *Log) Report {
	t.Helper()
	r, err := l.Verify()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

const vectorEvents = `{"id":"11111111-1111-4111-8111-111111111111","timestamp_ms":1714938000000,"issuer":{"display":"user@local","pubkey":"FAe4sisG95oZ42w7buUn5qEE4TAnfTTFPiguZUHmhiF"},"kind":{"type":"authentication_failed","transport":"ipc","reason":"first frame must be Authenticate"}}
{"id":"22222222-2222-4222-8222-222222222222","timestamp_ms":1714938000001,"issuer":{"display":"user@local","pubkey":"FAe4sisG95oZ42w7buUn5qEE4TAnfTTFPiguZUHmhiF"},"kind":{"type":"intent_dispatched","intent_id":"33333333-3333-4333-8333-333333333333","intent_text":"remember tea","matched_agent":null,"result_hash_hex":"2f8c1ee46c4b945040dc60e2c3bf10b6f4eb1f5dfc01b5fc483702eaca30a82e","status":"ok"}}
`

func TestChainVectors(t *testing.T) {
	tail := zeroHash
	for i, want := range [][2]string{
		{"1682f789ecd5aba3cd856b60ab2da68c776c16a59e69c3a7de0b657cecfcba92",
			"225dd701439c17f81eaa36b95294c05d9e92149e788838dc7a1fbceef84ac8bf"},
		{"1dbb056501b941bc7c13de678537937255db402f0968ba49cc8130959102ff41",
			"19e0203819a8086f530ddc39b4f19902b52b23681f68c01371fcbd87c7346ed8"},
	} {
		line := strings.Split(vectorEvents, "\n")[i]
		a := makeAnchor(tail, uint64(i), []byte(line), Event{})
		if a.Event != want[0] || a.Chain != want[1] || a.Previous != tail {
			t.Errorf("line %d: %+v", i, a)
		}
		tail = a.Chain
	}
	// Append writes the vector's lines.
	l := open(t, t.TempDir())
	var e Event
	for line := range strings.Lines(vectorEvents) {
		json.Unmarshal([]byte(line), &e)
		if err := l.Append(e.ID, time.UnixMilli(int64(e.Timestamp)), e.Issuer, e.Kind); err != nil {
			t.Fatal(err)
		}
	}
	b, _ := os.ReadFile(filepath.Join(l.dir, eventsFile))
	if string(b) != vectorEvents {
		t.Errorf("file is\n%s", b)
	}
	if r := verify(t, l); !r.Valid || r.Root != tail || r.Events != 2 || r.Anchors != 2 {
		t.Errorf("%+v", r)
	}
}

func TestTamperingShows(t *testing.T) {
	for name, c := range map[string]struct {
		change func(events, chain []string) ([]string, []string)
		want   []string
	}{
		"a changed event": {func(e, c []string) ([]string, []string) {
			e[2] = strings.Replace(e[2], "test", "best", 1)
			return e, c
		}, []string{"chain entry 2 mismatch", "chain entry 3 mismatch", "chain entry 4 mismatch"}},
		"an event removed": {func(e, c []string) ([]string, []string) { return e[:4], c },
			[]string{"chain length mismatch: 4 event(s), 5 anchor(s)", "1 dangling chain anchor(s)"}},
		"an anchor removed": {func(e, c []string) ([]string, []string) { return e, c[:4] },
			[]string{"chain length mismatch: 5 event(s), 4 anchor(s)", "chain entry 4 missing"}},
		"an event that is no JSON": {func(e, c []string) ([]string, []string) { e[4] = "{"; return e, c },
			[]string{"event line 4 parse error: unexpected end of JSON input", "chain entry 4 mismatch"}},
		"an anchor that is no JSON": {func(e, c []string) ([]string, []string) { c[1] = "x"; return e, c },
			[]string{"chain line 1 parse error: invalid character 'x' looking for beginning of value"}},
	} {
		l := open(t, t.TempDir())
		add(t, l, 5)
		read := func(name string) []string {
			b, _ := os.ReadFile(filepath.Join(l.dir, name))
			return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
		}
		ev, ch := c.change(read(eventsFile), read(chainFile))
		os.WriteFile(filepath.Join(l.dir, eventsFile), []byte(strings.Join(ev, "\n")+"\n"), 0o600)
		os.WriteFile(filepath.Join(l.dir, chainFile), []byte(strings.Join(ch, "\n")+"\n"), 0o600)
		r := verify(t, l)
		if r.Valid || fmt.Sprint(r.Failures) != fmt.Sprint(c.want) {
			t.Errorf("%s: %q, want %q", name, r.Failures, c.want)
		}
		err := l.Append("x", time.Now(), issuer, "x")
		if refused := errors.Is(err, ErrLengths); refused != (len(ev) != len(ch)) {
			t.Errorf("%s: append says %v", name, err)
		}
	}
}

// TestCrash truncates the files at points where a dying process may leave them, and opens the log again.
func TestCrash(t *testing.T) {
	whole := t.TempDir()
	l := open(t, whole)
	add(t, l, 3)
	closeOnce(l)
	ev, _ := os.ReadFile(filepath.Join(whole, eventsFile))
	ch, _ := os.ReadFile(filepath.Join(whole, chainFile))
	event := len(ev) / 3
	anchor := len(ch) / 3
	for _, cut := range [][2]int{{len(ev), len(ch)}, {len(ev) - 1, 2 * anchor}, {2*event + 1, 2 * anchor},
		{len(ev), 2 * anchor}, {len(ev), len(ch) - 1}, {len(ev), 2*anchor + 1}} {
		dir := t.TempDir()
		os.WriteFile(filepath.Join(dir, eventsFile), ev[:cut[0]], 0o600)
		os.WriteFile(filepath.Join(dir, chainFile), ch[:cut[1]], 0o600)
		l := open(t, dir)
		add(t, l, 2)
		if r := verify(t, l); !r.Valid || r.Events < 4 {
			t.Errorf("cut at %v: %+v", cut, r)
		}
	}
	// A crash leaves at most one event without an anchor. If there are two, the log makes no anchors for them.
	dir := t.TempDir()
	os.WriteFile(filepath.Join(dir, eventsFile), ev, 0o600)
	os.WriteFile(filepath.Join(dir, chainFile), ch[:anchor], 0o600)
	if err := open(t, dir).Append("x", time.Now(), issuer, "x"); !errors.Is(err, ErrLengths) {
		t.Errorf("append behind strange files: %v", err)
	}
}

func TestPurge(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir)
	add(t, l, 10)
	root := verify(t, l).Root
	if n, err := l.Purge(1000); n != 0 || err != nil || verify(t, l).Root != root {
		t.Errorf("purged %d, %v", n, err)
	}
	if n, err := l.Purge(1004); n != 4 || err != nil {
		t.Errorf("purged %d, %v; want 4", n, err)
	}
	add(t, l, 1)
	r := verify(t, l)
	if !r.Valid || r.Events != 7 || r.Root == root || l.Cutoff() != 1004 {
		t.Errorf("%+v", r)
	}
	closeOnce(l)
	// A crash between the two renames: the chain file is new, and the event file is old.
	old, _ := os.ReadFile(filepath.Join(dir, eventsFile))
	l = open(t, dir)
	l.Purge(1008)
	closeOnce(l)
	fresh, _ := os.ReadFile(filepath.Join(dir, eventsFile))
	os.WriteFile(filepath.Join(dir, eventsFile+".new"), fresh, 0o600)
	os.WriteFile(filepath.Join(dir, eventsFile), old, 0o600)
	l = open(t, dir)
	add(t, l, 1)
	if r := verify(t, l); !r.Valid || r.Events != 4 || l.Cutoff() != 1008 {
		t.Errorf("%+v", r)
	}
}

func TestLastReadsBackwards(t *testing.T) {
	l := open(t, t.TempDir())
	long := strings.Repeat("x", 200_000) // longer than readSize
	for i := range 500 {
		kind := any(i)
		if i%100 == 50 {
			kind = long
		}
		if err := l.Append(fmt.Sprint(i), time.UnixMilli(int64(i)), issuer, kind); err != nil {
			t.Fatal(err)
		}
	}
	r, err := l.Reader()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for _, c := range []struct{ limit, since, first, n uint64 }{{10, 0, 490, 10}, {1000, 0, 0, 500}, {1000, 400, 400, 100},
		{5, 499, 499, 1}, {0, 0, 0, 0}} {
		places, err := r.Last(c.limit, c.since, func(*Event) bool { return true })
		if err != nil || uint64(len(places)) != c.n {
			t.Fatalf("%+v: %d rows, %v", c, len(places), err)
		}
		for i, p := range places {
			line, err := r.At(p)
			var e Event
			if err != nil || json.Unmarshal(line, &e) != nil || e.ID != fmt.Sprint(c.first+uint64(i)) {
				t.Fatalf("%+v: row %d is %.100s, %v", c, i, line, err)
			}
		}
	}
}

func TestClockGoesBack(t *testing.T) {
	l := open(t, t.TempDir())
	l.Append("a", time.UnixMilli(5000), issuer, 1)
	l.Append("b", time.UnixMilli(1000), issuer, 2)
	var at []uint64
	l.Each(func(e *Event) { at = append(at, e.Timestamp) })
	if fmt.Sprint(at) != "[5000 5000]" {
		t.Errorf("%v", at)
	}
}

// TestAppendStaysFlat compares appends to a log of a hundred thousand rows with appends to a new one, in alternating
// rounds. A busy machine slows both down, and needs a few more rounds.
func TestAppendStaysFlat(t *testing.T) {
	suite.Full(t)
	if testing.Short() {
		t.Skip("a hundred thousand rows take seconds; -short is set")
	}
	short, long := open(t, t.TempDir()), open(t, t.TempDir())
	add(t, long, 95_000)
	take := func(l *Log) time.Duration {
		began := time.Now()
		add(t, l, 500)
		return time.Since(began)
	}
	first, last, turns := time.Hour, time.Hour, 0
	for flat := false; turns < 10 || !flat && turns < 100; turns++ {
		first, last = min(first, take(short)), min(last, take(long))
		flat = last <= 4*first
	}
	t.Logf("500 rows: %s in a new log, %s behind 95,000, after %d turns", first, last, turns)
	if last > 4*first {
		t.Errorf("appending grew from %s to %s", first, last)
	}
	if r := verify(t, long); !r.Valid || r.Events != uint64(95_000+500*turns) {
		t.Errorf("%+v", r)
	}
}

func BenchmarkAppend(b *testing.B) {
	l := open(b, b.TempDir())
	for b.Loop() {
		add(b, l, 1)
	}
}
