package process

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/cairndb/cairn/local/door"
	"github.com/cairndb/cairn/local/kit"
	"github.com/cairndb/cairn/node/api"
)

// request is a line as it came.
type request struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      any             `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
	Auth    string          `json:"auth"`
}

// rpcError is the answer to a request that is rejected or has failed.
type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

const (
	codeParse        = -32700
	codeVersion      = -32600
	codeMethod       = -32601
	codeParams       = -32602
	codeInternal     = -32603
	codeUnauthorized = -32001
	codeOffsetGap    = -32003
)

// Error implements error.
func (e *rpcError) Error() string { return e.Message }

func refuse(code int, format string, args ...any) error {
	return &rpcError{code, fmt.Sprintf(format, args...)}
}

var errParams = refuse(codeParams, "Invalid params")

// parse reads a request and checks what does not depend on its method. The request is there for its id even when it
// is rejected.
func (s *Server) parse(line []byte) (request, error) {
	var r request
	if err := json.Unmarshal(line, &r); err != nil {
		return request{}, refuse(codeParse, "Parse error")
	}
	if !door.Same(r.Auth, s.cfg.Token) {
		id := ""
		if r.ID != nil {
			b, _ := json.Marshal(r.ID) // it was JSON a moment ago
			id = string(b)
		}
		s.Log.Warn("[Server] Unauthorized request: method=" + oneLine(r.Method) + ", id=" + oneLine(id))
		return r, refuse(codeUnauthorized, "Unauthorized: invalid or missing auth token")
	}
	if r.JSONRPC != "2.0" {
		return r, refuse(codeVersion, "Invalid JSON-RPC version")
	}
	return r, nil
}

// find is the method of a request.
func (s *Server) find(name string) (method, error) {
	ns, _, dotted := strings.Cut(name, ".")
	if !dotted {
		return method{}, refuse(codeMethod, "Invalid method format: %s", name)
	}
	known := false
	for _, m := range s.methods {
		if m.name == name {
			return m, nil
		}
		known = known || strings.HasPrefix(m.name, ns+".")
	}
	if !known {
		return method{}, refuse(codeMethod, "Unknown namespace: %s", ns)
	}
	return method{}, refuse(codeMethod, "Unknown method: %s", name)
}

// method is one of the nineteen. Exactly one of its functions is set; they decode parameters, in the turn of their
// reader, and return the rest of the work.
type method struct {
	name string
	// plain's runs alongside everything else.
	plain func(json.RawMessage) func(*Server) (any, error)
	// process's takes effect in order with the other requests for its process on the connection, and answers by itself.
	process func(json.RawMessage) (process string, do func(*call))
	// files says that plain's result may be a file: a connection has a few of them open at a time.
	files bool
	// needs names the permission for what plain does to the host; nil: none is needed.
	needs *onHost
}

// bare is a plain method that looks at no parameters.
func bare(f func(*Server) (any, error)) func(json.RawMessage) func(*Server) (any, error) {
	return func(json.RawMessage) func(*Server) (any, error) { return f }
}

func plain[P any](f func(*Server, P) (any, error)) func(json.RawMessage) func(*Server) (any, error) {
	return func(raw json.RawMessage) func(*Server) (any, error) {
		p, err := bind[P](raw)
		return func(s *Server) (any, error) {
			if err != nil {
				return nil, err
			}
			return f(s, p)
		}
	}
}

func ordered[P interface{ process() string }](f func(*call, P)) func(json.RawMessage) (string, func(*call)) {
	return func(raw json.RawMessage) (string, func(*call)) {
		p, err := bind[P](raw)
		return p.process(), func(k *call) {
			if err != nil {
				k.reply(nil, err)
				return
			}
			f(k, p)
		}
	}
}

// methods are in the order in which capabilities lists them.
func methods() []method {
	return []method{
		{name: "server.ping", plain: bare(ping)},
		{name: "server.version", plain: bare(version)},
		{name: "server.capabilities", plain: bare(capabilities)},
		{name: "server.shutdown", plain: bare(shutdown), needs: &api.StopNode},
		{name: "files.list", plain: plain(filesList), needs: &api.UseFiles},
		{name: "files.validate", plain: plain(filesValidate), needs: &api.UseFiles},
		{name: "files.stat", plain: plain(filesStat), needs: &api.UseFiles},
		{name: "files.read", plain: plain(filesRead), files: true, needs: &api.UseFiles},
		{name: "files.extract_tar", plain: plain(extractTar), needs: &api.UseFiles},
		{name: "git.info", plain: plain(gitInfo), needs: &api.RunGit},
		{name: "git.status", plain: plain(gitStatus), needs: &api.RunGit},
		{name: "git.list_branches", plain: plain(gitBranches), needs: &api.RunGit},
		{name: "git.worktree_create", plain: plain(gitWorktreeCreate), needs: &api.RunGit},
		{name: "git.worktree_remove", plain: plain(gitWorktreeRemove), needs: &api.RunGit},
		{name: "process.spawn", process: ordered(spawn)},
		{name: "process.stdin", process: ordered(stdin)},
		{name: "process.kill", process: ordered(kill)},
		{name: "process.killAndWait", process: ordered(killAndWait)},
		{name: "process.reattach", process: ordered(reattach)},
	}
}

// bind decodes params into a method's struct. With an error the struct has the members that could be read, its id among
// them.
func bind[T any](raw json.RawMessage) (p T, err error) {
	if len(raw) == 0 || json.Unmarshal(raw, &p) != nil {
		return p, errParams
	}
	return p, nil
}

// answer is the line of a response. An error without a code comes from the system and is told in its words.
func answer(id, result any, err error) []byte {
	line := kit.Object{"jsonrpc", "2.0", "id", id, "result", result}
	if err != nil {
		e := &rpcError{codeInternal, err.Error()}
		errors.As(err, &e)
		line = kit.Object{"jsonrpc", "2.0", "id", id, "error", e}
	}
	b, err := json.Marshal(line) // which escapes for HTML, as this protocol does
	if err != nil {              // nothing a handler returns can fail to encode
		return answer(nil, nil, err)
	}
	return append(b, '\n')
}

// oneLine is a client's text for a log, where it must not begin its own line.
func oneLine(s string) string {
	clean := func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '\u2028' || r == '\u2029' || r == '\u0085' {
			return '?'
		}
		return r
	}
	return string(bytes.ToValidUTF8([]byte(strings.Map(clean, s)), []byte("?")))
}
