// Package sift implements the protocol of the SiftCoder memory daemon, for the hooks, command lines and MCP servers
// that were written for that daemon. A capture is answered when it is in the replicated memory. Its summary can be
// found at once, here and through every other protocol.
//
// # Frames
//
//	+--------------------+----------------------------+
//	| len  4 bytes, BE   | body, len bytes of JSON    |
//	+--------------------+----------------------------+
//
// len counts the body only and may be 16777216 at most. A larger len is rejected before the body is read, with
// "frame too large: <len> > 16777216". A connection carries one request and its reply. The client may close its side
// after the request, keep it open, or disconnect: a request that was read completely is executed. After the reply the
// server closes its side. A connection without a complete request after 30 seconds is dropped; a client that ends in
// the middle of a request is answered "incomplete frame". Bytes that are not UTF-8 become U+FFFD.
//
// Every reply is {"ok":true,"data":…} or {"ok":false,"error":"…"}. Field names are case-sensitive; unknown fields are
// ignored. No error repeats a payload or a query.
//
// # Requests
//
//	kind           fields                                        data
//	capture        sessionId, tool, payload, ts?, source?,       id, tokensEst, summaryId, duplicate
//	               ttlMs? (it expires at ts + ttlMs)
//	search         query, k? (10, at most 1000)                  hits: id = summaryId, eventId, text, ts, score, recency, tool, sessionId
//	timeline       nearId, window? (10, at most 1000)            before, near, after, rows
//	get            ids                                           summaries, rows (the same)
//	ping                                                         pong, pid, uptimeMs, nodeId, role
//	status                                                       counts, namespace, workspace, cwd, backend, backends, config, cluster
//	backfill       source?, limit?, perTranscriptLimit?,         source, scanned, captured, skipped, skippedDuplicate,
//	               workspaceOnly? (true)                         broken, errors, firstError?
//	shutdown       workspaceOnly? (false)                        ok, stopping
//	drain          batch?                                        processed, errors, pending, backend
//	summaries      limit? (20)                                   summaries, newest first
//	why            nodeKind, nodeId, depth?                      edges (always empty)
//	stream_search  query, k?                                     frames {partial:{stage,hits}}, then {done:true}
//	backfill_run                                                 progress of the workspace's backfill or import
//	import_home    home                                          as backfill; imports an earlier daemon's wal.ndjson
//
// Clients of version 1.1 and later also send
//
//	pin, unpin         summaryId                           pinned, summaryId
//	pinned             limit? (100)                        pinned: the pinned ones, as in summaries
//	claim_for_summary  batch? (1, at most 64)              events: id, ts, sessionId, tool, inputHash, payloadJson,
//	                                                       tokensEst
//	record_summary     eventId, model, promptHash, text,   id, of the summary
//	                   confidence, tokensIn, tokensOut
//	release_summary    eventId, error, terminal?           status: released or skipped
//	retry_skipped      limit?                              requeued
//	prune              maxAgeMs? (7 days), superseded?     removedEvents, removedSummaries
//	sweep_expired      now? (a future time counts as now)  removed
//	cache_get          cacheKey                            cached: text, tokensIn, tokensOut, or null
//	cache_put          cacheKey, text, tokensIn, tokensOut ok
//	export             all?, cursor?                       ndjson or, with a cursor, chunk and cursor; records,
//	                                                       omitted, done
//	import             ndjson                              inserted, skipped, errors
//	thread             sessionId, limit? (20)              sessions: sessionId, sharedEvents, lastTs
//	federate_search    query, k? (5), workspacePrefix?,    hits, each with its workspace
//	                   maxWorkspaces? (32)
//	symbol_search      query: kind:name or part of a name, hits: summaryId, eventId, ts, tool, symbols, text
//	                   k? (10)
//	stats              windowMs? (an hour)                 counts, throughput, backlog, cacheHitRate, topTools,
//	                                                       topSessions, looked
//	doctor             heal?                               integrity, orphans (none), vecCardinality, counts, pinned
//
// Any other kind is answered "unknown request kind: <kind>" at once. Times are Unix milliseconds. Ids of summaries
// are the records' dense numbers in the database, those of events their own sequence; neither is ever reused.
//
// # Capture
//
// First, the payload, tool, session and source are redacted (package redact). An object payload gets the member
// _source; any other payload becomes {"value":…,"_source":…}. The SHA-256 of the redacted payload with sorted keys
// and without _source identifies its content. A session has one event for each content: a repeat stores nothing, and
// its answer has the ids of the first event. Event and summary are one entry of the log, so there is no event without
// its summary. A node that reaches no quorum rejects the capture within a second.
//
// # Summaries that a client's model writes
//
// Every event has a summary from its capture on, which rules extract from its payload. A client with a model claims
// events and records a text for each. The text replaces the summary under the same id; searches still find the event
// by the old words. An event accepts one text; a second record is answered with the id of the first. So is a record
// for a summary that was merged into another memory, and such events are not offered. A claim lasts ten minutes. After
// three releases, or a terminal one, the event is skipped and keeps its summary. Claims are only in the memory of this
// process: after a restart, events without a recorded text are offered again. Payloads over 1 MiB are not offered. An
// embedding in the request is ignored, because the database's own embedder makes one.
//
// # Export and import
//
// An export has a line {"table":"sessions"|"events"|"summaries","row":{…}} for each, with the original's names.
// Without a cursor it must fit 4 MiB. With cursor 0, and then the cursor of each answer until done, it is answered in
// parts. Events with payloads over 1 MiB are left out and counted in omitted. An import captures the events of such
// lines, with the summaries that models wrote; events that are stored already are skipped.
//
// # Workspaces
//
//	HOME/control.sock                     opens workspaces: open {path}, workspaces, ping
//	HOME/<ns>/run/<key>.sock              a workspace's socket, mode 0600
//	HOME/<ns>/workspaces/<key>/run.pid    the pid of the serving process
//	HOME/<ns>/workspaces/<key>/cwd        the directory of the workspace; it is served again at the next start
//	HOME/<ns>/workspaces/<key>/federate.consent
//	                                      the user creates it to let federate_search read this workspace
//
// key is the first 12 hex digits of the SHA-256 of the repository's top directory (the directory itself without one),
// links resolved, followed by ":" and the subspace where SIFTCODER_SUBSPACE or .siftcoder/subspace names one. A
// socket that another live process serves is left alone. A socket that another process has unlinked is created again.
//
// A workspace's memories are in the namespace sift/<ns>/<key>, or sift/<name> when several share one. It sees them
// and the memories of other protocols, but never those of another workspace. Only federate_search sees other
// workspaces, if they have the file federate.consent. cache_put stores in the same namespace with /cache appended,
// for thirty days.
//
// The package accesses the memory through node/api only. It writes no other files.
package sift
