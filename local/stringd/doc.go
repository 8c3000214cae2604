// Package stringd serves the stringd protocol, version 0.1, to agents on this host: HTTP/1.1 on loopback only,
// commands answered as server-sent events, and the same commands as a tool of the Model Context Protocol. Package
// door accepts requests from programs of the node's user and of root, from clients with the node's token, and from
// pages of listed origins. It rejects any other request with 403 first. Accepted clients trust each other: the
// X-Agent-Id header names the agent without a proof.
//
// # Endpoints
//
//	POST   /exec                    {"cmd","topic"?,"request_id"?}; X-Agent-Id      three events, below
//	GET    /health                                                                 {"ok","agents","sessions","version","role"}
//	POST   /shutdown                                                               {"ok","message"}, then the process stops
//	GET    /describe                                                               name, version, limits
//	GET    /agents                                                                 {"agents":[{"id","home","allowedPaths","createdAt"}]}
//	POST   /agents                  {"agent_id","home"?,"allowed_paths"?}          {"agent_id","home","created"}
//	DELETE /agents/:id                                                             {"agent_id","deleted"}
//	GET    /agents/:id/webhook      the URL                                       {"agent_id","webhook_url"}
//	POST   /agents/:id/webhook      a new URL; the old one is invalid at once
//	GET    /sessions[?agent_id=]                                                   {"sessions":[...]}
//	POST   /sessions                {"agent_id","topic"?}                          {"agent_id","topic","topic_type","created"}
//	DELETE /sessions/:agent/:topic                                                 {"agent_id","topic","deleted"}
//	POST   /webhook/:token          any text up to 64 KiB                          202 {"ok","agent_id","event_id"}
//	GET    /events/stream           X-Agent-Id                                     ready, then event and ping
//	*      /mcp                     JSON-RPC 2.0, Streamable HTTP without sessions, up to version 2026-07-28
//
// Every answer to a request that the door accepts carries Access-Control-Allow-Origin: * and
// Access-Control-Allow-Headers: Content-Type, X-Agent-Id; OPTIONS is 204. Errors are {"error":"..."}: 400 for
// malformed requests, 401 for unknown agents and tokens, 403 for requests that the door rejects and for a shutdown
// that is not allowed, 404 for unknown paths and methods, 413 over 10 MiB, 429 and 504 from the queue; 429 also for a
// webhook whose agent has a full inbox.
//
// An agent's documents are in its home and its allowed paths. Both must be in the roots of the daemon (Config.Roots
// and Config.Agents): /agents rejects others with 400. Agents cannot reach closed directories (Config.Closed and
// Config.Data), even within a root.
//
// # An answer of /exec
//
//	event: head
//	data: {"ok":true,"code":null,"cmd":"/info","request_id":null,"agent_id":"a","topic":"main","topic_type":"tab","meta":null}
//
//	event: content
//	data: "re: [request id] /info\nSession info\n---\n..."
//
//	event: done
//	data: {}
//
// Lines end in \n, each event has one data line, data is JSON. Headers go out when the command starts, the events
// when it has ended. A failed command has a code, and a body of ERROR(CODE): message; the status stays 200.
//
// # Topics and the queue
//
// A topic is a bare name (a tab), app:name[:config], bash:name, or one of the hubs app, bash, tool, event, system,
// agent. It runs one command at a time. Five commands may wait; a further one gets 429 QUEUE_FULL, and one that has
// waited 120 seconds gets 504 QUEUE_TIMEOUT. If a client disconnects, its waiting command is dropped, but a running
// one completes. A command through /mcp does not wait: if the topic is busy, it gets BUSY.
//
// # Commands
//
// /help lists them, and package command has them in a table: documents (String-flavoured Markdown, see
// package sfmd), navigation, actions, variables, edits, the shell, events, topics, hubs, and the memory of the
// cluster: /remember, /recall, /memory, /forget, /recent, /timeline, /stats, /cluster, /relate, /edges, /capture,
// /purge and /episode, and documents such as mem:recent. A bash topic is a shell: it gets the topic's input, except
// commands named with one slash and //help, //info, //close.
//
// # Storage
//
// agents.json and its lock are in Config.Data; a second daemon on the same directory is rejected. An event is a file
// below its agent's home; it is on disk before the answer 202. Topics live in memory only. Memories are stored in the
// cluster: a write is answered when it is committed and can be recalled on this node.
package stringd
