"""The shapes of requests and answers.

Made from the table of operations (node/api): CAIRN_UPDATE=1 go test ./wire/client -run TestSDKs writes it again.
"""
from __future__ import annotations

import datetime
from typing import Any, Dict, List, Literal, Optional, Sequence, Tuple, TypedDict, Union

Date = Union[str, float, datetime.date]
"""RFC 3339, Unix seconds, a datetime or a date."""


class _AddedTask(TypedDict):
    id: str  # The task's id.
    log_index: str  # Position of the write in the log; min_index on another node waits for it.


class AddedTask(_AddedTask, total=False):
    redacted: List[str]  # Kinds of secrets removed before storing, such as github or email; absent when there were none.


class Aliased(TypedDict):
    alias: str  # The name that stands for another.
    canonical_name: str  # The name that it stands for.
    namespace: str  # The namespace.
    added: bool  # Whether it is new.


class _AliveAnswer(TypedDict):
    status: str  # ok.
    engines_loaded: int  # Number of databases.
    node_id: int  # The node that answers.
    version: str  # The version that it runs.
    applied_index: int  # Log index that it has applied.
    writable: bool  # Whether this node is the leader and accepts writes itself.
    condition: str  # Condition of the cluster: healthy, degraded or not healthy, with the reason.
    capabilities: List[str]  # Features that clients may rely on.


class AliveAnswer(_AliveAnswer, total=False):
    cluster: Optional[Health]  # The node as a member; absent on one without peers.


class Attention(TypedDict):
    trigger_type: str  # Kind of trigger.
    reason: str  # Why an agent should act on it.
    urgency: float  # Urgency, from 0 to 1.
    source_rids: List[str]  # The memories that it is about.
    suggested_action: str  # A suggested action.


class AttributeValue(TypedDict):
    value: Any  # The value.
    count: int  # Number of memories.
    first_created_at: float  # When the oldest of them happened, in Unix seconds.
    last_created_at: float  # When the newest of them happened, in Unix seconds.


class Audit(TypedDict):
    log_index: int  # Its log index.
    at: float  # When it was changed, in Unix seconds.
    by: str  # The caller: the beginning of a token's hash, master for the cluster secret, local for this host's user, node for a node itself.
    label: str  # The token's label.
    what: str  # What was done.
    on: str  # What was changed: a database, a token by the beginning of its hash, or a node.
    how: str  # The new values.
    node_id: int  # The node that received the request.


class AuditList(TypedDict):
    audit: List[Audit]  # The newest first.


class Backup(TypedDict):
    id: str  # The backup's id, for the download.
    since: int  # The index after which it begins; 0: it is the whole state.
    index: int  # The index at which it ends.
    log_time: str  # The log's time at that index, for the backup that continues this one.
    state_hash: str  # Hash of its state at that index.
    size: int  # Size in bytes.
    sha256: str  # The SHA-256 of these bytes, in hex.


class _BatchAnswer(TypedDict):
    results: List[BatchResult]  # One for each step, in order.
    log_index: str  # Position of the batch in the log; pass it as min_index to read it on another node.


class BatchAnswer(_BatchAnswer, total=False):
    redacted: List[str]  # Kinds of secrets removed before storing, such as github or email; absent when there were none.


class _BatchResult(TypedDict):
    key: str  # The key; after a rename, the new key.
    found: bool  # Whether a memory had the key before the batch.
    revision: int  # Number of corrections.


class BatchResult(_BatchResult, total=False):
    rid: str  # The id of the memory that has the key, or had it; absent for none.
    changed: bool  # Whether the step changed anything.
    sha256: str  # get, put: SHA-256 of its text, in hex.
    memory: Optional[Memory]  # get: the memory before the batch.
    omitted: bool  # get: true when the answer had no room for the memory.


class _BatchStep(TypedDict):
    op: Literal["get", "put", "rename", "delete"]  # What to do.
    key: str  # The key.


class BatchStep(_BatchStep, total=False):
    namespace: str  # The namespace; blank for default.
    to: str  # rename: the new key.
    memory: Draft  # put: the memory, with the fields of remember; its namespace is the step's. rename: new content for the memory, as in a put; omit it to keep the content.
    if_absent: bool  # Expect that no memory has the key.
    if_revision: int  # Expect the key's memory to be at this revision (its number of corrections).
    if_sha256: str  # Expect the text of the key's memory to have this SHA-256, in hex.
    reason: str  # The reason for the change.


class Begun(TypedDict):
    rids: List[str]  # The matching ids: none, one, or two of several.


class Category(TypedDict):
    name: str  # The category's name.
    member_count: int  # Number of its words.


class CategoryList(TypedDict):
    categories: List[Category]  # The categories, by name.
    count: int  # Number of rows.


class CategoryWord(TypedDict):
    token_normalized: str  # The word, in lower case.
    confidence: float  # 1: the word is built in.
    source: str  # seed: the word is built in.


class CategoryWords(TypedDict):
    category: str  # The category's name.
    count: int  # Number of rows.
    members: List[CategoryWord]  # Its words, in the order of the alphabet.


class _Certificate(TypedDict):
    shown_to: Literal["clients", "peers"]  # clients: on the wire port and the gateway; peers: on the port for members.
    subject: str  # Its subject.
    issuer: str  # The authority that signed it.
    names: List[str]  # The host names and addresses that it is valid for.
    not_before: float  # When it begins to be valid, in Unix seconds.
    not_after: float  # When it ends, in Unix seconds.
    state: Literal["valid", "ends_soon", "ended", "not_yet"]  # ends_soon: within 14 days.


class Certificate(_Certificate, total=False):
    fault: str  # Why the node uses this certificate and not the files as they are now. It does not start with these files.


class _ChangedTask(TypedDict):
    id: str  # The task's id.
    updated: bool  # true.
    revision: int  # Number of changes, this one included.
    log_index: str  # Position of the write in the log; min_index on another node waits for it.


class ChangedTask(_ChangedTask, total=False):
    redacted: List[str]  # Kinds of secrets removed before storing, such as github or email; absent when there were none.


_Check_pass = TypedDict("_Check_pass", {"pass": "bool"}, total=True)


class _Check(_Check_pass):
    check: str  # The name of the check.
    latency_ms: float  # Duration in milliseconds.


class Check(_Check, total=False):
    error: str  # What is wrong with it.
    databases: Optional[int]  # control_db: the number of databases.
    required: Optional[bool]  # false: the check does not decide the node's health.
    node_id: int  # The node that answers.
    role: str  # Leader, Follower or Candidate.
    role_label: str  # The same in lower case.
    term: int  # Its Raft term.
    leader: Optional[int]  # The node that leads; null while none is known.
    accepts_writes: bool  # Whether this node accepts writes itself.
    healthy: bool  # Whether a leader is known.
    last_log_index: int  # Last index in its log.
    last_applied_index: int  # Log index that it has applied.
    replication_lag_log_entries: Optional[int]  # Acknowledged log entries that it lacks; null while it hears no leader.
    up: bool  # Whether it answered the last request.
    queue: int  # Number of memories without a vector in the databases that it embeds; the leader embeds them, or a follower that has the model.
    failures: int  # Number of failures since this node started.
    last_error: Optional[str]  # Why it failed last; null for never.
    last_error_at: Optional[float]  # When it last failed, in Unix seconds.


class _ClaimList(TypedDict):
    claims: List[ClaimRow]  # The newest first.


class ClaimList(_ClaimList, total=False):
    incomplete: str  # Why more rows may match than the answer has, and how to get them; absent when it has all.


class _ClaimRow(TypedDict):
    claim_id: str  # The claim's id.
    src: str  # The entity that it is about.
    dst: str  # The entity or value on its other side.
    rel_type: str  # The relation.
    weight: float  # Weight.
    created_at: float  # When it was stated, in Unix seconds.
    polarity: int  # 1 affirms the claim, -1 denies it, 0 leaves it open.
    modality: str  # How the claim was made: asserted, reported, or a word the client chooses.
    valid_from: Optional[float]  # Since when it holds, in Unix seconds.
    valid_to: Optional[float]  # Until when it held, in Unix seconds.
    extractor: str  # The extractor that found the claim.
    confidence_band: str  # Confidence band of the claim.
    source_memory_rid: Optional[str]  # The memory that states it.
    namespace: str  # Its namespace.
    status_suggestion: Literal["active", "negative", "historical", "superseded", "conflicted"]  # Suggested status of the claim at this time.


class ClaimRow(_ClaimRow, total=False):
    trust: Literal["tool", "web"]  # The class of trust of its writer, or of the memory that states it, where that is less than an agent's.


class Claimed(TypedDict):
    claim_id: str  # The claim's id.
    namespace: str  # Its namespace.
    log_index: str  # Position of the write in the log; min_index on another node waits for it.


class ClearedTurns(TypedDict):
    cleared: bool  # true.
    turns: int  # Number of turns that were forgotten.
    log_index: str  # Position of the write in the log; min_index on another node waits for it.


