package sift

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/cairndb/cairn/local/kit"
	"github.com/cairndb/cairn/local/serve"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire/redact"
)

// answer is the outcome of a request.
type answer struct {
	kind       string
	parts      []any // frames that are sent before the frame of data
	data       any
	err        error
	afterReply func() // called after the reply is sent; may be nil
}

// call is a running request: its workspace and its raw fields. Field names are case-sensitive.
type call struct {
	s       *Server
	w       Workspace
	ns      string // namespace of the workspace's memories
	ownOnly bool   // the request sees only this workspace's memories
	fields  serve.Members
	size    int
	out     *answer
}

// A handler answers one kind of request.
type handler = func(context.Context, *call) (any, error)

// workspaceHandlers returns the handlers of a workspace's socket, by the kind of the request.
func workspaceHandlers() map[string]handler {
	return map[string]handler{
		"capture":       capture,
		"search":        search,
		"timeline":      timeline,
		"get":           get,
		"ping":          ping,
		"status":        status,
		"backfill":      backfill,
		"shutdown":      shutdown,
		"drain":         drain,
		"summaries":     summaries,
		"why":           why,
		"stream_search": streamSearch,
		"backfill_run":  backfillRunState, // not of the original daemon
		"import_home":   importHome,       // not of the original daemon

		"pin":               withTimeout(setPin),
		"unpin":             withTimeout(setPin),
		"pinned":            pinned,
		"claim_for_summary": claimForSummary,
		"record_summary":    withTimeout(recordSummary),
		"release_summary":   releaseSummary,
		"retry_skipped":     retrySkipped,
		"prune":             prune,
		"sweep_expired":     withTimeout(sweepExpired),
		"cache_get":         cacheGet,
		"cache_put":         withTimeout(cachePut),
		"export":            export,
		"import":            importLines,
		"thread":            thread,
		"federate_search":   federateSearch,
		"symbol_search":     symbolSearch,
		"stats":             stats,
		"doctor":            doctor,
	}
}

// withTimeout limits a write to the timeout of a capture, because its client gives up after a second and a half.
func withTimeout(run handler) handler {
	return func(ctx context.Context, c *call) (any, error) {
		ctx, cancel := context.WithTimeout(ctx, c.s.cfg.CaptureTimeout)
		defer cancel()
		return run(ctx, c)
	}
}

// controlHandlers returns the handlers of the control socket, by the kind of the request.
func controlHandlers() map[string]handler {
	return map[string]handler{
		"ping":       ping,
		"open":       open,
		"workspaces": workspaces,
	}
}

// answer decodes a request and runs it. A client that disconnects does not cancel a running request.
func (l *listener) answer(req []byte) *answer {
	a := &answer{}
	c := &call{s: l.s, size: len(req), out: a}
	if a.err = l.s.large.Decode(l.s.Ctx, len(req), func() error { return c.decode(req) }); a.err != nil {
		return a
	}
	table := l.s.controls
	if l.workspace != nil {
		table, c.w, c.ns = l.s.kinds, *l.workspace, l.workspace.Namespace(l.s.cfg.NS)
	}
	kind := c.kind()
	run := table[kind]
	if run == nil {
		a.err = fmt.Errorf("unknown request kind: %s", redactShort(kind))
		return a
	}
	a.kind = kind
	if a.err = c.await(l.s.Ctx); a.err == nil {
		a.data, a.err = run(l.s.Ctx, c)
	}
	if a.err != nil {
		a.data, a.err = nil, l.s.publicError(kind, a.err)
	}
	return a
}

func (c *call) decode(req []byte) error {
	if !utf8.Valid(req) {
		req = bytes.ToValidUTF8(req, []byte("\uFFFD"))
	}
	err := json.Unmarshal(req, &c.fields)
	_, wrongType := errors.AsType[*json.UnmarshalTypeError](err)
	switch {
	case err == nil && c.fields != nil:
		return nil
	case err == nil || wrongType: // valid JSON, but not an object
		return errors.New("unknown request kind: undefined")
	}
	return errors.New("invalid json: " + jsonFault(err))
}

// await waits until this node has the state that the request requires (fields min_index and consistency).
func (c *call) await(ctx context.Context) error {
	want, err := api.FreshOf(c.fields)
	if err != nil {
		return badRequest(fmt.Sprintf("%s: %v", c.kind(), err))
	}
	return c.s.cfg.Memory.Await(ctx, want)
}

// kind returns the request's kind.
func (c *call) kind() string { return c.fieldText("kind", "undefined") }

// fieldText returns a field as clients print it: a string without quotes, any other value as JSON. It returns absent
// if the field is missing.
func (c *call) fieldText(name, absent string) string {
	raw, ok := c.fields[name]
	if !ok {
		return absent
	}
	if s, ok := c.fields.Text(name); ok {
		return s
	}
	return string(raw)
}

// redactShort returns a client's text for an error message, shortened and without secrets.
func redactShort(s string) string {
	s = redact.String(s)
	if len(s) > 64 {
		s = strings.ToValidUTF8(s[:64], "")
	}
	return s
}

