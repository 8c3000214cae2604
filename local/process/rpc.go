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

// request is a decoded request line.
type request struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      any             `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
	Auth    string          `json:"auth"`
}

// rpcError is the error object of an answer.
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

func rpcErrorf(code int, format string, args ...any) error {
	return &rpcError{code, fmt.Sprintf(format, args...)}
}

var errParams = rpcErrorf(codeParams, "Invalid params")

// parse decodes a request and makes the checks that do not depend on its method. It also returns the request with an
// error, because the answer needs its id.
func (s *Server) parse(line []byte) (request, error) {
	var r request
	if err := json.Unmarshal(line, &r); err != nil {
		return request{}, rpcErrorf(codeParse, "Parse error")
	}
	if !door.EqualSecrets(r.Auth, s.cfg.Token) {
		id := ""
		if r.ID != nil {
			b, _ := json.Marshal(r.ID) // it was decoded from JSON
			id = string(b)
		}
		s.Log.Warn("[Server] Unauthorized request: method=" + oneLine(r.Method) + ", id=" + oneLine(id))
		return r, rpcErrorf(codeUnauthorized, "Unauthorized: invalid or missing auth token")
	}
	if r.JSONRPC != "2.0" {
		return r, rpcErrorf(codeVersion, "Invalid JSON-RPC version")
	}
	return r, nil
}

// lookupMethod finds a method by its name.
func (s *Server) lookupMethod(name string) (method, error) {
	ns, _, dotted := strings.Cut(name, ".")
	if !dotted {
		return method{}, rpcErrorf(codeMethod, "Invalid method format: %s", name)
	}
	known := false
	for _, m := range s.methods {
		if m.name == name {
			return m, nil
		}
		known = known || strings.HasPrefix(m.name, ns+".")
	}
	if !known {
		return method{}, rpcErrorf(codeMethod, "Unknown namespace: %s", ns)
	}
	return method{}, rpcErrorf(codeMethod, "Unknown method: %s", name)
}

// method is a method of the protocol. Either plain or process is set. Both decode the parameters at once, while the
// reader has its turn, and return the function that does the rest.
type method struct {
	name string
	// plain methods run concurrently with everything else.
	plain func(json.RawMessage) func(*Server) (any, error)
	// process methods take effect in order with the other requests of the connection for the same process. They send
	// their own answer.
	process func(json.RawMessage) (process string, do func(*call))
	// files marks a plain method whose result may be a file. A connection has few of them open at a time.
	files bool
	// permission is the operation that the door must allow; nil if none is needed.
	permission *hostOperation
}

// noParams makes a plain method that ignores its parameters.
func noParams(f func(*Server) (any, error)) func(json.RawMessage) func(*Server) (any, error) {
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

// methods returns all methods, in the order of the answer of server.capabilities.
func methods() []method {
	return []method{
		{name: "server.ping", plain: noParams(ping)},
		{name: "server.version", plain: noParams(version)},
		{name: "server.capabilities", plain: noParams(capabilities)},
		{name: "server.shutdown", plain: noParams(shutdown), permission: &api.StopNode},
		{name: "files.list", plain: plain(filesList), permission: &api.UseFiles},
		{name: "files.validate", plain: plain(filesValidate), permission: &api.UseFiles},
		{name: "files.stat", plain: plain(filesStat), permission: &api.UseFiles},
		{name: "files.read", plain: plain(filesRead), files: true, permission: &api.UseFiles},
		{name: "files.extract_tar", plain: plain(extractTar), permission: &api.UseFiles},
		{name: "git.info", plain: plain(gitInfo), permission: &api.RunGit},
		{name: "git.status", plain: plain(gitStatus), permission: &api.RunGit},
		{name: "git.list_branches", plain: plain(gitBranches), permission: &api.RunGit},
		{name: "git.worktree_create", plain: plain(gitWorktreeCreate), permission: &api.RunGit},
		{name: "git.worktree_remove", plain: plain(gitWorktreeRemove), permission: &api.RunGit},
		{name: "process.spawn", process: ordered(spawn)},
		{name: "process.stdin", process: ordered(stdin)},
		{name: "process.kill", process: ordered(kill)},
		{name: "process.killAndWait", process: ordered(killAndWait)},
		{name: "process.reattach", process: ordered(reattach)},
	}
}

// bind decodes the parameters of a method. After an error it still returns the members that could be decoded, such as
// the process id.
func bind[T any](raw json.RawMessage) (p T, err error) {
	if len(raw) == 0 || json.Unmarshal(raw, &p) != nil {
		return p, errParams
	}
	return p, nil
}

// encodeAnswer encodes an answer line. An error of another type than rpcError is sent as an internal error with its
// text.
func encodeAnswer(id, result any, err error) []byte {
	line := kit.Object{"jsonrpc", "2.0", "id", id, "result", result}
	if err != nil {
		e := &rpcError{codeInternal, err.Error()}
		errors.As(err, &e)
		line = kit.Object{"jsonrpc", "2.0", "id", id, "error", e}
	}
	b, err := json.Marshal(line) // it escapes HTML, as the protocol requires
	if err != nil {              // the results of the methods always encode
		return encodeAnswer(nil, nil, err)
	}
	return append(b, '\n')
}

// oneLine cleans a client's text for the log, so that it cannot begin a new line.
func oneLine(s string) string {
	clean := func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '\u2028' || r == '\u2029' || r == '\u0085' {
			return '?'
		}
		return r
	}
	return string(bytes.ToValidUTF8([]byte(strings.Map(clean, s)), []byte("?")))
}
