package client_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestSDKsWriteDates: native date values are encoded correctly. An invalid date is an error before the request,
// because null would mean no date.
func TestSDKsWriteDates(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"typescript": {"node", "--input-type=module", "--eval", `import { Client } from "./index.js";
const cairn = new Client({ endpoints: [process.argv[1]], token: "x" });
console.log((await cairn.remember({ text: "a", created_at: new Date("2026-01-31") })).rid.slice(0, 10));
const refused = async (f) => { try { await f(); console.log("stored"); } catch (e) { console.log(e.name); } };
await refused(() => cairn.remember({ text: "a", created_at: new Date("31.01.2026") }));
await refused(() => cairn.rememberBatch({ memories: [{ text: "a", created_at: new Date(NaN) }] }));`},
		"python": {"python3", "-c", `import sys
from datetime import date
from cairn_client import Client
cairn = Client(sys.argv[1], token="x")
print(cairn.remember("a", created_at=date(2026, 1, 31))["rid"][:10])
for wrong in (float("nan"), object()):
    try:
        cairn.remember("a", created_at=wrong)
        print("stored")
    except (TypeError, ValueError):
        print("RangeError")`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				var asked struct {
					Created string `json:"created_at"`
				}
				if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
					t.Error(err)
				}
				fmt.Fprintf(w, `{"rid":%q,"log_index":"1"}`, asked.Created)
			}))
			t.Cleanup(node.Close)
			if said := tool(t, name, append(args, node.URL)...); said != "2026-01-31\nRangeError\nRangeError\n" {
				t.Errorf("%q", said)
			}
		})
	}
}
