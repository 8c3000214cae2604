package mailbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/cairndb/cairn/oplog/suite"
)

func open(t *testing.T, path string) *Box {
	t.Helper()
	b, err := Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var same = func(b json.RawMessage) (json.RawMessage, error) { return b, nil }

// compactNow compacts a file that is below the size for it.
func compactNow(b *Box) {
	b.compactAt = 0
	b.compact()
}

// TestEveryCutOfTheFile opens the file truncated after each byte. All changes that were answered before are present.
func TestEveryCutOfTheFile(t *testing.T) {
	suite.Full(t)
	path := filepath.Join(t.TempDir(), "events.jsonl")
	b := open(t, path)
	for _, id := range []string{"1", "2"} {
		must(t, b.Send(1, Task{ID: id, Sender: "a", Recipient: "b", Body: json.RawMessage(`{"id":` + id + `}`)}, same))
	}
	if got, err := b.Lease(2, "b", "l1", json.RawMessage(`"b"`)); err != nil || string(got) != `{"id":1}` {
		t.Fatalf("%s, %v", got, err)
	}
	must(t, b.Post(3, Result{Task: "1", Final: true, Body: json.RawMessage(`"done"`)}))
	if got, err := b.Take(4, "a"); err != nil || string(got) != `"done"` {
		t.Fatalf("%s, %v", got, err)
	}
	must(t, b.Close())
	whole, err := os.ReadFile(path)
	must(t, err)
	for cut := range len(whole) + 1 {
		must(t, os.WriteFile(path, whole[:cut], 0o600))
		b := open(t, path)
		n := bytes.Count(whole[:cut], []byte("\n"))
		var states []string
		for _, e := range b.Queue("b", func(Entry) bool { return true }) {
			state := "queued"
			if e.Lease != nil {
				state = "leased"
			}
			states = append(states, e.ID+" "+state)
		}
		want := [][]string{nil, {"1 queued"}, {"1 queued", "2 queued"}, {"2 queued", "1 leased"}, {"2 queued"}, {"2 queued"}}[n]
		if len(states) != len(want) {
			t.Fatalf("cut at %d: %v, want %v", cut, states, want)
		}
		for i := range want {
			if states[i] != want[i] {
				t.Fatalf("cut at %d: %v, want %v", cut, states, want)
			}
		}
		if got, want := len(b.Results("a", 10)), map[bool]int{true: 1}[n == 4]; got != want {
			t.Fatalf("cut at %d: %d results wait, want %d", cut, got, want)
		}
		must(t, b.Send(5, Task{ID: "3", Sender: "a", Recipient: "b", Body: json.RawMessage(`3`)}, same)) // Open has removed the incomplete line
		must(t, b.Close())
	}
}

func TestRefusals(t *testing.T) {
	b := open(t, filepath.Join(t.TempDir(), "events.jsonl"))
	task := Task{ID: "1", Sender: "a", Recipient: "b", Body: json.RawMessage(`1`)}
	must(t, b.Send(1, task, same))
	must(t, b.Send(1, task, same))
	task.Body = json.RawMessage(`2`)
	for _, c := range []struct{ got, want error }{
		{b.Send(1, task, same), ErrDuplicate},
		{b.Post(1, Result{Task: "9"}), ErrUnknown},
		{b.Post(1, Result{Task: "1", Final: true}), ErrNotLeased},
	} {
		if !errors.Is(c.got, c.want) {
			t.Errorf("%v, want %v", c.got, c.want)
		}
	}
	b.Lease(1, "b", "l", json.RawMessage(`"b"`))
	must(t, b.Post(1, Result{Task: "1", Body: json.RawMessage(`"some"`)}))
	must(t, b.Post(1, Result{Task: "1", Final: true, Body: json.RawMessage(`"all"`)}))
	if err := b.Post(1, Result{Task: "1", Final: true}); !errors.Is(err, ErrFinal) {
		t.Errorf("%v", err)
	}
	must(t, b.Close())
	if _, err := b.Lease(1, "b", "l", nil); err != nil {
		t.Errorf("an empty queue needs no file: %v", err)
	}
	if err := b.Send(1, Task{ID: "2", Body: json.RawMessage(`1`)}, same); err == nil {
		t.Error("a closed mailbox took a task")
	}
}

// busy fills a mailbox with tasks in every state. picture returns everything that can be read from it.
func busy(t *testing.T, b *Box) {
	t.Helper()
	send := func(id, cache string) {
		must(t, b.Send(1, Task{ID: id, Sender: "a", Recipient: "b", Cache: cache, Body: json.RawMessage(`{"id":"` + id + `"}`)}, same))
	}
	for _, id := range []string{"taken", "waiting", "back", "held"} {
		send(id, "")
		if _, err := b.Lease(2, "b", "l-"+id, json.RawMessage(`"b"`)); err != nil {
			t.Fatal(err)
		}
	}
	must(t, b.Post(3, Result{Task: "taken", Final: true, Body: json.RawMessage(`"taken"`)}))
	if got, err := b.Take(4, "a"); err != nil || string(got) != `"taken"` {
		t.Fatalf("%s, %v", got, err)
	}
	must(t, b.Post(3, Result{Task: "held", Body: json.RawMessage(`"half"`)}))
	must(t, b.Post(3, Result{Task: "waiting", Final: true, Body: json.RawMessage(`"waiting"`)}))
	send("later", "")
	send("cached", "same work")
	must(t, b.Requeue(5, "back"))
}

func picture(t *testing.T, b *Box) string {
	t.Helper()
	type entry struct {
		ID      string
		Lease   *Lease
		Attempt uint32
		Body    string
	}
	var all struct {
		Queue   []entry
		Results []json.RawMessage
		Refused []string
	}
	for _, e := range b.Queue("a", func(Entry) bool { return true }) {
		all.Queue = append(all.Queue, entry{e.ID, e.Lease, e.Attempt, string(e.Body)})
	}
	all.Results = b.Results("a", 10)
	for _, id := range []string{"taken", "waiting", "unknown", "later"} {
		all.Refused = append(all.Refused, errText(b.Post(9, Result{Task: id, Final: true})))
		task, known := b.Task(id)
		all.Refused = append(all.Refused, task.Recipient, map[bool]string{true: "known"}[known])
	}
	all.Refused = append(all.Refused, errText(b.Send(9, Task{ID: "taken", Body: json.RawMessage(`{"id":"taken"}`)}, same)),
		errText(b.Send(9, Task{ID: "taken", Body: json.RawMessage(`{"other":1}`)}, same)))
	out, err := json.MarshalIndent(all, "", " ")
	must(t, err)
	return string(out)
}

func errText(err error) string {
	if err == nil {
		return "taken"
	}
	return err.Error()
}

// A compacted mailbox has the same content as before, also after it is reopened, and accepts new tasks.
func TestCompactionChangesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.jsonl")
	b := open(t, path)
	busy(t, b)
	want, long := picture(t, b), b.file.Size()
	for range 3 {
		compactNow(b)
		if got := picture(t, b); got != want {
			t.Fatalf("compacted: %s, was %s", got, want)
		}
		must(t, b.Close())
		b = open(t, path)
		if got := picture(t, b); got != want {
			t.Fatalf("read again: %s, was %s", got, want)
		}
	}
	if b.file.Size() >= long {
		t.Errorf("%d bytes became %d", long, b.file.Size())
	}
	if got, err := b.Lease(6, "b", "again", json.RawMessage(`"b"`)); err != nil || string(got) != `{"id":"back"}` {
		t.Errorf("the requeued task is the next: %s, %v", got, err)
	}
	if e := b.Queue("b", func(e Entry) bool { return e.ID == "back" }); len(e) != 1 || e[0].Attempt != 2 {
		t.Errorf("the second attempt: %+v", e)
	}
	for _, want := range []string{`{"id":"later"}`, `{"id":"cached"}`} {
		if got, err := b.Lease(6, "b", "x", json.RawMessage(`"b"`)); err != nil || string(got) != want {
			t.Errorf("got %s, %v, want %s", got, err, want)
		}
	}
	must(t, b.Post(7, Result{Task: "cached", Final: true, Body: json.RawMessage(`"answer"`)}))
	compactNow(b)
	must(t, b.Close())
	b = open(t, path)
	must(t, b.Send(8, Task{ID: "like it", Sender: "a", Recipient: "b", Cache: "same work", Body: json.RawMessage(`1`)}, same))
	if r := b.Results("a", 10); len(r) != 4 || string(r[3]) != `"answer"` {
		t.Errorf("the answer kept for idempotent tasks: %s", r)
	}
}