class _ClusterStatus(TypedDict):
    clustered: bool  # false: this node is the only member.
    node_id: int  # The node that answers.
    role: str  # Leader, Follower or Candidate. A node leads once it has applied everything committed before its term.
    role_label: str  # The same in lower case.
    configured_role: str  # voter or readreplica.
    voter: bool  # Whether this node votes; a read replica that was promoted does, whatever its configured_role.
    current_term: int  # The term of the last election that the node knows of.
    leader_id: Optional[int]  # The node that leads; null while none is known.
    leader_addr: str  # Its wire port; blank while it is not known.
    leader_http: str  # Its gateway; blank while it is not known.
    accepts_writes: bool  # Whether this node is the leader and accepts writes itself.
    healthy: bool  # Whether the cluster accepts writes: a leader is known and a majority of the voters answers.
    condition: str  # healthy, degraded or not healthy, and why: "degraded: node 3 unreachable".
    quorum_size: int  # Number of voters that a decision needs.
    voted_for: Optional[int]  # Always null: votes are not shown.
    cluster_id: str  # The cluster's id.
    addr: str  # The node's port for its peers.
    wire: str  # Its wire port.
    http: str  # Its gateway.
    commit_index: int  # Log index that a majority is known to have.
    lag_entries: Optional[int]  # Acknowledged log entries not applied here; null while this node hears no leader.
    state_agreement: Literal["agree", "diverged", "unknown"]  # Result of comparing it with the peers' hashes.
    peers: List[Peer]  # The other members, by number.
    applied_index: int  # Log index that it has applied.
    state_hash_index: int  # The index at which state_hash was taken.
    state_hash: str  # Hash of its state: equal on all replicas at the same index.
    clock_offset_ms: float  # Offset of its clock from the median of the members' clocks, in milliseconds.
    clock_off: bool  # Whether the offset is over the limit; a leader over the limit hands leadership over.
    version: str  # The version that it runs.
    node_key: str  # Ed25519 key of its home, in hex. It signs the node's statements about erased memories.
    uptime_secs: float  # Seconds since the node started.
    models: List[str]  # The embedders that it can use: the full name of the configured one, the directory names of the models in its home, and builtin.
    store: Store  # The files of this node's state.


class ClusterStatus(_ClusterStatus, total=False):
    message: str  # A message for people: this node has no peers.
    removed: bool  # true: this node is not a member of the cluster, which has removed it. It receives no new writes.
    disk_full: bool  # true: the disk of its home is full, so that it rejects writes.
    damaged: List[Damage]  # The first files in which it found damage since it started.
    disputes: List[Dispute]  # Messages from other members that it rejected or disputed in the last minutes.
    set_aside: List[str]  # States, logs and snapshots that the node moved aside, because they were damaged or differed from what a majority of the voters holds.
    lost_records: List[LostRecords]  # Records that the cluster lacks, in logs that the node moved aside: "cairn recover --import-lost" imports them.
    hold_purge: bool  # true: its files may hold purged text; the node is rewriting them.
    old_keys: List[str]  # Parts of its home that are not yet rewritten under its active data key.
    embedder: Optional[Embedder]  # This node's embedder; absent where it has none.


class _Compared(TypedDict):
    node_id: int  # The node's number.
    total: int  # Number of memories that the node found.


class Compared(_Compared, total=False):
    index: int  # Log index that its answer reflects.
    digest: str  # Hash of their ids and scores, in order.
    error: str  # Why the node did not answer.


class Comparison(TypedDict):
    nodes: List[Compared]  # The answer of each node.
    equal: bool  # Whether all nodes answered, and answered the same.


class _Conflict(TypedDict):
    conflict_id: str  # The conflict's id.
    conflict_type: str  # Kind of contradiction: identity_fact, preference, temporal, consolidation or minor.
    priority: Literal["critical", "high", "medium", "low"]  # Urgency.
    status: Literal["open", "resolved", "dismissed"]  # Its status.
    memory_a: str  # One side: a memory's id, or edge: or claim: followed by an id.
    memory_b: str  # The other side.
    entity: Optional[str]  # The entity that the sides are about.
    rel_type: Optional[str]  # The relation in which they differ.
    namespace: str  # Its namespace.
    detection_reason: str  # Why the sides seem to contradict each other.
    summary: str  # The same as detection_reason.
    detected_at: float  # When it was found, in Unix seconds.
    resolved_at: Optional[float]  # When it was resolved, in Unix seconds.
    strategy: Optional[str]  # How the contradiction was resolved.
    winner_rid: Optional[str]  # The side that was kept, or the memory merged from both.
    resolution_note: Optional[str]  # The reason that was given.


class Conflict(_Conflict, total=False):
    side_a: Optional[Side]  # The text of memory_a.
    side_b: Optional[Side]  # The text of memory_b.


class _ConflictList(TypedDict):
    conflicts: List[Conflict]  # The most urgent first, then the newest.


class ConflictList(_ConflictList, total=False):
    incomplete: str  # Why more rows may match than the answer has, and how to get them; absent when it has all.


class Control(TypedDict):
    databases: List[KeptDatabase]  # By number.
    tokens: List[KeptToken]  # Valid ones, oldest first.


class _Corrected(TypedDict):
    rid: str  # The memory's id.
    corrected_rid: str  # The same as rid.
    original_rid: str  # The same as rid.
    revision: int  # Number of corrections.
    log_index: str  # Position of the write in the log; min_index on another node waits for it.


class Corrected(_Corrected, total=False):
    redacted: List[str]  # Kinds of secrets removed before storing, such as github or email; absent when there were none.
    superseded: List[str]  # Memories that the new text supersedes.
    superseded_by: str  # The newer memory that replaces this one still: correct that one if the new text is what holds now. Absent when this one is current.
    relations_to_check: List[Edge]  # Stated relations of names that are in the old text and not in the new one: use unrelate to remove those that no longer hold.


class Counted(TypedDict):
    count: int  # Number of memories.
    index: int  # Log index that the answer reflects.


class _Counters(TypedDict):
    active_memories: int  # Memories that are recalled.
    consolidated_memories: int  # Memories that were merged into others.
    tombstoned_memories: int  # Memories that were forgotten and are not purged.
    edges: int  # Relations.
    entities: int  # Names in memories or relations.
    operations: int  # Operations that were ever applied to the database.
    open_conflicts: int  # Contradictions that are not resolved.
    pending_triggers: int  # Triggers.


class Counters(_Counters, total=False):
    archived_memories: int  # Always 0: no memory is archived, all of them are searched.
    resolved_conflicts: int  # Contradictions that were resolved or dismissed, up to 10,000.
    active_patterns: int  # Number of patterns, up to 10,000.
    scoring_cache_entries: int  # Memories in this node's index.
    vec_index_entries: int  # Vectors in this node's index.
    claims: int  # Claims.
    applied_index: int  # Log index that this node's state has applied.
    indexed_index: int  # Log index up to which this node's search index is complete.


class CreatedDatabase(TypedDict):
    name: str  # Its name.
    id: int  # The database's number, the same on every node.
    message: str  # A message for people: the database was created.


class _CreatedToken(TypedDict):
    token: str  # The token's text. It is shown once: only its hash is stored.
    database: str  # The database that the token is for.
    database_id: int  # The same database by its number.
    label: str  # Its purpose.
    trust: str  # The highest class of trust of what it writes.
    hash_prefix: str  # The beginning of its hash, which identifies it.
    replicated: bool  # true: the token is valid on every node.


class CreatedToken(_CreatedToken, total=False):
    namespaces: List[str]  # The namespaces that it is bound to; absent when it is not bound.
    quarantine: str  # What it writes of this class, and of those below, waits in quarantine; absent: nothing does.


class CurrentMemory(TypedDict):
    found: bool  # true: a namespace without a memory is an error.
    namespace: str  # The namespace.
    record: Memory  # Its newest memory.


class _Damage(TypedDict):
    kind: Literal["state", "log", "snapshot", "index"]  # The damaged part: the state, records that the log keeps for its readers, a snapshot or a search index.
    file: str  # Its path in the node's home.
    times: int  # How often damage was found in it since the node started.
    healed: bool  # true once repaired.
    heals: str  # How it is repaired, and what an operator should do.


class Damage(_Damage, total=False):
    database: str  # The database, when a search index is damaged.


class DataKey(TypedDict):
    id: str  # Its id.
    master: str  # Id of the master key that wraps it.
    active: bool  # Whether new writes are encrypted with it.
    created_at: float  # When it was made, in Unix seconds.


class Database(TypedDict):
    id: int  # The database's number, the same on every node.
    name: str  # Its name.
    created_at: str  # When it was made, as YYYY-MM-DD hh:mm:ss in UTC.


class DatabaseList(TypedDict):
    databases: List[Database]  # Databases by number. A token without scope admin sees only its own.


class Decision(TypedDict):
    rid: str  # The memory's id.
    snippet: str  # The beginning of its text.
    memory_type: str  # What kind of memory it is.
    importance: float  # Importance, from 0 to 1.
    created_at: float  # When it happened, in Unix seconds.


class DeepHealthAnswer(TypedDict):
    status: Literal["healthy", "degraded"]  # ok, or degraded when a deciding check failed.
    checks: List[Check]  # The checks.


class _DefinedSkill(TypedDict):
    rid: str  # The id of its memory.
    skill_id: str  # The skill's id.
    stored: bool  # Whether this request changed anything.
    log_index: str  # Position of the write in the log; min_index on another node waits for it.


class DefinedSkill(_DefinedSkill, total=False):
    redacted: List[str]  # Kinds of secrets removed before storing, such as github or email; absent when there were none.


class DeleteAnswer(TypedDict):
    rid: str  # The id of the memory that had the key; blank for none.
    key: str  # The key, now free.
    found: bool  # false: no memory had the key.
    log_index: str  # Position of the write in the log; min_index on another node waits for it.


