// Package covenant implements the Covenant local IPC protocol, versions 1 and 2, on a unix socket and over HTTP. This
// comment is the reference of the protocol as it is implemented here.
//
// # Frames
//
//	+--------------+------------------+
//	| len  4 bytes | JSON, len bytes  |   big-endian; at most 8,388,608; UTF-8
//	+--------------+------------------+
//
// Every request is answered by one frame, in order; requests may be sent without waiting. The answer to a malformed
// frame is {"kind":"error","message":"malformed frame"}, and to a length over the limit "frame too large"; then the
// connection ends. An answer that would be too large becomes an error, and the connection continues. After an unknown
// kind ({"kind":"error","message":"unknown kind: …"}) an authenticated connection continues. Field names are
// case-sensitive, and unknown fields are ignored. Integers have no sign, fraction or quotes. null counts as absent in
// optional fields, and is an error elsewhere.
// Identities are {"display":"local@host","pubkey": "<base58 of 32 bytes>"} and are equal when their keys are. Times
// are Unix milliseconds. Tiers are working, episodic and longterm.
//
// # Connections
//
//	new --protocol_info--> new
//	new --authenticate, live token--> bound
//	new --authenticate, other token--> authentication_failed "unknown or revoked token", closed
//	new --anything else--> authentication_failed "first frame must be Authenticate", closed
//	bound --authenticate--> answered; the identity stays
//
// The operator's token is in HOME/peers/operator.token. Revoking a token does not end open connections. A connection
// must authenticate within 30 s; after that it may be idle without limit.
//
// # Requests
//
//	kind                    fields (default)                        answer
//	ping                                                            pong
//	protocol_info                                                   protocol_info {info}
//	authenticate            token_b58                               authenticated {display}
//	submit_intent           text, prefer_stream                     intent_result {intent_id, status, text, sources, settlement}
//	recent_memory           tier, limit (10), prefer_stream         memories {records}
//	search_memory           query, tier, limit (10), min_relevance  memories {records}
//	purge_memory            tier, before_ms                         memory_purged {purged}
//	recent_receipts         limit (10), since_ms                    receipts {receipts}
//	recent_capabilities     limit (10)                              capabilities {capabilities}
//	grant_capability        action, scope, expires_at               capability_granted {signature_b58, subject_display, action}
//	revoke_capability       signature_b58                           capability_revoked {signature_b58, removed}
//	purge_capabilities      before_ms                               capabilities_purged {purged}
//	verify                  window (100)                            verify_report {window, checks, drift, orphans_total}
//	ignore_check            text                                    ignore_report {ignored, matched_pattern, rules_loaded}
//	list_tools                                                      tool_list {tools}
//	call_tool               name, arguments                         tool_result {content, is_error}
//	recent_audit            limit (10), since_ms, prefer_stream     audit_events {events}
//	verify_audit_integrity                                          audit_integrity {report}
//	purge_audit             before_ms                               audit_purged {purged}
//	enroll_peer             display, actions                        peer_enrolled {token_b58, pubkey_b58, display, granted}
//	list_peers              limit (10), pubkey_prefix,              peer_list {peers, operator_pubkey_b58, truncated}
//	                        status_filter (live or revoked)
//	revoke_peer             token_prefix, force, match_limit (10)   peer_revoked {outcome}
//	rotate_operator_token                                           operator_token_rotated {token_b58}
//	purge_peers             before_ms                               peers_purged {purged}
//	send_a2_a_task          task                                    a2_a_task_queued {task_id}
//	try_recv_a2_a_task                                              a2_a_task_opt {task}
//	post_a2_a_result        result                                  a2_a_result_posted {task_id}
//	try_recv_a2_a_result                                            a2_a_result_opt {result}
//	a2_a_queue              limit (10), min_lease_age_ms,           a2_a_queue {tasks, results}
//	                        deadline_within_ms, state_filter
//	recent_a2_a_tasks       limit (10)                              a2_a_tasks {tasks}
//	recent_a2_a_results     limit (10)                              a2_a_results {results}
//	repair_a2_a_task        task_id, action, reason                 a2_a_task_repaired {task_id}
//	recent_debits           limit (10)                              debits {debits}, always empty
//	resume_intent           intent_id                               always an error: there is no checkpoint
//
// If a request fails, the answer is error {message}, and the connection continues.
//
// # Streams
//
// prefer_stream true makes recent_memory, recent_audit and submit_intent answer with stream_begin, stream_chunk 0, 1,
// 2 … and stream_end; stream_error ends a stream that fails on the way. A chunk is a record, an event, or {text,
// sources, runtime_events}; only the stream of submit_intent has a summary {intent_id, status, settlement}. A
// rejection is a plain frame, not a stream. Chunks are read from the store while they are sent, so the memory that a
// stream needs does not depend on its length.
//
// # Capabilities
//
// The gates in package verbs say which capabilities a request needs. The operator's ed25519 key signs a capability
// over
//
//	subject 32 | u32 len, action | u32 len, scope as canonical JSON | grantor 32 | 1 or 0 | u64 expires_at or 0
//
// and a capability is valid while its signature is the operator's, it is not expired (the last millisecond counts)
// and not revoked. Granting it again undoes the revocation, because the signature is the same. A new operator holds
// memory.read, memory.write, memory.purge, audit.purge, capabilities.purge, peers.purge and chain.receipts; enrolled
// peers hold the actions of their enrolment, and may grant themselves only a2a.recv.*. If none of a peer's tokens is
// live, its node can enrol it again, under the same key and with the actions of the new request. A scope that is not
// empty has version 1 and may narrow: tiers, before_ms, record_id, apply (memory); tool, arguments.allow (tools);
// peer_pubkey_b58, task_id (a2a); limit (receipts); before_ms (purges).
//
// # Memories
//
// An intent is answered from its sender's memories. The answer quotes the five best memories that score 0.2 or more,
// numbered, with their ids as sources; without such memories it is an echo. The sentence is stored in tier working
// under the intent's id, with its receipt, in one entry of the log. A quoting answer is stored with it: other
// dialects show the sentence, and this one shows the answer, with the sentence in metadata.intent_text. A memory
// whose answer quotes is marked derived and never quoted itself. Secrets are masked before the text is searched,
// stored or answered; only the ignore rules see the original. A text that a rule of HOME/.covenantignore matches is
// answered ignored and leaves only an audit row.
//
// The scores of a search are from 0 to 1; only the exact text scores 1. min_relevance cuts the ranking, and does not
// change it. Memories of other protocols are longterm and belong to the operator. An id that is not a UUID is mapped
// to a stable UUID, with the original in metadata.source_id.
//
// # Which node has which data
//
// Memories, receipts, capabilities and identities are replicated. Tokens, ignore rules, the audit files (package
// audit) and the mailbox (package mailbox) are this node's own: two agents that exchange tasks talk to the same node.
// The first node of a cluster to start this surface makes the operator's key; with a cluster secret the others get
// it, sealed with that secret, and may grant as well.
//
// # HTTP
//
// Package door decides which requests are accepted; all others are answered 403 {"kind":"error","message":…}. The
// table of kinds (package verbs) maps paths to the same requests, with Authorization: Bearer and the token. Errors of
// verbs are answered with status 200, as on the socket; 4xx and 5xx are errors of the HTTP request itself. Accept:
// text/event-stream requests a stream.
//
// A Server may be closed from any goroutine.
package covenant
