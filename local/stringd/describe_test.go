package stringd_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/cairndb/cairn/local/stringd"
)

// The description of the daemon has the shape that clients of the protocol read. The label and the role are read
// again for each request.
func TestDescribe(t *testing.T) {
	t.Parallel()
	var data string
	d := start(t, func(c *stringd.Config) { data = c.Data })
	type description struct {
		Name, API string
		Instance  struct {
			Label string `json:"instance_label"`
			Role  string
		}
		Capabilities map[string]map[string]any
	}
	ask := func() (s description) {
		t.Helper()
		if err := json.Unmarshal([]byte(d.do("GET", "/describe", "").body), &s); err != nil {
			t.Fatal(err)
		}
		return s
	}
	said := ask()
	if said.Name != "stringd" || said.API != "string-daemon/v2" || said.Instance.Label != "stringd" || said.Instance.Role != "unknown" {
		t.Errorf("%+v", said)
	}
	for _, key := range []string{"describe", "agents", "agent-webhooks", "events", "event-stream", "sessions", "exec", "mcp"} {
		if said.Capabilities[key] == nil {
			t.Errorf("no capability %s", key)
		}
	}
	if said.Capabilities["events"]["max_webhook_text_bytes"] != 65536.0 ||
		said.Capabilities["exec"]["max_request_body_bytes"] != 10485760.0 {
		t.Errorf("limits: %v", said.Capabilities)
	}
	for _, c := range [][3]string{{`{"instance_label":"live-main","role":"production"}`, "live-main", "production"},
		{`{"instance_label":"scratch","role":"test"}`, "scratch", "test"},
		{`{"instance_label":"   ","role":"prod"}`, "stringd", "unknown"}, {`{`, "stringd", "unknown"}} {
		if err := os.WriteFile(filepath.Join(data, "daemon.json"), []byte(c[0]), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := ask().Instance; got.Label != c[1] || got.Role != c[2] {
			t.Errorf("%s: %+v", c[0], got)
		}
	}
}
