"""How each operation is sent, and one method for each.

Made from the table of operations (node/api): CAIRN_UPDATE=1 go test ./wire/client -run TestSDKs writes it again.
"""
from __future__ import annotations

from typing import Any, AsyncIterator, Dict, Iterator, List, Literal, Optional, Sequence, Tuple, Union

from ._http import Stream
from ._stream import AsyncFeed, AsyncStream, Feed, Line, Lines
from .types import *

OPERATIONS: Dict[str, Dict[str, Any]] = {
    "remember": {"method": "POST", "path": "/v1/remember", "repeat": "key", "key": "idempotency_key"},
    "remember_batch": {"method": "POST", "path": "/v1/remember/batch", "repeat": "key", "key": "idempotency_key"},
    "recall": {"method": "POST", "path": "/v1/recall", "repeat": "read", "fresh": True},
    "recall_as_of": {"method": "POST", "path": "/v1/temporal/as_of", "repeat": "read", "fresh": True},
    "context": {"method": "POST", "path": "/v1/context", "repeat": "read", "fresh": True},
    "pack_context": {"method": "GET", "path": "/v1/pack-context", "repeat": "read", "fresh": True},
    "forget": {"method": "POST", "path": "/v1/forget", "repeat": "safe"},
    "forget_matching": {"method": "POST", "path": "/v1/forget/matching", "repeat": "once"},
    "erase": {"method": "POST", "path": "/v1/erase", "repeat": "once"},
    "erased": {"method": "GET", "path": "/v1/erased/{rid}", "repeat": "read", "fresh": True},
    "correct": {"method": "POST", "path": "/v1/correct", "repeat": "key", "key": "idempotency_key"},
    "merge": {"method": "POST", "path": "/v1/merge", "repeat": "key", "key": "idempotency_key"},
    "split": {"method": "POST", "path": "/v1/split", "repeat": "key", "key": "idempotency_key"},
    "move": {"method": "POST", "path": "/v1/move", "repeat": "key", "key": "idempotency_key"},
    "undo": {"method": "POST", "path": "/v1/undo", "repeat": "key", "key": "idempotency_key"},
    "memory": {"method": "GET", "path": "/v1/memory/{rid}", "repeat": "read", "fresh": True},
    "revisions": {"method": "GET", "path": "/v1/memory/{rid}/revisions", "repeat": "read", "fresh": True},
    "current": {"method": "GET", "path": "/v1/current", "repeat": "read", "fresh": True},
    "quarantine": {"method": "GET", "path": "/v1/quarantine", "repeat": "read", "fresh": True},
    "release": {"method": "POST", "path": "/v1/release", "repeat": "once"},
    "put": {"method": "POST", "path": "/v1/put", "repeat": "key", "key": "idempotency_key"},
    "get": {"method": "GET", "path": "/v1/get", "repeat": "read", "fresh": True},
    "rename": {"method": "POST", "path": "/v1/rename", "repeat": "key", "key": "idempotency_key"},
    "delete": {"method": "POST", "path": "/v1/delete", "repeat": "key", "key": "idempotency_key"},
    "keys": {"method": "GET", "path": "/v1/keys", "repeat": "read", "fresh": True},
    "batch": {"method": "POST", "path": "/v1/batch", "repeat": "key", "key": "idempotency_key"},
    "memories": {"method": "GET", "path": "/v1/memories", "repeat": "read", "fresh": True},
    "records": {"method": "GET", "path": "/v1/records", "repeat": "read", "fresh": True},
    "namespaces": {"method": "GET", "path": "/v1/namespaces", "repeat": "read", "fresh": True},
    "ids": {"method": "GET", "path": "/v1/ids", "repeat": "read", "fresh": True},
    "count": {"method": "GET", "path": "/v1/count", "repeat": "read", "fresh": True},
    "values": {"method": "GET", "path": "/v1/values", "repeat": "read", "fresh": True},
    "stats": {"method": "GET", "path": "/v1/stats", "repeat": "read", "fresh": True},
    "stale": {"method": "GET", "path": "/v1/stale", "repeat": "read", "fresh": True},
    "upcoming": {"method": "GET", "path": "/v1/upcoming", "repeat": "read", "fresh": True},
    "chronology": {"method": "GET", "path": "/v1/chronology", "repeat": "read", "fresh": True},
    "entity": {"method": "GET", "path": "/v1/entities/{name}", "repeat": "read", "fresh": True},
    "timeline": {"method": "GET", "path": "/v1/memory/{rid}/timeline", "repeat": "read", "fresh": True},
    "entities": {"method": "GET", "path": "/v1/entities", "repeat": "read", "fresh": True},
    "session_start": {"method": "POST", "path": "/v1/sessions", "repeat": "once"},
    "session_end": {"method": "DELETE", "path": "/v1/sessions/{id}", "repeat": "once"},
    "session": {"method": "GET", "path": "/v1/sessions/{id}", "repeat": "read", "fresh": True},
    "sessions": {"method": "GET", "path": "/v1/sessions", "repeat": "read", "fresh": True},
    "session_draft": {"method": "POST", "path": "/v1/session/end", "repeat": "once"},
    "turn_record": {"method": "POST", "path": "/v1/conversation/turns", "repeat": "once"},
    "turns": {"method": "GET", "path": "/v1/conversation/recent", "repeat": "read", "fresh": True},
    "turns_clear": {"method": "POST", "path": "/v1/conversation/clear", "repeat": "once"},
    "task_add": {"method": "POST", "path": "/v1/tasks", "repeat": "key", "key": "idempotency_key"},
    "tasks": {"method": "GET", "path": "/v1/tasks", "repeat": "read", "fresh": True},
    "task": {"method": "GET", "path": "/v1/tasks/{id}", "repeat": "read", "fresh": True},
    "task_change": {"method": "PATCH", "path": "/v1/tasks/{id}", "repeat": "once"},
    "task_delete": {"method": "DELETE", "path": "/v1/tasks/{id}", "repeat": "once"},
    "skills_search": {"method": "POST", "path": "/v1/skills/search", "repeat": "read", "fresh": True},
    "skill_define": {"method": "POST", "path": "/v1/skills/define", "repeat": "once"},
    "skill_outcome": {"method": "POST", "path": "/v1/skills/{id}/outcome", "repeat": "key", "key": "idempotency_key"},
    "relate": {"method": "POST", "path": "/v1/relate", "repeat": "safe"},
    "edges": {"method": "GET", "path": "/v1/edges", "repeat": "read", "fresh": True},
    "graph": {"method": "POST", "path": "/v1/graph", "repeat": "read", "fresh": True},
    "edge": {"method": "GET", "path": "/v1/edges/{id}", "repeat": "read", "fresh": True},
    "unrelate": {"method": "DELETE", "path": "/v1/edges/{id}", "repeat": "once"},
    "ingest_claim": {"method": "POST", "path": "/v1/claim", "repeat": "safe"},
    "get_claims": {"method": "GET", "path": "/v1/claims", "repeat": "read", "fresh": True},
    "add_alias": {"method": "POST", "path": "/v1/alias", "repeat": "safe"},
    "think": {"method": "POST", "path": "/v1/think", "repeat": "once"},
    "conflicts": {"method": "GET", "path": "/v1/conflicts", "repeat": "read", "fresh": True},
    "resolve_conflict": {"method": "POST", "path": "/v1/conflicts/{id}/resolve", "repeat": "once"},
    "triggers": {"method": "GET", "path": "/v1/triggers", "repeat": "read", "fresh": True},
    "triggers_history": {"method": "GET", "path": "/v1/triggers/history", "repeat": "read", "fresh": True},
    "triggers_deliver": {"method": "POST", "path": "/v1/triggers/deliver", "repeat": "once"},
    "trigger_move": {"method": "POST", "path": "/v1/triggers/{id}/{verb}", "repeat": "once"},
    "triggers_prune": {"method": "POST", "path": "/v1/triggers/prune", "repeat": "once"},
    "categories": {"method": "GET", "path": "/v1/categories", "repeat": "read", "fresh": True},
    "category_members": {"method": "GET", "path": "/v1/categories/{name}/members", "repeat": "read", "fresh": True},
    "personality": {"method": "GET", "path": "/v1/personality", "repeat": "read", "fresh": True},
    "patterns": {"method": "GET", "path": "/v1/patterns", "repeat": "read", "fresh": True},
    "feedback": {"method": "POST", "path": "/v1/feedback", "repeat": "once"},
    "gaps": {"method": "GET", "path": "/v1/insights/gaps", "repeat": "read"},
    "digest": {"method": "GET", "path": "/v1/session/digest", "repeat": "read", "fresh": True},
    "events": {"method": "GET", "path": "/v1/events", "repeat": "read"},
    "databases_create": {"method": "POST", "path": "/v1/databases", "repeat": "once"},
    "databases": {"method": "GET", "path": "/v1/databases", "repeat": "read", "fresh": True},
    "databases_drop": {"method": "DELETE", "path": "/v1/databases/{name}", "repeat": "once"},
    "quota": {"method": "GET", "path": "/v1/admin/databases/{name}/quota", "repeat": "read", "fresh": True},
    "quota_set": {"method": "POST", "path": "/v1/admin/databases/{name}/quota", "repeat": "once"},
    "settings": {"method": "GET", "path": "/v1/admin/settings", "repeat": "read", "fresh": True},
    "settings_set": {"method": "POST", "path": "/v1/admin/settings", "repeat": "once"},
    "purge": {"method": "POST", "path": "/v1/admin/purge", "repeat": "once"},
    "embedding": {"method": "GET", "path": "/v1/admin/databases/{name}/embedding", "repeat": "read", "fresh": True},
    "reembed": {"method": "POST", "path": "/v1/admin/databases/{name}/embedding", "repeat": "once"},
    "maintenance_run": {"method": "POST", "path": "/v1/admin/maintenance/run", "repeat": "once", "query": ["tenant"]},
    "maintenance_status": {"method": "GET", "path": "/v1/admin/maintenance/status", "repeat": "read"},
    "me": {"method": "GET", "path": "/v1/admin/me", "repeat": "read"},
    "tokens_create": {"method": "POST", "path": "/v1/admin/tokens", "repeat": "once"},
    "tokens": {"method": "GET", "path": "/v1/admin/tokens", "repeat": "read", "fresh": True},
    "tokens_revoke": {"method": "POST", "path": "/v1/admin/tokens/revoke", "repeat": "once"},
    "tokens_limit": {"method": "POST", "path": "/v1/admin/tokens/limit", "repeat": "once"},
    "backup": {"method": "POST", "path": "/v1/admin/backups", "repeat": "once"},
    "backup_send": {"method": "GET", "path": "/v1/admin/backups/{id}", "repeat": "read"},
    "backup_drop": {"method": "DELETE", "path": "/v1/admin/backups/{id}", "repeat": "once"},
    "export": {"method": "GET", "path": "/v1/export", "repeat": "read", "fresh": True},
    "import": {"method": "POST", "path": "/v1/import", "repeat": "key", "key": "key", "query": ["key", "keep_ids", "skip_refused"]},
    "cluster": {"method": "GET", "path": "/v1/cluster", "repeat": "read"},
    "cluster_topology": {"method": "GET", "path": "/v1/cluster/topology", "repeat": "read"},
    "cluster_raft": {"method": "GET", "path": "/v1/cluster/raft", "repeat": "read"},
    "cluster_metrics": {"method": "GET", "path": "/v1/cluster/metrics", "repeat": "read"},
    "cluster_keys": {"method": "GET", "path": "/v1/cluster/keys", "repeat": "read"},
    "cluster_change": {"method": "POST", "path": "/v1/cluster/{verb}", "repeat": "once"},
    "control_snapshot": {"method": "GET", "path": "/v1/admin/control-snapshot", "repeat": "read", "fresh": True},
    "recall_compare": {"method": "POST", "path": "/v1/recall/compare", "repeat": "read", "fresh": True},
    "audit": {"method": "GET", "path": "/v1/admin/audit", "repeat": "read", "fresh": True},
    "log": {"method": "GET", "path": "/v1/admin/log", "repeat": "read", "fresh": True},
    "health": {"method": "GET", "path": "/v1/health", "repeat": "read"},
    "health_deep": {"method": "GET", "path": "/v1/health/deep", "repeat": "read"},
    "health_ready": {"method": "GET", "path": "/v1/health/ready", "repeat": "read"},
}


