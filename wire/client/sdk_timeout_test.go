package client_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// TestSDKsWaitWithoutEnd: a timeout may be infinite, or longer than a timer of the language can be.
func TestSDKsWaitWithoutEnd(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"typescript": {"node", "--input-type=module", "--eval", `import { Client } from "./index.js";
for (const timeout of [Infinity, 30 * 86400_000]) {
  const cairn = new Client({ endpoints: [process.argv[1]], token: "x", timeout });
  console.log((await cairn.remember({ text: "a" })).rid);
}`},
		"python": {"python3", "-c", `import sys
from cairn_client import Client
for timeout in (float("inf"), 30 * 86400.0):
    print(Client(sys.argv[1], token="x", timeout=timeout).remember("a")["rid"])`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				time.Sleep(50 * time.Millisecond)
				fmt.Fprint(w, `{"rid":"r","log_index":"1"}`)
			}))
			t.Cleanup(node.Close)
			if said := tool(t, name, append(args, node.URL)...); said != "r\nr\n" {
				t.Errorf("%q", said)
			}
		})
	}
}
