package client_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/cairndb/cairn/wire/sse"
)

// TestFeedsMissNoEventOfARecord: the connection breaks between the events of a record, and a delivered event does not
// come again, because its memory no longer passes the filter.
func TestFeedsMissNoEventOfARecord(t *testing.T) {
	t.Parallel()
	type event struct{ index, number, id string }
	for name, args := range map[string][]string{
		"typescript": {"node", "--input-type=module", "--eval", `import { Client } from "./index.js";
const told = [];
for await (const e of new Client({ endpoints: [process.argv[1]], token: "x" }).events({ from: "4" })) {
  told.push(e.index + e.id + " behind " + e.cursor);
  if (e.index === "6") break;
}
console.log(told.join()); process.exit(0);`},
		"python": {"python3", "-c", `import sys
from cairn_client import Client
told = []
for e in Client(sys.argv[1], token="x").events(from_="4"):
    told.append(e["index"] + e["id"] + " behind " + e["cursor"])
    if e["index"] == "6":
        break
print(",".join(told))`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var connections atomic.Int32
			node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				events := []event{{"5", "b", ""}, {"5", "c", "5"}, {"6", "d", "6"}}
				if connections.Add(1) == 1 {
					events = []event{{"5", "a", ""}, {"5", "b", ""}}
				}
				for _, e := range events {
					_, _ = w.Write(sse.Append(nil, e.id, "stored", fmt.Appendf(nil, `{"index":%q,"id":%q}`, e.index, e.number)))
				}
			}))
			t.Cleanup(node.Close)
			if told, want := tool(t, name, append(args, node.URL)...), "5a behind 4,5b behind 4,5c behind 5,6d behind 6\n"; told != want {
				t.Errorf("%q, want %q", told, want)
			}
		})
	}
}

// TestAProxyNamesADate: Retry-After may be a date.
func TestAProxyNamesADate(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"typescript": {"node", "--input-type=module", "--eval", `import { Client } from "./index.js";
console.log((await new Client({ endpoints: [process.argv[1]], token: "x" }).stats()).edges);`},
		"python": {"python3", "-c", `import sys
from cairn_client import Client
print(Client(sys.argv[1], token="x").stats()["edges"])`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int32
			proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if asked.Add(1) == 1 {
					w.Header().Set("Retry-After", "Wed, 21 Oct 2015 07:28:00 GMT")
					http.Error(w, "come again later", http.StatusServiceUnavailable)
					return
				}
				fmt.Fprint(w, `{"edges":7}`)
			}))
			t.Cleanup(proxy.Close)
			if said := tool(t, name, append(args, proxy.URL)...); said != "7\n" {
				t.Errorf("%q", said)
			}
		})
	}
}