class _DigestAnswer(TypedDict):
    narrative_head: Optional[str]  # Summary of the newest session that has one.
    top_decisions: List[Decision]  # The most important of the newest 500 memories.
    open_conflicts: List[Conflict]  # Open contradictions, the most urgent first.
    open_conflict_count: int  # Number of open contradictions of the namespace, up to 20,000.
    pending_triggers: List[Trigger]  # Triggers about the namespace's memories, the newest first.
    pending_trigger_count: int  # Number of pending triggers about the namespace's memories, up to 20,000.
    last_maintenance: Optional[float]  # When maintenance last ran on the database, in Unix seconds; null for never.


class DigestAnswer(_DigestAnswer, total=False):
    knowledge_gaps: List[Gap]  # Questions with poor answers; only with include_gaps.


class _Dispute(TypedDict):
    peer: int  # The member that sent it.
    says: str  # What was rejected, and why.
    times: int  # Number of times.


class Dispute(_Dispute, total=False):
    log_index: int  # Log index on which the two members disagree; absent when the message has no index.
    verdict: str  # What the other voters hold; absent while too few have answered.


class _Doomed(TypedDict):
    rid: str  # Its id.
    namespace: str  # Its namespace.
    merged: bool  # Whether it was merged from others.


class Doomed(_Doomed, total=False):
    text: str  # The beginning of its text; absent once it is erased.
    revision: Optional[int]  # The earlier revision that alone is erased.


class _Draft(TypedDict):
    text: str  # What to remember: a sentence that stands by itself.


class Draft(_Draft, total=False):
    memory_type: str  # What kind of memory it is: semantic, episodic, procedural or a name of your own. Default: semantic.
    importance: float  # Importance, from 0 to 1. Default: 0.5.
    valence: float  # Emotional valence, from -1 (bad) to 1 (good).
    half_life: float  # Half-life in hours: after it the memory's importance has decayed by half. Default: 168. Takes a number above 0, up to 1000000.
    metadata: Any  # Your own JSON object, stored with the memory. Default: {}.
    attributes: Dict[str, Any]  # Attributes to filter by: a flat object of strings, numbers, true, false, dates (RFC 3339) and lists of strings.
    namespace: str  # Its namespace; blank for default.
    certainty: float  # Certainty, from 0 to 1. Default: 1.
    domain: str  # Its domain, such as work or health.
    source: str  # Its source. Default: user.
    emotional_state: str  # The emotion of the memory.
    embedding: Sequence[float]  # Its vector, of the database's dimension; the database's embedder makes it when it is omitted.
    session_id: str  # The session that it joins. Default: the namespace's active session.
    created_at: Date  # When it happened; default: now.
    due_at: Date  # When it is due.
    temporal_kind: str  # The meaning of its date: a word of your own.
    tier: str  # working, episodic or longterm, which fade by different rules; or a word of your own.
    pin: bool  # true: think does not merge, move or forget it, and it does not expire.
    expires_at: Date  # When it expires: from then on no answer returns it.
    ttl: float  # Seconds until it expires, instead of expires_at; 0 for never. Default: the database's default_ttl_secs.
    refresh_on_read: float  # Expires this many seconds after its last read; 0: reads do not change when it expires.
    searchable: bool  # false: store it without indexing it. It can be read by id and in lists, but recall does not find it.
    idempotency_key: str  # Idempotency key: repeating the request with it stores nothing twice.
    agent: str  # The agent that writes it, in words of your own.
    trust: Literal["operator", "agent", "tool", "web"]  # A lower class of trust than the token's: tool for the output of a program, web for a stranger's text. Default: the token's.


class _Drafted(TypedDict):
    drafted: List[str]  # The ids of the memories.
    count: int  # Number of memories stored.


class Drafted(_Drafted, total=False):
    redacted: List[str]  # Kinds of secrets removed before storing, such as github or email; absent when there were none.


class DroppedBackup(TypedDict):
    deleted: str  # The id of the backup that was removed.


class DroppedDatabase(TypedDict):
    dropped: str  # The name of the database that was removed.


class DroppedTask(TypedDict):
    id: str  # The task's id.
    deleted: bool  # true.
    log_index: str  # Position of the write in the log; min_index on another node waits for it.


class Edge(TypedDict):
    edge_id: str  # The relation's id.
    src: str  # The entity that it starts from.
    dst: str  # The entity that it leads to.
    rel_type: str  # How the two are related.
    weight: float  # Weight of the relation.


class _EdgeList(TypedDict):
    edges: List[Edge]  # In both directions.


class EdgeList(_EdgeList, total=False):
    incomplete: str  # Why more rows may match than the answer has, and how to get them; absent when it has all.


class Embedder(TypedDict):
    name: str  # Its kind, its model and its dimension.
    up: bool  # Whether it answered the last request.
    queue: int  # Number of memories without a vector in the databases that it embeds; the leader embeds them, or a follower that has the model.
    failures: int  # Number of failures since this node started.
    last_error: Optional[str]  # Why it failed last; null for never.
    last_error_at: Optional[float]  # When it last failed, in Unix seconds.


class _EmbeddingAnswer(TypedDict):
    database: str  # The database's name.
    embedder: Optional[str]  # The embedder of its memories; null: clients send the vectors.
    changes_to: Optional[str]  # The embedder that it is changing to, whose vectors serve once all are made; null: no change is under way.
    reembedding: bool  # true: the database is changing its embedder; done, of, missing and up are about the new one.
    done: int  # Number of memories with a vector.
    of: int  # Number of memories that are not forgotten.
    missing: int  # Number of memories that still need a vector.
    has: List[str]  # The embedders that this node can use.


class EmbeddingAnswer(_EmbeddingAnswer, total=False):
    up: bool  # Whether it answered the last request.
    queue: int  # Number of memories without a vector in the databases that it embeds; the leader embeds them, or a follower that has the model.
    failures: int  # Number of failures since this node started.
    last_error: Optional[str]  # Why it failed last; null for never.
    last_error_at: Optional[float]  # When it last failed, in Unix seconds.


class EndedSession(TypedDict):
    session_id: str  # The session's id.
    duration_secs: float  # Duration in seconds.
    memory_count: int  # Number of memories in the session.
    topics: List[str]  # The entities that its memories name most.


class Entity(TypedDict):
    name: str  # The name.
    type: str  # Its kind: person, place, organisation and so on.
    mentions: int  # Number of mentions.
    last_seen: float  # When it was mentioned last, in Unix seconds.


class _EntityList(TypedDict):
    entities: List[Entity]  # Rows in the requested order.
    next: Optional[str]  # Pass it as after to get the next page; null at the end, and in another order than that of names. A page may have few rows or none, and a next.


class EntityList(_EntityList, total=False):
    incomplete: str  # Why more rows may match than the answer has, and how to get them; absent when it has all.


class EntityProfile(TypedDict):
    entity: str  # Its name.
    entity_type: str  # What kind of thing it is.
    mentions: int  # Number of memories that name it.
    memories: int  # Number of memories that name it, within the requested days.
    sessions: int  # Number of sessions that these belong to.
    domains: List[str]  # Their domains, the commonest first.
    average_valence: float  # Average emotional valence, from -1 (bad) to 1 (good).
    valence_trend: float  # The average valence of the newer half minus the average of the older half; 0 for fewer than four memories.
    dominant_emotion: Optional[str]  # The most common emotion; null for none.
    per_day: float  # Average number of these memories per day.
    links: int  # Number of relations that it is part of.
    relations: List[str]  # Their kinds, the commonest first.
    depth: float  # How close the relationship is, from 0 to 1.
    first_seen: Optional[float]  # When the oldest of the memories was created, in Unix seconds.
    last_seen: Optional[float]  # When the newest was, in Unix seconds.


class Erasing(TypedDict):
    memories: List[Doomed]  # The memories to erase, or the erased ones: those that the request names, those that they were merged or split from, and those that were merged or split from any of them.
    restored: List[str]  # Memories that recall finds again, because the memory they were merged into is erased.
    relations: int  # Relations of the entity that are erased.
    claims: int  # Claims of the entity that are erased.
    more: bool  # true: there are more; repeat the request after these are erased.
    confirm: str  # Send it with the same request to erase. Blank when there is nothing to erase, or when it is done.
    erased: bool  # Whether it is done.
    log_index: str  # Position of the write in the log.
    still_held_by: List[str]  # Where the erased bytes may still be, and what removes them.


class Factors(TypedDict):
    fresh: float  # Freshness factor, from 0 to 1.
    importance: float  # Factor of its importance.
    trust: float  # Factor of its trust: 1 for an operator and an agent, 0.9 for a tool, 0.81 for the web.
    recency: float  # Recency factor, from 0 to 1.
    decay: float  # Decay factor, from 0 (faded) to 1.


class Filtered(TypedDict):
    filter: str  # The filter's name in the request; for a part of filter, its text.
    left: int  # Number of memories left.


class Forgotten(TypedDict):
    rid: str  # The memory's id.
    found: bool  # Whether such a memory existed.
    log_index: str  # Position of the write in the log; min_index on another node waits for it.


class ForgottenMatching(TypedDict):
    forgotten: int  # Number of memories that were forgotten.
    rids: List[str]  # Their ids, the newest first.
    more: bool  # Whether others may pass the filter.
    log_index: str  # Position of the write in the log; min_index on another node waits for it.


