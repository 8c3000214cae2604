package agents

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairndb/cairn/local/kit"
)

// TestOpenCodeReadsWholeCharacters: OpenCode decodes a hook's output correctly, wherever the pipe splits it.
func TestOpenCodeReadsWholeCharacters(t *testing.T) {
	t.Parallel()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("skipped: no node in PATH")
	}
	dir := t.TempDir()
	hook := filepath.Join(dir, "cairn")
	for name, content := range map[string]string{
		hook:                            "#!/bin/sh\ncat >/dev/null\nprintf '{\"additionalContext\":\"Zo\\303'\nsleep 0.3\nprintf '\\253 leads\"}\\n'\n",
		filepath.Join(dir, "cairn.mjs"): strings.ReplaceAll(opencodePlugin, "CAIRN", string(kit.MustJSON(hook))),
		filepath.Join(dir, "run.mjs"): `import { Cairn } from "./cairn.mjs"
const out = { system: [] }
await (await Cairn({ directory: "." }))["experimental.chat.system.transform"]({ sessionID: "s" }, out)
console.log(out.system.join("|"))
`,
	} {
		if err := os.WriteFile(name, []byte(content), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	out, err := exec.CommandContext(t.Context(), node, filepath.Join(dir, "run.mjs")).CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != "Zoë leads" {
		t.Errorf("%v: %q", err, out)
	}
}
