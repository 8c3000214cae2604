package standalone_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/cairndb/cairn/local/process/standalone"
	"github.com/cairndb/cairn/oplog/suite"
)

// asProgram is an environment variable that makes the test binary run the program, so that tests use real processes.
const asProgram = "CAIRN_TEST_BE_CLAUSTRUM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(standalone.Main(standalone.Program{Args: os.Args[1:], In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
	}
	os.Exit(m.Run())
}

func program(t testing.TB, args ...string) *exec.Cmd {
	c := exec.CommandContext(t.Context(), os.Args[0], args...)
	c.Env = append(os.Environ(), asProgram+"=1", "SHELL=/bin/sh") // not the login shell of the user
	return c
}

// run runs the program to its end.
func run(t testing.TB, c *exec.Cmd) (stdout, stderr string, code int) {
	t.Helper()
	var out, errb bytes.Buffer
	c.Stdout, c.Stderr = &out, &errb // pipes: if the daemon kept them open, this call would not return
	err := c.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), errb.String(), c.ProcessState.ExitCode()
}

const token = " a token with spaces "

// daemon starts a daemon and returns its socket. The daemon stops when the test ends.
func daemon(t testing.TB, args ...string) (socket string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "d") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket = filepath.Join(dir, "s")
	file := filepath.Join(dir, "token")
	if err := os.WriteFile(file, []byte(token+"\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, errs, code := run(t, program(t, append([]string{"-serve", "-socket", socket, "-token-file", file}, args...)...))
	if want := "Claustrum remote server listening on " + socket + "\n"; out != want || errs != "" || code != 0 {
		t.Fatalf("exit %d, %q, %q", code, out, errs)
	}
	if _, err := os.Lstat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the token file is still there (%v)", err)
	}
	t.Cleanup(func() { stop(t, socket) })
	return socket
}

func stop(t testing.TB, socket string) {
	t.Helper()
	c := program(t, "-stop", "-socket", socket)
	c.Env = append(c.Env, "CLAUDE_RPC_TOKEN="+token)
	ctx, cancel := context.WithTimeout(context.Background(), suite.Patience)
	defer cancel()
	c2 := exec.CommandContext(ctx, c.Path, c.Args[1:]...) // in a cleanup, the context of the test has ended
	c2.Env = c.Env
	if out, err := c2.CombinedOutput(); err != nil || len(out) != 0 {
		t.Errorf("stop: %v, %q", err, out)
	}
	suite.Eventually(t, "the socket to go", func() bool { _, err := os.Lstat(socket); return err != nil })
}