class Gap(TypedDict):
    query: str  # The question, as it was asked last.
    count: int  # Number of times it was asked.
    avg_top_score: float  # The score of the best memory, on average.
    avg_results: float  # Average number of memories found.
    last_seen: float  # When it was last asked, in Unix seconds.
    last_seen_iso: str  # The same time in RFC 3339.


class GapList(TypedDict):
    count: int  # Number of rows in this answer.
    gaps: List[Gap]  # The most often asked first.


class Health(TypedDict):
    node_id: int  # The node that answers.
    role: str  # Leader, Follower or Candidate.
    role_label: str  # The same in lower case.
    term: int  # Its Raft term.
    leader: Optional[int]  # The node that leads; null while none is known.
    accepts_writes: bool  # Whether this node accepts writes itself.
    healthy: bool  # Whether a leader is known.
    last_log_index: int  # Last index in its log.
    last_applied_index: int  # Log index that it has applied.
    replication_lag_log_entries: Optional[int]  # Acknowledged log entries that it lacks; null while it hears no leader.


class Heeded(TypedDict):
    accepted: int  # Number of judgements recorded: 1.
    log_index: str  # Position of the write in the log; min_index on another node waits for it.


class Hint(TypedDict):
    hint_type: str  # Kind of hint.
    suggestion: str  # The advice.
    related_entities: List[str]  # Known names to choose from.


class IDsAnswer(TypedDict):
    numbers: List[int]  # The number of each of rids; 0 when no memory has the id.
    full: List[Begun]  # The matches of each of short.


class _Imported(TypedDict):
    lines: int  # Number of lines read.
    memories: int  # Number of memories stored or corrected.
    edges: int  # Number of relations stored.
    log_index: str  # Position of the last one in the log.


class Imported(_Imported, total=False):
    kept: int  # Number of lines that changed nothing, because their memory or relation is here already; absent when there are none.
    refused: int  # With skip_refused: number of lines that were rejected; absent when there are none.
    reasons: List[Rejected]  # The first 100 of them, and why.
    redacted: List[str]  # Kinds of secrets removed before storing, such as github or email; absent when there were none.


class KeptDatabase(TypedDict):
    id: int  # Its number.
    name: str  # Its name.
    path: str  # The same.
    created_at: str  # When it was made, as YYYY-MM-DD hh:mm:ss in UTC.


class KeptToken(TypedDict):
    hash: str  # The hash of its text.
    database_id: int  # The database that the token is for.
    label: str  # Its purpose.
    created_at: str  # When it was made, as YYYY-MM-DD hh:mm:ss in UTC.


class KeyPage(TypedDict):
    keys: List[KeyRow]  # Keys and folders, in the order of their bytes.
    next: Optional[str]  # Pass it as after to get the next page; null at the end.


class _KeyRow(TypedDict):
    key: str  # The key, or the folder of a group of deeper keys, ending in /.


class KeyRow(_KeyRow, total=False):
    rid: str  # The memory's id; absent for a folder, as are all other fields.
    revision: Optional[int]  # Number of corrections.
    sha256: str  # SHA-256 of its text, in hex.
    bytes: int  # Size of its text in bytes.
    created_at: float  # When it happened, in Unix seconds.
    updated_at: float  # When it was stored or changed last, in Unix seconds.
    memory: Optional[Memory]  # The memory, where full was requested.


class _KeyedMemory(TypedDict):
    rid: str  # The memory's id.
    type: str  # The same as memory_type.
    memory_type: str  # What kind of memory it is: semantic, episodic, procedural, or a name the client chooses.
    text: str  # Its text.
    created_at: float  # When it happened, in Unix seconds.
    created_at_iso: str  # The same time in RFC 3339.
    updated_at: float  # When it was stored or changed last, in Unix seconds.
    updated_at_iso: str  # The same time in RFC 3339.
    importance: float  # Importance, from 0 to 1.
    half_life: float  # Half-life in hours: after it the memory's importance has decayed by half.
    last_access: float  # When it was recalled last, in Unix seconds.
    access_count: int  # Number of recalls that returned it.
    valence: float  # Emotional valence, from -1 (bad) to 1 (good).
    certainty: float  # Certainty, from 0 to 1.
    consolidated_into: Optional[str]  # The memory that it was merged into.
    consolidation_status: Literal["active", "consolidated", "tombstoned", "quarantined"]  # Its status; active memories are recalled.
    consolidation_sources: List[str]  # The memories that it was merged from.
    storage_tier: str  # hot, or the tier that the client gave.
    metadata_json: str  # The metadata as a text.
    metadata: Any  # The client's own data.
    namespace: str  # Its namespace.
    domain: str  # Its domain, as the client named it.
    source: str  # Its source.
    emotional_state: Optional[str]  # The emotion that it was stored with.
    session_id: Optional[str]  # The session that it joined.
    due_at: Optional[float]  # When it is due, in Unix seconds.
    temporal_kind: Optional[str]  # The meaning of its date, as the client named it.
    tombstone_reason: Optional[str]  # Why it was forgotten.
    revision: int  # Number of corrections.
    embedding_model: Optional[str]  # The embedder that made its vector.
    embedding_bytes: Optional[int]  # Size of its vector in bytes.
    entities: List[str]  # The entities that its text names.
    claims: List[str]  # The claims that were read from its text.
    trust: Literal["operator", "agent", "tool", "web"]  # Its class of trust: operator, agent, tool (output of a program) or web (a stranger's text).
    sha256: str  # SHA-256 of its text, in hex.


class KeyedMemory(_KeyedMemory, total=False):
    key: str  # Its key in its namespace; absent when it has none.
    split_into: List[str]  # The memories that it was split into; absent when it was not.
    attributes: Any  # Its attributes, for filters; absent when it has none.
    superseded_by: Optional[str]  # The newer memory that replaces it; absent when it is current.
    pin: bool  # true: it is pinned: think does not merge, move or forget it, and it does not expire.
    expires_at: Optional[float]  # When it expires, in Unix seconds; absent for never.
    refresh_on_read: float  # Expires this many seconds after its last read; absent: reads do not change when it expires.
    searchable: Optional[bool]  # false: it can be read by id and in lists, but recall does not find it.
    writer: str  # Who wrote it: the token's label or hash; master, local or node without one.
    dialect: str  # The protocol it came by, such as http or mcp; think if it was merged.
    agent: str  # Its agent, as the client named it.
    provenance: List[Origin]  # With sources: this memory, then those it was made of.


class KeysAnswer(TypedDict):
    nodes: List[NodeKeys]  # The nodes, by number.


class LimitedToken(TypedDict):
    hash_prefix: str  # The beginning of its hash, which identifies it.
    max_rps: int  # Operations a second on each node; 0: no limit.
    burst: int  # Burst: most operations at once; 0 for one second's worth of the rate.
    max_batch_size: int  # Most memories in one request; 0: no limit.
    log_index: str  # Position of the write in the log; min_index on another node waits for it.


class LostRecords(TypedDict):
    log: str  # The name of the log's directory in the node's home.
    first: int  # Log index of the first.
    last: int  # Log index of the last.
    acknowledged: int  # Number of these records that are known to be acknowledged.


class _Maintained(TypedDict):
    tenant: str  # The database's name.
    consolidation_count: int  # Number of groups of duplicates merged.
    conflicts_found: int  # Number of new contradictions found.
    patterns_new: int  # Number of new patterns.
    patterns_updated: int  # Number of patterns seen again.
    personality_updated: bool  # Whether the agent's traits have changed.
    duration_ms: int  # Duration in milliseconds.
    triggers: List[Attention]  # New triggers, the most urgent first.


class Maintained(_Maintained, total=False):
    read: Optional[int]  # With progress: number of memories that the round read.
    remaining: Optional[int]  # With progress: number of new or changed memories that no round has read yet. Repeat the request until it is 0.


class MaintenanceRun(TypedDict):
    tenants: List[Maintained]  # The result for each database.
    count: int  # Number of rows.


class _MeAnswer(TypedDict):
    database: str  # The database that the request is for.
    database_id: int  # Its number.
    scopes: List[str]  # The token's scopes.
    trust: str  # The highest class of trust of what this request's caller writes: operator, agent, tool or web.
    master: bool  # Whether it is the cluster secret.
    node_id: int  # The node that answers.
    wire: str  # host:port of its wire port.
    http: str  # host:port of its gateway.


class MeAnswer(_MeAnswer, total=False):
    namespaces: List[str]  # Prefixes of the namespaces that the token is bound to; absent when it is not bound.
    quarantine: str  # What it writes of this class, and of those below, waits in quarantine; absent: nothing does.


class Member(TypedDict):
    node_id: int  # Its number.
    role: str  # voter or readreplica.
    state: str  # Leader, Follower, Candidate or unreachable.
    voter: bool  # Whether it votes.
    reachable: bool  # Whether it answers.
    is_leader: bool  # Whether it leads.
    addr: str  # Its port for its peers.
    wire: str  # Its wire port.
    http: Optional[str]  # Its gateway as a URL; null while its address is not known.
    applied_index: int  # Log index that it has applied.
    version: str  # The version that it runs.


class _MembersChanged(TypedDict):
    status: str  # ok, already_leader or election_started.
    message: str  # A message for people.


class MembersChanged(_MembersChanged, total=False):
    node_id: int  # The node that was promoted.
    term: int  # The term in which it leads already.
    current_term: int  # The term of the election that it started.