// jsonFault describes a syntax error by its offset. It repeats none of the text, which may hold a secret.
func jsonFault(err error) string {
	if at, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Sprintf("unexpected input at offset %d", at.Offset)
	}
	return "unexpected input"
}

// badRequest is an error that the client gets unchanged.
type badRequest string

func (b badRequest) Error() string { return string(b) }

// publicError returns the error that the client gets. It logs an internal error.
func (s *Server) publicError(kind string, err error) error {
	var bad badRequest
	var opErr *oplog.Error
	switch {
	case errors.As(err, &bad):
		return bad
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return errors.New("not enough voters answered in time; retry")
	case errors.As(err, &opErr) && opErr.Kind != oplog.Internal && opErr.Kind != oplog.Corrupt:
		return errors.New(opErr.Text)
	}
	s.Log.Error("request failed", "kind", kind, "err", err)
	return errors.New("internal error")
}

// text reads a string field. ok is false if it is missing or of another type.
func (c *call) text(name string) (s string, ok bool) {
	err := c.s.large.Decode(c.s.Ctx, len(c.fields[name]), func() error {
		s, ok = c.fields.Text(name)
		return nil
	})
	return s, ok && err == nil
}

// number reads a number. found is false if the field is missing or null. Any other value that is not a number is an
// error.
func (c *call) number(name string) (n float64, found bool, err error) {
	v, err := serve.DecodeMember[float64](c.fields, name)
	if err != nil { // JSON has no infinite numbers
		return 0, true, badRequest(fmt.Sprintf("%s: %s must be a number", c.kind(), name))
	}
	return serve.ValueOr(v, 0), v != nil, nil
}

// count reads an optional number, clamped to 0..limit. def is the default.
func (c *call) count(name string, def, limit int) (int, error) {
	n, found, err := c.number(name)
	if err != nil || !found {
		return def, err
	}
	return int(max(0, min(n, float64(limit)))), nil
}

func ping(ctx context.Context, c *call) (any, error) {
	at := c.s.nodeRole(ctx)
	return kit.Object{"pong", true, "pid", os.Getpid(), "uptimeMs", time.Since(c.s.started).Milliseconds(), "nodeId",
		at.NodeID, "role", at.Role}, nil
}

// shutdown replies before anything stops. It stops the node if Config.Stop is set and the request is not for its
// workspace only; otherwise it stops serving the workspace.
func shutdown(ctx context.Context, c *call) (any, error) {
	_, err := api.StopNode.Ask(ctx, c.s.cfg.Memory, &api.HostRequest{Run: func(context.Context) error {
		c.out.afterReply = func() {
			if c.s.cfg.Stop != nil && !c.fields.Flag("workspaceOnly", false) {
				c.s.cfg.Stop()
				return
			}
			if err := c.s.Stop(c.w.Key); err != nil {
				c.s.Log.Warn("workspace not closed cleanly", "key", c.w.Key, "err", err)
			}
		}
		return nil
	}})
	if err != nil {
		return nil, badRequest("shutdown is not allowed on this node")
	}
	return kit.Object{"ok", true, "stopping", true}, nil
}

// errNotAllowed rejects an operation that the configuration does not allow.
const errNotAllowed = badRequest("this is not allowed on this node")

// withPermission runs do, which uses the host, if the door allows it.
func (s *Server) withPermission(ctx context.Context, op api.Of[api.HostRequest, api.Nothing], do func() error) error {
	return s.cfg.Memory.Act(ctx, op, errNotAllowed, func(context.Context) error { return do() })
}

// open starts serving a workspace: {"kind":"open","path":DIR,"subspace":S?}.
func open(ctx context.Context, c *call) (any, error) {
	dir, _ := c.text("path")
	sub, _ := c.text("subspace")
	var w Workspace
	err := c.s.withPermission(ctx, api.RunGit, func() (err error) {
		if i, err := os.Stat(dir); err != nil || !i.IsDir() {
			return cmp.Or(err, fs.ErrInvalid)
		}
		w, err = FindWorkspace(ctx, dir, sub)
		return err
	})
	if errors.Is(err, errNotAllowed) {
		return nil, err
	}
	if err != nil {
		return nil, badRequest("open: path must be a directory of this host")
	}
	if _, err := c.s.Serve(w); err != nil {
		return nil, badRequest(err.Error())
	}
	return c.s.describeServed(w), nil
}

// Served describes a served workspace.
type Served struct {
	Namespace string `json:"namespace"`
	Key       string `json:"workspace"`
	Dir       string `json:"cwd"`
	Socket    string `json:"socket"`
}

func (s *Server) describeServed(w Workspace) Served {
	return Served{s.cfg.NS, w.Key, w.Dir, Socket(s.cfg.Home, s.cfg.NS, w.Key)}
}

func workspaces(_ context.Context, c *call) (any, error) {
	return kit.Object{"workspaces", api.Each(c.s.servedWorkspaces(), c.s.describeServed)}, nil
}
