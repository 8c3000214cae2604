package config

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestEveryKeyIsDescribed: each key has a doc, and each number a unit.
func TestEveryKeyIsDescribed(t *testing.T) {
	plain := []string{"_port", "node_id"} // numbers that count nothing
	for _, k := range keys {
		if doc := k.field.Tag.Get("doc"); doc == "" || !strings.HasSuffix(doc, ".") {
			t.Errorf("%s.%s: doc %q is no sentence", k.section, k.name, doc)
		}
		bare := slices.ContainsFunc(plain, func(end string) bool { return strings.HasSuffix(k.name, end) })
		if unit := k.field.Tag.Get("unit"); k.kind() == "number" && !bare && unit == "" {
			t.Errorf("%s.%s: a number without a unit", k.section, k.name)
		}
	}
}

// TestEveryVariableIsRead: each environment variable sets its key, and no two keys share a variable.
func TestEveryVariableIsRead(t *testing.T) {
	of := map[string]string{}
	for _, k := range keys {
		for _, name := range k.variables() {
			if other, taken := of[name]; taken {
				t.Errorf("%s is of %s and of %s.%s", name, other, k.section, k.name)
			}
			of[name] = k.section + "." + k.name
			text := map[string]string{"number": "7", "boolean": "true"}[k.kind()]
			if text == "" {
				text = "a,b"
			}
			want, got := File{}, File{}
			if err := k.set(&want, text); err != nil {
				t.Fatal(err)
			}
			err := applyEnvironment(&got, func(asked string) string { return map[string]string{name: text}[asked] })
			if fmt.Sprint(got) == fmt.Sprint(File{}) || err != nil || len(fmt.Sprint(got)) != len(fmt.Sprint(want)) {
				t.Errorf("%s sets %+v, want %+v (%v)", name, got, want, err)
			}
		}
	}
}

// reference generates deploy/CONFIG.md.
func reference() string {
	var out strings.Builder
	out.WriteString("# Configuration\n\nMade from the tags of `cmd/cairn/config.File`; `CAIRN_UPDATE=1 go test ./cmd/cairn/config -run ConfigReference` writes it again.\n" +
		"The file is TOML, named by `cairn serve --config`. Flags override the environment, and the environment the file.\n" +
		"A node reads it when it starts: after a change restart one node after the other.\n" +
		"An unknown key is a warning, and an error with `--strict`; in `[tls]` and `[encryption]` it always is an error.\n" +
		"So is a value of the wrong type, or a number out of range: below 0 where the meaning names no negative value, or a time of over a century.\n")
	section := ""
	for _, k := range keys {
		if k.section != section {
			section = k.section
			fmt.Fprintf(&out, "\n## [%s]\n\n| key | type | default | meaning |\n|---|---|---|---|\n", section)
		}
		kind := k.kind()
		if unit := k.field.Tag.Get("unit"); unit != "" {
			kind += ", " + unit
		}
		fmt.Fprintf(&out, "| `%s` | %s | %s | %s |\n", k.name, kind, k.field.Tag.Get("default"),
			strings.ReplaceAll(k.field.Tag.Get("doc"), "|", "\\|"))
	}
	out.WriteString("\n## Environment\n\nA variable `CAIRN_<SECTION>_<KEY>` overrides a key, such as `CAIRN_SERVER_WIRE_PORT` and `CAIRN_TLS_CLUSTER_CERT_PATH`; the parts of a list are\n" +
		"separated by commas. Otherwise:\n\n| key | variables, the first that is set winning |\n|---|---|\n")
	for _, k := range keys {
		names := k.variables()
		switch {
		case len(names) == 0:
			fmt.Fprintf(&out, "| `%s.%s` | none |\n", k.section, k.name)
		case len(names) > 1 || names[0] != k.defaultVariable():
			fmt.Fprintf(&out, "| `%s.%s` | `%s` |\n", k.section, k.name, strings.Join(names, "`, `"))
		}
	}
	fmt.Fprintf(&out, "\nOf the keys of `[encryption]` that name a master key, one in the environment replaces all in the file. `%s`, as other servers have it, holds\nthe master key itself and counts where nothing else names one.\n", HexKeyEnv)
	return out.String()
}

// TestConfigReferenceIsCurrent: deploy/CONFIG.md matches the code. CAIRN_UPDATE=1 rewrites it.
func TestConfigReferenceIsCurrent(t *testing.T) {
	path := filepath.Join("../../../deploy", "CONFIG.md")
	want := reference()
	if os.Getenv("CAIRN_UPDATE") != "" {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("deploy/CONFIG.md is not what the code says (%v): CAIRN_UPDATE=1 go test ./cmd/cairn/config -run ConfigReference", err)
	}
}
