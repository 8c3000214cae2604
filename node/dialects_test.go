package node_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/gateway"
	"github.com/cairndb/cairn/node/mem0"
	"github.com/cairndb/cairn/node/memorystores"
	"github.com/cairndb/cairn/oplog/suite"
)

// A dialectRoute is a method and a path of a dialect's API, and the operation whose right it needs.
type dialectRoute struct {
	method, path string
	right        *api.Op
}

func routesOf(d gateway.Dialect) (all []dialectRoute) {
	for pattern, op := range d.Routes() {
		method, path, _ := strings.Cut(strings.TrimSuffix(pattern, "{$}"), " ")
		all = append(all, dialectRoute{method, path, op})
	}
	return all
}

// dialects are the APIs of other services, by the folders of their transcripts.
var dialects = map[string]gateway.Dialect{"mem0": mem0.New(nil), "memorystores": memorystores.New(nil)}

// TestDialectTranscripts sends valid and invalid requests to every route of the dialects.
func TestDialectTranscripts(t *testing.T) {
	t.Parallel()
	for folder, d := range dialects {
		t.Run(folder, func(t *testing.T) {
			t.Parallel()
			w := startWith(t, 1, func(int, *node.Config) {}).web(0)
			paths := obj{}
			for _, r := range routesOf(d) {
				methods, _ := paths[r.path].(obj)
				if methods == nil {
					methods = obj{}
					paths[r.path] = methods
				}
				methods[strings.ToLower(r.method)] = obj{}
			}
			tr := &transcript{base: w.base, saved: map[string]string{"master": secret}, doc: obj{"paths": paths}, asked: map[string]bool{}}
			datadriven.RunTest(t, folder+"/testdata/calls.txt", func(t *testing.T, d *datadriven.TestData) string {
				return strings.ReplaceAll(tr.run(t, d), w.base, "http://node")
			})
			for _, r := range routesOf(d) {
				if !tr.asked[r.method+" "+r.path] {
					t.Errorf("no transcript asks %s %s", r.method, r.path)
				}
			}
		})
	}
}

