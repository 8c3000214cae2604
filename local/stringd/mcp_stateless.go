package stringd

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/cairndb/cairn/local/kit"
)

// statelessVersion is the first version without initialize. Each request carries its version, and headers repeat the
// version, method and tool, so that proxies need not parse the body. server/discover describes the server.
const statelessVersion = "2026-07-28"

// Error codes of that version.
const (
	rpcInvalid = -32600
	rpcHeader  = -32020 // a header differs from the message
	rpcVersion = -32022
)

// Members of _meta.
const (
	metaVersion      = "io.modelcontextprotocol/protocolVersion"
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	metaServer       = "io.modelcontextprotocol/serverInfo"
)

// listTTL bounds how long a client may cache lists. They only change with the version of the node.
const listTTL = time.Hour

// statelessMethods are the requests of statelessVersion.
var statelessMethods = map[string]func(*Server, agent, json.RawMessage) kit.Object{
	"server/discover": func(s *Server, _ agent, _ json.RawMessage) kit.Object {
		return kit.Object{"supportedVersions", supportedVersions, "capabilities", kit.Object{"tools", kit.Object{}}, "ttlMs",
			listTTL.Milliseconds(), "cacheScope", "private"}
	},
	"tools/list": func(*Server, agent, json.RawMessage) kit.Object {
		return kit.Object{"tools", []any{stringTool()}, "ttlMs", listTTL.Milliseconds(), "cacheScope", "private"}
	},
	"tools/call": (*Server).mcpCall,
}

var supportedVersions = append([]string{statelessVersion}, mcpVersions...)

// requestParams are the parameters of a message that its headers repeat.
type requestParams struct {
	Name string                     `json:"name"`
	Meta map[string]json.RawMessage `json:"_meta"`
}

// stateless reports whether messages are of statelessVersion or later, by the header or by their _meta.
func stateless(r *http.Request, messages []message) bool {
	if r.Header.Get("Mcp-Protocol-Version") >= statelessVersion {
		return true
	}
	return slices.ContainsFunc(messages, func(m message) bool { return m.params().Meta[metaVersion] != nil })
}

func (m message) params() (p requestParams) {
	_ = json.Unmarshal(m.Params, &p) // parameters of another type have no such members
	return p
}

// mcpStateless answers a message of statelessVersion.
func (s *Server) mcpStateless(w http.ResponseWriter, r *http.Request, messages []message, batch bool) error {
	if batch || len(messages) != 1 {
		return rpcErrorf(http.StatusBadRequest, rpcInvalid, "Invalid Request: no batches since version 2025-06-18")
	}
	m := messages[0]
	if !m.isRequest() {
		w.WriteHeader(http.StatusAccepted)
		return nil
	}
	if err := m.checkHeaders(r.Header); err != nil {
		return err
	}
	f, ok := statelessMethods[m.Method]
	if !ok {
		return &httpError{http.StatusNotFound, rpcError(m.ID, rpcMethod, "Method not found")}
	}
	if name := m.params().Name; m.Method == "tools/call" && name != stringName {
		return &httpError{http.StatusOK, rpcError(m.ID, rpcParams, "Tool "+name+" not found")}
	}
	a, err := s.mcpAgent(r)
	if err != nil {
		return err
	}
	result := append(f(s, a, m.Params), "resultType", "complete", "_meta", kit.Object{metaServer, s.serverInfo()})
	s.mcpReply(w, r, []kit.Object{{"result", result, "jsonrpc", "2.0", "id", m.ID}}, false)
	return nil
}

// checkHeaders rejects a message that differs from its headers, or whose version is not supported.
func (m message) checkHeaders(h http.Header) error {
	p := m.params()
	bad := func(code int, format string, args ...any) error {
		return &httpError{http.StatusBadRequest, rpcError(m.ID, code, fmt.Sprintf(format, args...))}
	}
	var version string
	header := h.Get("Mcp-Protocol-Version")
	switch {
	case header == "":
		return bad(rpcHeader, "MCP-Protocol-Version is missing")
	case json.Unmarshal(p.Meta[metaVersion], &version) != nil || version == "":
		return bad(rpcParams, "_meta: %s is missing", metaVersion)
	case version != header:
		return bad(rpcHeader, "MCP-Protocol-Version %q is not the message's, %q", header, version)
	case version != statelessVersion:
		rpcErr := rpcError(m.ID, rpcVersion, "Unsupported protocol version")
		rpcErr[3] = append(rpcErr[3].(kit.Object), "data", kit.Object{"supported", supportedVersions, "requested", version})
		return &httpError{http.StatusBadRequest, rpcErr}
	case len(p.Meta[metaCapabilities]) == 0:
		return bad(rpcParams, "_meta: %s is missing", metaCapabilities)
	case h.Get("Mcp-Method") != m.Method:
		return bad(rpcHeader, "Mcp-Method %q is not the message's, %q", h.Get("Mcp-Method"), m.Method)
	}
	if name, ok := headerText(h.Get("Mcp-Name")); m.Method == "tools/call" && (!ok || name != p.Name) {
		return bad(rpcHeader, "Mcp-Name %q is not the message's, %q", h.Get("Mcp-Name"), p.Name)
	}
	return nil
}

// headerText decodes a header value, which may be =?base64?…?=.
func headerText(v string) (text string, ok bool) {
	coded, begins := strings.CutPrefix(v, "=?base64?")
	coded, ends := strings.CutSuffix(coded, "?=")
	if !begins || !ends {
		return v, true
	}
	b, err := base64.StdEncoding.DecodeString(coded)
	return string(b), err == nil
}