class _Memory(TypedDict):
    rid: str  # The memory's id.
    type: str  # The same as memory_type.
    memory_type: str  # What kind of memory it is: semantic, episodic, procedural, or a name the client chooses.
    text: str  # Its text.
    created_at: float  # When it happened, in Unix seconds.
    created_at_iso: str  # The same time in RFC 3339.
    updated_at: float  # When it was stored or changed last, in Unix seconds.
    updated_at_iso: str  # The same time in RFC 3339.
    importance: float  # Importance, from 0 to 1.
    half_life: float  # Half-life in hours: after it the memory's importance has decayed by half.
    last_access: float  # When it was recalled last, in Unix seconds.
    access_count: int  # Number of recalls that returned it.
    valence: float  # Emotional valence, from -1 (bad) to 1 (good).
    certainty: float  # Certainty, from 0 to 1.
    consolidated_into: Optional[str]  # The memory that it was merged into.
    consolidation_status: Literal["active", "consolidated", "tombstoned", "quarantined"]  # Its status; active memories are recalled.
    consolidation_sources: List[str]  # The memories that it was merged from.
    storage_tier: str  # hot, or the tier that the client gave.
    metadata_json: str  # The metadata as a text.
    metadata: Any  # The client's own data.
    namespace: str  # Its namespace.
    domain: str  # Its domain, as the client named it.
    source: str  # Its source.
    emotional_state: Optional[str]  # The emotion that it was stored with.
    session_id: Optional[str]  # The session that it joined.
    due_at: Optional[float]  # When it is due, in Unix seconds.
    temporal_kind: Optional[str]  # The meaning of its date, as the client named it.
    tombstone_reason: Optional[str]  # Why it was forgotten.
    revision: int  # Number of corrections.
    embedding_model: Optional[str]  # The embedder that made its vector.
    embedding_bytes: Optional[int]  # Size of its vector in bytes.
    entities: List[str]  # The entities that its text names.
    claims: List[str]  # The claims that were read from its text.
    trust: Literal["operator", "agent", "tool", "web"]  # Its class of trust: operator, agent, tool (output of a program) or web (a stranger's text).


class Memory(_Memory, total=False):
    key: str  # Its key in its namespace; absent when it has none.
    split_into: List[str]  # The memories that it was split into; absent when it was not.
    attributes: Any  # Its attributes, for filters; absent when it has none.
    superseded_by: Optional[str]  # The newer memory that replaces it; absent when it is current.
    pin: bool  # true: it is pinned: think does not merge, move or forget it, and it does not expire.
    expires_at: Optional[float]  # When it expires, in Unix seconds; absent for never.
    refresh_on_read: float  # Expires this many seconds after its last read; absent: reads do not change when it expires.
    searchable: Optional[bool]  # false: it can be read by id and in lists, but recall does not find it.
    writer: str  # Who wrote it: the token's label or hash; master, local or node without one.
    dialect: str  # The protocol it came by, such as http or mcp; think if it was merged.
    agent: str  # Its agent, as the client named it.
    provenance: List[Origin]  # With sources: this memory, then those it was made of.


class _MemoryItems(TypedDict):
    items: List[Memory]  # The memories.
    count: int  # Number of rows in this answer.


class MemoryItems(_MemoryItems, total=False):
    left_out: bool  # true: more rows were left out, because the answer reached 16 MiB of memories. Request fewer rows.
    cursor: str  # Pass it as cursor to get the next page; absent at the end, and in lists without cursors. A page may have few rows or none, and a cursor.
    incomplete: str  # Why more rows may match than the answer has, and how to get them; absent when it has all.


class _MemoryList(TypedDict):
    memories: List[Memory]  # The oldest first.


class MemoryList(_MemoryList, total=False):
    left_out: bool  # true: more rows were left out, because the answer reached 16 MiB of memories. Request fewer rows.
    incomplete: str  # Why more rows may match than the answer has, and how to get them; absent when it has all.


class _MemoryPage(TypedDict):
    limit: int  # Most rows of the page.


class MemoryPage(_MemoryPage, total=False):
    total: int  # Number of active memories in the namespace, or in the database.
    offset: int  # Number of rows skipped.
    items: List[Memory]  # The newest first, or in the requested order.
    next_offset: Optional[int]  # Pass it as offset to get the next page. Absent at the end, and where the next row is behind 100,000 others: cursor gets there.
    cursor: str  # Pass it as cursor to get the next page; absent at the end. A page with filters that match little may have few rows or none, and a cursor.
    incomplete: str  # Why more rows may match than the answer has, and how to get them; absent when it has all.
    records: List[Record]  # Records in the order of their ids; fewer than limit when the filters match few.
    next_cursor: Optional[str]  # Pass it as since_rid to get the next page; null at the end.


class _Merged(TypedDict):
    rid: str  # The new memory's id.
    merged: List[str]  # The memories that were merged.
    log_index: str  # Position of the write in the log; min_index on another node waits for it.


class Merged(_Merged, total=False):
    redacted: List[str]  # Kinds of secrets removed before storing, such as github or email; absent when there were none.


class Moved(TypedDict):
    moved: int  # Number of memories that were moved.
    rids: List[str]  # Their ids.
    namespace: str  # The namespace that they are in now.
    log_index: str  # Position of the write in the log; min_index on another node waits for it.


class MovedTrigger(TypedDict):
    trigger_id: str  # The trigger's id.
    status: Literal["acknowledged", "acted", "dismissed"]  # Its status.
    changed: bool  # Whether this changed something.
    log_index: str  # Position of the write in the log; min_index on another node waits for it.


class Namespace(TypedDict):
    name: str  # Its name.
    active: int  # Memories that recall finds.
    merged: int  # Memories that were merged into others.
    forgotten: int  # Memories that were forgotten and are not purged yet.


class NamespacePage(TypedDict):
    namespaces: List[Namespace]  # Shorter names first, then in the order of their bytes.
    next: Optional[str]  # Pass it as after to get the next page; null at the end.


class Near(TypedDict):
    rid: str  # The memory's id.
    text: str  # Its text, or the first 500 letters.
    created_at: float  # When it happened, in Unix seconds.
    score: float  # How likely it says the same as the new one, from 0 to 1.


class _NodeKeys(TypedDict):
    node_id: int  # The node's number.
    encrypted: bool  # Whether its home is encrypted.
    keys: List[DataKey]  # The data keys of its home, oldest first.
    rewriting: List[str]  # Parts of its home that are still under a replaced data key: the node rewrites them under the active one, then drops the replaced one.
    certificates: List[Certificate]  # The certificates that it presents.
    ports: List[Port]  # The ports that it listens on for clients and members, without those of same-host dialects.


class NodeKeys(_NodeKeys, total=False):
    error: str  # Why the node did not answer.


class _NodePast(TypedDict):
    node_id: int  # The node's number.
    at: List[float]  # Times of the points, in Unix seconds, oldest first.
    requests_per_second: List[Optional[float]]  # Requests of clients on all surfaces.
    refused_per_second: List[Optional[float]]  # Requests that were answered with an error.
    entries_per_second: List[Optional[float]]  # Log entries applied.
    median_ms: List[Optional[float]]  # Time to answer, median, in milliseconds.
    p99_ms: List[Optional[float]]  # Time to answer, 99th percentile, in milliseconds.
    commit_ms: List[Optional[float]]  # Time from proposing a write to applying it, median, in milliseconds.
    lag_entries: List[Optional[float]]  # Acknowledged log entries not applied on the node; null while it hears no leader.
    index_lag_entries: List[Optional[float]]  # Log entries applied and not yet in the search index.
    disk_bytes: List[Optional[float]]  # Size of the state's files.
    heap_bytes: List[Optional[float]]  # Memory in use by the process.
    marks: List[PastMark]  # What happened, oldest first.


class NodePast(_NodePast, total=False):
    error: str  # Why the node did not answer.


class _NotedOutcome(TypedDict):
    rid: str  # The outcome's id.
    skill_id: str  # The skill's id.
    recorded: bool  # true.
    log_index: str  # Position of the write in the log; min_index on another node waits for it.


class NotedOutcome(_NotedOutcome, total=False):
    redacted: List[str]  # Kinds of secrets removed before storing, such as github or email; absent when there were none.


class _Origin(TypedDict):
    rid: str  # The memory's id.
    trust: Literal["operator", "agent", "tool", "web"]  # Its class of trust: operator, agent, tool (output of a program) or web (a stranger's text).
    status: Literal["active", "consolidated", "tombstoned", "quarantined"]  # Its status now.


class Origin(_Origin, total=False):
    writer: str  # Who wrote it: the token's label or hash; master, local or node without one.
    dialect: str  # The protocol it came by, such as http or mcp; think if it was merged.
    agent: str  # Its agent, as the client named it.
    made_into: str  # The memory of this list that was made of it; absent for the first.


class PackContextAnswer(TypedDict):
    pack_context: Optional[str]  # The block; null when nothing is known.
    packs_pending: List[str]  # Always empty: there are no packs here.
    packs_poisoned: List[str]  # Always empty.