// The file of a mailbox in use stays short, so that opening it does not read all old tasks.
func TestTheFileStaysShort(t *testing.T) {
	suite.Full(t)
	path := filepath.Join(t.TempDir(), "events.jsonl")
	b := open(t, path)
	body, err := json.Marshal(bytes.Repeat([]byte("x"), 60<<10))
	must(t, err)
	for i := range 400 { // 32 MB of tasks that are sent and finished
		id, _ := json.Marshal(i)
		must(t, b.Send(1, Task{ID: string(id), Sender: "a", Recipient: "b", Body: body}, same))
		if _, err := b.Lease(1, "b", "l", json.RawMessage(`"b"`)); err != nil {
			t.Fatal(err)
		}
		must(t, b.Post(1, Result{Task: string(id), Final: true, Body: json.RawMessage(`1`)}))
		if _, err := b.Take(1, "a"); err != nil {
			t.Fatal(err)
		}
		if i, err := os.Stat(path); err != nil || i.Size() != b.file.Size() || b.file.Size() > minCompactSize+200<<10 {
			t.Fatalf("the file has %d bytes, counted as %d: %v", i.Size(), b.file.Size(), err)
		}
	}
}

// If no file can be created in the directory, compaction fails and the mailbox works on. Only its file grows.
func TestCompactionThatFails(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "events.jsonl")
	b := open(t, path)
	busy(t, b)
	want := picture(t, b)
	must(t, os.Mkdir(path+".new", 0o700)) // a directory with the name of the new file
	compactNow(b)
	if got := picture(t, b); got != want {
		t.Errorf("%s, was %s", got, want)
	}
	must(t, b.Send(9, Task{ID: "n", Sender: "a", Recipient: "b", Body: json.RawMessage(`1`)}, same))
	must(t, b.Close())
	b = open(t, path)
	if e := b.Queue("b", func(e Entry) bool { return e.ID == "n" }); len(e) != 1 {
		t.Error("what came after is lost")
	}
}