// ask sends one line through a bridge and returns what comes back.
func ask(t testing.TB, socket, method, params string) string {
	t.Helper()
	auth, err := json.Marshal(token)
	if err != nil {
		t.Fatal(err)
	}
	c := program(t, "--bridge", "--socket", socket)
	c.Stdin = strings.NewReader(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"%s","params":%s,"auth":%s}`, method, params, auth))
	out, errs, code := run(t, c)
	if code != 0 || errs != "" {
		t.Fatalf("exit %d, %q", code, errs)
	}
	return out
}

func TestRefusals(t *testing.T) {
	dir := t.TempDir()
	socket := filepath.Join(dir, "s")
	empty := filepath.Join(dir, "empty")
	if err := os.WriteFile(empty, []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "no socket")
	if err := os.WriteFile(file, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	tokens := 0
	good := func() string {
		tokens++
		p := filepath.Join(dir, fmt.Sprint("token", tokens))
		if err := os.WriteFile(p, []byte("t"), 0o600); err != nil {
			t.Fatal(err)
		}
		return p
	}
	for _, c := range []struct {
		args []string
		want string // of stderr
		code int
	}{
		{nil, "claustrum: one of --version/--install/--serve/--bridge/--stop is required\n", 2},
		{[]string{"-serve", "-socket", socket}, "claustrum: daemonized child requires --token-file or --token-fd\n", 1},
		{[]string{"-serve", "-socket", socket, "-token-file", "/no/such"},
			"claustrum: read --token-file: open /no/such: no such file or directory\n", 1},
		{[]string{"-serve", "-socket", socket, "-token-file", empty}, "claustrum: the token is empty or longer than 32768 bytes\n", 1},
		{[]string{"-serve", "-socket", "/no/such/s", "-token-file", good()},
			"claustrum: listen unix: listen unix /no/such/s: bind: no such file or directory\n", 1},
		{[]string{"-serve", "-socket", file, "-token-file", good()},
			"claustrum: listen unix: listen unix " + file + ": bind: address already in use\n", 1},
		{[]string{"-bridge", "-socket", socket},
			"claustrum: dial server: dial unix " + socket + ": connect: no such file or directory\n", 1},
		{[]string{"-stop", "-socket", socket}, "", 0},
	} {
		out, errs, code := run(t, program(t, c.args...))
		if out != "" || errs != c.want || code != c.code {
			t.Errorf("%q: exit %d, %q, %q, want %d, %q", c.args, code, out, errs, c.code, c.want)
		}
	}
	if b, err := os.ReadFile(file); string(b) != "precious" {
		t.Errorf("a file that is no socket: %q, %v", b, err)
	}
	if _, errs, code := run(t, program(t, "-nonsense")); code != 2 ||
		!strings.HasPrefix(errs, "flag provided but not defined: -nonsense\nUsage of ") {
		t.Errorf("exit %d, %q", code, errs)
	}
}

func TestTokenByDescriptor(t *testing.T) {
	dir := t.TempDir()
	socket := filepath.Join(dir, "s")
	c := program(t, "-serve", "-socket", socket, "-token-fd", "0")
	c.Stdin = strings.NewReader(token + "\n")
	if out, errs, code := run(t, c); code != 0 || errs != "" || !strings.HasPrefix(out, "Claustrum remote server listening on ") {
		t.Fatalf("exit %d, %q, %q", code, out, errs)
	}
	if got := ask(t, socket, "server.ping", "{}"); got != `{"jsonrpc":"2.0","id":1,"result":{"pong":true}}`+"\n" {
		t.Error(got)
	}
	stop(t, socket)
}

func facts(t *testing.T, args ...string) map[string]any {
	t.Helper()
	out, errs, code := run(t, program(t, append([]string{"-install"}, args...)...))
	line, ok := strings.CutPrefix(out, "__INSTALL_RESULT__")
	if !ok || code != 0 || errs != "" || strings.Count(out, "\n") != 1 {
		t.Fatalf("exit %d, %q, %q", code, out, errs)
	}
	var f map[string]any
	if err := json.Unmarshal([]byte(line), &f); err != nil {
		t.Fatal(err)
	}
	return f
}

func compressed(t *testing.T, s string) []byte {
	t.Helper()
	var b bytes.Buffer
	z, err := zstd.NewWriter(&b)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(z, s); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestInstall(t *testing.T) {
	const script = "#!/bin/sh\nexit 0\n"
	blob := compressed(t, script)
	hash := sha256.Sum256(blob)
	sum := hex.EncodeToString(hash[:])
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/cli" {
			http.NotFound(w, r)
			return
		}
		w.Write(blob)
	}))
	defer web.Close()
	dir := filepath.Join(t.TempDir(), "cli")
	zst := filepath.Join(t.TempDir(), "blob")
	put := func(b []byte) string {
		if err := os.WriteFile(zst, b, 0o600); err != nil {
			t.Fatal(err)
		}
		return zst
	}
	errorOf := func(args ...string) any { return facts(t, append([]string{"-cli-dir", dir}, args...)...)["cliError"] }
	for _, c := range []struct {
		args []string
		want any
	}{
		{[]string{"-cli-version", "1"}, "cli 1 missing and no --cli-url or --cli-zst provided"},
		{[]string{"-cli-version", "../1", "-cli-url", web.URL + "/cli"}, `cli version "../1" must be a single path component`},
		{[]string{"-cli-version", "1", "-cli-url", web.URL + "/cli"}, "checksum mismatch: expected=, actual=" + sum},
		{[]string{"-cli-version", "1", "-cli-url", web.URL + "/none", "-cli-checksum", sum}, "download failed: status 404"},
		{[]string{"-cli-version", "1", "-cli-zst", "/no/such"}, "opening input: open /no/such: no such file or directory"},
		{[]string{"-cli-version", "1", "-cli-url", web.URL + "/cli", "-cli-checksum", strings.ToUpper(sum)}, nil},
		{[]string{"-cli-version", "2", "-cli-zst", put(blob), "-cli-checksum", "00"}, "checksum mismatch: expected=00, actual=" + sum},
		{[]string{"-cli-version", "2", "-cli-zst", zst}, nil},
	} {
		if got := errorOf(c.args...); got != c.want {
			t.Errorf("%q: %v, want %v", c.args, got, c.want)
		}
	}
	if _, err := os.Stat(zst); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the installed blob is still there (%v)", err)
	}
	if got, _ := errorOf("-cli-version", "3", "-cli-zst", put([]byte("not zstd"))).(string); !strings.HasPrefix(got, "decompressing: ") {
		t.Errorf("a bad blob: %q", got)
	}
	if got := errorOf("-cli-version", "3", "-cli-zst",
		put(compressed(t, "#!/bin/sh\nexit 1\n"))); got != "installed cli at "+dir+"/3 is not runnable" {
		t.Errorf("one that does not run: %v", got)
	}
	if f := facts(t, "-cli-dir", dir, "-cli-version", "1"); f["cliWasPresent"] != true || f["cliPath"] != dir+"/1" || f["cliError"] != nil {
		t.Errorf("%v", f)
	}
	old := time.Now().Add(-time.Hour)
	for i, v := range []string{"1", "2"} {
		if err := os.Chtimes(filepath.Join(dir, v), old, old.Add(time.Duration(i)*time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
	if got := errorOf("-cli-version", "4", "-cli-zst", put(blob), "-cli-keep", "2"); got != nil {
		t.Fatal(got)
	}
	var left []string
	l, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range l {
		left = append(left, e.Name())
	}
	if strings.Join(left, " ") != "2 4" {
		t.Errorf("left: %q", left)
	}
}