class Parts(TypedDict):
    words: float  # Part of the score from the words.
    passage: float  # Part of the score from the memories around it, read as one text.
    around: float  # Part of the score from memories stored around it.
    session: float  # Part of the score from its session.
    factor: float  # Factor on the match of words, from speaker, date, time, kind and length of text.
    speaker: bool  # Whether the question names who said it.
    date: float  # Part of the score from a date in the question.
    when: bool  # Whether the question asks for a time and the memory has one.
    vector: float  # Part of the score from the vector.
    lift: float  # Added when the match of its vector, or of a neighbour's, is stronger than chance and shared words explain.
    graph: float  # Part of the score from relations.
    relevance: float  # All parts together, before the factors.
    alike: float  # Similarity to a better row of the answer, from 0 to 1.


class PastAnswer(TypedDict):
    nodes: List[NodePast]  # The nodes, by number.


class _PastMark(TypedDict):
    at: float  # When, in Unix seconds.
    kind: Literal["start", "election"]  # start: the node started; election: the node learned of a new leader.


class PastMark(_PastMark, total=False):
    term: int  # The term that began.
    leader_id: int  # The node that was elected.


class Pattern(TypedDict):
    pattern_type: str  # Kind of pattern.
    description: str  # The pattern in a sentence.
    confidence: float  # Certainty, from 0 to 1.
    source_rids: List[str]  # The memories that show it.
    entities: List[str]  # The entities that it is about.
    first_seen: float  # When it was seen first, in Unix seconds.
    last_confirmed: float  # When it was seen last, in Unix seconds.
    occurrence_count: int  # Number of times it was seen.


class _PatternList(TypedDict):
    patterns: List[Pattern]  # The most certain first.


class PatternList(_PatternList, total=False):
    incomplete: str  # Why more rows may match than the answer has, and how to get them; absent when it has all.


class _Peer(TypedDict):
    node_id: int  # Its number.
    addr: str  # Its port for its peers.
    wire: str  # Its wire port.
    http: str  # Its gateway.
    role: str  # voter or readreplica.
    state: str  # Leader, Follower, Candidate or unreachable.
    voter: bool  # Whether it votes.
    reachable: bool  # Whether it answers.
    current_term: int  # Its Raft term.
    last_seen_secs_ago: Optional[float]  # Seconds since it was last heard; null for never.
    lag_entries: Optional[int]  # Acknowledged log entries that it lacks; null when it does not answer or hears no leader.
    applied_index: int  # Log index that it has applied.
    state_hash_index: int  # The index at which state_hash was taken.
    state_hash: str  # Hash of its state: equal on all replicas at the same index.
    clock_offset_ms: float  # Offset of its clock from the median of the members' clocks, in milliseconds.
    clock_off: bool  # Whether the offset is over the limit; a leader over the limit hands leadership over.
    version: str  # The version that it runs.
    node_key: str  # Ed25519 key of its home, in hex. It signs the node's statements about erased memories.
    uptime_secs: float  # Seconds since the node started.
    models: List[str]  # The embedders that it can use: the full name of the configured one, the directory names of the models in its home, and builtin.


class Peer(_Peer, total=False):
    disk_full: bool  # true: the disk of its home is full, so that it rejects writes.
    damaged: List[Damage]  # The first files in which it found damage since it started.
    disputes: List[Dispute]  # Messages from other members that it rejected or disputed in the last minutes.
    set_aside: List[str]  # States, logs and snapshots that the node moved aside, because they were damaged or differed from what a majority of the voters holds.
    lost_records: List[LostRecords]  # Records that the cluster lacks, in logs that the node moved aside: "cairn recover --import-lost" imports them.
    hold_purge: bool  # true: its files may hold purged text; the node is rewriting them.
    old_keys: List[str]  # Parts of its home that are not yet rewritten under its active data key.
    store: Optional[Store]  # The files of its state; absent when it does not answer.


class Policies(TypedDict):
    working_ttl_secs: float  # Seconds after which memories of the tier working are forgotten; 0 for never.
    episodic_ttl_secs: float  # Seconds after which memories of the tier episodic are forgotten; 0 for never.
    default_ttl_secs: float  # Seconds after which a memory expires that is stored without a ttl or expires_at; 0 for never.
    promote_after: int  # Number of accesses after which a memory moves up one tier; 0 for never.
    consolidate: bool  # Whether background cognition may merge memories that say the same thing.
    quiet_mind: bool  # true: no background cognition runs on the database.
    redact: Literal["capture", "all", "off"]  # Which memories lose their secrets before they are stored: capture (output of tools), all, or off.
    single_valued: List[str]  # Relations that have one value at a time in this database, but several by default: a newer value supersedes the older one.
    multi_valued: List[str]  # Relations that may have several values in this database, but one by default.
    lift: List[str]  # Members of the metadata that become attributes of a memory when it is stored.
    updated_at: Optional[float]  # When they were changed last, in Unix seconds; null for never.


class Port(TypedDict):
    name: Literal["wire", "http", "peers"]  # The protocol.
    addr: str  # Its address.
    tls: bool  # Whether it uses TLS.
    loopback: bool  # Whether only this machine reaches it.


class PromptAnswer(TypedDict):
    context: str  # The block; blank when nothing is known.
    tokens: int  # Estimated number of its tokens.
    memories: List[PromptMemory]  # The memories in it, in its order.
    left_out: List[PromptLeft]  # Matches that are not in it, best first.
    index: int  # Log index that the answer reflects.
    lag_seconds: Optional[float]  # Seconds that this node is behind the leader; null while it hears none.


class PromptLeft(TypedDict):
    rid: str  # The memory's id.
    reason: str  # budget, or the id in the block of the memory that it repeats or resembles.


class PromptMemory(TypedDict):
    rid: str  # The memory's id.
    id: str  # Its id in the block.
    namespace: str  # Its namespace.
    score: float  # Probability that it answers the question, from 0 to 1; 0 without a question.
    tokens: int  # Tokens of its line.
    cut: bool  # Whether only its best passage is in the block.


class Proof(TypedDict):
    statement: Statement  # The statement that is signed.
    node_id: int  # The node.
    node_key: str  # Its Ed25519 key in hex, as the cluster's status shows it.
    signature: str  # The key's signature of the statement's JSON, in hex.


class PrunedTriggers(TypedDict):
    dry_run: bool  # Whether nothing was changed.
    pending_before: int  # Number of pending triggers before.
    expired_overdue: int  # Number of triggers that expired because their time was over.
    expired_over_cap: int  # Number of triggers that expired because there were too many.
    pending_after: int  # Number of pending triggers after.
    log_index: str  # Position of the write in the log; min_index on another node waits for it.


class Purged(TypedDict):
    purged: int  # Number of erased memories that were not forgotten already.
    log_index: str  # Position of its last write in the log.
    still_held_by: List[str]  # Where the erased bytes may still be, and what removes them.


class _PutAnswer(TypedDict):
    rid: str  # The memory's id.
    key: str  # Its key.
    created: bool  # true: no memory had the key, and this one was stored.
    changed: bool  # false: the memory had this content already, so no revision was made.
    revision: int  # Number of corrections.
    sha256: str  # SHA-256 of its text, in hex.
    log_index: str  # Position of the write in the log; min_index on another node waits for it.


class PutAnswer(_PutAnswer, total=False):
    redacted: List[str]  # Kinds of secrets removed before storing, such as github or email; absent when there were none.


class QuarantinePage(TypedDict):
    memories: List[Memory]  # The oldest first.
    next: Optional[str]  # Pass it as after to get the next page; null at the end.


class QuotaAnswer(TypedDict):
    database: str  # The database's name.
    max_memories: int  # Most active memories that the database may hold; 0: no limit.
    max_rps: int  # Operations a second on each node; 0: no limit.
    burst: int  # Burst: most operations at once; 0 for one second's worth of the rate.
    max_batch_size: int  # Most memories in one request; 0: no limit.
    active_memories: int  # Number of active memories in the database.


class QuotaSet(TypedDict):
    database: str  # The database's name.
    max_memories: int  # Most active memories that the database may hold; 0: no limit.
    max_rps: int  # Operations a second on each node; 0: no limit.
    burst: int  # Burst: most operations at once; 0 for one second's worth of the rate.
    max_batch_size: int  # Most memories in one request; 0: no limit.
    log_index: str  # Position of the write in the log; min_index on another node waits for it.


class RaftMember(TypedDict):
    node_id: int  # Its number.
    addr: str  # Its port for its peers.
    is_voter: bool  # Whether it votes.


class RaftState(TypedDict):
    node_id: int  # The node that answers.
    state: str  # leader, follower or candidate.
    current_term: int  # Its Raft term.
    current_leader: Optional[int]  # The node that leads; null while none is known.
    last_log_index: int  # Last index in its log.
    last_applied_index: int  # Log index that it has applied.
    snapshot_index: int  # Log index of its newest snapshot.
    millis_since_quorum_ack: Optional[int]  # Milliseconds since it heard the leader; null on the leader, and before it has heard one.
    members: List[RaftMember]  # The members by its configuration.
    healthy: bool  # Whether a leader is known.


class ReadyAnswer(TypedDict):
    ready: bool  # Whether readers may be sent to this node.
    behind: Optional[int]  # Acknowledged log entries that its search index lacks; null while it hears no leader.
    applied_index: int  # Log index up to which its search index is complete.


class _Recalled(TypedDict):
    results: List[Result]  # The best first.
    total: int  # Number of rows in this answer.
    fallback: Optional[str]  # Always null.
    confidence: float  # Confidence in the answer as a whole, from 0 to 1.
    hints: List[Hint]  # Hints for a better question, when confidence is low.
    index: int  # Log index that the answer reflects.
    lag_seconds: Optional[float]  # Seconds that this node is behind the leader; null while it hears none.
    considered: int  # Number of memories examined.
    below_min_score: int  # Number of matches that scored less than min_score.