// TestLinksToPagesBehindAProxy checks that the links of a page use HTTPS when a proxy in front of the node does.
func TestLinksToPagesBehindAProxy(t *testing.T) {
	t.Parallel()
	w := start(t, 1).web(0)
	for _, user := range []string{"ada", "bob"} {
		w.ok("POST", "/v3/memories/add/", obj{"messages": []obj{{"role": "user", "content": "I like tea"}}, "user_id": user, "infer": false})
	}
	r, err := http.NewRequestWithContext(t.Context(), "GET", w.base+"/v1/entities/?page_size=1", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{"Authorization": {"Bearer " + w.token}, "X-Forwarded-Proto": {"https"}}
	if status, page := w.do(r); status != http.StatusOK || !strings.HasPrefix(fmt.Sprint(page["next"]), "https://") {
		t.Errorf("%d: %v", status, page)
	}
}

// TestADeletedStoreKeepsNothing checks that deleting a memory store deletes its memories, also those with a blank
// content.
func TestADeletedStoreKeepsNothing(t *testing.T) {
	t.Parallel()
	w := start(t, 1).web(0)
	store := w.ok("POST", "/v1/memory_stores", obj{"name": "notes"})["id"].(string)
	for path, content := range map[string]string{"/a": "Ada likes tea", "/b": "", "/c/d": " "} {
		w.ok("POST", "/v1/memory_stores/"+store+"/memories", obj{"path": path, "content": content})
	}
	w.ok("DELETE", "/v1/memory_stores/"+store, nil)
	if left := w.ok("GET", "/v1/stats?namespace="+store, nil); left["active_memories"] != 0.0 || left["tombstoned_memories"] != 3.0 {
		t.Errorf("left: %v", left)
	}
}

// TestARepeatedDeleteOfAStoreFinishesIt checks that a DELETE that was interrupted when the store's own record was gone
// already can be repeated: it forgets the memories that were left, and only then answers that there is no store.
func TestARepeatedDeleteOfAStoreFinishesIt(t *testing.T) {
	t.Parallel()
	w := start(t, 1).web(0)
	store := w.ok("POST", "/v1/memory_stores", obj{"name": "notes"})["id"].(string)
	for path, content := range map[string]string{"/a": "Ada likes tea", "/b": ""} {
		w.ok("POST", "/v1/memory_stores/"+store+"/memories", obj{"path": path, "content": content})
	}
	w.ok("POST", "/v1/delete", obj{"namespace": "memory_stores", "key": "/" + store})
	w.ok("DELETE", "/v1/memory_stores/"+store, nil)
	if left := w.ok("GET", "/v1/stats?namespace="+store, nil); left["active_memories"] != 0.0 {
		t.Errorf("left: %v", left)
	}
	if status, _ := w.send("DELETE", "/v1/memory_stores/"+store, nil); status != http.StatusNotFound {
		t.Errorf("a store that is gone is deleted with %d", status)
	}
}

// TestVersionsPassOverOthers checks that a store's list of versions skips memories of its namespace that have expired
// or have no path.
func TestVersionsPassOverOthers(t *testing.T) {
	t.Parallel()
	w := start(t, 1).web(0)
	store := w.ok("POST", "/v1/memory_stores", obj{"name": "notes"})["id"].(string)
	without := w.ok("POST", "/v1/remember", obj{"text": "Ada likes tea", "namespace": store})["rid"]
	short := w.ok("POST", "/v1/put", obj{"namespace": store, "key": "/short", "text": "Ada is away"})["rid"]
	w.ok("POST", "/v1/correct", obj{"rid": short, "reason": "she is back", "new_expires_at": "2020-01-01"})
	kept := w.ok("POST", "/v1/memory_stores/"+store+"/memories", obj{"path": "/a", "content": "Ada likes coffee"})["id"]
	for _, cursor := range []string{"", fmt.Sprint(without, " 1"), fmt.Sprint(without, " 4294967295")} {
		page := base64.RawURLEncoding.EncodeToString([]byte(cursor))
		all := w.ok("GET", "/v1/memory_stores/"+store+"/memory_versions?page="+page, nil)["data"].([]any)
		if len(all) != 1 || all[0].(obj)["memory_id"] != kept {
			t.Errorf("versions from %q on: %v", cursor, all)
		}
	}
	if status, _ := w.send("GET", "/v1/memory_stores/"+store+"/memory_versions?memory_id=mem_none", nil); status != http.StatusNotFound {
		t.Errorf("versions of a memory that is not there: %d", status)
	}
}

// refusalOf returns the code and the text of an error in a dialect's format.
func refusalOf(out obj) (code, text any) {
	if e, ok := out["error"].(obj); ok {
		return e["code"], e["message"]
	}
	if detail, says := out["detail"]; says && detail != out["error"] {
		return nil, nil
	}
	return out["code"], out["error"]
}

// TestDialectsRefuse calls every route of the dialects without a token, with a wrong one, without the right, for
// another database and with a malformed body, and sends the token in each way that clients do.
func TestDialectsRefuse(t *testing.T) {
	t.Parallel()
	w := startWith(t, 1, func(_ int, cfg *node.Config) { cfg.Limits.FailedLogins = 10_000 }).web(0)
	w.ok("POST", "/v1/databases", obj{"name": "other"})
	weak := map[api.Scope]string{}
	for _, s := range []string{"read", "write"} {
		weak[api.Scope(s)] = w.createToken(obj{"scopes": []string{s}})
	}
	ask := func(method, path, kind, body string, header http.Header, status int, code string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, w.base+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header = header
		if kind != "" {
			req.Header.Set("Content-Type", kind)
		}
		got, out := w.do(req)
		if had, text := refusalOf(out); got != status || status != 200 && had != code ||
			strings.HasPrefix(code, "invalid_body") && text == "" {
			t.Errorf("%s %s: %d %v, want %d %s", method, path, got, out, status, code)
		}
	}
	with := func(token string) http.Header { return http.Header{"Authorization": {"Bearer " + token}} }
	const js = "application/json"
	readsBody := func(r dialectRoute) bool {
		return r.method == "POST" &&
			!slices.Contains([]*api.Op{api.Export.Op, api.Purge.Op, api.Erase.Op, api.Correct.Op, api.Feedback.Op}, r.right)
	}
	for _, r := range slices.Concat(routesOf(dialects["mem0"]), routesOf(dialects["memorystores"])) {
		if r.right.Scope == "" {
			continue
		}
		path := strings.NewReplacer("{id}", "none", "{type}", "user", "{name}", "none", "{org}", "cairn", "{project}",
			"default", "{store}", "memstore_none").Replace(r.path)
		ask(r.method, path, "", "", http.Header{}, 401, "unauthenticated")
		ask(r.method, path, "", "", with("ydb_"+strings.Repeat("0", 64)), 401, "unauthenticated")
		ask(r.method, path, "", "", http.Header{"Authorization": {"Basic " + secret}, "X-Api-Key": {secret}}, 401, "unauthenticated")
		lacking := map[api.Scope]api.Scope{api.Read: api.Write, api.Write: api.Read, api.Owner: api.Read}[r.right.Scope]
		ask(r.method, path, "", "", with(weak[lacking]), 403, "insufficient_scope")
		if r.right.Scope != api.Owner {
			ask(r.method, path+"?database=other", "", "", with(weak[r.right.Scope]), 404, "not_found")
		}
		if readsBody(r) {
			ask(r.method, path, js, `{"user_id":`, with(secret), 400, "invalid_body")
			ask(r.method, path, js, `[1]`, with(secret), 400, "invalid_body")
			ask(r.method, path, "text/plain", `{}`, with(secret), 415, "invalid_body")
			if !r.right.Large {
				ask(r.method, path, js, `{"query":"`+strings.Repeat("x", 4<<20)+`"}`, with(secret), 413, "too_large")
			}
		}
	}
	ask("GET", "/v1/ping/", "", "", http.Header{"Authorization": {"Token " + secret}}, 200, "")
	for _, header := range []http.Header{with(secret), {"X-Api-Key": {secret}}} {
		ask("GET", "/v1/ping/", "", "", header.Clone(), 200, "")
		ask("GET", "/v1/memory_stores", "", "", header, 200, "")
	}
	ask("GET", "/v1/admin/me", "", "", http.Header{"X-Api-Key": {secret}}, 401, "unauthenticated")
	slow := w.createToken(obj{"scopes": []string{"read"}})
	w.ok("POST", "/v1/admin/tokens/limit", obj{"token": slow, "max_rps": 1, "burst": 1})
	suite.Eventually(t, "a second question within a second is refused", func() bool {
		status, out := w.with(slow).send("GET", "/memories?user_id=alice", nil)
		return status == http.StatusTooManyRequests && out["code"] == "rate_limited" && out["detail"] != nil
	})
}

// TestUsersOfMem0StayApart checks that equal memories of two users of mem0 are not merged.
func TestUsersOfMem0StayApart(t *testing.T) {
	t.Parallel()
	w := startWith(t, 1, func(int, *node.Config) {}).web(0)
	for i := range 6 {
		for _, user := range []string{"ada", "bob"} {
			said := fmt.Sprintf("The ferry to the harbour of Bergen leaves every morning at nine from pier %d.", i)
			w.ok("POST", "/v3/memories/add/", obj{"messages": said, "user_id": user})
			w.ok("POST", "/v1/remember", obj{"text": said, "namespace": "elsewhere"})
		}
	}
	if got := w.ok("POST", "/v1/think", obj{}); got["consolidation_count"].(float64) == 0 {
		t.Fatalf("nothing is merged: %v", got)
	}
	merged := map[string]float64{}
	for _, ns := range w.ok("GET", "/v1/namespaces", nil)["namespaces"].([]any) {
		merged[ns.(obj)["name"].(string)] = ns.(obj)["merged"].(float64)
	}
	if merged["mem0"] != 0 || merged["elsewhere"] == 0 {
		t.Errorf("merged: %v", merged)
	}
}

// TestPagesMayAskEveryRoute checks that a page of a configured origin may call each route from a browser, with the
// headers of the dialects' clients.
func TestPagesMayAskEveryRoute(t *testing.T) {
	t.Parallel()
	w := startWith(t, 1, func(_ int, cfg *node.Config) { cfg.Surfaces.CORSOrigins = []string{"https://app.example"} }).web(0)
	asked := map[string]string{} // a path by its method
	for _, r := range slices.Concat(routesOf(dialects["mem0"]), routesOf(dialects["memorystores"])) {
		asked[r.method] = r.path
	}
	for _, op := range api.Ops {
		if op.HTTP != "" {
			asked[op.Method()] = op.Path()
		}
	}
	const headers = "authorization,content-type,mem0-user-id,x-api-key,x-stainless-lang,anthropic-version"
	for method, path := range asked {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodOptions,
			w.base+strings.NewReplacer("{", "", "}", "").Replace(path), nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header = http.Header{"Origin": {"https://app.example"}, "Access-Control-Request-Method": {method},
			"Access-Control-Request-Headers": {headers}}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if may := strings.Split(resp.Header.Get("Access-Control-Allow-Methods"), ", "); !slices.Contains(may, method) {
			t.Errorf("%s %s: pages may send %v", method, path, may)
		}
		may := strings.ToLower(strings.ReplaceAll(resp.Header.Get("Access-Control-Allow-Headers"), " ", ""))
		for h := range strings.SplitSeq(headers, ",") {
			if !slices.Contains(strings.Split(may, ","), h) {
				t.Errorf("%s %s: pages may not send %s", method, path, h)
			}
		}
	}
}
