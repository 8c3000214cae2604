package stringd_test

import (
	"context"
	"os"
	"testing"

	"github.com/cairndb/cairn/local/stringd"
	"github.com/cairndb/cairn/node/api"
)

// FuzzCommandLanguage sends arbitrary commands, in every kind of topic, to a daemon without a shell. Every command
// has one well-formed result, none panics, and the daemon continues.
func FuzzCommandLanguage(f *testing.F) {
	d := start(f, func(c *stringd.Config) { c.Memory.Also = []api.Scope{api.Files} })
	if err := os.WriteFile(d.home("p.md"),
		[]byte("---\ntitle: \"T\"\n---\n[!nav:m](n.md)\n# H {#h}\n<!-- #b -->\nx\n<!-- /b -->\n```act.a\nGET http://127.0.0.1:1/{x}\n  x: string (required)\n```\n[@s S](p.md)\n"),
		0o600); err != nil {
		f.Fatal(err)
	}
	for _, c := range []string{"/open p.md#b", "/open p.md#(", "/nav m", "/act.a --x 1", "/set {a} = \"b\"", "/set $A = 1",
		"```{a}\nx\n```", "/edit p.md#b\nnew", "/write w.md\nx", "/append p.md x",
		"/replace p.md\nx\n---\n$1", "/replace p.md:L1-L2\ny", "/undo", "/verify p.md#b", "/ls ..", "/back", "/info @s",
		"//help", "/remember --tier working it isn't", "/recall -k 3 what", "/memory @m1",
		"/forget --query x --yes", "/recent -n 1", "/timeline @m1", "/relate a b c", "/edges a", "/episode start",
		"/capture T\n{}", "/purge --before 2020-01-01T00:00:00Z --yes", "/events.read evt_a_b",
		"/topics bash", "/session close x", "/tool:x.y z", "/open mem:recent", "/open mem:search?q=x", "/list",
		"/add q --home /x", "/exec ls", "not a command", "/\x00\u202e\xff"} {
		f.Add(c, uint8(0))
	}
	topics := []string{"main", "app:x:y", "event", "system", "agent", "bash:b", "tool"}
	f.Fuzz(func(t *testing.T, cmd string, topic uint8) {
		o, err := d.tryExec(context.Background(), topics[int(topic)%len(topics)], cmd)
		if err != nil {
			t.Fatalf("%q: %v", cmd, err)
		}
		if o.Code == "INTERNAL_ERROR" || o.Code == "STREAM_INCOMPLETE" || o.Code == "UNKNOWN" || o.OK && o.Code != "" {
			t.Fatalf("%q: %+v", cmd, o)
		}
	})
}