class Recalled(_Recalled, total=False):
    filtered: List[Filtered]  # With explain: how many memories remained after each filter, in this order.
    left_out: int  # Number of rows left out because the answer reached 16 MiB of memories. Request fewer rows, or an event stream.
    incomplete: str  # Why more rows may match than the answer has, and how to get them; absent when it has all.


class _Record(TypedDict):
    rid: str  # The memory's id.
    text: str  # Its text.
    memory_type: str  # What kind of memory it is: semantic, episodic, procedural, or a name the client chooses.
    importance: float  # Importance, from 0 to 1.
    metadata: Any  # The client's own data.
    namespace: str  # Its namespace.
    created_at: float  # When it happened, in Unix seconds.
    created_at_iso: str  # The same time in RFC 3339.
    certainty: float  # Certainty, from 0 to 1.
    domain: str  # Its domain, as the client named it.
    source: str  # Its source.
    access_count: int  # Number of recalls that returned it.
    last_access: float  # When it was recalled last, in Unix seconds.
    storage_tier: str  # hot, or the tier that the client gave.


class Record(_Record, total=False):
    attributes: Any  # Its attributes, for filters; absent when it has none.


class RecordPage(TypedDict):
    records: List[Record]  # Records in the order of their ids; fewer than limit when the filters match few.
    next_cursor: Optional[str]  # Pass it as since_rid to get the next page; null at the end.
    limit: int  # Most rows of the page.


class _RecordedTurn(TypedDict):
    recorded: bool  # true.
    role: str  # Who spoke.
    rid: str  # The turn's id.
    dropped: int  # Number of older turns that were forgotten.
    log_index: str  # Position of the write in the log; min_index on another node waits for it.


class RecordedTurn(_RecordedTurn, total=False):
    redacted: List[str]  # Kinds of secrets removed before storing, such as github or email; absent when there were none.


class _Reembedding(TypedDict):
    database: str  # The database's name.
    embedder: Optional[str]  # The embedder of its memories; null: clients send the vectors.
    changes_to: Optional[str]  # The embedder that it is changing to, whose vectors serve once all are made; null: no change is under way.
    reembedding: bool  # true: the database is changing its embedder; done, of, missing and up are about the new one.
    done: int  # Number of memories with a vector.
    of: int  # Number of memories that are not forgotten.
    missing: int  # Number of memories that still need a vector.
    has: List[str]  # The embedders that this node can use.
    log_index: str  # Position of the write in the log; min_index on another node waits for it.


class Reembedding(_Reembedding, total=False):
    up: bool  # Whether it answered the last request.
    queue: int  # Number of memories without a vector in the databases that it embeds; the leader embeds them, or a follower that has the model.
    failures: int  # Number of failures since this node started.
    last_error: Optional[str]  # Why it failed last; null for never.
    last_error_at: Optional[float]  # When it last failed, in Unix seconds.
    lacking: List[int]  # Members that do not have the embedder: they answer recalls by words alone.


class Rejected(TypedDict):
    line: int  # Its number, from 1.
    reason: str  # Why it was rejected.


class Related(TypedDict):
    edge_id: str  # The relation's id.
    log_index: str  # Position of the write in the log; min_index on another node waits for it.


class Released(TypedDict):
    rid: str  # The memory's id.
    trust: str  # Its class of trust, which stays.
    log_index: str  # Position of the write in the log; min_index on another node waits for it.


class _Remembered(TypedDict):
    rid: str  # The memory's id.


class Remembered(_Remembered, total=False):
    stored: Optional[bool]  # false: nothing was stored, because idempotency_key was used with another text; rid is the memory that was stored with it. Absent otherwise.
    idempotency_conflict: bool  # true: the same; absent otherwise.
    error: str  # Why nothing was stored; absent when it was.
    code: str  # conflict when nothing was stored; absent otherwise.
    log_index: str  # Position of the write in the log; min_index on another node waits for it.
    redacted: List[str]  # Kinds of secrets removed before storing, such as github or email; absent when there were none.
    near: List[Near]  # Memories that this one may replace, at most three, of the same namespace; absent when there are none, or near was not set. An answer that an idempotency key repeats may lack them.
    superseded: List[str]  # Older memories that this one contradicts or updates: recall ranks this one before them. undo of such a memory makes it current again.
    superseded_by: str  # A newer memory that replaces this one, which has an earlier date; absent when this one is current.
    quarantined: bool  # true: it waits in quarantine, as the token's policy wants, until an owner releases it; absent when recall finds it now.


class _RememberedBatch(TypedDict):
    rids: List[str]  # The memories' ids, in the order of the request.
    count: int  # Number of memories stored.
    log_index: str  # Position of the write in the log; min_index on another node waits for it.


class RememberedBatch(_RememberedBatch, total=False):
    redacted: List[str]  # Kinds of secrets removed before storing, such as github or email; absent when there were none.
    superseded: List[str]  # Older memories that these replace.
    quarantined: int  # Number of these memories that wait in quarantine until an owner releases them.


class RenameAnswer(TypedDict):
    rid: str  # The memory's id.
    key: str  # Its new key.
    revision: int  # Number of corrections, this one included.
    log_index: str  # Position of the write in the log; min_index on another node waits for it.


class Reranked(TypedDict):
    score: float  # The reranker's score, on a scale of its own.
    place: int  # Its place before, from 1.


class Resolved(TypedDict):
    conflict_id: str  # The conflict's id.
    strategy: str  # How the contradiction was resolved.
    winner_rid: Optional[str]  # The side that was kept, or the memory merged from both.
    loser_tombstoned: bool  # Whether one side was forgotten.
    new_memory_rid: Optional[str]  # The memory merged from both.
    log_index: str  # Position of the write in the log; min_index on another node waits for it.


class _Result(TypedDict):
    rid: str  # The memory's id.
    text: str  # Its text.
    memory_type: str  # What kind of memory it is: semantic, episodic, procedural, or a name the client chooses.
    score: float  # Probability that it answers the question, from 0 to 1; 0 in a list.
    importance: float  # Importance, from 0 to 1.
    created_at: float  # When it happened, in Unix seconds.
    why_retrieved: List[str]  # Why it was found.
    metadata: Any  # The client's own data.
    namespace: str  # Its namespace.
    domain: str  # Its domain, as the client named it.
    source: str  # Its source.
    certainty: float  # Certainty, from 0 to 1.
    valence: float  # Emotional valence, from -1 (bad) to 1 (good).


class Result(_Result, total=False):
    attributes: Any  # Its attributes, for filters; absent when it has none.
    key: str  # Its key in its namespace; absent when it has none.
    emotional_state: Optional[str]  # The emotion that it was stored with.
    session_id: str  # The session that it joined; blank for none.
    status: str  # Whether it is active, consolidated, tombstoned or quarantined.
    scores: Scores  # Parts of the score by signal; they add up to it.
    factors: Factors  # The factors that the relevance was multiplied with.
    parts: Parts  # The parts of the relevance.
    superseded_by: str  # The newer memory that replaces it; absent when it is current.
    perhaps_outdated_by: str  # A newer memory of this answer that says something about the same; absent when there is none, and in event streams.
    writer: str  # Who wrote it: the token's label or hash.
    dialect: str  # The protocol it came by.
    agent: str  # Its agent, as the client named it.
    trust: str  # Its class of trust: operator, agent, tool or web.
    provenance: List[Origin]  # The memory, then those that it was made of, each with its writer and class.
    conflicts_with: List[str]  # The memories that it contradicts, by open conflicts.
    reranked: Optional[Reranked]  # The reranker's score and the place before it; absent when no reranker ran.


class _Revision(TypedDict):
    revision: int  # Number of the revision, from 0.
    text: str  # Its text.
    importance: float  # Importance, from 0 to 1.
    valence: float  # Emotional valence, from -1 (bad) to 1 (good).
    certainty: float  # Certainty, from 0 to 1.
    namespace: str  # Its namespace.
    reason: str  # Why it was corrected.
    until: float  # When it was replaced, in Unix seconds.


class Revision(_Revision, total=False):
    erased_at: float  # When what it said was erased for good, in Unix seconds; absent otherwise.


class _RevisionList(TypedDict):
    rid: str  # The memory's id.
    revisions: List[Revision]  # The oldest first.


class RevisionList(_RevisionList, total=False):
    next_offset: Optional[int]  # Pass it as offset to get the next page; absent at the end.


class RevokedToken(TypedDict):
    revoked: bool  # Whether such a token existed.


class Scores(TypedDict):
    words: float  # Words that the question and the memory share.
    passage: float  # The best passage of it.
    around: float  # Memories stored around it.
    session: float  # Its session.
    vector: float  # Similarity of the vectors.
    graph: float  # Relations of what the question names.
    worth: float  # Its freshness, importance and trust; less than 0 where it is trusted too little.


class Session(TypedDict):
    session_id: str  # The session's id.
    namespace: str  # The namespace whose memories join the session.
    client_id: str  # The client that opened the session.
    started_at: float  # When it began, in Unix seconds.
    ended_at: Optional[float]  # When it ended, in Unix seconds; null while it is active.
    status: Literal["active", "ended", "abandoned", "implicit"]  # Its status.
    summary: str  # The summary that its client gave at the end.
    memory_count: int  # Number of memories in the session.
    topics: List[str]  # The entities that its memories name most.


