package process_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestTranscripts compares recorded conversations byte for byte. The commands of a script are
//
//	sh              runs its input in $D
//	raw             sends each line as it is and prints the answer to it
//	call            sends "method params" on each line as a request, and prints the answer
//	new             continues on a new connection
//	frames id=P     prints the frames of P until its exit
//	all             like call, but also prints the frames before the answer
//
// $D is an empty directory, $TOK the token.
func TestTranscripts(t *testing.T) {
	datadriven.Walk(t, "testdata/transcripts", func(t *testing.T, path string) {
		t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
		t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
		t.Setenv("GIT_DIR", "/no/such") // the environment of the server must not change the repository
		t.Setenv("LC_ALL", "C")
		socket, _ := listen(t)
		dir, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		s := &script{t: t, socket: socket, dir: dir, p: connect(t, socket)}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			s.t = t
			return s.scrub(s.run(d))
		})
	})
}

type script struct {
	t      *testing.T
	socket string
	dir    string
	p      *peer
	frames []string
	id     int
}

func (s *script) fill(line string) string {
	return strings.NewReplacer("$D", s.dir, "$TOK", token).Replace(line)
}

var (
	pids    = regexp.MustCompile(`"pid":[1-9][0-9]*,"startTime":[0-9]+(\.[0-9]+)?`)
	commits = regexp.MustCompile(`detached:[0-9a-f]{4,40}`)
	gitSaid = regexp.MustCompile(`(git worktree add failed: )Preparing[^"]*`) // the text depends on the version of git
	sizes   = regexp.MustCompile(`"isDir":true,"size":[0-9]+`)
)

func (s *script) scrub(out string) string {
	out = strings.NewReplacer(s.dir, "$D", token, "$TOK").Replace(out)
	out = sizes.ReplaceAllString(out, `"isDir":true,"size":SIZE`)
	out = gitSaid.ReplaceAllString(out, "${1}GIT")
	return commits.ReplaceAllString(pids.ReplaceAllString(out, `"pid":PID,"startTime":TIME`), "detached:SHA")
}

func (s *script) run(d *datadriven.TestData) string {
	var b strings.Builder
	switch d.Cmd {
	case "sh":
		c := exec.Command("/bin/sh", "-ec", s.fill(d.Input))
		c.Dir, c.Env = s.dir, append(os.Environ(), "GIT_DIR=")
		c.Env = slicesWithout(c.Env, "GIT_DIR=")
		out, err := c.CombinedOutput()
		if err != nil {
			s.t.Fatalf("%s: %v\n%s", d.Pos, err, out)
		}
		return string(out)
	case "new":
		s.p.nc.Close()
		s.p = connect(s.t, s.socket)
	case "raw", "call", "all":
		for l := range strings.Lines(d.Input) {
			l = strings.TrimSuffix(l, "\n")
			if d.Cmd != "raw" {
				s.id++
				method, params, _ := strings.Cut(l, " ")
				if params != "" {
					params = `,"params":` + params
				}
				l = fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"%s"%s,"auth":"$TOK"}`, s.id, method, params)
			}
			s.p.write(s.fill(l) + "\n")
			s.answer(&b, d.Cmd == "all")
		}
	case "frames":
		var id string
		d.ScanArgs(s.t, "id", &id)
		s.untilExit(&b, `"processId":"`+id+`",`)
	default:
		s.t.Fatalf("%s: unknown command %s", d.Pos, d.Cmd)
	}
	return b.String()
}

func slicesWithout(env []string, prefix string) (kept []string) {
	for _, kv := range env {
		if !strings.HasPrefix(kv, prefix) {
			kept = append(kept, kv)
		}
	}
	return kept
}

func (s *script) line() string {
	l, err := s.p.lines.ReadString('\n')
	if err != nil {
		s.t.Fatal(err)
	}
	return l
}

// answer prints lines up to the next answer. Frames that are not printed are kept for later.
func (s *script) answer(b *strings.Builder, frames bool) {
	for {
		l := s.line()
		if isFrame := strings.HasPrefix(l, `{"type":"stream"`); !isFrame || frames {
			b.WriteString(l)
			if !isFrame {
				return
			}
		} else {
			s.frames = append(s.frames, l)
		}
	}
}

func (s *script) untilExit(b *strings.Builder, id string) {
	for {
		if len(s.frames) == 0 {
			s.frames = append(s.frames, s.line())
		}
		l := s.frames[0]
		if s.frames = s.frames[1:]; !strings.Contains(l, id) {
			continue
		}
		b.WriteString(l)
		if strings.Contains(l, `"stream":"exit"`) {
			return
		}
	}
}
