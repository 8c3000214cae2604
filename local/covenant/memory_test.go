package covenant_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cairndb/cairn/index/embed"
	"github.com/cairndb/cairn/local/covenant"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/wire/field"
)

var recordKeys = []string{"created_at", "embedding", "id", "metadata", "owner", "parent", "text", "tier"}

func keys(o object) (out []string) {
	for k := range o {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

func texts(rs []object) (out []string) {
	for _, r := range rs {
		out = append(out, r["text"].(string))
	}
	return out
}

func TestIntentWithoutEvidence(t *testing.T) {
	t.Parallel()
	c := start(t).operator()
	r := c.intent("remember tea <&> \u2028")
	if got, want := strings.Join(keys(r), ","), "intent_id,kind,settlement,sources,status,text"; got != want {
		t.Errorf("keys %s, want %s", got, want)
	}
	if r["text"] != "phase 0 echo (no agent matched): remember tea <&> \u2028" || len(r["sources"].([]any)) != 0 || r["settlement"] != nil {
		t.Errorf("%v", r)
	}
	rec := c.records(`{"kind":"recent_memory"}`)[0]
	if !slices.Equal(keys(rec), recordKeys) {
		t.Errorf("record keys %v", keys(rec))
	}
	meta := rec["metadata"].(object)
	if rec["id"] != r["intent_id"] || rec["text"] != r["text"] || rec["tier"] != "working" || rec["parent"] != nil ||
		meta["intent_text"] != "remember tea <&> \u2028" || meta["status"] != "ok" || meta["agent_id"] != nil {
		t.Errorf("%v", rec)
	}
	c.send(`{"kind":"recent_memory"}`)
	if raw := string(c.recv()); !strings.Contains(raw, "<&>") || !strings.Contains(raw, `"embedding":[]`) ||
		!strings.Contains(raw, `"parent":null`) {
		t.Errorf("bytes: %s", raw)
	}
	rc := list(c.want("receipts", `{"kind":"recent_receipts"}`)["receipts"])
	if len(rc) != 1 || rc[0]["memory_record_id"] != r["intent_id"] || rc[0]["credits_consumed"] != 1.0 || rc[0]["resource"] != "memory" {
		t.Errorf("receipts %v", rc)
	}
	if got, want := strings.Join(keys(rc[0]), ","), "batch_id,chain,cluster,confirmed_at,credits_consumed,id,memory_record_id,merkle_root,onchain_sig,payer,resource,settled_at,slot,tx_sig"; got != want {
		t.Errorf("receipt keys %s", got)
	}
	row := c.lastAudit()
	if row["type"] != "intent_dispatched" || row["intent_id"] != r["intent_id"] || row["matched_agent"] != nil || row["status"] != "ok" ||
		len(row["result_hash_hex"].(string)) != 64 {
		t.Errorf("%v", row)
	}
	if empty := c.intent(""); empty["text"] != "phase 0 echo (no agent matched): " {
		t.Errorf("%v", empty)
	}
}

func TestIntentQuotesItsSources(t *testing.T) {
	t.Parallel()
	c := start(t).operator()
	long := c.intent("Alice leads the payments team " + strings.Repeat("ü", 2000))
	r := c.intent("who leads the payments team")
	if r["sources"].([]any)[0] != long["intent_id"] {
		t.Fatalf("sources %v, want %v", r["sources"], long["intent_id"])
	}
	want := "[1] " + string([]rune(long["text"].(string))[:1000])
	if r["text"] != want {
		t.Errorf("text %q, want %q", r["text"], want)
	}
	rec := c.records(`{"kind":"recent_memory","limit":1}`)[0]
	meta := rec["metadata"].(object)
	if rec["text"] != r["text"] || rec["id"] != r["intent_id"] || meta["derived"] != true ||
		meta["source_ids"].([]any)[0] != long["intent_id"] {
		t.Errorf("%v", rec)
	}
	again := c.intent("who leads the payments team")
	if len(again["sources"].([]any)) != 1 || again["sources"].([]any)[0] != long["intent_id"] {
		t.Errorf("an answer was quoted as evidence: %v", again["sources"])
	}
	if found := c.records(`{"kind":"search_memory","query":"who leads the payments team","min_relevance":0.99}`); len(found) == 0 {
		t.Error("an intent's own text does not find its answer")
	}
}

func TestIgnoredIntentLeavesNothing(t *testing.T) {
	t.Parallel()
	d := start(t)
	c := d.operator()
	r := c.intent("read src/.env aloud")
	if r["status"] != "ignored" || r["text"] != "ignored by .covenantignore rule: **/.env" || r["settlement"] != nil ||
		len(r["sources"].([]any)) != 0 {
		t.Errorf("%v", r)
	}
	if got := c.want("intent_result",
		`{"kind":"submit_intent","text":"read src/.env aloud","prefer_stream":true}`); got["status"] != "ignored" {
		t.Errorf("streamed: %v", got)
	}
	if rs := c.records(`{"kind":"recent_memory"}`); len(rs) != 0 {
		t.Errorf("memories %v", rs)
	}
	if row := c.lastAudit(); row["type"] != "intent_ignored" || row["matched_pattern"] != "**/.env" {
		t.Errorf("%v", row)
	}
	if got := c.call(`{"kind":"ignore_check","text":"nothing here"}`); got["ignored"] != false || got["matched_pattern"] != nil ||
		got["rules_loaded"] != 12.0 {
		t.Errorf("%v", got)
	}
	os.WriteFile(filepath.Join(d.cfg.Home, ".covenantignore"), []byte("*.log\n!keep.log\n"), 0o600)
	if got := c.call(`{"kind":"ignore_check","text":"keep.log"}`); got["ignored"] != false || got["matched_pattern"] != "!keep.log" ||
		got["rules_loaded"] != 2.0 {
		t.Errorf("%v", got)
	}
}

func TestRecentMemory(t *testing.T) {
	t.Parallel()
	d := start(t)
	at := time.UnixMilli(1_700_000_000_000)
	put := func(rid, text, tier string, ms int) {
		q := &api.RememberRequest{Draft: api.Draft{RID: rid, Text: text, Tier: tier,
			Created: field.Date{Time: at.Add(time.Duration(ms) * time.Millisecond)}}}
		if _, err := api.Remember.Ask(t.Context(), d.cfg.Memory, q); err != nil {
			t.Fatal(err)
		}
	}
	put("33333333-3333-4333-8333-333333333333", "c", "", 5)
	put("11111111-1111-4111-8111-111111111111", "a", "episodic", 5)
	put("not a uuid", "b", "hot", 7)
	put("22222222-2222-4222-8222-222222222222", "d", "", 6)
	c := d.operator()
	all := c.records(`{"kind":"recent_memory","limit":10}`)
	if got := fmt.Sprint(texts(all)); got != "[b d a c]" {
		t.Errorf("order %s: newest first, ties by id", got)
	}
	if all[0]["tier"] != "longterm" || all[0]["metadata"].(object)["source_id"] != "not a uuid" ||
		all[0]["owner"].(object)["display"] != "user@local" {
		t.Errorf("another protocol's memory: %v", all[0])
	}
	for body, want := range map[string]string{
		`{"kind":"recent_memory","limit":0}`:                    "[]",
		`{"kind":"recent_memory","limit":2}`:                    "[b d]",
		`{"kind":"recent_memory","limit":3}`:                    "[b d a]",
		`{"kind":"recent_memory","tier":"longterm"}`:            "[b d c]",
		`{"kind":"recent_memory","tier":"episodic"}`:            "[a]",
		`{"kind":"recent_memory","tier":"working"}`:             "[]",
		`{"kind":"recent_memory","limit":18446744073709551615}`: "[b d a c]",
	} {
		if got := fmt.Sprint(texts(c.records(body))); got != want {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
	bob, _ := d.enroll("bob@local", "memory.read", "memory.write")
	if rs := bob.records(`{"kind":"recent_memory"}`); len(rs) != 0 {
		t.Errorf("a peer sees the operator's: %v", rs)
	}
	bob.intent("mine alone")
	if rs := c.records(`{"kind":"search_memory","query":"mine alone"}`); len(rs) != 0 {
		t.Errorf("the operator sees a peer's: %v", rs)
	}
	if rs := bob.records(`{"kind":"recent_memory"}`); len(rs) != 1 || rs[0]["owner"].(object)["display"] != "bob@local" {
		t.Errorf("a peer's own: %v", rs)
	}
}

func TestSearchIsMonotone(t *testing.T) {
	t.Parallel()
	d := start(t, func(c *covenant.Config) { c.ShowScore = true })
	c := d.operator()
	for i := range 30 {
		c.intent(fmt.Sprintf("note %d about tea %s %s", i, strings.Repeat("kettle ", i%4), strings.Repeat("and other things ", i%7)))
	}
	whole := c.records(`{"kind":"search_memory","query":"tea kettle","limit":100}`)
	if len(whole) < 10 {
		t.Fatalf("only %d found", len(whole))
	}
	score := func(r object) float64 { return r["metadata"].(object)["_score"].(float64) }
	for i := range whole {
		if s := score(whole[i]); s <= 0 || s > 1 || i > 0 && s > score(whole[i-1]) {
			t.Errorf("score %d is %f", i, s)
		}
	}
	for _, least := range []float64{-1, 0, 0.1, 0.2, 0.3, 0.35, 0.4, 0.5, 0.6, 0.8, 0.99, 1, 1.5} {
		got := c.records(fmt.Sprintf(`{"kind":"search_memory","query":"tea kettle","limit":100,"min_relevance":%g}`, least))
		for i, r := range got {
			if r["id"] != whole[i]["id"] || score(r) < least {
				t.Fatalf("threshold %g: row %d is %v", least, i, r)
			}
		}
		if len(got) < len(whole) && score(whole[len(got)]) > least+0.01 { // scores decrease within seconds
			t.Errorf("threshold %g cuts at %f", least, score(whole[len(got)]))
		}
		if least > 1 && len(got) > 0 {
			t.Errorf("threshold %g leaves %d", least, len(got))
		}
	}
	exact := c.records(`{"kind":"search_memory","query":"` + whole[7]["text"].(string) + `","min_relevance":0.99}`)
	if len(exact) == 0 || exact[0]["text"] != whole[7]["text"] {
		t.Errorf("the very text: %v", exact)
	}
	for _, q := range []string{"", "  \\n\\t", "zzzzqqqq"} {
		if rs := c.records(`{"kind":"search_memory","query":"` + q + `"}`); len(rs) != 0 {
			t.Errorf("%q finds %v", q, texts(rs))
		}
	}
	if rs := c.records(`{"kind":"search_memory","query":"tea","limit":3}`); len(rs) != 3 {
		t.Errorf("limit 3 gives %d", len(rs))
	}
}

func TestPurgeMemory(t *testing.T) {
	t.Parallel()
	d := start(t)
	c := d.operator()
	bob, _ := d.enroll("bob@local", "memory.read", "memory.write", "memory.purge")
	c.intent("the operator's zebra")
	bob.intent("bob's zebra")
	at := uint64(time.Now().UnixMilli()) + 1000
	if r := bob.want("memory_purged", `{"kind":"purge_memory","tier":"longterm","before_ms":`+fmt.Sprint(at)+`}`); r["purged"] != 0.0 {
		t.Errorf("%v", r)
	}
	if r := bob.want("memory_purged", `{"kind":"purge_memory","tier":"working","before_ms":`+fmt.Sprint(at)+`}`); r["purged"] != 1.0 {
		t.Errorf("a peer purged %v, want its own", r["purged"])
	}
	if row := bob.lastAudit(); row["type"] != "memory_purged" || row["tier"] != "working" || row["purged"] != 1.0 {
		t.Errorf("%v", row)
	}
	if rs := c.records(`{"kind":"search_memory","query":"zebra"}`); len(rs) != 1 {
		t.Errorf("%d left", len(rs))
	}
	created := c.records(`{"kind":"recent_memory"}`)[0]["created_at"].(float64)
	if r := c.want("memory_purged", fmt.Sprintf(`{"kind":"purge_memory","before_ms":%.0f}`, created)); r["purged"] != 0.0 {
		t.Errorf("the cutoff is not strict: %v", r)
	}
	if r := c.want("memory_purged", fmt.Sprintf(`{"kind":"purge_memory","tier":null,"before_ms":%.0f}`, created+1)); r["purged"] != 1.0 {
		t.Errorf("%v", r)
	}
	if rs := c.records(`{"kind":"search_memory","query":"zebra"}`); len(rs) != 0 {
		t.Errorf("still found: %v", rs)
	}
	v := c.want("verify_report", `{"kind":"verify"}`)
	if v["orphans_total"] != 0.0 {
		t.Errorf("a purge is no drift: %v", v)
	}
	c.want("memory_purged", `{"kind":"purge_memory","before_ms":18446744073709551615}`)
}

func TestReceipts(t *testing.T) {
	t.Parallel()
	d := start(t)
	c := d.operator()
	for i, n := range []int{1, 1024 - 33, 1024 - 32, 3000} {
		c.intent(strings.Repeat("x", n))
		got := list(c.want("receipts", `{"kind":"recent_receipts","limit":1}`)["receipts"])[0]["credits_consumed"]
		if want := []float64{1, 1, 2, 3}[i]; got != want {
			t.Errorf("%d bytes cost %v, want %v", n+33, got, want)
		}
	}
	all := list(c.want("receipts", `{"kind":"recent_receipts"}`)["receipts"])
	for i := range all {
		if i > 0 && all[i]["settled_at"].(float64) < all[i-1]["settled_at"].(float64) {
			t.Error("not oldest first")
		}
	}
	last := all[3]["settled_at"].(float64)
	if got := list(c.want("receipts", fmt.Sprintf(`{"kind":"recent_receipts","since_ms":%.0f}`, last))["receipts"]); len(got) == 0 ||
		got[len(got)-1]["id"] != all[3]["id"] {
		t.Errorf("since is not inclusive: %v", got)
	}
	if got := list(c.want("receipts", fmt.Sprintf(`{"kind":"recent_receipts","since_ms":%.0f}`, last+1))["receipts"]); len(got) != 0 {
		t.Errorf("after the last: %v", got)
	}
	bob, _ := d.enroll("bob@local", "chain.receipts")
	if got := list(bob.want("receipts", `{"kind":"recent_receipts"}`)["receipts"]); len(got) != 0 {
		t.Errorf("a peer sees %v", got)
	}
}

func TestOversizedAnswerKeepsTheConnection(t *testing.T) {
	suite.Full(t)
	if testing.Short() {
		t.Skip("skipped in -short: twenty large texts, one after the other")
	}
	t.Parallel()
	d := start(t)
	c := d.operator()
	big := strings.Repeat("lorem ipsum ", 80_000)
	for range 10 {
		c.intent(big[:900_000])
		c.want("memory_purged", `{"kind":"purge_memory","tier":"episodic","before_ms":1}`)
		if _, err := api.Remember.Ask(t.Context(), d.cfg.Memory, &api.RememberRequest{Draft: api.Draft{Text: big[:900_000]}}); err != nil {
			t.Fatal(err)
		}
	}
	c.refused("response exceeds 8388608-byte frame limit; lower limit or set prefer_stream", `{"kind":"recent_memory","limit":100}`)
	c.want("pong", `{"kind":"ping"}`)
	n := 0
	c.send(`{"kind":"recent_memory","limit":100,"prefer_stream":true}`)
	for r := c.next(); r["kind"] != "stream_end"; r = c.next() {
		if r["kind"] == "stream_chunk" {
			n++
		}
	}
	if n < 10 {
		t.Errorf("streamed %d records", n)
	}
}

func TestStreamsEqualAnswers(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	d := start(t)
	c := d.operator()
	for i := range 300 {
		c.intent(fmt.Sprintf("entry %d", i))
	}
	collect := func(body string) (begin object, chunks []any, end object) {
		c.send(body)
		begin = c.next()
		if begin["kind"] != "stream_begin" {
			t.Fatalf("%v", begin)
		}
		for {
			r := c.next()
			if r["stream_id"] != begin["stream_id"] {
				t.Fatalf("another stream's frame: %v", r)
			}
			if r["kind"] != "stream_chunk" {
				return begin, chunks, r
			}
			if r["sequence"] != float64(len(chunks)) {
				t.Fatalf("chunk %v out of order", r["sequence"])
			}
			chunks = append(chunks, r["chunk"])
		}
	}
	want := c.want("memories", `{"kind":"recent_memory","limit":290,"prefer_stream":false}`)["records"].([]any)
	begin, got, end := collect(`{"kind":"recent_memory","limit":290,"prefer_stream":true}`)
	if begin["response_kind"] != "memories" || fmt.Sprint(got) != fmt.Sprint(want) || len(got) != 290 {
		t.Errorf("%d streamed, %d at once", len(got), len(want))
	}
	if got := strings.Join(keys(end), ","); got != "kind,stream_id" {
		t.Errorf("stream_end has %s", got)
	}
	want = c.want("audit_events", `{"kind":"recent_audit","limit":200}`)["events"].([]any)
	begin, got, _ = collect(`{"kind":"recent_audit","limit":200,"prefer_stream":true}`)
	if begin["response_kind"] != "audit_events" || fmt.Sprint(got) != fmt.Sprint(want) || len(got) != 200 {
		t.Errorf("%d streamed, %d at once", len(got), len(want))
	}
	begin, got, end = collect(`{"kind":"submit_intent","text":"streamed answer","prefer_stream":true}`)
	chunk := got[0].(object)
	if begin["response_kind"] != "intent_result" || len(got) != 1 || strings.Join(keys(chunk), ",") != "runtime_events,sources,text" ||
		len(chunk["runtime_events"].([]any)) != 0 {
		t.Errorf("%v %v", begin, got)
	}
	sum := end["summary"].(object)
	if sum["status"] != "ok" || sum["settlement"] != nil || sum["intent_id"] != c.records(`{"kind":"recent_memory","limit":1}`)[0]["id"] {
		t.Errorf("summary %v", sum)
	}
	if _, got, end := collect(`{"kind":"recent_memory","limit":0,"prefer_stream":true}`); len(got) != 0 || end["kind"] != "stream_end" {
		t.Errorf("an empty stream: %v %v", got, end)
	}
	bob, _ := d.enroll("bob@local")
	bob.refused("memory read requires capability", `{"kind":"recent_memory","prefer_stream":true}`)
}

func TestRecordsCarryTheirVectors(t *testing.T) {
	t.Parallel()
	e, err := embed.NewHashed(64)
	if err != nil {
		t.Fatal(err)
	}
	c := startWith(t, e).operator()
	c.intent("a kettle of tea")
	r := c.records(`{"kind":"search_memory","query":"kettle of tea"}`)
	if len(r) != 1 || len(r[0]["embedding"].([]any)) != 64 {
		t.Errorf("%v", r)
	}
}