class _SessionAndMemories(TypedDict):
    session_id: str  # The session's id.
    namespace: str  # The namespace whose memories join the session.
    client_id: str  # The client that opened the session.
    started_at: float  # When it began, in Unix seconds.
    ended_at: Optional[float]  # When it ended, in Unix seconds; null while it is active.
    status: Literal["active", "ended", "abandoned", "implicit"]  # Its status.
    summary: str  # The summary that its client gave at the end.
    memory_count: int  # Number of memories in the session.
    topics: List[str]  # The entities that its memories name most.
    memories: List[Memory]  # Its memories, the oldest first.


class SessionAndMemories(_SessionAndMemories, total=False):
    next_offset: Optional[int]  # Pass it as offset to get the next page; absent at the end.


class _SessionList(TypedDict):
    sessions: List[Session]  # The newest first.
    count: int  # Number of rows in this answer.


class SessionList(_SessionList, total=False):
    incomplete: str  # Why more rows may match than the answer has, and how to get them; absent when it has all.


class Side(TypedDict):
    kind: Literal["memory", "relation", "claim"]  # Kind of the side.
    text: Optional[str]  # Its text; null when it no longer exists.
    created_at: Optional[float]  # When it was stored, in Unix seconds.


class Skill(TypedDict):
    rid: str  # The id of its memory.
    skill_id: str  # The skill's id.
    text: str  # How it is done.
    body: str  # The same as text.
    score: float  # Probability that it answers the query, from 0 to 1; 0 in a list.
    skill_type: str  # Its type.
    applies_to: List[str]  # What it applies to.
    metadata: Any  # All its fields, with the names of the request that defined it.
    created_at: float  # When it was defined, in Unix seconds.
    revision: int  # How often it was replaced.


class _SkillList(TypedDict):
    skills: List[Skill]  # The best first.
    total: int  # Number of rows.


class SkillList(_SkillList, total=False):
    left_out: int  # Number of rows left out because the answer reached 16 MiB of skills. Request fewer rows.


class _Splitted(TypedDict):
    rid: str  # The memory that was split.
    rids: List[str]  # The new memories, in the order of the texts.
    log_index: str  # Position of the write in the log; min_index on another node waits for it.


class Splitted(_Splitted, total=False):
    redacted: List[str]  # Kinds of secrets removed before storing, such as github or email; absent when there were none.


class StartedSession(TypedDict):
    session_id: str  # The session's id.


class Statement(TypedDict):
    rid: str  # The memory's id.
    database: str  # Its database.
    index: int  # Position of the record that erased it.
    erased_at: float  # When, in Unix seconds.
    revisions: int  # Number of its earlier texts that are erased with it.
    claims: int  # Number of claims that its text made.
    entities: int  # Number of names in its text.
    vector: bool  # Whether it had a vector.
    merged: bool  # Whether it was merged from others.
    node_files_hold: bool  # Whether this node's files may still have its bytes, because it has not rewritten them yet.
    still_held_by: List[str]  # Where else its bytes may be, and what removes them.


class Store(TypedDict):
    disk_bytes: int  # Size on the disk.
    tables: int  # Number of tables.
    unmerged_bytes: int  # How far compaction is behind: bytes of tables above the lowest level.
    damaged_blocks: int  # Number of damaged blocks read since the node started; nothing is returned from them.


class Task(TypedDict):
    id: str  # The task's id, the same as its memory's id.
    namespace: str  # Its namespace.
    title: str  # What is to be done.
    status: str  # Its status.
    priority: Literal["low", "medium", "high", "critical"]  # How urgent it is.
    parent_id: Optional[str]  # The task that this one is a part of.
    created_at: float  # When it was added, in Unix seconds.
    updated_at: float  # When it was changed last, in Unix seconds.
    revision: int  # Number of changes.


class _TaskList(TypedDict):
    tasks: List[Task]  # The most urgent first, then the oldest.
    count: int  # Number of rows.
    more: bool  # Whether more tasks pass; to see them, request one status, or the parts of one task.


class TaskList(_TaskList, total=False):
    incomplete: str  # Why more rows may match than the answer has, and how to get them; absent when it has all.


class _Thought(TypedDict):
    consolidation_count: int  # Number of groups of duplicates merged.
    conflicts_found: int  # Number of new contradictions found.
    patterns_new: int  # Number of new patterns.
    patterns_updated: int  # Number of patterns seen again.
    personality_updated: bool  # Whether the agent's traits have changed.
    duration_ms: int  # Duration in milliseconds.
    triggers: List[Attention]  # New triggers, the most urgent first.


class Thought(_Thought, total=False):
    read: Optional[int]  # With progress: number of memories that the round read.
    remaining: Optional[int]  # With progress: number of new or changed memories that no round has read yet. Repeat the request until it is 0.


class _Token(TypedDict):
    hash_prefix: str  # The beginning of its hash, which identifies it.
    database: str  # The database that the token is for.
    label: str  # Its purpose.
    scopes: List[str]  # Its scopes; an empty list means read and write.
    trust: str  # The highest class of trust of what it writes.
    created_at: float  # When it was made, in Unix seconds.
    expires_at: Optional[float]  # When it ends, in Unix seconds; null for never.
    revoked_at: Optional[float]  # When it was revoked, in Unix seconds; null if it was not.
    last_used_at: Optional[float]  # When it was last used, within a few minutes, in Unix seconds; null for never.
    max_rps: int  # Operations a second on each node; 0: no limit.
    burst: int  # Burst: most operations at once; 0 for one second's worth of the rate.
    max_batch_size: int  # Most memories in one request; 0: no limit.


class Token(_Token, total=False):
    namespaces: List[str]  # The namespaces that it is bound to; absent when it is not bound.
    quarantine: str  # What it writes of this class, and of those below, waits in quarantine; absent: nothing does.


class TokenList(TypedDict):
    tokens: List[Token]  # Rows by creation, oldest first.


class TopologyAnswer(TypedDict):
    cluster_id: str  # The cluster's id.
    node_id: int  # The node that answers.
    leader_id: Optional[int]  # The node that leads; null while none is known.
    term: int  # The term of the last election that the node knows of.
    quorum_size: int  # Number of voters that a decision needs.
    nodes: List[Member]  # All members, by number.


class Trait(TypedDict):
    name: str  # The trait's name.
    score: float  # Strength, from 0 to 1.


class TraitList(TypedDict):
    traits: List[Trait]  # attentiveness, depth, energy and warmth.


class Trigger(TypedDict):
    trigger_id: str  # The trigger's id.
    trigger_type: str  # Kind of trigger.
    urgency: float  # Urgency, from 0 to 1.
    status: Literal["pending", "delivered", "acknowledged", "acted", "dismissed", "expired"]  # Its status.
    reason: str  # Why an agent should act on it.
    suggested_action: str  # A suggested action.
    source_rids: List[str]  # The memories that it is about.
    entity: Optional[str]  # The entity that it is about.
    created_at: float  # When it was raised, in Unix seconds.
    expires_at: Optional[float]  # When it expires, in Unix seconds.


class _TriggerList(TypedDict):
    triggers: List[Trigger]  # The newest first within a status.
    count: int  # Number of rows.


class TriggerList(_TriggerList, total=False):
    incomplete: str  # Why more rows may match than the answer has, and how to get them; absent when it has all.


class Turn(TypedDict):
    rid: str  # The turn's id.
    role: str  # Who spoke.
    content: str  # What was said.
    created_at: float  # When it was recorded, in Unix seconds.


class _TurnList(TypedDict):
    turns: List[Turn]  # The oldest first.
    count: int  # Number of rows.


class TurnList(_TurnList, total=False):
    left_out: bool  # true: older turns were left out, because the answer reached 16 MiB of them. keys with the prefix /.turns lists all.


class _Undone(TypedDict):
    rid: str  # The memory's id.
    text: str  # Its text after the undo.
    restored: int  # The revision that it went back to.
    revision: int  # Number of corrections, this one included.
    log_index: str  # Position of the write in the log; min_index on another node waits for it.


class Undone(_Undone, total=False):
    recalled_again: List[str]  # Of a merge or a split: the sources, which recall finds again.
    forgotten: List[str]  # Of a merge or a split: the memories that it had made.
    embedding_missing: bool  # true: the memory has no vector now, because clients bring the vectors of this database and that of an earlier text is not kept. Send it with correct.


class Unrelated(TypedDict):
    edge_id: str  # The relation's id.
    found: bool  # Whether such a relation existed.
    log_index: str  # Position of the write in the log; min_index on another node waits for it.


class Upkeep(TypedDict):
    tenant: str  # The database's name.
    last_maintenance: Optional[float]  # When maintenance last ran, in Unix seconds; null for never.
    active_memories: int  # Number of memories that a recall searches.
    open_conflicts: int  # Number of open contradictions.
    pending_triggers: int  # Number of pending triggers.


class UpkeepList(TypedDict):
    tenants: List[Upkeep]  # The state of each database.
    count: int  # Number of rows.


class ValuePage(TypedDict):
    values: List[AttributeValue]  # Values in the order of the bytes of their JSON; a list counts as one value.
    total: int  # Number of values on all pages.
    next: Optional[str]  # Pass it as after to get the next page; null at the end.
