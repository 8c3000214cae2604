package client_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cairndb/cairn/oplog/suite"
)

// tool runs a program in a directory, or skips the test if the program is not installed.
func tool(t *testing.T, dir string, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath(args[0]); err != nil {
		t.Skipf("%s is not installed: the package is not tried", args[0])
	}
	c := exec.CommandContext(suite.Context(t), args[0], args[1:]...)
	c.Dir, c.Env = dir, append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "PIP_DISABLE_PIP_VERSION_CHECK=1",
		"npm_config_update_notifier=false")
	var said strings.Builder
	c.Stderr = &said
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s%s", args, err, out, &said)
	}
	return string(out)
}

// TestNpmPackage: the package contains the modules and their types but no tests, and Node.js can import it.
func TestNpmPackage(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	var packed []struct{ Files []struct{ Path string } }
	if err := json.Unmarshal([]byte(tool(t, "typescript", "npm", "pack", "--dry-run", "--json")), &packed); err != nil || len(packed) != 1 {
		t.Fatalf("%v: %v", packed, err)
	}
	var files []string
	for _, f := range packed[0].Files {
		files = append(files, f.Path)
	}
	want := []string{"README.md", "ai.d.ts", "ai.js", "anthropic.d.ts", "anthropic.js", "client.js", "encode.js",
		"errors.js", "index.d.ts", "index.js", "keys.js", "langgraph.d.ts", "langgraph.js", "openai.d.ts", "openai.js", "operations.js",
		"package.json", "streams.js", "types.d.ts"}
	if slices.Sort(files); !slices.Equal(files, want) {
		t.Errorf("the package holds %v, want %v", files, want)
	}
	tool(t, npmProject(t), "node", "--input-type=module", "--eval", `import { Client } from "cairn-client"; new Client().remember.call`)
}

// npmProject creates a directory in which modules can import the client by its name.
func npmProject(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	at, err := filepath.Abs("typescript")
	if err == nil {
		err = os.Mkdir(filepath.Join(dir, "node_modules"), 0o700)
	}
	if err == nil {
		err = os.Symlink(at, filepath.Join(dir, "node_modules", "cairn-client"))
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestSDKTypes compiles a program with the TypeScript client's types.
func TestSDKTypes(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	if os.Getenv("CAIRN_NPM") == "" {
		t.Skip("CAIRN_NPM is not set: packages are fetched from npm only where that is wanted")
	}
	dir := npmProject(t)
	program, err := os.ReadFile("typescript/test/types.mts")
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "types.mts"), program, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	tools := t.TempDir() // npm would remove the client from its own
	tool(t, tools, "npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", tools, "typescript@5.9.3")
	tool(t, dir, "node", filepath.Join(tools, "node_modules", "typescript", "bin", "tsc"), "--noEmit", "--strict",
		"--target", "es2022", "--lib", "es2023,dom,dom.asynciterable",
		"--module", "nodenext", "types.mts")
}

// TestWheel: the wheel is built without a network and reproducibly, and Python can import it.
func TestWheel(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	dir, unpacked := t.TempDir(), t.TempDir()
	build := func(below string) (name string, content []byte) {
		name = strings.TrimSpace(tool(t, "python", "python3", "-c", "import backend, sys; print(backend.build_wheel(sys.argv[1]))", below))
		content, err := os.ReadFile(filepath.Join(below, name))
		if err != nil {
			t.Fatal(err)
		}
		return name, content
	}
	name, first := build(dir)
	if _, second := build(t.TempDir()); !slices.Equal(first, second) {
		t.Error("the same files made another wheel")
	}
	tool(t, unpacked, "python3", "-m", "zipfile", "-e", filepath.Join(dir, name), ".")
	tool(t, unpacked, "python3", "-c", "import cairn_client; assert callable(cairn_client.Client().remember)")
	// The interpreter itself: a name in PATH may be a manager of versions, which takes a lock of its own after each
	// installation.
	python := strings.TrimSpace(tool(t, dir, "python3", "-c", "import sys; print(sys.executable)"))
	if exec.Command(python, "-m", "pip", "--version").Run() != nil {
		t.Log("pip is not installed: the wheel is not installed with it")
		return
	}
	source, err := filepath.Abs("python")
	if err != nil {
		t.Fatal(err)
	}
	tool(t, dir, python, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--target", "installed", source)
	tool(t, filepath.Join(dir, "installed"), "python3", "-c", "import cairn_client; assert callable(cairn_client.Client().remember)")
}
