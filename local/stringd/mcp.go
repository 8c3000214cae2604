package stringd

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/cairndb/cairn/local/kit"
	"github.com/cairndb/cairn/local/serve"
	"github.com/cairndb/cairn/local/stringd/command/lang"
	"github.com/cairndb/cairn/node/api"
)

// Error codes of JSON-RPC and of the transport.
const (
	rpcParse      = -32700
	rpcMethod     = -32601
	rpcParams     = -32602
	rpcTransport  = -32000
	latestVersion = "2025-11-25" // of the versions with initialize
)

const (
	mcpPath    = "/mcp"
	stringName = "string" // the name of the only tool
)

var mcpVersions = []string{latestVersion, "2025-06-18", "2025-03-26", "2024-11-05", "2024-10-07"}

// message is a JSON-RPC request, notification or response.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   json.RawMessage `json:"error"`
}

func (m message) valid() bool {
	return m.Version == "2.0" && (m.Method != "" || m.Result != nil || m.Error != nil)
}

// isRequest reports whether the message needs an answer.
func (m message) isRequest() bool {
	return m.Method != "" && len(m.ID) > 0 && !bytes.Equal(m.ID, []byte("null"))
}

func rpcError(id json.RawMessage, code int, text string) kit.Object {
	return kit.Object{"jsonrpc", "2.0", "error", kit.Object{"code", code, "message", text}, "id", id}
}

func rpcErrorf(status, code int, format string, args ...any) *httpError {
	return &httpError{status, rpcError(nil, code, fmt.Sprintf(format, args...))}
}

// mcp serves the Model Context Protocol over Streamable HTTP without sessions: each request is independent.
func (s *Server) mcp(w http.ResponseWriter, r *http.Request) error {
	switch r.Method {
	case http.MethodPost:
		return s.mcpPost(w, r)
	case http.MethodGet:
		return s.mcpListen(w, r)
	case http.MethodDelete:
		w.WriteHeader(http.StatusOK)
		return nil
	}
	w.Header().Set("Allow", "GET, POST, DELETE")
	return rpcErrorf(http.StatusMethodNotAllowed, rpcTransport, "Method not allowed.")
}

func (s *Server) mcpPost(w http.ResponseWriter, r *http.Request) error {
	if t, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); t != "application/json" {
		return rpcErrorf(http.StatusUnsupportedMediaType, rpcTransport, "Unsupported Media Type: Content-Type must be application/json")
	}
	if v := r.Header.Get("Mcp-Protocol-Version"); v != "" && v < statelessVersion && !slices.Contains(mcpVersions, v) {
		return rpcErrorf(http.StatusBadRequest, rpcTransport,
			"Bad Request: Unsupported protocol version: %s (supported versions: %s)", v, strings.Join(mcpVersions, ", "))
	}
	b, err := s.readBody(w, r, maxBody, rpcErrorf(http.StatusRequestEntityTooLarge, rpcTransport, "Request body exceeds %d bytes", maxBody))
	if err != nil {
		return err
	}
	var messages []message
	var batch bool
	err = s.large.Decode(s.Ctx, len(b), func() (err error) {
		messages, batch, err = parseMessages(b)
		return err
	})
	if err != nil {
		return err
	}
	if stateless(r, messages) {
		return s.mcpStateless(w, r, messages, batch)
	}
	a, err := s.mcpAgent(r)
	if err != nil {
		return err
	}
	var answers []kit.Object
	for _, m := range messages {
		if m.isRequest() {
			answers = append(answers, s.mcpAnswer(a, m))
		}
	}
	if len(answers) == 0 {
		w.WriteHeader(http.StatusAccepted)
		return nil
	}
	s.mcpReply(w, r, answers, batch)
	return nil
}