class Operations:
    def _call(self, name: str, fields: Dict[str, Any]) -> Any:
        raise NotImplementedError

    def remember(self, text: str, *, memory_type: Optional[str] = None, importance: Optional[float] = None, valence: Optional[float] = None, half_life: Optional[float] = None, metadata: Optional[Any] = None, attributes: Optional[Dict[str, Any]] = None, namespace: Optional[str] = None, certainty: Optional[float] = None, domain: Optional[str] = None, source: Optional[str] = None, emotional_state: Optional[str] = None, embedding: Optional[Sequence[float]] = None, session_id: Optional[str] = None, created_at: Optional[Date] = None, due_at: Optional[Date] = None, temporal_kind: Optional[str] = None, tier: Optional[str] = None, pin: Optional[bool] = None, expires_at: Optional[Date] = None, ttl: Optional[float] = None, refresh_on_read: Optional[float] = None, searchable: Optional[bool] = None, idempotency_key: Optional[str] = None, agent: Optional[str] = None, trust: Optional[Literal["operator", "agent", "tool", "web"]] = None, near: Optional[bool] = None) -> Remembered:
        """Store a memory. To store it under a key of your own, or to replace what a key has, use put.

        :param text: What to remember: a sentence that stands by itself.
        :param memory_type: What kind of memory it is: semantic, episodic, procedural or a name of your own. Default: semantic.
        :param importance: Importance, from 0 to 1. Default: 0.5.
        :param valence: Emotional valence, from -1 (bad) to 1 (good).
        :param half_life: Half-life in hours: after it the memory's importance has decayed by half. Default: 168. Takes a number above 0, up to 1000000.
        :param metadata: Your own JSON object, stored with the memory. Default: {}.
        :param attributes: Attributes to filter by: a flat object of strings, numbers, true, false, dates (RFC 3339) and lists of strings.
        :param namespace: Its namespace; blank for default.
        :param certainty: Certainty, from 0 to 1. Default: 1.
        :param domain: Its domain, such as work or health.
        :param source: Its source. Default: user.
        :param emotional_state: The emotion of the memory.
        :param embedding: Its vector, of the database's dimension; the database's embedder makes it when it is omitted.
        :param session_id: The session that it joins. Default: the namespace's active session.
        :param created_at: When it happened; default: now.
        :param due_at: When it is due.
        :param temporal_kind: The meaning of its date: a word of your own.
        :param tier: working, episodic or longterm, which fade by different rules; or a word of your own.
        :param pin: true: think does not merge, move or forget it, and it does not expire.
        :param expires_at: When it expires: from then on no answer returns it.
        :param ttl: Seconds until it expires, instead of expires_at; 0 for never. Default: the database's default_ttl_secs.
        :param refresh_on_read: Expires this many seconds after its last read; 0: reads do not change when it expires.
        :param searchable: false: store it without indexing it. It can be read by id and in lists, but recall does not find it.
        :param idempotency_key: Idempotency key: repeating the request with it stores nothing twice.
        :param agent: The agent that writes it, in words of your own.
        :param trust: A lower class of trust than the token's: tool for the output of a program, web for a stranger's text. Default: the token's.
        :param near: Report older memories that this one may replace, at the cost of a search. By default only the tools of models do.
        """
        return self._call("remember", locals())

    def remember_batch(self, memories: Sequence[Draft], *, idempotency_key: Optional[str] = None) -> RememberedBatch:
        """Store memories, all or none.

        :param memories: The memories, at most 10,000.
        :param idempotency_key: Idempotency key of the batch: a memory without its own key gets this key plus its position, so repeating the request stores nothing twice.
        """
        return self._call("remember_batch", locals())

    def recall(self, query: str, *, top_k: Optional[int] = None, memory_type: Optional[str] = None, namespace: Optional[str] = None, domain: Optional[str] = None, source: Optional[str] = None, session_id: Optional[str] = None, include_consolidated: Optional[bool] = None, include_superseded: Optional[bool] = None, expand_entities: Optional[bool] = None, query_embedding: Optional[Sequence[float]] = None, time_window: Optional[Tuple[Optional[Date], Optional[Date]]] = None, skip_reinforce: Optional[bool] = None, without: Optional[Sequence[str]] = None, diverse: Optional[bool] = None, filter: Optional[Dict[str, Any]] = None, min_score: Optional[float] = None, explain: Optional[bool] = None, as_of: Optional[Date] = None, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> Recalled:
        """Find memories by words, meaning, relation and time. Words match when they or their stems are the same; meaning needs an embedder (embedding_model in the answer of /v1/health names it). With Accept: text/event-stream each row is an event named result, and the event named end has the rest. Only memories that match the question and score at least min_score are returned: considered and below_min_score count those examined and those left out.

        :param query: What to look for: a question or a few words. Blank, * or everything lists the newest.
        :param top_k: Most memories to return, up to 1,000. Default: 10.
        :param memory_type: Only memories of this kind.
        :param namespace: Only this namespace; blank for all.
        :param domain: Only memories of this domain.
        :param source: Only memories of this source.
        :param session_id: Only memories of this session.
        :param include_consolidated: Also memories that were merged into others.
        :param include_superseded: Also memories whose subject now has another value of the same relation. Others that a newer memory replaces are always returned, ranked after it.
        :param expand_entities: Follow relations of what the question names. Default: true.
        :param query_embedding: The question's vector, of the database's dimension; the database's embedder makes it when it is omitted.
        :param time_window: Only memories created between two dates.
        :param skip_reinforce: Do not strengthen the memories that are found.
        :param without: Signals to switch off: passage, around, refers, session, density, speaker, asker, date, when, short, questions, vector, graph, freshness, importance, trust, rerank.
        :param diverse: Leave out memories that nearly repeat a better one.
        :param filter: Only memories that pass it: attributes with their values, or with operators (eq ne in nin gt gte lt lte exists contains icontains prefix); and, or, not.
        :param min_score: Leave out memories less likely than this to answer the question. 0 returns every match. Default: 0.002.
        :param explain: Return the parts of each score.
        :param as_of: Recall the memories as they were at this date.
        :param min_index: Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node.
        :param consistency: linearizable: the answer includes everything acknowledged before the request.
        """
        return self._call("recall", locals())

    def recall_as_of(self, query: str, as_of: Date, *, top_k: Optional[int] = None, memory_type: Optional[str] = None, namespace: Optional[str] = None, domain: Optional[str] = None, source: Optional[str] = None, session_id: Optional[str] = None, include_consolidated: Optional[bool] = None, include_superseded: Optional[bool] = None, expand_entities: Optional[bool] = None, query_embedding: Optional[Sequence[float]] = None, time_window: Optional[Tuple[Optional[Date], Optional[Date]]] = None, skip_reinforce: Optional[bool] = None, without: Optional[Sequence[str]] = None, diverse: Optional[bool] = None, filter: Optional[Dict[str, Any]] = None, min_score: Optional[float] = None, explain: Optional[bool] = None, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> Recalled:
        """Recall the memories as they were at a date.

        :param query: What to look for: a question or a few words. Blank, * or everything lists the newest.
        :param as_of: The date to answer for.
        :param top_k: Most memories to return, up to 1,000. Default: 10.
        :param memory_type: Only memories of this kind.
        :param namespace: Only this namespace; blank for all.
        :param domain: Only memories of this domain.
        :param source: Only memories of this source.
        :param session_id: Only memories of this session.
        :param include_consolidated: Also memories that were merged into others.
        :param include_superseded: Also memories whose subject now has another value of the same relation. Others that a newer memory replaces are always returned, ranked after it.
        :param expand_entities: Follow relations of what the question names. Default: true.
        :param query_embedding: The question's vector, of the database's dimension; the database's embedder makes it when it is omitted.
        :param time_window: Only memories created between two dates.
        :param skip_reinforce: Do not strengthen the memories that are found.
        :param without: Signals to switch off: passage, around, refers, session, density, speaker, asker, date, when, short, questions, vector, graph, freshness, importance, trust, rerank.
        :param diverse: Leave out memories that nearly repeat a better one.
        :param filter: Only memories that pass it: attributes with their values, or with operators (eq ne in nin gt gte lt lte exists contains icontains prefix); and, or, not.
        :param min_score: Leave out memories less likely than this to answer the question. 0 returns every match. Default: 0.002.
        :param explain: Return the parts of each score.
        :param min_index: Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node.
        :param consistency: linearizable: the answer includes everything acknowledged before the request.
        """
        return self._call("recall_as_of", locals())

    def context(self, *, query: Optional[str] = None, max_tokens: Optional[int] = None, namespaces: Optional[Sequence[str]] = None, filter: Optional[Dict[str, Any]] = None, chars_per_token: Optional[float] = None, min_score: Optional[float] = None, skip_reinforce: Optional[bool] = None, include_superseded: Optional[bool] = None, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> PromptAnswer:
        """What is known about something, as one block of text for a prompt, within a budget of tokens: one memory per line, the best first. Long memories are cut to their best passage, repetitions are left out, and the answer names what was left out, with the reason. The block quotes its memories, so that nothing in them reads as an instruction.

        :param query: What the prompt is about: a question or a few words. Blank: the newest memories.
        :param max_tokens: Most tokens of the block, including the lines around the memories, up to 100,000. The best memory is always included, with up to 64 tokens. Default: 1000. Takes a whole number of at least 1.
        :param namespaces: Only memories of these namespaces, 16 at most. Default: the whole database.
        :param filter: Only memories that pass it: attributes with their values, or with operators (eq ne in nin gt gte lt lte exists contains icontains prefix); and, or, not.
        :param chars_per_token: Letters per token of your model, on average, from 0.1 to 100. 0: estimated from the writing system, within a tenth of cl100k.
        :param min_score: Leave out memories less likely than this to answer the question. Default: 0.01.
        :param skip_reinforce: Do not strengthen the memories that are found.
        :param include_superseded: Also memories whose subject now has another value of the same relation.
        :param min_index: Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node.
        :param consistency: linearizable: the answer includes everything acknowledged before the request.
        """
        return self._call("context", locals())

    def pack_context(self, *, query: Optional[str] = None, max_tokens: Optional[int] = None, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> PackContextAnswer:
        """The same block, about the newest memories when there is no question, in the form that SDKs of YantrikDB expect.

        :param query: What the prompt is about; blank: the newest memories.
        :param max_tokens: Most tokens of the block, up to 100,000. Default: 1000. Takes a whole number of at least 1.
        :param min_index: Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node.
        :param consistency: linearizable: the answer includes everything acknowledged before the request.
        """
        return self._call("pack_context", locals())

    def forget(self, rid: str, *, reason: Optional[str] = None) -> Forgotten:
        """Make a memory invisible to recall and lists; it can still be read by its id until it is purged.

        :param rid: The memory's id.
        :param reason: The reason, for later readers.
        """
        return self._call("forget", locals())

    def forget_matching(self, filter: Dict[str, Any], *, namespace: Optional[str] = None, limit: Optional[int] = None, reason: Optional[str] = None) -> ForgottenMatching:
        """Forget the newest memories that pass a filter, all of them or none; repeat while the answer has more. A memory that was corrected meanwhile and no longer passes is not forgotten, and neither is one with searchable false.

        :param filter: The filter, as in a recall. An empty filter, which every memory passes, is rejected.
        :param namespace: Only memories of this namespace; blank for all.
        :param limit: Most memories to forget. Default: 1000. Takes a whole number from 1 to 1000.
        :param reason: The reason, for later readers.
        """
        return self._call("forget_matching", locals())

    def erase(self, *, rids: Optional[Sequence[str]] = None, revisions: Optional[Sequence[int]] = None, prefix: Optional[str] = None, filter: Optional[Dict[str, Any]] = None, entity: Optional[str] = None, namespace: Optional[str] = None, confirm: Optional[str] = None) -> Erasing:
        """Erase memories for good: their texts, vectors, revisions and claims, what they were merged or split into, and what that was merged or split into in turn. Of a memory that was itself merged or split from others it erases these too. Without confirm nothing is erased: the answer lists what would be, with a confirm value. Repeat the request with that value to erase it. From then on, storing one of these texts again is rejected.

        :param rids: Their ids, at most 1,000; forgotten ones too.
        :param revisions: With one id: only what these earlier revisions of it said. The memory stays.
        :param prefix: Memories whose key is this one or below it, such as /people/ada.
        :param filter: Memories that pass this filter, as in a recall; forgotten ones too.
        :param entity: Memories that name this entity. Its relations, claims and aliases are erased too.
        :param namespace: Only memories of this namespace; blank for all. With prefix: the namespace of the keys, blank for default.
        :param confirm: The confirm value of the answer that listed what would be erased. If that list has changed since, the answer is 409 conflict.
        """
        return self._call("erase", locals())

    def erased(self, rid: str, *, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> Proof:
        """A statement, signed by the node, about a memory that was erased for good: when, by which log record, what it consisted of, and where its bytes may still be. Nothing of its text is in it.

        :param rid: The memory's id.
        :param min_index: Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node.
        :param consistency: linearizable: the answer includes everything acknowledged before the request.
        """
        return self._call("erased", locals())

    def correct(self, rid: str, reason: str, *, new_text: Optional[str] = None, new_importance: Optional[float] = None, new_valence: Optional[float] = None, new_pin: Optional[bool] = None, new_expires_at: Optional[Date] = None, new_ttl: Optional[float] = None, new_searchable: Optional[bool] = None, new_attributes: Optional[Dict[str, Any]] = None, metadata_merge: Optional[Dict[str, Any]] = None, embedding: Optional[Sequence[float]] = None, expected_revision: Optional[int] = None, idempotency_key: Optional[str] = None) -> Corrected:
        """Change a memory in place; the old text is kept as a revision.

        :param rid: The memory's id.
        :param reason: The reason for the change, shown with its revisions.
        :param new_text: The new text.
        :param new_importance: New importance, from 0 to 1.
        :param new_valence: New emotional valence, from -1 (bad) to 1 (good).
        :param new_pin: true pins the memory, false unpins it.
        :param new_expires_at: When it expires from now on.
        :param new_ttl: Seconds until it expires, instead of new_expires_at; 0: it no longer expires.
        :param new_searchable: false removes it from the search index, true adds it.
        :param new_attributes: Attributes that replace all it has; {} removes them.
        :param metadata_merge: Metadata keys to replace; null removes a key.
        :param embedding: The vector of the new text, or of the text as it is; the database's embedder makes it when it is omitted.
        :param expected_revision: The revision (number of corrections) that the memory must be at; otherwise the request fails with the code revision_conflict.
        :param idempotency_key: Idempotency key: repeating the request with it corrects nothing twice.
        """
        return self._call("correct", locals())

    def merge(self, rids: Sequence[str], text: str, *, reason: Optional[str] = None, expected_revisions: Optional[Sequence[int]] = None, idempotency_key: Optional[str] = None) -> Merged:
        """Merge memories of one namespace into a new one with a text of yours. The new one has the highest importance and the lowest certainty of its sources, the attributes that they share, and their entities. The sources stay readable by id, lead to the new one, and lose their keys. undo of any of them takes the merge back.

        :param rids: Ids of the memories to merge, 2 to 100.
        :param text: The text of the new memory.
        :param reason: The reason, shown with the revisions of the sources.
        :param expected_revisions: The revision that each must be at, in the order of rids; otherwise the request fails with the code revision_conflict.
        :param idempotency_key: Idempotency key: repeating the request with it merges nothing twice.
        """
        return self._call("merge", locals())

    def split(self, rid: str, texts: Sequence[str], *, reason: Optional[str] = None, expected_revision: Optional[int] = None, idempotency_key: Optional[str] = None) -> Splitted:
        """Split a memory into several, each with a text of yours and the fields of the source. The source stays readable by id, leads to the new ones, and loses its key. undo of any of them takes the split back.

        :param rid: The memory's id.
        :param texts: The texts of the new memories, 2 to 100.
        :param reason: The reason, shown with the revisions of the source.
        :param expected_revision: The revision (number of corrections) that the memory must be at; otherwise the request fails with the code revision_conflict.
        :param idempotency_key: Idempotency key: repeating the request with it splits nothing twice.
        """
        return self._call("split", locals())

    def move(self, to: str, *, rid: Optional[str] = None, prefix: Optional[str] = None, namespace: Optional[str] = None, reason: Optional[str] = None, expected_revision: Optional[int] = None, idempotency_key: Optional[str] = None) -> Moved:
        """Move memories to another namespace: one by its id, or all below a key, at most 1,000, all or none. They keep their ids, keys and revisions. undo moves a memory back.

        :param to: The namespace to move to.
        :param rid: The memory's id.
        :param prefix: Instead of rid: the memories whose key is this one or below it, such as /people/ada.
        :param namespace: With prefix: the namespace of the keys, blank for default.
        :param reason: The reason, shown with the revisions.
        :param expected_revision: With rid: the revision that the memory must be at; otherwise the request fails with the code revision_conflict.
        :param idempotency_key: Idempotency key: repeating the request with it moves nothing twice.
        """
        return self._call("move", locals())

    def undo(self, rid: str, *, revision: Optional[int] = None, reason: Optional[str] = None, expected_revision: Optional[int] = None, idempotency_key: Optional[str] = None) -> Undone:
        """Restore a memory to the state before a correction or a move; its current text is kept as a revision, so that this can be undone too. Of a memory that was merged or split, or made by that and not corrected since, it takes the merge or split back: what was made is forgotten, and the sources are recalled again, with their keys. A vector that a client sent with the old text is not restored. A class of trust that sank with the other text rises again, as far as whoever wrote the old one is trusted.

        :param rid: The memory's id.
        :param revision: The number of the revision to go back to. Default: the one before the last correction.
        :param reason: The reason, shown with its revisions.
        :param expected_revision: The revision (number of corrections) that the memory must be at; otherwise the request fails with the code revision_conflict.
        :param idempotency_key: Idempotency key: repeating the request with it undoes nothing twice.
        """
        return self._call("undo", locals())

    def memory(self, rid: str, *, sources: Optional[bool] = None, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> Memory:
        """One memory, even if it was merged or forgotten.

        :param rid: The memory's id.
        :param sources: Also return the memories that it was made of, each with its writer and class of trust.
        :param min_index: Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node.
        :param consistency: linearizable: the answer includes everything acknowledged before the request.
        """
        return self._call("memory", locals())

    def revisions(self, rid: str, *, offset: Optional[int] = None, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> RevisionList:
        """A memory's earlier texts, one before each correction, oldest first.

        :param rid: The memory's id.
        :param offset: Number of revisions to skip.
        :param min_index: Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node.
        :param consistency: linearizable: the answer includes everything acknowledged before the request.
        """
        return self._call("revisions", locals())

    def current(self, *, namespace: Optional[str] = None, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> CurrentMemory:
        """The newest memory of a namespace that recall finds.

        :param namespace: The namespace; blank for default.
        :param min_index: Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node.
        :param consistency: linearizable: the answer includes everything acknowledged before the request.
        """
        return self._call("current", locals())

    def quarantine(self, *, namespace: Optional[str] = None, limit: Optional[int] = None, after: Optional[str] = None, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> QuarantinePage:
        """Memories that wait in quarantine, the oldest first. They are in no recall, list or subscription. release lets one in; forget rejects it.

        :param namespace: Only memories of this namespace; blank for all.
        :param limit: Most memories to return, up to 200. Default: 50.
        :param after: The previous page's next; blank for the first page.
        :param min_index: Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node.
        :param consistency: linearizable: the answer includes everything acknowledged before the request.
        """
        return self._call("quarantine", locals())

    def release(self, rid: str, *, reason: Optional[str] = None) -> Released:
        """Let a memory out of quarantine: from then on recall finds it. It keeps its class of trust.

        :param rid: The memory's id.
        :param reason: The reason, shown with its revisions.
        """
        return self._call("release", locals())

    def put(self, key: str, text: str, *, memory_type: Optional[str] = None, importance: Optional[float] = None, valence: Optional[float] = None, half_life: Optional[float] = None, metadata: Optional[Any] = None, attributes: Optional[Dict[str, Any]] = None, namespace: Optional[str] = None, certainty: Optional[float] = None, domain: Optional[str] = None, source: Optional[str] = None, emotional_state: Optional[str] = None, embedding: Optional[Sequence[float]] = None, session_id: Optional[str] = None, created_at: Optional[Date] = None, due_at: Optional[Date] = None, temporal_kind: Optional[str] = None, tier: Optional[str] = None, pin: Optional[bool] = None, expires_at: Optional[Date] = None, ttl: Optional[float] = None, refresh_on_read: Optional[float] = None, searchable: Optional[bool] = None, idempotency_key: Optional[str] = None, agent: Optional[str] = None, trust: Optional[Literal["operator", "agent", "tool", "web"]] = None, if_absent: Optional[bool] = None, if_revision: Optional[int] = None, if_sha256: Optional[str] = None, reason: Optional[str] = None) -> PutAnswer:
        """Store a memory under a key. If the key has a memory, the request corrects it under the same id and keeps a revision: text, importance, valence, certainty, pin, metadata and attributes are replaced (omitted ones are cleared), expiry and searchability change only if the request sets them, and other fields stay. If if_absent, if_revision or if_sha256 does not hold: 409 precondition_failed, with rid, revision and sha256 of the current memory.

        :param key: The key: / and 1 to 20 segments with a / between them, at most 1,024 bytes, in Unicode form NFC.
        :param text: What to remember: a sentence that stands by itself.
        :param memory_type: What kind of memory it is: semantic, episodic, procedural or a name of your own. Default: semantic.
        :param importance: Importance, from 0 to 1. Default: 0.5.
        :param valence: Emotional valence, from -1 (bad) to 1 (good).
        :param half_life: Half-life in hours: after it the memory's importance has decayed by half. Default: 168. Takes a number above 0, up to 1000000.
        :param metadata: Your own JSON object, stored with the memory. Default: {}.
        :param attributes: Attributes to filter by: a flat object of strings, numbers, true, false, dates (RFC 3339) and lists of strings.
        :param namespace: Its namespace; blank for default.
        :param certainty: Certainty, from 0 to 1. Default: 1.
        :param domain: Its domain, such as work or health.
        :param source: Its source. Default: user.
        :param emotional_state: The emotion of the memory.
        :param embedding: Its vector, of the database's dimension; the database's embedder makes it when it is omitted.
        :param session_id: The session that it joins. Default: the namespace's active session.
        :param created_at: When it happened; default: now.
        :param due_at: When it is due.
        :param temporal_kind: The meaning of its date: a word of your own.
        :param tier: working, episodic or longterm, which fade by different rules; or a word of your own.
        :param pin: true: think does not merge, move or forget it, and it does not expire.
        :param expires_at: When it expires: from then on no answer returns it.
        :param ttl: Seconds until it expires, instead of expires_at; 0 for never. Default: the database's default_ttl_secs.
        :param refresh_on_read: Expires this many seconds after its last read; 0: reads do not change when it expires.
        :param searchable: false: store it without indexing it. It can be read by id and in lists, but recall does not find it.
        :param idempotency_key: Idempotency key: repeating the request with it stores nothing twice.
        :param agent: The agent that writes it, in words of your own.
        :param trust: A lower class of trust than the token's: tool for the output of a program, web for a stranger's text. Default: the token's.
        :param if_absent: Expect that no memory has the key.
        :param if_revision: Expect the key's memory to be at this revision (its number of corrections).
        :param if_sha256: Expect the text of the key's memory to have this SHA-256, in hex.
        :param reason: The reason for the change, shown with the memory's revisions.
        """
        return self._call("put", locals())

    def get(self, key: str, *, namespace: Optional[str] = None, as_of: Optional[Date] = None, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> KeyedMemory:
        """The memory that a key has, or had at a date.

        :param key: The key.
        :param namespace: The namespace; blank for default.
        :param as_of: Return the memory that had the key at this date, as it was then.
        :param min_index: Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node.
        :param consistency: linearizable: the answer includes everything acknowledged before the request.
        """
        return self._call("get", locals())

    def rename(self, key: str, to: str, *, namespace: Optional[str] = None, if_absent: Optional[bool] = None, if_revision: Optional[int] = None, if_sha256: Optional[str] = None, reason: Optional[str] = None, idempotency_key: Optional[str] = None) -> RenameAnswer:
        """Give a key's memory another key in its namespace. The memory keeps its id.

        :param key: The key.
        :param to: The new key.
        :param namespace: The namespace; blank for default.
        :param if_absent: Expect that no memory has the key.
        :param if_revision: Expect the key's memory to be at this revision (its number of corrections).
        :param if_sha256: Expect the text of the key's memory to have this SHA-256, in hex.
        :param reason: The reason, shown with the memory's revisions.
        :param idempotency_key: Idempotency key: repeating the request with it renames nothing twice.
        """
        return self._call("rename", locals())

    def delete(self, key: str, *, namespace: Optional[str] = None, if_absent: Optional[bool] = None, if_revision: Optional[int] = None, if_sha256: Optional[str] = None, reason: Optional[str] = None, idempotency_key: Optional[str] = None) -> DeleteAnswer:
        """Forget a key's memory, which frees the key.

        :param key: The key.
        :param namespace: The namespace; blank for default.
        :param if_absent: Expect that no memory has the key.
        :param if_revision: Expect the key's memory to be at this revision (its number of corrections).
        :param if_sha256: Expect the text of the key's memory to have this SHA-256, in hex.
        :param reason: The reason, stored with the memory.
        :param idempotency_key: Idempotency key: repeating the request with it deletes nothing twice.
        """
        return self._call("delete", locals())

    def keys(self, *, namespace: Optional[str] = None, prefix: Optional[str] = None, depth: Optional[int] = None, after: Optional[str] = None, limit: Optional[int] = None, full: Optional[bool] = None, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> KeyPage:
        """The keys below a folder, in the order of their bytes. With a depth, deeper keys are grouped by folder, and listing a group costs as much as listing one key.

        :param namespace: The namespace; blank for default.
        :param prefix: The folder whose keys are listed: /prefs for the keys that begin with /prefs/. Default: /.
        :param depth: Levels below the folder to list; deeper keys are grouped by folder. 0 lists every key. Takes a whole number from 0 to 20.
        :param after: The previous page's next; blank for the first page.
        :param limit: Most rows to return, up to 1,000. Default: 100.
        :param full: Return the memories too.
        :param min_index: Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node.
        :param consistency: linearizable: the answer includes everything acknowledged before the request.
        """
        return self._call("keys", locals())

    def batch(self, steps: Sequence[BatchStep], *, idempotency_key: Optional[str] = None) -> BatchAnswer:
        """Read and write keys in one atomic step: if all conditions hold, all writes are done, otherwise none. Reads see the state before the writes.

        :param steps: The reads and writes, at most 10,000. At most one step may write a key.
        :param idempotency_key: Idempotency key: repeating the request with it writes nothing twice.
        """
        return self._call("batch", locals())

    def memories(self, *, namespace: Optional[str] = None, domain: Optional[str] = None, memory_type: Optional[str] = None, source: Optional[str] = None, after: Optional[Date] = None, before: Optional[Date] = None, filter: Optional[Dict[str, Any]] = None, limit: Optional[int] = None, offset: Optional[int] = None, cursor: Optional[str] = None, sort: Optional[Literal["created_at", "importance", "last_access"]] = None, kind: Optional[str] = None, drive_id: Optional[str] = None, since_rid: Optional[str] = None, order: Optional[Literal["asc", "desc"]] = None, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> MemoryPage:
        """Memories, newest first, or the newest 20,000 sorted by a field. total counts the namespace, or the database. To walk through all memories pass the cursor of each page, or use records; with kind, drive_id, since_rid or order this returns what records returns.

        :param namespace: Only memories of this namespace; blank for all.
        :param domain: Only memories of this domain.
        :param memory_type: Only memories of this kind.
        :param source: Only memories of this source.
        :param after: Only memories created at this date or later.
        :param before: Only memories created before this date.
        :param filter: Only memories that pass it, as in a recall.
        :param limit: Most rows to return, up to 200. Default: 50.
        :param offset: Number of memories to skip.
        :param cursor: The previous page's cursor; blank for the first page. Only for the order of creation.
        :param sort: The field to sort by; the greatest value comes first. Default: created_at.
        :param kind: Only records whose metadata has this kind.
        :param drive_id: Only records whose metadata has this drive_id.
        :param since_rid: The previous page's next_cursor; blank for the first page.
        :param order: asc for oldest first; otherwise newest first.
        :param min_index: Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node.
        :param consistency: linearizable: the answer includes everything acknowledged before the request.
        """
        return self._call("memories", locals())

    def records(self, *, namespace: Optional[str] = None, domain: Optional[str] = None, memory_type: Optional[str] = None, source: Optional[str] = None, after: Optional[Date] = None, before: Optional[Date] = None, filter: Optional[Dict[str, Any]] = None, limit: Optional[int] = None, kind: Optional[str] = None, drive_id: Optional[str] = None, since_rid: Optional[str] = None, order: Optional[Literal["asc", "desc"]] = None, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> RecordPage:
        """All memories in the order of their ids, page by page: pass the next_cursor of each page as since_rid, until it is null.

        :param namespace: Only memories of this namespace; blank for all.
        :param domain: Only memories of this domain.
        :param memory_type: Only memories of this kind.
        :param source: Only memories of this source.
        :param after: Only memories created at this date or later.
        :param before: Only memories created before this date.
        :param filter: Only memories that pass it, as in a recall.
        :param limit: Most rows to return, up to 200. Default: 50.
        :param kind: Only records whose metadata has this kind.
        :param drive_id: Only records whose metadata has this drive_id.
        :param since_rid: The previous page's next_cursor; blank for the first page.
        :param order: asc for oldest first; otherwise newest first.
        :param min_index: Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node.
        :param consistency: linearizable: the answer includes everything acknowledged before the request.
        """
        return self._call("records", locals())

    def namespaces(self, *, limit: Optional[int] = None, after: Optional[str] = None, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> NamespacePage:
        """The namespaces of a database, and how many memories each has.

        :param limit: Most namespaces to return, up to 1,000. Default: 100.
        :param after: The previous page's next; blank for the first page.
        :param min_index: Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node.
        :param consistency: linearizable: the answer includes everything acknowledged before the request.
        """
        return self._call("namespaces", locals())

    def ids(self, *, rids: Optional[Sequence[str]] = None, short: Optional[Sequence[str]] = None, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> IDsAnswer:
        """The ids that short forms stand for, and the numbers of memories.

        :param rids: Full ids to find the numbers of.
        :param short: Short forms to find the ids of: #812, or at least the first 4 characters of an id.
        :param min_index: Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node.
        :param consistency: linearizable: the answer includes everything acknowledged before the request.
        """
        return self._call("ids", locals())

    def count(self, *, memory_type: Optional[str] = None, namespace: Optional[str] = None, domain: Optional[str] = None, source: Optional[str] = None, session_id: Optional[str] = None, filter: Optional[Dict[str, Any]] = None, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> Counted:
        """How many active memories pass filters. Memories with searchable false are not counted.

        :param memory_type: Only memories of this kind.
        :param namespace: Only memories of this namespace; blank for all.
        :param domain: Only memories of this domain.
        :param source: Only memories of this source.
        :param session_id: Only memories of this session.
        :param filter: Only memories that pass it, as in a recall.
        :param min_index: Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node.
        :param consistency: linearizable: the answer includes everything acknowledged before the request.
        """
        return self._call("count", locals())

    def values(self, attribute: str, *, namespace: Optional[str] = None, filter: Optional[Dict[str, Any]] = None, limit: Optional[int] = None, after: Optional[str] = None, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> ValuePage:
        """The values of an attribute, and how many active memories have each. Memories with searchable false are not counted.

        :param attribute: The attribute's name.
        :param namespace: Only memories of this namespace; blank for all.
        :param filter: Only memories that pass it, as in a recall.
        :param limit: Most values to return, up to 1,000. Default: 100.
        :param after: The previous page's next; blank for the first page.
        :param min_index: Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node.
        :param consistency: linearizable: the answer includes everything acknowledged before the request.
        """
        return self._call("values", locals())

    def stats(self, *, verbose: Optional[bool] = None, namespace: Optional[str] = None, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> Counters:
        """Counters of a database or a namespace. Counters that need a scan stop at 20,000. For a namespace, relations and operations are 0, because they belong to no namespace. verbose=1 returns more.

        :param verbose: Return more counters.
        :param namespace: Count this namespace only; blank counts the whole database.
        :param min_index: Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node.
        :param consistency: linearizable: the answer includes everything acknowledged before the request.
        """
        return self._call("stats", locals())

    def stale(self, *, days: Optional[float] = None, namespace: Optional[str] = None, limit: Optional[int] = None, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> MemoryItems:
        """Memories that were not accessed for days, the most important first.

        :param days: Least number of days since the memory was last accessed. Default: 30. Takes a number from 0 to 36500.
        :param namespace: Only memories of this namespace; blank for all.
        :param limit: Most rows to return, up to 1,000. Default: 50.
        :param min_index: Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node.
        :param consistency: linearizable: the answer includes everything acknowledged before the request.
        """
        return self._call("stale", locals())

    def upcoming(self, *, days: Optional[float] = None, namespace: Optional[str] = None, limit: Optional[int] = None, cursor: Optional[str] = None, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> MemoryItems:
        """Memories due within days, the soonest first.

        :param days: Days from now within which it is due. Default: 7.
        :param namespace: Only memories of this namespace; blank for all.
        :param limit: Most rows to return, up to 1,000. Default: 50.
        :param cursor: The previous page's cursor; blank for the first page.
        :param min_index: Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node.
        :param consistency: linearizable: the answer includes everything acknowledged before the request.
        """
        return self._call("upcoming", locals())

    def chronology(self, *, from_: Optional[Date] = None, to: Optional[Date] = None, namespace: Optional[str] = None, entity: Optional[str] = None, memory_type: Optional[str] = None, limit: Optional[int] = None, cursor: Optional[str] = None, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> MemoryItems:
        """Memories stored between two dates, the oldest first.

        :param from_: Only memories created at this date or after it.
        :param to: Only memories created before this date.
        :param namespace: Only memories of this namespace; blank for all.
        :param entity: Only memories that name this entity or one of its aliases.
        :param memory_type: Only memories of this kind.
        :param limit: Most rows to return, up to 1,000. Default: 50.
        :param cursor: The previous page's cursor; blank for the first page. Not with entity.
        :param min_index: Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node.
        :param consistency: linearizable: the answer includes everything acknowledged before the request.
        """
        return self._call("chronology", locals())

    def entity(self, name: str, *, namespace: Optional[str] = None, days: Optional[float] = None, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> EntityProfile:
        """An entity's profile: mentions, sessions, relations, valence.

        :param name: The entity's name or an alias, in any case.
        :param namespace: Only memories of this namespace, without relations (they belong to no namespace); blank for all.
        :param days: Only memories of the last N days; 0 for all. Takes a number from 0 to 36500.
        :param min_index: Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node.
        :param consistency: linearizable: the answer includes everything acknowledged before the request.
        """
        return self._call("entity", locals())

    def timeline(self, rid: str, *, limit: Optional[int] = None, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> MemoryList:
        """Memories stored shortly before and after a memory, oldest first.

        :param rid: The memory's id.
        :param limit: Number of memories to return on each side of it, up to 100. Default: 5.
        :param min_index: Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node.
        :param consistency: linearizable: the answer includes everything acknowledged before the request.
        """
        return self._call("timeline", locals())

    def entities(self, *, namespace: Optional[str] = None, search: Optional[str] = None, sort: Optional[Literal["name", "mentions"]] = None, limit: Optional[int] = None, after: Optional[str] = None, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> EntityList:
        """Names that memories, relations and claims mention.

        :param namespace: Only names in the newest 10,000 memories of this namespace; blank for all.
        :param search: Only names that contain this text, in any case. A page searches 10,000 names for parts; next continues. A full name is searched in all.
        :param sort: The order: by name, or by mentions, the most mentioned of the first 10,000 names first. Default: name.
        :param limit: Most names to return, up to 1,000. Default: 100.
        :param after: The previous page's next; blank for the first page. Only for the order of names.
        :param min_index: Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node.
        :param consistency: linearizable: the answer includes everything acknowledged before the request.
        """
        return self._call("entities", locals())

    def session_start(self, *, namespace: Optional[str] = None, client_id: Optional[str] = None, metadata: Optional[Any] = None, session_id: Optional[str] = None) -> StartedSession:
        """Open a session; its namespace's memories join it.

        :param namespace: Memories of this namespace join the session; blank for default.
        :param client_id: The client that opens the session. A client has one active session in a namespace.
        :param metadata: The client's own data for the session. Default: {}.
        :param session_id: The session's id; generated when it is omitted.
        """
        return self._call("session_start", locals())

    def session_end(self, id: str, *, summary: Optional[str] = None) -> EndedSession:
        """Close a session.

        :param id: The session's id.
        :param summary: A summary of the session, for later readers.
        """
        return self._call("session_end", locals())

    def session(self, id: str, *, limit: Optional[int] = None, offset: Optional[int] = None, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> SessionAndMemories:
        """A session and its memories, in order.

        :param id: The session's id.
        :param limit: Most memories to return. Default: 100.
        :param offset: Number of memories to skip.
        :param min_index: Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node.
        :param consistency: linearizable: the answer includes everything acknowledged before the request.
        """
        return self._call("session", locals())

    def sessions(self, *, namespace: Optional[str] = None, client_id: Optional[str] = None, active: Optional[bool] = None, limit: Optional[int] = None, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> SessionList:
        """Sessions, newest first.

        :param namespace: Only sessions of this namespace; blank for all.
        :param client_id: Only the sessions of this client.
        :param active: Only sessions that have not ended.
        :param limit: Most sessions to return. Default: 50.
        :param min_index: Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node.
        :param consistency: linearizable: the answer includes everything acknowledged before the request.
        """
        return self._call("sessions", locals())

    def session_draft(self, summary: str, *, namespace: Optional[str] = None, domain: Optional[str] = None) -> Drafted:
        """Store a session's summary, as one memory for each statement.

        :param summary: A text of what happened: each line, and each sentence of a line, becomes a memory.
        :param namespace: Namespace of the memories; blank for default.
        :param domain: The domain that the memories get.
        """
        return self._call("session_draft", locals())

    def turn_record(self, role: str, content: str, *, max_turns: Optional[int] = None, namespace: Optional[str] = None) -> RecordedTurn:
        """Add a turn to the end of a namespace's conversation, and forget the oldest ones beyond max_turns.

        :param role: Who spoke, such as user or assistant; up to 64 bytes.
        :param content: What was said.
        :param max_turns: The number of turns to keep, this one included. Default: 10. Takes a whole number from 1 to 1000.
        :param namespace: The namespace; blank for default.
        """
        return self._call("turn_record", locals())

    def turns(self, *, limit: Optional[int] = None, namespace: Optional[str] = None, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> TurnList:
        """The last turns of a namespace's conversation, word for word, the oldest first.

        :param limit: Most turns to return, up to 1,000. Default: 10.
        :param namespace: The namespace; blank for default.
        :param min_index: Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node.
        :param consistency: linearizable: the answer includes everything acknowledged before the request.
        """
        return self._call("turns", locals())

    def turns_clear(self, *, namespace: Optional[str] = None) -> ClearedTurns:
        """Forget all turns of a namespace's conversation.

        :param namespace: The namespace; blank for default.
        """
        return self._call("turns_clear", locals())

    def task_add(self, title: str, *, priority: Optional[Literal["low", "medium", "high", "critical"]] = None, status: Optional[str] = None, parent_id: Optional[str] = None, namespace: Optional[str] = None, idempotency_key: Optional[str] = None) -> AddedTask:
        """Add a task to a namespace's list.

        :param title: What is to be done, up to 4,096 bytes.
        :param priority: How urgent it is. Default: medium.
        :param status: Its status: open, in_progress, done or a word of your own, up to 64 bytes. Default: open.
        :param parent_id: The task that this one is a part of.
        :param namespace: The namespace; blank for default.
        :param idempotency_key: Idempotency key: repeating the request with it adds nothing twice.
        """
        return self._call("task_add", locals())

    def tasks(self, *, namespace: Optional[str] = None, status: Optional[str] = None, parent_id: Optional[str] = None, limit: Optional[int] = None, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> TaskList:
        """The tasks of a namespace, the most urgent first, then the oldest. In a namespace with more than 20,000 tasks, only the first 20,000 added are listed, and incomplete says so.

        :param namespace: The namespace; blank for default.
        :param status: Only tasks of this status; all is every status. Default: all.
        :param parent_id: Only parts of this task; blank means all.
        :param limit: Most rows to return, up to 1,000. Default: 1000.
        :param min_index: Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node.
        :param consistency: linearizable: the answer includes everything acknowledged before the request.
        """
        return self._call("tasks", locals())

    def task(self, id: str, *, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> Task:
        """One task.

        :param id: The task's id.
        :param min_index: Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node.
        :param consistency: linearizable: the answer includes everything acknowledged before the request.
        """
        return self._call("task", locals())

    def task_change(self, id: str, *, status: Optional[str] = None, priority: Optional[Literal["low", "medium", "high", "critical"]] = None, title: Optional[str] = None, expected_revision: Optional[int] = None) -> ChangedTask:
        """Change a task's status, priority or title.

        :param id: The task's id.
        :param status: The new status, up to 64 bytes.
        :param priority: The new priority.
        :param title: The new title, up to 4,096 bytes.
        :param expected_revision: Change it only if it is at this revision.
        """
        return self._call("task_change", locals())

    def task_delete(self, id: str) -> DroppedTask:
        """Forget a task. Its subtasks stay.

        :param id: The task's id.
        """
        return self._call("task_delete", locals())

    def skills_search(self, query: str, *, top_k: Optional[int] = None, applies_to: Optional[str] = None, skill_type: Optional[str] = None, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> SkillList:
        """Find skills by what they are for, the best first.

        :param query: What you need a skill for. Blank lists the newest.
        :param top_k: Most skills to return, up to 1,000. Default: 10.
        :param applies_to: Only skills that apply to this.
        :param skill_type: Only skills of this type.
        :param min_index: Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node.
        :param consistency: linearizable: the answer includes everything acknowledged before the request.
        """
        return self._call("skills_search", locals())

    def skill_define(self, skill_id: str, body: str, skill_type: str, applies_to: Sequence[str], *, triggers: Optional[Sequence[str]] = None, version: Optional[str] = None, supersedes_skill_id: Optional[str] = None, metadata: Optional[Dict[str, Any]] = None, on_conflict: Optional[Literal["reject", "replace", "update", "ignore"]] = None) -> DefinedSkill:
        """Store a skill under its id. If a skill has the id already, on_conflict says whether to replace it.

        :param skill_id: The skill's id: 4 to 200 lower-case letters, digits and underscores, in two or more parts with dots between them.
        :param body: How it is done, in 50 to 5,000 characters.
        :param skill_type: What it is: procedure, reference, lesson, pattern or rule.
        :param applies_to: What it applies to: 1 to 10 words of lower-case letters, digits and underscores.
        :param triggers: Phrases that call for it, up to 50.
        :param version: Its version, as you count them.
        :param supersedes_skill_id: The skill that it replaces.
        :param metadata: More about it.
        :param on_conflict: When the id is taken: reject the request, replace the skill (update means the same), or ignore this one. Default: reject.
        """
        return self._call("skill_define", locals())

    def skill_outcome(self, id: str, succeeded: bool, *, note: Optional[str] = None, idempotency_key: Optional[str] = None) -> NotedOutcome:
        """Record whether a skill succeeded when it was used.

        :param id: The skill's id.
        :param succeeded: Whether it succeeded.
        :param note: What happened, up to 4,096 bytes.
        :param idempotency_key: Idempotency key: repeating the request with it records nothing twice.
        """
        return self._call("skill_outcome", locals())

    def relate(self, entity: str, target: str, relationship: str, *, weight: Optional[float] = None) -> Related:
        """Relate two entities; repeating it changes the weight. Relations belong to the database, not to a namespace.

        :param entity: The entity that the relation starts from.
        :param target: The entity that it leads to.
        :param relationship: How the two are related.
        :param weight: Weight of the relation, at least 0. Default: 1.
        """
        return self._call("relate", locals())

    def edges(self, entity: str, *, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> EdgeList:
        """The relations that an entity is in, in both directions, one step away. entity also returns its memories and claims.

        :param entity: The entity whose relations to return, in any case.
        :param min_index: Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node.
        :param consistency: linearizable: the answer includes everything acknowledged before the request.
        """
        return self._call("edges", locals())

    def graph(self, entity: str, *, action: Optional[str] = None, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> EdgeList:
        """The same as edges, as a POST.

        :param entity: The entity whose relations to return, in any case.
        :param action: Only query is offered. Default: query.
        :param min_index: Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node.
        :param consistency: linearizable: the answer includes everything acknowledged before the request.
        """
        return self._call("graph", locals())

    def edge(self, id: str, *, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> Edge:
        """A relation, by its id.

        :param id: The relation's id.
        :param min_index: Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node.
        :param consistency: linearizable: the answer includes everything acknowledged before the request.
        """
        return self._call("edge", locals())

    def unrelate(self, id: str) -> Unrelated:
        """Delete a relation.

        :param id: The relation's id.
        """
        return self._call("unrelate", locals())

    def ingest_claim(self, src: str, rel_type: str, dst: str, *, namespace: Optional[str] = None, polarity: Optional[int] = None, modality: Optional[str] = None, valid_from: Optional[Date] = None, valid_to: Optional[Date] = None, extractor: Optional[str] = None, extractor_version: Optional[str] = None, confidence_band: Optional[str] = None, source_memory_rid: Optional[str] = None, span_start: Optional[int] = None, span_end: Optional[int] = None, weight: Optional[float] = None) -> Claimed:
        """State a relation with its evidence.

        :param src: The entity that something is claimed of.
        :param rel_type: The relation that is claimed.
        :param dst: The entity or value on its other side.
        :param namespace: Namespace of the claim; blank for default.
        :param polarity: 1 affirms the claim, -1 denies it, 0 leaves it open. Default: 1. Takes a whole number from -1 to 1.
        :param modality: How the claim was made: asserted, reported, or a word the client chooses. Default: asserted.
        :param valid_from: Since when it holds.
        :param valid_to: Until when it held.
        :param extractor: The extractor that found the claim. Default: manual.
        :param extractor_version: Its version.
        :param confidence_band: Confidence band: low, medium, high, or a word the client chooses. Default: medium.
        :param source_memory_rid: The memory that states it.
        :param span_start: Where in that memory's text it begins, in bytes.
        :param span_end: Where it ends, in bytes.
        :param weight: Weight, at least 0. Default: 1.
        """
        return self._call("ingest_claim", locals())

    def get_claims(self, entity: str, *, namespace: Optional[str] = None, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> ClaimList:
        """Claims about an entity, newest first.

        :param entity: The entity whose claims to return, in any case.
        :param namespace: Only claims of this namespace; blank means all.
        :param min_index: Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node.
        :param consistency: linearizable: the answer includes everything acknowledged before the request.
        """
        return self._call("get_claims", locals())

    def add_alias(self, alias: str, canonical_name: str, *, namespace: Optional[str] = None, source: Optional[str] = None) -> Aliased:
        """Make a name an alias of another.

        :param alias: The name that stands for another.
        :param canonical_name: The name that it stands for.
        :param namespace: The namespace; blank for default.
        :param source: The source of the claim. Default: explicit.
        """
        return self._call("add_alias", locals())

    def think(self, *, run_consolidation: Optional[bool] = None, run_conflict_scan: Optional[bool] = None, run_pattern_mining: Optional[bool] = None, run_personality: Optional[bool] = None, include_minor: Optional[bool] = None, consolidation_limit: Optional[int] = None, consolidation_time_window_days: Optional[float] = None, min_active_memories: Optional[int] = None, max_triggers: Optional[int] = None, namespace: Optional[str] = None, max_ms: Optional[int] = None, progress: Optional[bool] = None) -> Thought:
        """Look for duplicates, contradictions, patterns and things an agent should act on.

        :param run_consolidation: Merge memories that say the same thing. Default: true.
        :param run_conflict_scan: Look for contradictions. Default: true.
        :param run_pattern_mining: Look for patterns.
        :param run_personality: Compute the agent's traits again. Default: true.
        :param include_minor: Also report minor contradictions, which may be false positives.
        :param consolidation_limit: Number of memories to find duplicates of, up to 10,000; 0 for none. The next round continues after them. In a database of more than 10,000 memories the unread ones come in addition. Default: 50.
        :param consolidation_time_window_days: Most days between the creation of two duplicates; 0 means 7. Default: 7. Takes a number from 0 to 36500.
        :param min_active_memories: Least number of active memories for merging; 0 means 10. Default: 10.
        :param max_triggers: Most triggers to return, up to 1,000; 0 means 10. Default: 10.
        :param namespace: Look at the memories and claims of this namespace alone; blank for all. Then relations, patterns, traits and what concerns the whole database are left out.
        :param max_ms: Milliseconds after which the round reads no more, up to 60,000; 0 for 60,000. It decides on what it has read, and the next round continues. Default: 0.
        :param progress: Also return read and remaining.
        """
        return self._call("think", locals())

    def conflicts(self, *, status: Optional[str] = None, conflict_type: Optional[str] = None, entity: Optional[str] = None, memory: Optional[str] = None, namespace: Optional[str] = None, priority: Optional[str] = None, limit: Optional[int] = None, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> ConflictList:
        """Contradictions, the most urgent first, then the newest.

        :param status: Status to return: open, resolved, dismissed, or all. Default: all.
        :param conflict_type: Only those of this type; blank means all.
        :param entity: Only those about this entity, in any case; blank means all.
        :param memory: Only those with this memory's id as a side or as the outcome; blank means all.
        :param namespace: Only those of this namespace; blank means all.
        :param priority: Only those of this priority: critical, high, medium or low; blank means all.
        :param limit: Most rows to return, up to 1,000; 0 means 50. Default: 50.
        :param min_index: Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node.
        :param consistency: linearizable: the answer includes everything acknowledged before the request.
        """
        return self._call("conflicts", locals())

    def resolve_conflict(self, id: str, strategy: str, *, winner_rid: Optional[str] = None, new_text: Optional[str] = None, resolution_note: Optional[str] = None) -> Resolved:
        """Resolve a contradiction.

        :param id: The conflict's id.
        :param strategy: keep_a, keep_b, keep_both, merge or dismiss.
        :param winner_rid: The winning side, for clients that name it instead of using keep_a or keep_b.
        :param new_text: The text of the memory that merge makes of both sides.
        :param resolution_note: The reason for the resolution, up to 64 KiB.
        """
        return self._call("resolve_conflict", locals())

    def triggers(self, *, status: Optional[str] = None, type: Optional[str] = None, namespace: Optional[str] = None, limit: Optional[int] = None, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> TriggerList:
        """Triggers: things an agent should act on.

        :param status: Status to return: pending, delivered, acknowledged, acted, dismissed, expired, or all. Default: pending.
        :param type: Only those of this type; blank means all.
        :param namespace: Only those about memories of this namespace alone; blank means all, including those about the whole database.
        :param limit: Most rows to return, up to 1,000; 0 means 50. Default: 50.
        :param min_index: Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node.
        :param consistency: linearizable: the answer includes everything acknowledged before the request.
        """
        return self._call("triggers", locals())

    def triggers_history(self, *, status: Optional[str] = None, type: Optional[str] = None, namespace: Optional[str] = None, limit: Optional[int] = None, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> TriggerList:
        """Triggers of every status.

        :param status: Status to return: pending, delivered, acknowledged, acted, dismissed, expired, or all. Default: all.
        :param type: Only those of this type; blank means all.
        :param namespace: Only those about memories of this namespace alone; blank means all, including those about the whole database.
        :param limit: Most rows to return, up to 1,000; 0 means 50. Default: 50.
        :param min_index: Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node.
        :param consistency: linearizable: the answer includes everything acknowledged before the request.
        """
        return self._call("triggers_history", locals())

    def triggers_deliver(self, *, namespace: Optional[str] = None, limit: Optional[int] = None) -> TriggerList:
        """Take pending triggers and mark them as delivered.

        :param namespace: Only those about memories of this namespace alone; blank means all, including those about the whole database.
        :param limit: Most rows to return, up to 1,000; 0 means 50. Default: 10.
        """
        return self._call("triggers_deliver", locals())

    def trigger_move(self, id: str, verb: str) -> MovedTrigger:
        """Acknowledge a trigger, act on it or dismiss it.

        :param id: The trigger's id.
        :param verb: acknowledge, act or dismiss.
        """
        return self._call("trigger_move", locals())

    def triggers_prune(self, *, dry_run: Optional[bool] = None, max_pending: Optional[int] = None) -> PrunedTriggers:
        """Expire pending triggers that are overdue, then the least urgent ones beyond max_pending. By default it only counts them. One request expires at most 1,000.

        :param dry_run: Only say what would be done. Default: true.
        :param max_pending: Number of pending triggers to keep; the most urgent stay. Default: 64.
        """
        return self._call("triggers_prune", locals())

    def categories(self, *, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> CategoryList:
        """Lists of words of which only one can hold at a time, such as names of databases. The lists are built in.

        :param min_index: Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node.
        :param consistency: linearizable: the answer includes everything acknowledged before the request.
        """
        return self._call("categories", locals())

    def category_members(self, name: str, *, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> CategoryWords:
        """The words of a category.

        :param name: The category's name.
        :param min_index: Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node.
        :param consistency: linearizable: the answer includes everything acknowledged before the request.
        """
        return self._call("category_members", locals())

    def personality(self, *, namespace: Optional[str] = None, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> TraitList:
        """The agent's traits, computed from its memories.

        :param namespace: Compute the traits from the newest 1,000 memories of this namespace; blank returns those that the last round of cognition found in the whole database.
        :param min_index: Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node.
        :param consistency: linearizable: the answer includes everything acknowledged before the request.
        """
        return self._call("personality", locals())

    def patterns(self, *, type: Optional[str] = None, namespace: Optional[str] = None, limit: Optional[int] = None, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> PatternList:
        """Patterns, the most certain first.

        :param type: Only those of this type; blank means all.
        :param namespace: Only those about memories of this namespace alone; blank means all, including those about the whole database.
        :param limit: Most rows to return, up to 1,000; 0 means 50. Default: 50.
        :param min_index: Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node.
        :param consistency: linearizable: the answer includes everything acknowledged before the request.
        """
        return self._call("patterns", locals())

    def feedback(self, query: str, rid: str, *, relevant: Optional[bool] = None, score: Optional[float] = None, rank: Optional[int] = None) -> Heeded:
        """Say whether a recalled memory was relevant; ranking learns from it.

        :param query: The question, up to 64 KiB.
        :param rid: The memory that was found.
        :param relevant: Whether the memory was relevant. Default: true.
        :param score: The score that it was found with.
        :param rank: Its place in the answer, from 0.
        """
        return self._call("feedback", locals())

    def gaps(self, *, namespace: Optional[str] = None, min_count: Optional[int] = None, max_avg_top_score: Optional[float] = None, limit: Optional[int] = None, node: Optional[bool] = None) -> GapList:
        """Questions that were asked often and had poor answers, on all nodes since they started.

        :param namespace: Only questions about this namespace; blank for all. A question that names no namespace counts for default.
        :param min_count: Only questions asked at least this many times. Default: 2.
        :param max_avg_top_score: Only questions whose best memory scored at most this on average; below 0 returns no rows. Default: 0.5. Takes a number of at least -1.
        :param limit: Most rows to return, up to 1,000. Default: 10.
        :param node: Report only the node that receives the request, not the others.
        """
        return self._call("gaps", locals())

    def digest(self, *, namespace: Optional[str] = None, max_decisions: Optional[int] = None, max_conflicts: Optional[int] = None, max_triggers: Optional[int] = None, snippet_chars: Optional[int] = None, include_gaps: Optional[bool] = None, max_gaps: Optional[int] = None, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> DigestAnswer:
        """What an agent should know of a namespace at the start of its work.

        :param namespace: The namespace to summarise; blank for default.
        :param max_decisions: Most memories to return. Default: 8.
        :param max_conflicts: Most contradictions to return, 1 to 1,000; 0 means 1. Default: 5.
        :param max_triggers: Most triggers to return, up to 1,000; 0 means 1. Default: 5.
        :param snippet_chars: Most characters of a text to return. Default: 240.
        :param include_gaps: Also return questions with poor answers.
        :param max_gaps: Most of these to return. Default: 5.
        :param min_index: Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node.
        :param consistency: linearizable: the answer includes everything acknowledged before the request.
        """
        return self._call("digest", locals())

    def events(self, *, from_: Optional[Union[str, int]] = None, type: Optional[Sequence[str]] = None, filter: Optional[Dict[str, Any]] = None, prefix: Optional[str] = None) -> Feed:
        """A stream of changes that stays open: ids, never a memory's text. The first event, subscribed, has the log position at which the stream begins. When one write makes several events, only the last has an id line. To continue after that write, send the id as the header Last-Event-ID or as from. After 15 seconds without an event, a line with only a colon is sent. The event lagged means that the log no longer holds events you missed, or that it ends before the position you named.

        :param from_: Begin after this log position: log_index of a write, index of a read, or 1 for all that the log still holds. 0: new events only. The header Last-Event-ID takes precedence.
        :param type: Only events of these types: stored, corrected, forgotten, related, unrelated, claimed, session_started, session_ended, thought, consolidated, conflict, resolved, trigger, trigger_moved, purged, leader; * and none mean all. Every memory that changes is named, but for purged, which names none. A put on a key that has a memory is reported as corrected; a merge as consolidated, with the id of the new memory, and as corrected for each that went into it; one whose mark superseded_by ends as corrected.
        :param filter: Only events about memories that pass this filter now, as in a recall.
        :param prefix: Only events about memories whose key is this one or below it now, such as /prefs; a forgotten memory has its last key.
        """
        return self._call("events", locals())

    def databases_create(self, name: str) -> CreatedDatabase:
        """Create a database.

        :param name: Its name: 1 to 64 characters of A-Z a-z 0-9 . _ -, not beginning with a dot.
        """
        return self._call("databases_create", locals())

    def databases(self, *, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> DatabaseList:
        """The databases that the token may use.

        :param min_index: Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node.
        :param consistency: linearizable: the answer includes everything acknowledged before the request.
        """
        return self._call("databases", locals())

    def databases_drop(self, name: str) -> DroppedDatabase:
        """Delete a database with all its content; its tokens are revoked.

        :param name: The database's name.
        """
        return self._call("databases_drop", locals())

    def quota(self, name: str, *, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> QuotaAnswer:
        """A database's limits; 0 for no limit.

        :param name: The database's name.
        :param min_index: Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node.
        :param consistency: linearizable: the answer includes everything acknowledged before the request.
        """
        return self._call("quota", locals())

    def quota_set(self, name: str, *, max_memories: Optional[int] = None, max_rps: Optional[int] = None, burst: Optional[int] = None, max_batch_size: Optional[int] = None) -> QuotaSet:
        """Set a database's limits: active memories, and requests on each node; 0 for no limit; omitted fields stay as they are.

        :param name: The database's name.
        :param max_memories: Most active memories that the database may hold; 0: no limit.
        :param max_rps: Operations a second on each node; 0: no limit.
        :param burst: Burst: most operations at once; 0 for one second's worth of the rate.
        :param max_batch_size: Most memories in one request; 0: no limit.
        """
        return self._call("quota_set", locals())

    def settings(self, *, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> Policies:
        """A database's policies; ages in seconds, 0 for none.

        :param min_index: Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node.
        :param consistency: linearizable: the answer includes everything acknowledged before the request.
        """
        return self._call("settings", locals())

    def settings_set(self, *, working_ttl_secs: Optional[float] = None, episodic_ttl_secs: Optional[float] = None, default_ttl_secs: Optional[float] = None, promote_after: Optional[int] = None, consolidate: Optional[bool] = None, quiet_mind: Optional[bool] = None, redact: Optional[Literal["capture", "all", "off"]] = None, single_valued: Optional[Sequence[str]] = None, multi_valued: Optional[Sequence[str]] = None, lift: Optional[Sequence[str]] = None) -> Policies:
        """Change a database's policies; omitted fields stay.

        :param working_ttl_secs: Seconds after which memories of the tier working are forgotten, up to a century; 0 for never.
        :param episodic_ttl_secs: Seconds after which memories of the tier episodic are forgotten, up to a century; 0 for never.
        :param default_ttl_secs: Seconds after which a memory expires that is stored without a ttl or expires_at, up to a century; 0 for never. Applies to memories that are stored from now on.
        :param promote_after: Number of accesses after which a memory moves up one tier; 0 for never.
        :param consolidate: Whether background cognition may merge memories that say the same thing.
        :param quiet_mind: true: no background cognition runs on the database.
        :param redact: Which memories lose their secrets before they are stored: capture (output of tools, and memories of the kind capture), all, or off.
        :param single_valued: More relations that have one value at a time, in addition to the defaults (lives in, works at, led by, owned by, born, email, phone, status, deadline, ...): a newer value supersedes the older one. Replaces the previous list.
        :param multi_valued: Relations that may have several values here: a newer value supersedes none. Replaces the previous list.
        :param lift: Members of the metadata, at most 64, that become attributes to filter by when a memory is stored, or its metadata corrected, without an attribute of that name. Values that an attribute cannot have stay in the metadata alone. Applies to memories that are stored or imported from now on; replaces the previous list.
        """
        return self._call("settings_set", locals())

    def purge(self, before: Date, *, namespace: Optional[str] = None, tier: Optional[str] = None, owner: Optional[str] = None) -> Purged:
        """Erase memories created before a time: texts, vectors and revisions.

        :param before: Memories created before this time are erased.
        :param namespace: Only memories of this namespace; blank for all.
        :param tier: Only memories of this tier; blank for all.
        :param owner: Only memories of this owner; blank for all.
        """
        return self._call("purge", locals())

    def embedding(self, name: str, *, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> EmbeddingAnswer:
        """A database's embedder, the number of memories with a vector, and the state of this node's embedder.

        :param name: The database's name.
        :param min_index: Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node.
        :param consistency: linearizable: the answer includes everything acknowledged before the request.
        """
        return self._call("embedding", locals())

    def reembed(self, name: str, *, embedder: Optional[str] = None, cancel: Optional[bool] = None) -> Reembedding:
        """Change a database's embedder and embed its memories again, in the background; old vectors serve until it is done.

        :param name: The database's name.
        :param embedder: The model: the name of its directory in HOME/models, its full name as in the answer's embedder, builtin, or none for no vectors. Default: the model in the node's configuration.
        :param cancel: true: cancel the change that is under way; the database keeps its current embedder.
        """
        return self._call("reembed", locals())

    def maintenance_run(self, *, tenant: Optional[str] = None) -> MaintenanceRun:
        """Merge duplicates and look for contradictions and patterns, in one database or all.

        :param tenant: The database's name; blank for all.
        """
        return self._call("maintenance_run", locals())

    def maintenance_status(self, *, tenant: Optional[str] = None) -> UpkeepList:
        """When maintenance last ran, for one database or each, and what waits for a decision.

        :param tenant: The database's name; blank for all.
        """
        return self._call("maintenance_status", locals())

    def me(self) -> MeAnswer:
        """The scopes and the database of this request's token."""
        return self._call("me", locals())

    def tokens_create(self, *, database: Optional[str] = None, database_id: Optional[int] = None, label: Optional[str] = None, scopes: Optional[Sequence[str]] = None, expires_at: Optional[Date] = None, namespaces: Optional[Sequence[str]] = None, trust: Optional[Literal["operator", "agent", "tool", "web"]] = None, quarantine: Optional[Literal["operator", "agent", "tool", "web"]] = None) -> CreatedToken:
        """Create a token; its text is shown once.

        :param database: The database that the token is for. Default: the request's own.
        :param database_id: The database by number; 0 to use the name.
        :param label: A label, to tell the token from others.
        :param scopes: Its scopes: read, write, owner or admin, only those that the caller has. Default: read and write.
        :param expires_at: When it ends. Default: never.
        :param namespaces: Prefixes of namespaces, 16 at most, that the token is bound to: agents/billing binds it to that namespace and all below it. Requests without a namespace cover all of these, and new memories go to the first. Not with the scope admin. Default: not bound.
        :param trust: The highest class of trust of what it writes: operator, agent, tool or web, at most the caller's own. Default: operator with the scope owner or admin, else agent.
        :param quarantine: What it writes of this class, and of those below, waits in quarantine until an owner releases it. Default: as for the caller's own token.
        """
        return self._call("tokens_create", locals())

    def tokens(self, *, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> TokenList:
        """All tokens, by the beginning of their hashes.

        :param min_index: Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node.
        :param consistency: linearizable: the answer includes everything acknowledged before the request.
        """
        return self._call("tokens", locals())

    def tokens_revoke(self, token: str) -> RevokedToken:
        """Revoke a token, given as its text, its hash or the beginning of its hash.

        :param token: The token's text, its hash, or at least 8 digits of the beginning of its hash.
        """
        return self._call("tokens_revoke", locals())

    def tokens_limit(self, token: str, *, max_rps: Optional[int] = None, burst: Optional[int] = None, max_batch_size: Optional[int] = None) -> LimitedToken:
        """Limit a token's requests on each node; 0 or omitted for no limit.

        :param token: The token's text, its hash, or at least 8 digits of the beginning of its hash.
        :param max_rps: Operations a second on each node; 0: no limit.
        :param burst: Burst: most operations at once; 0 for one second's worth of the rate.
        :param max_batch_size: Most memories in one request; 0: no limit.
        """
        return self._call("tokens_limit", locals())

    def backup(self, *, since: Optional[int] = None, log_time: Optional[str] = None) -> Backup:
        """Make a backup of all databases as this node has them: the whole state, or, with since, the log after an index.

        :param since: Only the log after this index; 0 for the whole state.
        :param log_time: log_time of the backup that ended there. If the log had another time there, the backup is of another history: 409 conflict.
        """
        return self._call("backup", locals())

    def backup_send(self, id: str) -> Stream:
        """Download a backup; ranges are served.

        :param id: The backup's id.
        """
        return self._call("backup_send", locals())

    def backup_drop(self, id: str) -> DroppedBackup:
        """Delete a backup that was downloaded.

        :param id: The backup's id.
        """
        return self._call("backup_drop", locals())

    def export(self, *, filter: Optional[Dict[str, Any]] = None, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> Iterator[Line]:
        """A database's memories with their revisions and claims, merged ones included, then its relations; NDJSON. With a filter, relations are left out. Forgotten memories, claims that clients stated, aliases, sessions, policies and what think found are in a backup alone.

        :param filter: Only memories that pass it, as in a recall.
        :param min_index: Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node.
        :param consistency: linearizable: the answer includes everything acknowledged before the request.
        """
        return self._call("export", locals())

    def import_(self, lines: Lines, *, key: Optional[str] = None, keep_ids: Optional[bool] = None, skip_refused: Optional[bool] = None) -> Imported:
        """Import NDJSON as export writes it. Memories and relations keep their ids, unless an id is taken already. A line with a key or an external_id is stored under it, or corrects the memory there if that says something else. A line that is there already changes nothing, so an import that broke off can be repeated. A line is read only after the lines before it are stored.

        :param lines: The lines: texts, or objects that become JSON.
        :param key: Idempotency key of the whole import, up to 480 bytes: repeating the import with it answers what the first one did.
        :param keep_ids: true: reject a line whose id is taken; false: give it a new id.
        :param skip_refused: true: go on behind a line that is rejected, and list it in the answer; false: end the import there.
        """
        return self._call("import", locals())

    def cluster(self) -> ClusterStatus:
        """The cluster as this node sees it. Without a token: whether the node is alive and ready."""
        return self._call("cluster", locals())

    def cluster_topology(self) -> TopologyAnswer:
        """The members of the cluster and where each is reached."""
        return self._call("cluster_topology", locals())

    def cluster_raft(self) -> RaftState:
        """Raft as this node knows it."""
        return self._call("cluster_raft", locals())

    def cluster_metrics(self, *, minutes: Optional[int] = None, points: Optional[int] = None, node: Optional[bool] = None) -> PastAnswer:
        """Rates, latencies, lag and sizes of every node over the last 24 hours, with starts and elections. Each node keeps its own in memory, since it started.

        :param minutes: How far back to go, up to 1,440. Default: 1440. Takes a whole number of at least 1.
        :param points: Most points of each node, up to 2,880. Neighbouring points are combined: the worst latency and lag, and the mean of the rest. Default: 240. Takes a whole number of at least 1.
        :param node: Report only the node that receives the request, not the others.
        """
        return self._call("cluster_metrics", locals())

    def cluster_keys(self, *, node: Optional[bool] = None) -> KeysAnswer:
        """Encryption and TLS of every member: whether its home is encrypted, the ids and ages of its data keys, what a key rotation has left to do, its certificates and when they end, and which ports use TLS. No key is returned.

        :param node: Report only the node that receives the request, not the others.
        """
        return self._call("cluster_keys", locals())

    def cluster_change(self, verb: str, *, node_id: Optional[int] = None, addr: Optional[str] = None, role: Optional[str] = None, force: Optional[bool] = None) -> MembersChanged:
        """Change the cluster's members: join, leave, remove, promote, transfer. promote without a node_id requests leadership for this node.

        :param verb: The change: join, leave, remove, promote or transfer.
        :param node_id: The node to change; leave removes the node that receives the request, and is rejected if this names another.
        :param addr: For join: the node's port for its peers.
        :param role: For join: voter (the default) or read_replica.
        :param force: true: do it even if the cluster may lose its majority.
        """
        return self._call("cluster_change", locals())

    def control_snapshot(self, *, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> Control:
        """The replicated databases and tokens; for tokens with the scope admin only.

        :param min_index: Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node.
        :param consistency: linearizable: the answer includes everything acknowledged before the request.
        """
        return self._call("control_snapshot", locals())

    def recall_compare(self, query: str, *, top_k: Optional[int] = None, memory_type: Optional[str] = None, namespace: Optional[str] = None, domain: Optional[str] = None, source: Optional[str] = None, session_id: Optional[str] = None, include_consolidated: Optional[bool] = None, include_superseded: Optional[bool] = None, expand_entities: Optional[bool] = None, query_embedding: Optional[Sequence[float]] = None, time_window: Optional[Tuple[Optional[Date], Optional[Date]]] = None, skip_reinforce: Optional[bool] = None, without: Optional[Sequence[str]] = None, diverse: Optional[bool] = None, filter: Optional[Dict[str, Any]] = None, min_score: Optional[float] = None, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> Comparison:
        """Ask every node the same question: nodes at the same index give the same answer.

        :param query: What to look for: a question or a few words. Blank, * or everything lists the newest.
        :param top_k: Most memories to return, up to 1,000. Default: 10.
        :param memory_type: Only memories of this kind.
        :param namespace: Only this namespace; blank for all.
        :param domain: Only memories of this domain.
        :param source: Only memories of this source.
        :param session_id: Only memories of this session.
        :param include_consolidated: Also memories that were merged into others.
        :param include_superseded: Also memories whose subject now has another value of the same relation. Others that a newer memory replaces are always returned, ranked after it.
        :param expand_entities: Follow relations of what the question names. Default: true.
        :param query_embedding: The question's vector, of the database's dimension; the database's embedder makes it when it is omitted.
        :param time_window: Only memories created between two dates.
        :param skip_reinforce: Do not strengthen the memories that are found.
        :param without: Signals to switch off: passage, around, refers, session, density, speaker, asker, date, when, short, questions, vector, graph, freshness, importance, trust, rerank.
        :param diverse: Leave out memories that nearly repeat a better one.
        :param filter: Only memories that pass it: attributes with their values, or with operators (eq ne in nin gt gte lt lte exists contains icontains prefix); and, or, not.
        :param min_score: Leave out memories less likely than this to answer the question. 0 returns every match. Default: 0.002.
        :param min_index: Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node.
        :param consistency: linearizable: the answer includes everything acknowledged before the request.
        """
        return self._call("recall_compare", locals())

    def audit(self, *, limit: Optional[int] = None, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> AuditList:
        """Changes of the cluster and the callers that made them, newest first.

        :param limit: Most changes to return; the newest 10,000 are kept. Default: 100.
        :param min_index: Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node.
        :param consistency: linearizable: the answer includes everything acknowledged before the request.
        """
        return self._call("audit", locals())

    def log(self, *, from_: Optional[int] = None, limit: Optional[int] = None, wait_ms: Optional[int] = None, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> Iterator[Line]:
        """Applied log entries without their texts; NDJSON.

        :param from_: Entries from this log index on; 0 for the newest.
        :param limit: Most entries to return, up to 10,000. Default: 100.
        :param wait_ms: Milliseconds to wait for the entry at from, up to 60,000.
        :param min_index: Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node.
        :param consistency: linearizable: the answer includes everything acknowledged before the request.
        """
        return self._call("log", locals())

    def health(self) -> AliveAnswer:
        """Whether the process is alive; always 200."""
        return self._call("health", locals())

    def health_deep(self) -> DeepHealthAnswer:
        """Whether state, index and quorum answer; 503 when one does not. The embedder's state is included but does not count."""
        return self._call("health_deep", locals())

    def health_ready(self) -> ReadyAnswer:
        """Whether the node has caught up since its start and is not far behind; 503 when not. A node that loses its leader stays ready, because it still answers reads. behind is null while it hears no leader."""
        return self._call("health_ready", locals())


class AsyncOperations:
    def _call(self, name: str, fields: Dict[str, Any]) -> Any:
        raise NotImplementedError

    async def remember(self, text: str, *, memory_type: Optional[str] = None, importance: Optional[float] = None, valence: Optional[float] = None, half_life: Optional[float] = None, metadata: Optional[Any] = None, attributes: Optional[Dict[str, Any]] = None, namespace: Optional[str] = None, certainty: Optional[float] = None, domain: Optional[str] = None, source: Optional[str] = None, emotional_state: Optional[str] = None, embedding: Optional[Sequence[float]] = None, session_id: Optional[str] = None, created_at: Optional[Date] = None, due_at: Optional[Date] = None, temporal_kind: Optional[str] = None, tier: Optional[str] = None, pin: Optional[bool] = None, expires_at: Optional[Date] = None, ttl: Optional[float] = None, refresh_on_read: Optional[float] = None, searchable: Optional[bool] = None, idempotency_key: Optional[str] = None, agent: Optional[str] = None, trust: Optional[Literal["operator", "agent", "tool", "web"]] = None, near: Optional[bool] = None) -> Remembered:
        """Store a memory. To store it under a key of your own, or to replace what a key has, use put."""
        return await self._call("remember", locals())

    async def remember_batch(self, memories: Sequence[Draft], *, idempotency_key: Optional[str] = None) -> RememberedBatch:
        """Store memories, all or none."""
        return await self._call("remember_batch", locals())

    async def recall(self, query: str, *, top_k: Optional[int] = None, memory_type: Optional[str] = None, namespace: Optional[str] = None, domain: Optional[str] = None, source: Optional[str] = None, session_id: Optional[str] = None, include_consolidated: Optional[bool] = None, include_superseded: Optional[bool] = None, expand_entities: Optional[bool] = None, query_embedding: Optional[Sequence[float]] = None, time_window: Optional[Tuple[Optional[Date], Optional[Date]]] = None, skip_reinforce: Optional[bool] = None, without: Optional[Sequence[str]] = None, diverse: Optional[bool] = None, filter: Optional[Dict[str, Any]] = None, min_score: Optional[float] = None, explain: Optional[bool] = None, as_of: Optional[Date] = None, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> Recalled:
        """Find memories by words, meaning, relation and time. Words match when they or their stems are the same; meaning needs an embedder (embedding_model in the answer of /v1/health names it). With Accept: text/event-stream each row is an event named result, and the event named end has the rest. Only memories that match the question and score at least min_score are returned: considered and below_min_score count those examined and those left out."""
        return await self._call("recall", locals())

    async def recall_as_of(self, query: str, as_of: Date, *, top_k: Optional[int] = None, memory_type: Optional[str] = None, namespace: Optional[str] = None, domain: Optional[str] = None, source: Optional[str] = None, session_id: Optional[str] = None, include_consolidated: Optional[bool] = None, include_superseded: Optional[bool] = None, expand_entities: Optional[bool] = None, query_embedding: Optional[Sequence[float]] = None, time_window: Optional[Tuple[Optional[Date], Optional[Date]]] = None, skip_reinforce: Optional[bool] = None, without: Optional[Sequence[str]] = None, diverse: Optional[bool] = None, filter: Optional[Dict[str, Any]] = None, min_score: Optional[float] = None, explain: Optional[bool] = None, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> Recalled:
        """Recall the memories as they were at a date."""
        return await self._call("recall_as_of", locals())

    async def context(self, *, query: Optional[str] = None, max_tokens: Optional[int] = None, namespaces: Optional[Sequence[str]] = None, filter: Optional[Dict[str, Any]] = None, chars_per_token: Optional[float] = None, min_score: Optional[float] = None, skip_reinforce: Optional[bool] = None, include_superseded: Optional[bool] = None, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> PromptAnswer:
        """What is known about something, as one block of text for a prompt, within a budget of tokens: one memory per line, the best first. Long memories are cut to their best passage, repetitions are left out, and the answer names what was left out, with the reason. The block quotes its memories, so that nothing in them reads as an instruction."""
        return await self._call("context", locals())

    async def pack_context(self, *, query: Optional[str] = None, max_tokens: Optional[int] = None, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> PackContextAnswer:
        """The same block, about the newest memories when there is no question, in the form that SDKs of YantrikDB expect."""
        return await self._call("pack_context", locals())

    async def forget(self, rid: str, *, reason: Optional[str] = None) -> Forgotten:
        """Make a memory invisible to recall and lists; it can still be read by its id until it is purged."""
        return await self._call("forget", locals())

    async def forget_matching(self, filter: Dict[str, Any], *, namespace: Optional[str] = None, limit: Optional[int] = None, reason: Optional[str] = None) -> ForgottenMatching:
        """Forget the newest memories that pass a filter, all of them or none; repeat while the answer has more. A memory that was corrected meanwhile and no longer passes is not forgotten, and neither is one with searchable false."""
        return await self._call("forget_matching", locals())

    async def erase(self, *, rids: Optional[Sequence[str]] = None, revisions: Optional[Sequence[int]] = None, prefix: Optional[str] = None, filter: Optional[Dict[str, Any]] = None, entity: Optional[str] = None, namespace: Optional[str] = None, confirm: Optional[str] = None) -> Erasing:
        """Erase memories for good: their texts, vectors, revisions and claims, what they were merged or split into, and what that was merged or split into in turn. Of a memory that was itself merged or split from others it erases these too. Without confirm nothing is erased: the answer lists what would be, with a confirm value. Repeat the request with that value to erase it. From then on, storing one of these texts again is rejected."""
        return await self._call("erase", locals())

    async def erased(self, rid: str, *, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> Proof:
        """A statement, signed by the node, about a memory that was erased for good: when, by which log record, what it consisted of, and where its bytes may still be. Nothing of its text is in it."""
        return await self._call("erased", locals())

    async def correct(self, rid: str, reason: str, *, new_text: Optional[str] = None, new_importance: Optional[float] = None, new_valence: Optional[float] = None, new_pin: Optional[bool] = None, new_expires_at: Optional[Date] = None, new_ttl: Optional[float] = None, new_searchable: Optional[bool] = None, new_attributes: Optional[Dict[str, Any]] = None, metadata_merge: Optional[Dict[str, Any]] = None, embedding: Optional[Sequence[float]] = None, expected_revision: Optional[int] = None, idempotency_key: Optional[str] = None) -> Corrected:
        """Change a memory in place; the old text is kept as a revision."""
        return await self._call("correct", locals())

    async def merge(self, rids: Sequence[str], text: str, *, reason: Optional[str] = None, expected_revisions: Optional[Sequence[int]] = None, idempotency_key: Optional[str] = None) -> Merged:
        """Merge memories of one namespace into a new one with a text of yours. The new one has the highest importance and the lowest certainty of its sources, the attributes that they share, and their entities. The sources stay readable by id, lead to the new one, and lose their keys. undo of any of them takes the merge back."""
        return await self._call("merge", locals())

    async def split(self, rid: str, texts: Sequence[str], *, reason: Optional[str] = None, expected_revision: Optional[int] = None, idempotency_key: Optional[str] = None) -> Splitted:
        """Split a memory into several, each with a text of yours and the fields of the source. The source stays readable by id, leads to the new ones, and loses its key. undo of any of them takes the split back."""
        return await self._call("split", locals())

    async def move(self, to: str, *, rid: Optional[str] = None, prefix: Optional[str] = None, namespace: Optional[str] = None, reason: Optional[str] = None, expected_revision: Optional[int] = None, idempotency_key: Optional[str] = None) -> Moved:
        """Move memories to another namespace: one by its id, or all below a key, at most 1,000, all or none. They keep their ids, keys and revisions. undo moves a memory back."""
        return await self._call("move", locals())

    async def undo(self, rid: str, *, revision: Optional[int] = None, reason: Optional[str] = None, expected_revision: Optional[int] = None, idempotency_key: Optional[str] = None) -> Undone:
        """Restore a memory to the state before a correction or a move; its current text is kept as a revision, so that this can be undone too. Of a memory that was merged or split, or made by that and not corrected since, it takes the merge or split back: what was made is forgotten, and the sources are recalled again, with their keys. A vector that a client sent with the old text is not restored. A class of trust that sank with the other text rises again, as far as whoever wrote the old one is trusted."""
        return await self._call("undo", locals())

    async def memory(self, rid: str, *, sources: Optional[bool] = None, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> Memory:
        """One memory, even if it was merged or forgotten."""
        return await self._call("memory", locals())

    async def revisions(self, rid: str, *, offset: Optional[int] = None, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> RevisionList:
        """A memory's earlier texts, one before each correction, oldest first."""
        return await self._call("revisions", locals())

    async def current(self, *, namespace: Optional[str] = None, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> CurrentMemory:
        """The newest memory of a namespace that recall finds."""
        return await self._call("current", locals())

    async def quarantine(self, *, namespace: Optional[str] = None, limit: Optional[int] = None, after: Optional[str] = None, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> QuarantinePage:
        """Memories that wait in quarantine, the oldest first. They are in no recall, list or subscription. release lets one in; forget rejects it."""
        return await self._call("quarantine", locals())

    async def release(self, rid: str, *, reason: Optional[str] = None) -> Released:
        """Let a memory out of quarantine: from then on recall finds it. It keeps its class of trust."""
        return await self._call("release", locals())

    async def put(self, key: str, text: str, *, memory_type: Optional[str] = None, importance: Optional[float] = None, valence: Optional[float] = None, half_life: Optional[float] = None, metadata: Optional[Any] = None, attributes: Optional[Dict[str, Any]] = None, namespace: Optional[str] = None, certainty: Optional[float] = None, domain: Optional[str] = None, source: Optional[str] = None, emotional_state: Optional[str] = None, embedding: Optional[Sequence[float]] = None, session_id: Optional[str] = None, created_at: Optional[Date] = None, due_at: Optional[Date] = None, temporal_kind: Optional[str] = None, tier: Optional[str] = None, pin: Optional[bool] = None, expires_at: Optional[Date] = None, ttl: Optional[float] = None, refresh_on_read: Optional[float] = None, searchable: Optional[bool] = None, idempotency_key: Optional[str] = None, agent: Optional[str] = None, trust: Optional[Literal["operator", "agent", "tool", "web"]] = None, if_absent: Optional[bool] = None, if_revision: Optional[int] = None, if_sha256: Optional[str] = None, reason: Optional[str] = None) -> PutAnswer:
        """Store a memory under a key. If the key has a memory, the request corrects it under the same id and keeps a revision: text, importance, valence, certainty, pin, metadata and attributes are replaced (omitted ones are cleared), expiry and searchability change only if the request sets them, and other fields stay. If if_absent, if_revision or if_sha256 does not hold: 409 precondition_failed, with rid, revision and sha256 of the current memory."""
        return await self._call("put", locals())

    async def get(self, key: str, *, namespace: Optional[str] = None, as_of: Optional[Date] = None, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> KeyedMemory:
        """The memory that a key has, or had at a date."""
        return await self._call("get", locals())

    async def rename(self, key: str, to: str, *, namespace: Optional[str] = None, if_absent: Optional[bool] = None, if_revision: Optional[int] = None, if_sha256: Optional[str] = None, reason: Optional[str] = None, idempotency_key: Optional[str] = None) -> RenameAnswer:
        """Give a key's memory another key in its namespace. The memory keeps its id."""
        return await self._call("rename", locals())

    async def delete(self, key: str, *, namespace: Optional[str] = None, if_absent: Optional[bool] = None, if_revision: Optional[int] = None, if_sha256: Optional[str] = None, reason: Optional[str] = None, idempotency_key: Optional[str] = None) -> DeleteAnswer:
        """Forget a key's memory, which frees the key."""
        return await self._call("delete", locals())

    async def keys(self, *, namespace: Optional[str] = None, prefix: Optional[str] = None, depth: Optional[int] = None, after: Optional[str] = None, limit: Optional[int] = None, full: Optional[bool] = None, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> KeyPage:
        """The keys below a folder, in the order of their bytes. With a depth, deeper keys are grouped by folder, and listing a group costs as much as listing one key."""
        return await self._call("keys", locals())

    async def batch(self, steps: Sequence[BatchStep], *, idempotency_key: Optional[str] = None) -> BatchAnswer:
        """Read and write keys in one atomic step: if all conditions hold, all writes are done, otherwise none. Reads see the state before the writes."""
        return await self._call("batch", locals())

    async def memories(self, *, namespace: Optional[str] = None, domain: Optional[str] = None, memory_type: Optional[str] = None, source: Optional[str] = None, after: Optional[Date] = None, before: Optional[Date] = None, filter: Optional[Dict[str, Any]] = None, limit: Optional[int] = None, offset: Optional[int] = None, cursor: Optional[str] = None, sort: Optional[Literal["created_at", "importance", "last_access"]] = None, kind: Optional[str] = None, drive_id: Optional[str] = None, since_rid: Optional[str] = None, order: Optional[Literal["asc", "desc"]] = None, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> MemoryPage:
        """Memories, newest first, or the newest 20,000 sorted by a field. total counts the namespace, or the database. To walk through all memories pass the cursor of each page, or use records; with kind, drive_id, since_rid or order this returns what records returns."""
        return await self._call("memories", locals())

    async def records(self, *, namespace: Optional[str] = None, domain: Optional[str] = None, memory_type: Optional[str] = None, source: Optional[str] = None, after: Optional[Date] = None, before: Optional[Date] = None, filter: Optional[Dict[str, Any]] = None, limit: Optional[int] = None, kind: Optional[str] = None, drive_id: Optional[str] = None, since_rid: Optional[str] = None, order: Optional[Literal["asc", "desc"]] = None, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> RecordPage:
        """All memories in the order of their ids, page by page: pass the next_cursor of each page as since_rid, until it is null."""
        return await self._call("records", locals())

    async def namespaces(self, *, limit: Optional[int] = None, after: Optional[str] = None, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> NamespacePage:
        """The namespaces of a database, and how many memories each has."""
        return await self._call("namespaces", locals())

    async def ids(self, *, rids: Optional[Sequence[str]] = None, short: Optional[Sequence[str]] = None, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> IDsAnswer:
        """The ids that short forms stand for, and the numbers of memories."""
        return await self._call("ids", locals())

    async def count(self, *, memory_type: Optional[str] = None, namespace: Optional[str] = None, domain: Optional[str] = None, source: Optional[str] = None, session_id: Optional[str] = None, filter: Optional[Dict[str, Any]] = None, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> Counted:
        """How many active memories pass filters. Memories with searchable false are not counted."""
        return await self._call("count", locals())

    async def values(self, attribute: str, *, namespace: Optional[str] = None, filter: Optional[Dict[str, Any]] = None, limit: Optional[int] = None, after: Optional[str] = None, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> ValuePage:
        """The values of an attribute, and how many active memories have each. Memories with searchable false are not counted."""
        return await self._call("values", locals())

    async def stats(self, *, verbose: Optional[bool] = None, namespace: Optional[str] = None, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> Counters:
        """Counters of a database or a namespace. Counters that need a scan stop at 20,000. For a namespace, relations and operations are 0, because they belong to no namespace. verbose=1 returns more."""
        return await self._call("stats", locals())

    async def stale(self, *, days: Optional[float] = None, namespace: Optional[str] = None, limit: Optional[int] = None, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> MemoryItems:
        """Memories that were not accessed for days, the most important first."""
        return await self._call("stale", locals())

    async def upcoming(self, *, days: Optional[float] = None, namespace: Optional[str] = None, limit: Optional[int] = None, cursor: Optional[str] = None, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> MemoryItems:
        """Memories due within days, the soonest first."""
        return await self._call("upcoming", locals())

    async def chronology(self, *, from_: Optional[Date] = None, to: Optional[Date] = None, namespace: Optional[str] = None, entity: Optional[str] = None, memory_type: Optional[str] = None, limit: Optional[int] = None, cursor: Optional[str] = None, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> MemoryItems:
        """Memories stored between two dates, the oldest first."""
        return await self._call("chronology", locals())

    async def entity(self, name: str, *, namespace: Optional[str] = None, days: Optional[float] = None, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> EntityProfile:
        """An entity's profile: mentions, sessions, relations, valence."""
        return await self._call("entity", locals())

    async def timeline(self, rid: str, *, limit: Optional[int] = None, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> MemoryList:
        """Memories stored shortly before and after a memory, oldest first."""
        return await self._call("timeline", locals())

    async def entities(self, *, namespace: Optional[str] = None, search: Optional[str] = None, sort: Optional[Literal["name", "mentions"]] = None, limit: Optional[int] = None, after: Optional[str] = None, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> EntityList:
        """Names that memories, relations and claims mention."""
        return await self._call("entities", locals())

    async def session_start(self, *, namespace: Optional[str] = None, client_id: Optional[str] = None, metadata: Optional[Any] = None, session_id: Optional[str] = None) -> StartedSession:
        """Open a session; its namespace's memories join it."""
        return await self._call("session_start", locals())

    async def session_end(self, id: str, *, summary: Optional[str] = None) -> EndedSession:
        """Close a session."""
        return await self._call("session_end", locals())

    async def session(self, id: str, *, limit: Optional[int] = None, offset: Optional[int] = None, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> SessionAndMemories:
        """A session and its memories, in order."""
        return await self._call("session", locals())

    async def sessions(self, *, namespace: Optional[str] = None, client_id: Optional[str] = None, active: Optional[bool] = None, limit: Optional[int] = None, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> SessionList:
        """Sessions, newest first."""
        return await self._call("sessions", locals())

    async def session_draft(self, summary: str, *, namespace: Optional[str] = None, domain: Optional[str] = None) -> Drafted:
        """Store a session's summary, as one memory for each statement."""
        return await self._call("session_draft", locals())

    async def turn_record(self, role: str, content: str, *, max_turns: Optional[int] = None, namespace: Optional[str] = None) -> RecordedTurn:
        """Add a turn to the end of a namespace's conversation, and forget the oldest ones beyond max_turns."""
        return await self._call("turn_record", locals())

    async def turns(self, *, limit: Optional[int] = None, namespace: Optional[str] = None, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> TurnList:
        """The last turns of a namespace's conversation, word for word, the oldest first."""
        return await self._call("turns", locals())

    async def turns_clear(self, *, namespace: Optional[str] = None) -> ClearedTurns:
        """Forget all turns of a namespace's conversation."""
        return await self._call("turns_clear", locals())

    async def task_add(self, title: str, *, priority: Optional[Literal["low", "medium", "high", "critical"]] = None, status: Optional[str] = None, parent_id: Optional[str] = None, namespace: Optional[str] = None, idempotency_key: Optional[str] = None) -> AddedTask:
        """Add a task to a namespace's list."""
        return await self._call("task_add", locals())

    async def tasks(self, *, namespace: Optional[str] = None, status: Optional[str] = None, parent_id: Optional[str] = None, limit: Optional[int] = None, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> TaskList:
        """The tasks of a namespace, the most urgent first, then the oldest. In a namespace with more than 20,000 tasks, only the first 20,000 added are listed, and incomplete says so."""
        return await self._call("tasks", locals())

    async def task(self, id: str, *, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> Task:
        """One task."""
        return await self._call("task", locals())

    async def task_change(self, id: str, *, status: Optional[str] = None, priority: Optional[Literal["low", "medium", "high", "critical"]] = None, title: Optional[str] = None, expected_revision: Optional[int] = None) -> ChangedTask:
        """Change a task's status, priority or title."""
        return await self._call("task_change", locals())

    async def task_delete(self, id: str) -> DroppedTask:
        """Forget a task. Its subtasks stay."""
        return await self._call("task_delete", locals())

    async def skills_search(self, query: str, *, top_k: Optional[int] = None, applies_to: Optional[str] = None, skill_type: Optional[str] = None, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> SkillList:
        """Find skills by what they are for, the best first."""
        return await self._call("skills_search", locals())

    async def skill_define(self, skill_id: str, body: str, skill_type: str, applies_to: Sequence[str], *, triggers: Optional[Sequence[str]] = None, version: Optional[str] = None, supersedes_skill_id: Optional[str] = None, metadata: Optional[Dict[str, Any]] = None, on_conflict: Optional[Literal["reject", "replace", "update", "ignore"]] = None) -> DefinedSkill:
        """Store a skill under its id. If a skill has the id already, on_conflict says whether to replace it."""
        return await self._call("skill_define", locals())

    async def skill_outcome(self, id: str, succeeded: bool, *, note: Optional[str] = None, idempotency_key: Optional[str] = None) -> NotedOutcome:
        """Record whether a skill succeeded when it was used."""
        return await self._call("skill_outcome", locals())

    async def relate(self, entity: str, target: str, relationship: str, *, weight: Optional[float] = None) -> Related:
        """Relate two entities; repeating it changes the weight. Relations belong to the database, not to a namespace."""
        return await self._call("relate", locals())

    async def edges(self, entity: str, *, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> EdgeList:
        """The relations that an entity is in, in both directions, one step away. entity also returns its memories and claims."""
        return await self._call("edges", locals())

    async def graph(self, entity: str, *, action: Optional[str] = None, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> EdgeList:
        """The same as edges, as a POST."""
        return await self._call("graph", locals())

    async def edge(self, id: str, *, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> Edge:
        """A relation, by its id."""
        return await self._call("edge", locals())

    async def unrelate(self, id: str) -> Unrelated:
        """Delete a relation."""
        return await self._call("unrelate", locals())

    async def ingest_claim(self, src: str, rel_type: str, dst: str, *, namespace: Optional[str] = None, polarity: Optional[int] = None, modality: Optional[str] = None, valid_from: Optional[Date] = None, valid_to: Optional[Date] = None, extractor: Optional[str] = None, extractor_version: Optional[str] = None, confidence_band: Optional[str] = None, source_memory_rid: Optional[str] = None, span_start: Optional[int] = None, span_end: Optional[int] = None, weight: Optional[float] = None) -> Claimed:
        """State a relation with its evidence."""
        return await self._call("ingest_claim", locals())

    async def get_claims(self, entity: str, *, namespace: Optional[str] = None, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> ClaimList:
        """Claims about an entity, newest first."""
        return await self._call("get_claims", locals())

    async def add_alias(self, alias: str, canonical_name: str, *, namespace: Optional[str] = None, source: Optional[str] = None) -> Aliased:
        """Make a name an alias of another."""
        return await self._call("add_alias", locals())

    async def think(self, *, run_consolidation: Optional[bool] = None, run_conflict_scan: Optional[bool] = None, run_pattern_mining: Optional[bool] = None, run_personality: Optional[bool] = None, include_minor: Optional[bool] = None, consolidation_limit: Optional[int] = None, consolidation_time_window_days: Optional[float] = None, min_active_memories: Optional[int] = None, max_triggers: Optional[int] = None, namespace: Optional[str] = None, max_ms: Optional[int] = None, progress: Optional[bool] = None) -> Thought:
        """Look for duplicates, contradictions, patterns and things an agent should act on."""
        return await self._call("think", locals())

    async def conflicts(self, *, status: Optional[str] = None, conflict_type: Optional[str] = None, entity: Optional[str] = None, memory: Optional[str] = None, namespace: Optional[str] = None, priority: Optional[str] = None, limit: Optional[int] = None, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> ConflictList:
        """Contradictions, the most urgent first, then the newest."""
        return await self._call("conflicts", locals())

    async def resolve_conflict(self, id: str, strategy: str, *, winner_rid: Optional[str] = None, new_text: Optional[str] = None, resolution_note: Optional[str] = None) -> Resolved:
        """Resolve a contradiction."""
        return await self._call("resolve_conflict", locals())

    async def triggers(self, *, status: Optional[str] = None, type: Optional[str] = None, namespace: Optional[str] = None, limit: Optional[int] = None, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> TriggerList:
        """Triggers: things an agent should act on."""
        return await self._call("triggers", locals())

    async def triggers_history(self, *, status: Optional[str] = None, type: Optional[str] = None, namespace: Optional[str] = None, limit: Optional[int] = None, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> TriggerList:
        """Triggers of every status."""
        return await self._call("triggers_history", locals())

    async def triggers_deliver(self, *, namespace: Optional[str] = None, limit: Optional[int] = None) -> TriggerList:
        """Take pending triggers and mark them as delivered."""
        return await self._call("triggers_deliver", locals())

    async def trigger_move(self, id: str, verb: str) -> MovedTrigger:
        """Acknowledge a trigger, act on it or dismiss it."""
        return await self._call("trigger_move", locals())

    async def triggers_prune(self, *, dry_run: Optional[bool] = None, max_pending: Optional[int] = None) -> PrunedTriggers:
        """Expire pending triggers that are overdue, then the least urgent ones beyond max_pending. By default it only counts them. One request expires at most 1,000."""
        return await self._call("triggers_prune", locals())

    async def categories(self, *, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> CategoryList:
        """Lists of words of which only one can hold at a time, such as names of databases. The lists are built in."""
        return await self._call("categories", locals())

    async def category_members(self, name: str, *, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> CategoryWords:
        """The words of a category."""
        return await self._call("category_members", locals())

    async def personality(self, *, namespace: Optional[str] = None, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> TraitList:
        """The agent's traits, computed from its memories."""
        return await self._call("personality", locals())

    async def patterns(self, *, type: Optional[str] = None, namespace: Optional[str] = None, limit: Optional[int] = None, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> PatternList:
        """Patterns, the most certain first."""
        return await self._call("patterns", locals())

    async def feedback(self, query: str, rid: str, *, relevant: Optional[bool] = None, score: Optional[float] = None, rank: Optional[int] = None) -> Heeded:
        """Say whether a recalled memory was relevant; ranking learns from it."""
        return await self._call("feedback", locals())

    async def gaps(self, *, namespace: Optional[str] = None, min_count: Optional[int] = None, max_avg_top_score: Optional[float] = None, limit: Optional[int] = None, node: Optional[bool] = None) -> GapList:
        """Questions that were asked often and had poor answers, on all nodes since they started."""
        return await self._call("gaps", locals())

    async def digest(self, *, namespace: Optional[str] = None, max_decisions: Optional[int] = None, max_conflicts: Optional[int] = None, max_triggers: Optional[int] = None, snippet_chars: Optional[int] = None, include_gaps: Optional[bool] = None, max_gaps: Optional[int] = None, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> DigestAnswer:
        """What an agent should know of a namespace at the start of its work."""
        return await self._call("digest", locals())

    def events(self, *, from_: Optional[Union[str, int]] = None, type: Optional[Sequence[str]] = None, filter: Optional[Dict[str, Any]] = None, prefix: Optional[str] = None) -> AsyncFeed:
        """A stream of changes that stays open: ids, never a memory's text. The first event, subscribed, has the log position at which the stream begins. When one write makes several events, only the last has an id line. To continue after that write, send the id as the header Last-Event-ID or as from. After 15 seconds without an event, a line with only a colon is sent. The event lagged means that the log no longer holds events you missed, or that it ends before the position you named."""
        return self._call("events", locals())

    async def databases_create(self, name: str) -> CreatedDatabase:
        """Create a database."""
        return await self._call("databases_create", locals())

    async def databases(self, *, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> DatabaseList:
        """The databases that the token may use."""
        return await self._call("databases", locals())

    async def databases_drop(self, name: str) -> DroppedDatabase:
        """Delete a database with all its content; its tokens are revoked."""
        return await self._call("databases_drop", locals())

    async def quota(self, name: str, *, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> QuotaAnswer:
        """A database's limits; 0 for no limit."""
        return await self._call("quota", locals())

    async def quota_set(self, name: str, *, max_memories: Optional[int] = None, max_rps: Optional[int] = None, burst: Optional[int] = None, max_batch_size: Optional[int] = None) -> QuotaSet:
        """Set a database's limits: active memories, and requests on each node; 0 for no limit; omitted fields stay as they are."""
        return await self._call("quota_set", locals())

    async def settings(self, *, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> Policies:
        """A database's policies; ages in seconds, 0 for none."""
        return await self._call("settings", locals())

    async def settings_set(self, *, working_ttl_secs: Optional[float] = None, episodic_ttl_secs: Optional[float] = None, default_ttl_secs: Optional[float] = None, promote_after: Optional[int] = None, consolidate: Optional[bool] = None, quiet_mind: Optional[bool] = None, redact: Optional[Literal["capture", "all", "off"]] = None, single_valued: Optional[Sequence[str]] = None, multi_valued: Optional[Sequence[str]] = None, lift: Optional[Sequence[str]] = None) -> Policies:
        """Change a database's policies; omitted fields stay."""
        return await self._call("settings_set", locals())

    async def purge(self, before: Date, *, namespace: Optional[str] = None, tier: Optional[str] = None, owner: Optional[str] = None) -> Purged:
        """Erase memories created before a time: texts, vectors and revisions."""
        return await self._call("purge", locals())

    async def embedding(self, name: str, *, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> EmbeddingAnswer:
        """A database's embedder, the number of memories with a vector, and the state of this node's embedder."""
        return await self._call("embedding", locals())

    async def reembed(self, name: str, *, embedder: Optional[str] = None, cancel: Optional[bool] = None) -> Reembedding:
        """Change a database's embedder and embed its memories again, in the background; old vectors serve until it is done."""
        return await self._call("reembed", locals())

    async def maintenance_run(self, *, tenant: Optional[str] = None) -> MaintenanceRun:
        """Merge duplicates and look for contradictions and patterns, in one database or all."""
        return await self._call("maintenance_run", locals())

    async def maintenance_status(self, *, tenant: Optional[str] = None) -> UpkeepList:
        """When maintenance last ran, for one database or each, and what waits for a decision."""
        return await self._call("maintenance_status", locals())

    async def me(self) -> MeAnswer:
        """The scopes and the database of this request's token."""
        return await self._call("me", locals())

    async def tokens_create(self, *, database: Optional[str] = None, database_id: Optional[int] = None, label: Optional[str] = None, scopes: Optional[Sequence[str]] = None, expires_at: Optional[Date] = None, namespaces: Optional[Sequence[str]] = None, trust: Optional[Literal["operator", "agent", "tool", "web"]] = None, quarantine: Optional[Literal["operator", "agent", "tool", "web"]] = None) -> CreatedToken:
        """Create a token; its text is shown once."""
        return await self._call("tokens_create", locals())

    async def tokens(self, *, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> TokenList:
        """All tokens, by the beginning of their hashes."""
        return await self._call("tokens", locals())

    async def tokens_revoke(self, token: str) -> RevokedToken:
        """Revoke a token, given as its text, its hash or the beginning of its hash."""
        return await self._call("tokens_revoke", locals())

    async def tokens_limit(self, token: str, *, max_rps: Optional[int] = None, burst: Optional[int] = None, max_batch_size: Optional[int] = None) -> LimitedToken:
        """Limit a token's requests on each node; 0 or omitted for no limit."""
        return await self._call("tokens_limit", locals())

    async def backup(self, *, since: Optional[int] = None, log_time: Optional[str] = None) -> Backup:
        """Make a backup of all databases as this node has them: the whole state, or, with since, the log after an index."""
        return await self._call("backup", locals())

    async def backup_send(self, id: str) -> AsyncStream:
        """Download a backup; ranges are served."""
        return await self._call("backup_send", locals())

    async def backup_drop(self, id: str) -> DroppedBackup:
        """Delete a backup that was downloaded."""
        return await self._call("backup_drop", locals())

    def export(self, *, filter: Optional[Dict[str, Any]] = None, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> AsyncIterator[Line]:
        """A database's memories with their revisions and claims, merged ones included, then its relations; NDJSON. With a filter, relations are left out. Forgotten memories, claims that clients stated, aliases, sessions, policies and what think found are in a backup alone."""
        return self._call("export", locals())

    async def import_(self, lines: Lines, *, key: Optional[str] = None, keep_ids: Optional[bool] = None, skip_refused: Optional[bool] = None) -> Imported:
        """Import NDJSON as export writes it. Memories and relations keep their ids, unless an id is taken already. A line with a key or an external_id is stored under it, or corrects the memory there if that says something else. A line that is there already changes nothing, so an import that broke off can be repeated. A line is read only after the lines before it are stored."""
        return await self._call("import", locals())

    async def cluster(self) -> ClusterStatus:
        """The cluster as this node sees it. Without a token: whether the node is alive and ready."""
        return await self._call("cluster", locals())

    async def cluster_topology(self) -> TopologyAnswer:
        """The members of the cluster and where each is reached."""
        return await self._call("cluster_topology", locals())

    async def cluster_raft(self) -> RaftState:
        """Raft as this node knows it."""
        return await self._call("cluster_raft", locals())

    async def cluster_metrics(self, *, minutes: Optional[int] = None, points: Optional[int] = None, node: Optional[bool] = None) -> PastAnswer:
        """Rates, latencies, lag and sizes of every node over the last 24 hours, with starts and elections. Each node keeps its own in memory, since it started."""
        return await self._call("cluster_metrics", locals())

    async def cluster_keys(self, *, node: Optional[bool] = None) -> KeysAnswer:
        """Encryption and TLS of every member: whether its home is encrypted, the ids and ages of its data keys, what a key rotation has left to do, its certificates and when they end, and which ports use TLS. No key is returned."""
        return await self._call("cluster_keys", locals())

    async def cluster_change(self, verb: str, *, node_id: Optional[int] = None, addr: Optional[str] = None, role: Optional[str] = None, force: Optional[bool] = None) -> MembersChanged:
        """Change the cluster's members: join, leave, remove, promote, transfer. promote without a node_id requests leadership for this node."""
        return await self._call("cluster_change", locals())

    async def control_snapshot(self, *, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> Control:
        """The replicated databases and tokens; for tokens with the scope admin only."""
        return await self._call("control_snapshot", locals())

    async def recall_compare(self, query: str, *, top_k: Optional[int] = None, memory_type: Optional[str] = None, namespace: Optional[str] = None, domain: Optional[str] = None, source: Optional[str] = None, session_id: Optional[str] = None, include_consolidated: Optional[bool] = None, include_superseded: Optional[bool] = None, expand_entities: Optional[bool] = None, query_embedding: Optional[Sequence[float]] = None, time_window: Optional[Tuple[Optional[Date], Optional[Date]]] = None, skip_reinforce: Optional[bool] = None, without: Optional[Sequence[str]] = None, diverse: Optional[bool] = None, filter: Optional[Dict[str, Any]] = None, min_score: Optional[float] = None, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> Comparison:
        """Ask every node the same question: nodes at the same index give the same answer."""
        return await self._call("recall_compare", locals())

    async def audit(self, *, limit: Optional[int] = None, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> AuditList:
        """Changes of the cluster and the callers that made them, newest first."""
        return await self._call("audit", locals())

    def log(self, *, from_: Optional[int] = None, limit: Optional[int] = None, wait_ms: Optional[int] = None, min_index: Optional[Union[str, int]] = None, consistency: Optional[Literal["stale", "linearizable"]] = None) -> AsyncIterator[Line]:
        """Applied log entries without their texts; NDJSON."""
        return self._call("log", locals())

    async def health(self) -> AliveAnswer:
        """Whether the process is alive; always 200."""
        return await self._call("health", locals())

    async def health_deep(self) -> DeepHealthAnswer:
        """Whether state, index and quorum answer; 503 when one does not. The embedder's state is included but does not count."""
        return await self._call("health_deep", locals())

    async def health_ready(self) -> ReadyAnswer:
        """Whether the node has caught up since its start and is not far behind; 503 when not. A node that loses its leader stays ready, because it still answers reads. behind is null while it hears no leader."""
        return await self._call("health_ready", locals())
