package node_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestRedactionIsASetting checks that secrets are redacted in captures by default, and in all memories if the
// database's settings request it. The answer names the kinds of redacted secrets; nothing else of them is stored.
func TestRedactionIsASetting(t *testing.T) {
	t.Parallel()
	w := start(t, 1).web(0)
	const key = "sk-ant-api03-aB3aB3aB3aB3aB3aB3"
	for _, policy := range []string{"capture", "all", "off"} {
		if got := w.ok("POST", "/v1/admin/settings", obj{"redact": policy})["redact"]; got != policy {
			t.Fatalf("setting: %v", got)
		}
		for kind, taken := range map[string]bool{"semantic": policy == "all", "capture": policy != "off"} {
			text := fmt.Sprintf("%s %s says %s", policy, kind, key)
			asked := []obj{
				w.ok("POST", "/v1/remember",
					obj{"text": text, "memory_type": kind, "metadata": obj{"note": key, "password": "hunter2"}, "idempotency_key": text}),
				// again is the same
				w.ok("POST", "/v1/remember",
					obj{"text": text, "memory_type": kind, "metadata": obj{"note": key, "password": "hunter2"}, "idempotency_key": text}),
				w.ok("POST", "/v1/remember/batch", obj{"memories": []obj{{"text": text, "memory_type": kind}}}),
				w.ok("POST", "/v1/import", fmt.Sprintf(`{"text":%q,"memory_type":%q}`, text, kind)),
			}
			rid := asked[0]["rid"].(string)
			if asked[1]["rid"] != rid {
				t.Errorf("%s of %s: another memory under the same key: %v", policy, kind, asked[1])
			}
			asked = append(asked, w.ok("POST", "/v1/correct", obj{"rid": rid, "reason": "r", "new_text": "now " + text}))
			for i, a := range asked {
				if said := fmt.Sprint(a["redacted"]); strings.Contains(said, "anthropic") != taken {
					t.Errorf("%s of %s, request %d: told of %s", policy, kind, i+1, said)
				}
			}
			stored := fmt.Sprint(w.ok("GET", "/v1/memory/"+rid, nil), w.ok("GET", "/v1/memory/"+rid+"/revisions", nil))
			if strings.Contains(stored, key) == taken || strings.Contains(stored, "hunter2") == taken {
				t.Errorf("%s of %s: stored %s", policy, kind, stored)
			}
		}
	}
	if status, _ := w.send("POST", "/v1/admin/settings", obj{"redact": "some"}); status != 400 {
		t.Errorf("a policy that is none: %d", status)
	}
}