// mcpReply sends answers as events if the client accepts them, and as JSON otherwise.
func (s *Server) mcpReply(w http.ResponseWriter, r *http.Request, answers []kit.Object, batch bool) {
	switch {
	case strings.Contains(strings.Join(r.Header.Values("Accept"), ","), "text/event-stream"):
		startStream(w)
		var out []byte
		for _, f := range answers {
			out = event(out, "message", f)
		}
		_, _ = w.Write(out) // a client that is gone needs no answer
	case batch:
		reply(w, http.StatusOK, answers)
	default:
		reply(w, http.StatusOK, answers[0])
	}
}

// parseMessages reads one message or a batch.
func parseMessages(b []byte) (out []message, batch bool, err error) {
	b = bytes.TrimSpace(bytes.TrimPrefix(b, []byte("\ufeff")))
	if !json.Valid(b) {
		return nil, false, rpcErrorf(http.StatusBadRequest, rpcParse, "Parse error: Invalid JSON")
	}
	if batch = b[0] == '['; batch {
		out, err = parseBatch(b)
	} else {
		out = make([]message, 1)
		err = json.Unmarshal(b, &out[0])
	}
	if err != nil || slices.ContainsFunc(out, func(m message) bool { return !m.valid() }) {
		return nil, false, rpcErrorf(http.StatusBadRequest, rpcParse, "Parse error: Invalid JSON-RPC message")
	}
	return out, batch, nil
}

// maxBatch bounds the messages of a batch, because a message of a few bytes takes a hundred times as much when
// decoded.
const maxBatch = 1000

func parseBatch(b []byte) ([]message, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	if _, err := d.Token(); err != nil { // the bracket
		return nil, err
	}
	out := []message{}
	for d.More() {
		if len(out) == maxBatch {
			return nil, errors.New("batch too large")
		}
		var m message
		if err := d.Decode(&m); err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, nil
}

// mcpAgent returns the agent of the header and registers it if necessary, because MCP clients do not register agents.
func (s *Server) mcpAgent(r *http.Request) (agent, error) {
	id := cmp.Or(agentHeader(r), "default")
	if a, ok := s.agents.get(id); ok {
		return a, nil
	}
	if _, err := s.AddAgent(id, "", nil); err != nil {
		return agent{}, err
	}
	a, _ := s.agents.get(id)
	return a, nil
}

// mcpMethods are the requests of the versions before statelessVersion.
var mcpMethods = map[string]func(*Server, agent, json.RawMessage) kit.Object{
	"initialize": (*Server).mcpInitialize,
	"ping":       func(*Server, agent, json.RawMessage) kit.Object { return kit.Object{} },
	"tools/list": func(*Server, agent, json.RawMessage) kit.Object { return kit.Object{"tools", []any{stringTool()}} },
	"tools/call": (*Server).mcpCall,
}

func (s *Server) mcpAnswer(a agent, m message) kit.Object {
	f, ok := mcpMethods[m.Method]
	if !ok {
		return rpcError(m.ID, rpcMethod, "Method not found")
	}
	return kit.Object{"result", f(s, a, m.Params), "jsonrpc", "2.0", "id", m.ID}
}

func (s *Server) mcpInitialize(_ agent, params json.RawMessage) kit.Object {
	var p struct {
		Version string `json:"protocolVersion"`
	}
	_ = json.Unmarshal(params, &p) // an invalid version gets the latest one
	if !slices.Contains(mcpVersions, p.Version) {
		p.Version = latestVersion
	}
	return kit.Object{"protocolVersion", p.Version, "capabilities", kit.Object{"tools", kit.Object{"listChanged", true}},
		"serverInfo", s.serverInfo()}
}

func (s *Server) serverInfo() kit.Object {
	return kit.Object{"name", "string", "version", s.cfg.Version}
}

// stringTool describes the only tool, which runs any command.
func stringTool() kit.Object {
	str := func(about string) kit.Object {
		return kit.Object{"type", "string", "minLength", 1, "description", about}
	}
	return kit.Object{"name", stringName, "title", "String",
		"description", "Run one command in a topic: documents (/open, /nav, /act, /edit), programs (/exec, bash topics), events, " +
			"and a memory shared by all agents: /remember <text> keeps something, /recall <question> finds it again. " + api.QuotedData + " /help lists every command.",
		"inputSchema", kit.Object{"type", "object", "properties", kit.Object{
			"topic", str("Where the command runs: a name such as main, bash:name for a shell, app:name, or a hub (app, bash, tool, event, system, agent)."),
			"cmd", str("The command line, beginning with a slash, such as /help, /recall what did we decide, or /remember the sky is blue.")},
			"required", []string{"topic", "cmd"}, "$schema", "http://json-schema.org/draft-07/schema#"}}
}

func toolText(text string, isError bool) kit.Object {
	return kit.Object{"content", []kit.Object{{"type", "text", "text", text}}, "isError", isError}
}

func (s *Server) mcpCall(a agent, params json.RawMessage) kit.Object {
	var p struct {
		Name string        `json:"name"`
		Args serve.Members `json:"arguments"`
	}
	if json.Unmarshal(params, &p) != nil || p.Name == "" {
		return toolText(fmt.Sprintf("MCP error %d: Invalid tool call", rpcParams), true)
	}
	if p.Name != stringName {
		return toolText(fmt.Sprintf("MCP error %d: Tool %s not found", rpcParams, p.Name), true)
	}
	topic, topicOK := textField(p.Args, "topic")
	cmd, cmdOK := textField(p.Args, "cmd")
	if !topicOK || !cmdOK || topic == "" || cmd == "" {
		return toolText(fmt.Sprintf("MCP error %d: Input validation error: Invalid arguments for tool string: topic and cmd must be non-empty strings",
			rpcParams), true)
	}
	t, ok := lang.ParseTopic(topic)
	if !ok {
		return toolText(envelope(topic, "ERROR(INVALID_TARGET): Invalid topic: "+topic), true)
	}
	x, _, err := s.sessions.getOrCreate(a.ID, t)
	if err != nil {
		return toolText(envelope(t.Name, fmt.Sprintf("ERROR(BUSY): Agent %s has %d sessions. Delete some first.", a.ID, maxSessions)), true)
	}
	if !x.tryAcquire() {
		return toolText(envelope(t.Name, "ERROR(BUSY): Topic "+t.Name+" is executing another command. Retry shortly."), true)
	}
	if a, err = s.agentNow(x); err != nil {
		return toolText(envelope(t.Name, "ERROR(INVALID_TARGET): "+err.Error()), true)
	}
	res := s.runAndRelease(x, a, cmd)
	return toolText(envelope(t.Name, res.Body()), !res.OK())
}

// envelope marks the beginning and the end of a command's text. It escapes marks inside the text, so that the text
// cannot end the envelope.
func envelope(topic, body string) string {
	return "<𝒞=string:" + topic + ">\n" + envelopeEscaper.Replace(body) + "\n</𝒞>"
}

var envelopeEscaper = strings.NewReplacer("</𝒞", `<\/𝒞`, "<𝒞", `<\𝒞`)

// mcpListen serves the stream for messages from the server. This server sends only pings.
func (s *Server) mcpListen(w http.ResponseWriter, r *http.Request) error {
	if !strings.Contains(strings.Join(r.Header.Values("Accept"), ","), "text/event-stream") {
		return rpcErrorf(http.StatusNotAcceptable, rpcTransport, "Not Acceptable: Client must accept text/event-stream")
	}
	put, done := startStream(w)
	defer done()
	ping := time.NewTicker(s.cfg.Ping)
	defer ping.Stop()
	for {
		select {
		case <-ping.C:
			if put([]byte(": ping\n\n")) != nil {
				return nil
			}
		case <-r.Context().Done():
			return nil
		case <-s.Ctx.Done():
			return nil
		}
	}
}
