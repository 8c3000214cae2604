// Made from the table of operations (node/api): CAIRN_UPDATE=1 go test ./wire/client -run TestSDKs writes it again.

import type { CallOptions, Feed, Line, Lines } from "./index.js";

export interface AddTaskRequest {
  /** What is to be done, up to 4,096 bytes. */ title: string;
  /** How urgent it is. Default: medium. */ priority?: "low" | "medium" | "high" | "critical";
  /** Its status: open, in_progress, done or a word of your own, up to 64 bytes. Default: open. */ status?: string;
  /** The task that this one is a part of. */ parent_id?: string;
  /** The namespace; blank for default. */ namespace?: string;
  /** Idempotency key: repeating the request with it adds nothing twice. */ idempotency_key?: string;
}

export interface AddedTask {
  /** The task's id. */ id: string;
  /** Position of the write in the log; min_index on another node waits for it. */ log_index: string;
  /** Kinds of secrets removed before storing, such as github or email; absent when there were none. */ redacted?: string[];
}

export interface AliasRequest {
  /** The name that stands for another. */ alias: string;
  /** The name that it stands for. */ canonical_name: string;
  /** The namespace; blank for default. */ namespace?: string;
  /** The source of the claim. Default: explicit. */ source?: string;
}

export interface Aliased {
  /** The name that stands for another. */ alias: string;
  /** The name that it stands for. */ canonical_name: string;
  /** The namespace. */ namespace: string;
  /** Whether it is new. */ added: boolean;
}

export interface AliveAnswer {
  /** ok. */ status: string;
  /** Number of databases. */ engines_loaded: number;
  /** The node that answers. */ node_id: number;
  /** The version that it runs. */ version: string;
  /** Log index that it has applied. */ applied_index: number;
  /** Whether this node is the leader and accepts writes itself. */ writable: boolean;
  /** Condition of the cluster: healthy, degraded or not healthy, with the reason. */ condition: string;
  /** Features that clients may rely on. */ capabilities: string[];
  /** The node as a member; absent on one without peers. */ cluster?: Health | null;
}

export interface Attention {
  /** Kind of trigger. */ trigger_type: string;
  /** Why an agent should act on it. */ reason: string;
  /** Urgency, from 0 to 1. */ urgency: number;
  /** The memories that it is about. */ source_rids: string[];
  /** A suggested action. */ suggested_action: string;
}

export interface AttributeValue {
  /** The value. */ value: unknown;
  /** Number of memories. */ count: number;
  /** When the oldest of them happened, in Unix seconds. */ first_created_at: number;
  /** When the newest of them happened, in Unix seconds. */ last_created_at: number;
}

export interface Audit {
  /** Its log index. */ log_index: number;
  /** When it was changed, in Unix seconds. */ at: number;
  /** The caller: the beginning of a token's hash, master for the cluster secret, local for this host's user, node for a node itself. */ by: string;
  /** The token's label. */ label: string;
  /** What was done. */ what: string;
  /** What was changed: a database, a token by the beginning of its hash, or a node. */ on: string;
  /** The new values. */ how: string;
  /** The node that received the request. */ node_id: number;
}

export interface AuditList {
  /** The newest first. */ audit: Audit[];
}

export interface AuditsRequest {
  /** Most changes to return; the newest 10,000 are kept. Default: 100. */ limit?: number;
  /** Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node. */ min_index?: string | number;
  /** linearizable: the answer includes everything acknowledged before the request. */ consistency?: "stale" | "linearizable";
}

export interface Backup {
  /** The backup's id, for the download. */ id: string;
  /** The index after which it begins; 0: it is the whole state. */ since: number;
  /** The index at which it ends. */ index: number;
  /** The log's time at that index, for the backup that continues this one. */ log_time: string;
  /** Hash of its state at that index. */ state_hash: string;
  /** Size in bytes. */ size: number;
  /** The SHA-256 of these bytes, in hex. */ sha256: string;
}

export interface BatchAnswer {
  /** One for each step, in order. */ results: BatchResult[];
  /** Position of the batch in the log; pass it as min_index to read it on another node. */ log_index: string;
  /** Kinds of secrets removed before storing, such as github or email; absent when there were none. */ redacted?: string[];
}

export interface BatchRequest {
  /** The reads and writes, at most 10,000. At most one step may write a key. */ steps: BatchStep[];
  /** Idempotency key: repeating the request with it writes nothing twice. */ idempotency_key?: string;
}

export interface BatchResult {
  /** The key; after a rename, the new key. */ key: string;
  /** Whether a memory had the key before the batch. */ found: boolean;
  /** The id of the memory that has the key, or had it; absent for none. */ rid?: string;
  /** Whether the step changed anything. */ changed?: boolean;
  /** Number of corrections. */ revision: number;
  /** get, put: SHA-256 of its text, in hex. */ sha256?: string;
  /** get: the memory before the batch. */ memory?: Memory | null;
  /** get: true when the answer had no room for the memory. */ omitted?: boolean;
}

export interface BatchStep {
  /** What to do. */ op: "get" | "put" | "rename" | "delete";
  /** The namespace; blank for default. */ namespace?: string;
  /** The key. */ key: string;
  /** rename: the new key. */ to?: string;
  /** put: the memory, with the fields of remember; its namespace is the step's. rename: new content for the memory, as in a put; omit it to keep the content. */ memory?: Draft;
  /** Expect that no memory has the key. */ if_absent?: boolean;
  /** Expect the key's memory to be at this revision (its number of corrections). */ if_revision?: number;
  /** Expect the text of the key's memory to have this SHA-256, in hex. */ if_sha256?: string;
  /** The reason for the change. */ reason?: string;
}

export interface Begun {
  /** The matching ids: none, one, or two of several. */ rids: string[];
}

export interface CategoriesRequest {
  /** Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node. */ min_index?: string | number;
  /** linearizable: the answer includes everything acknowledged before the request. */ consistency?: "stale" | "linearizable";
}

export interface Category {
  /** The category's name. */ name: string;
  /** Number of its words. */ member_count: number;
}

export interface CategoryList {
  /** The categories, by name. */ categories: Category[];
  /** Number of rows. */ count: number;
}

export interface CategoryMembersRequest {
  /** The category's name. */ name: string;
  /** Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node. */ min_index?: string | number;
  /** linearizable: the answer includes everything acknowledged before the request. */ consistency?: "stale" | "linearizable";
}

export interface CategoryWord {
  /** The word, in lower case. */ token_normalized: string;
  /** 1: the word is built in. */ confidence: number;
  /** seed: the word is built in. */ source: string;
}

export interface CategoryWords {
  /** The category's name. */ category: string;
  /** Number of rows. */ count: number;
  /** Its words, in the order of the alphabet. */ members: CategoryWord[];
}

export interface Certificate {
  /** clients: on the wire port and the gateway; peers: on the port for members. */ shown_to: "clients" | "peers";
  /** Its subject. */ subject: string;
  /** The authority that signed it. */ issuer: string;
  /** The host names and addresses that it is valid for. */ names: string[];
  /** When it begins to be valid, in Unix seconds. */ not_before: number;
  /** When it ends, in Unix seconds. */ not_after: number;
  /** ends_soon: within 14 days. */ state: "valid" | "ends_soon" | "ended" | "not_yet";
  /** Why the node uses this certificate and not the files as they are now. It does not start with these files. */ fault?: string;
}

export interface ChangeMembersRequest {
  /** The change: join, leave, remove, promote or transfer. */ verb: string;
  /** The node to change; leave removes the node that receives the request, and is rejected if this names another. */ node_id?: number;
  /** For join: the node's port for its peers. */ addr?: string;
  /** For join: voter (the default) or read_replica. */ role?: string;
  /** true: do it even if the cluster may lose its majority. */ force?: boolean;
}

export interface ChangeTaskRequest {
  /** The task's id. */ id: string;
  /** The new status, up to 64 bytes. */ status?: string;
  /** The new priority. */ priority?: "low" | "medium" | "high" | "critical";
  /** The new title, up to 4,096 bytes. */ title?: string;
  /** Change it only if it is at this revision. */ expected_revision?: number;
}

export interface ChangedTask {
  /** The task's id. */ id: string;
  /** true. */ updated: boolean;
  /** Number of changes, this one included. */ revision: number;
  /** Position of the write in the log; min_index on another node waits for it. */ log_index: string;
  /** Kinds of secrets removed before storing, such as github or email; absent when there were none. */ redacted?: string[];
}

export interface Check {
  /** The name of the check. */ check: string;
  /** Whether the check passed. */ pass: boolean;
  /** Duration in milliseconds. */ latency_ms: number;
  /** What is wrong with it. */ error?: string;
  /** control_db: the number of databases. */ databases?: number | null;
  /** false: the check does not decide the node's health. */ required?: boolean | null;
  /** The node that answers. */ node_id?: number;
  /** Leader, Follower or Candidate. */ role?: string;
  /** The same in lower case. */ role_label?: string;
  /** Its Raft term. */ term?: number;
  /** The node that leads; null while none is known. */ leader?: number | null;
  /** Whether this node accepts writes itself. */ accepts_writes?: boolean;
  /** Whether a leader is known. */ healthy?: boolean;
  /** Last index in its log. */ last_log_index?: number;
  /** Log index that it has applied. */ last_applied_index?: number;
  /** Acknowledged log entries that it lacks; null while it hears no leader. */ replication_lag_log_entries?: number | null;
  /** Whether it answered the last request. */ up?: boolean;
  /** Number of memories without a vector in the databases that it embeds; the leader embeds them, or a follower that has the model. */ queue?: number;
  /** Number of failures since this node started. */ failures?: number;
  /** Why it failed last; null for never. */ last_error?: string | null;
  /** When it last failed, in Unix seconds. */ last_error_at?: number | null;
}

export interface ChronologyRequest {
  /** Only memories created at this date or after it. */ from?: string | number | Date;
  /** Only memories created before this date. */ to?: string | number | Date;
  /** Only memories of this namespace; blank for all. */ namespace?: string;
  /** Only memories that name this entity or one of its aliases. */ entity?: string;
  /** Only memories of this kind. */ memory_type?: string;
  /** Most rows to return, up to 1,000. Default: 50. */ limit?: number;
  /** The previous page's cursor; blank for the first page. Not with entity. */ cursor?: string;
  /** Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node. */ min_index?: string | number;
  /** linearizable: the answer includes everything acknowledged before the request. */ consistency?: "stale" | "linearizable";
}

export interface ClaimList {
  /** The newest first. */ claims: ClaimRow[];
  /** Why more rows may match than the answer has, and how to get them; absent when it has all. */ incomplete?: string;
}

export interface ClaimRequest {
  /** The entity that something is claimed of. */ src: string;
  /** The relation that is claimed. */ rel_type: string;
  /** The entity or value on its other side. */ dst: string;
  /** Namespace of the claim; blank for default. */ namespace?: string;
  /** 1 affirms the claim, -1 denies it, 0 leaves it open. Default: 1. Takes a whole number from -1 to 1. */ polarity?: number;
  /** How the claim was made: asserted, reported, or a word the client chooses. Default: asserted. */ modality?: string;
  /** Since when it holds. */ valid_from?: string | number | Date;
  /** Until when it held. */ valid_to?: string | number | Date;
  /** The extractor that found the claim. Default: manual. */ extractor?: string;
  /** Its version. */ extractor_version?: string;
  /** Confidence band: low, medium, high, or a word the client chooses. Default: medium. */ confidence_band?: string;
  /** The memory that states it. */ source_memory_rid?: string;
  /** Where in that memory's text it begins, in bytes. */ span_start?: number;
  /** Where it ends, in bytes. */ span_end?: number;
  /** Weight, at least 0. Default: 1. */ weight?: number;
}

export interface ClaimRow {
  /** The claim's id. */ claim_id: string;
  /** The entity that it is about. */ src: string;
  /** The entity or value on its other side. */ dst: string;
  /** The relation. */ rel_type: string;
  /** Weight. */ weight: number;
  /** When it was stated, in Unix seconds. */ created_at: number;
  /** 1 affirms the claim, -1 denies it, 0 leaves it open. */ polarity: number;
  /** How the claim was made: asserted, reported, or a word the client chooses. */ modality: string;
  /** Since when it holds, in Unix seconds. */ valid_from: number | null;
  /** Until when it held, in Unix seconds. */ valid_to: number | null;
  /** The extractor that found the claim. */ extractor: string;
  /** Confidence band of the claim. */ confidence_band: string;
  /** The memory that states it. */ source_memory_rid: string | null;
  /** Its namespace. */ namespace: string;
  /** The class of trust of its writer, or of the memory that states it, where that is less than an agent's. */ trust?: "tool" | "web";
  /** Suggested status of the claim at this time. */ status_suggestion: "active" | "negative" | "historical" | "superseded" | "conflicted";
}

export interface Claimed {
  /** The claim's id. */ claim_id: string;
  /** Its namespace. */ namespace: string;
  /** Position of the write in the log; min_index on another node waits for it. */ log_index: string;
}

export interface ClaimsRequest {
  /** The entity whose claims to return, in any case. */ entity: string;
  /** Only claims of this namespace; blank means all. */ namespace?: string;
  /** Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node. */ min_index?: string | number;
  /** linearizable: the answer includes everything acknowledged before the request. */ consistency?: "stale" | "linearizable";
}

export interface ClearTurnsRequest {
  /** The namespace; blank for default. */ namespace?: string;
}

export interface ClearedTurns {
  /** true. */ cleared: boolean;
  /** Number of turns that were forgotten. */ turns: number;
  /** Position of the write in the log; min_index on another node waits for it. */ log_index: string;
}

export interface ClusterStatus {
  /** false: this node is the only member. */ clustered: boolean;
  /** A message for people: this node has no peers. */ message?: string;
  /** The node that answers. */ node_id: number;
  /** Leader, Follower or Candidate. A node leads once it has applied everything committed before its term. */ role: string;
  /** The same in lower case. */ role_label: string;
  /** voter or readreplica. */ configured_role: string;
  /** Whether this node votes; a read replica that was promoted does, whatever its configured_role. */ voter: boolean;
  /** The term of the last election that the node knows of. */ current_term: number;
  /** The node that leads; null while none is known. */ leader_id: number | null;
  /** Its wire port; blank while it is not known. */ leader_addr: string;
  /** Its gateway; blank while it is not known. */ leader_http: string;
  /** Whether this node is the leader and accepts writes itself. */ accepts_writes: boolean;
  /** true: this node is not a member of the cluster, which has removed it. It receives no new writes. */ removed?: boolean;
  /** Whether the cluster accepts writes: a leader is known and a majority of the voters answers. */ healthy: boolean;
  /** healthy, degraded or not healthy, and why: "degraded: node 3 unreachable". */ condition: string;
  /** Number of voters that a decision needs. */ quorum_size: number;
  /** Always null: votes are not shown. */ voted_for: number | null;
  /** The cluster's id. */ cluster_id: string;
  /** The node's port for its peers. */ addr: string;
  /** Its wire port. */ wire: string;
  /** Its gateway. */ http: string;
  /** Log index that a majority is known to have. */ commit_index: number;
  /** Acknowledged log entries not applied here; null while this node hears no leader. */ lag_entries: number | null;
  /** Result of comparing it with the peers' hashes. */ state_agreement: "agree" | "diverged" | "unknown";
  /** The other members, by number. */ peers: Peer[];
  /** Log index that it has applied. */ applied_index: number;
  /** The index at which state_hash was taken. */ state_hash_index: number;
  /** Hash of its state: equal on all replicas at the same index. */ state_hash: string;
  /** Offset of its clock from the median of the members' clocks, in milliseconds. */ clock_offset_ms: number;
  /** Whether the offset is over the limit; a leader over the limit hands leadership over. */ clock_off: boolean;
  /** The version that it runs. */ version: string;
  /** Ed25519 key of its home, in hex. It signs the node's statements about erased memories. */ node_key: string;
  /** Seconds since the node started. */ uptime_secs: number;
  /** true: the disk of its home is full, so that it rejects writes. */ disk_full?: boolean;
  /** The first files in which it found damage since it started. */ damaged?: Damage[];
  /** Messages from other members that it rejected or disputed in the last minutes. */ disputes?: Dispute[];
  /** The embedders that it can use: the full name of the configured one, the directory names of the models in its home, and builtin. */ models: string[];
  /** States, logs and snapshots that the node moved aside, because they were damaged or differed from what a majority of the voters holds. */ set_aside?: string[];
  /** Records that the cluster lacks, in logs that the node moved aside: "cairn recover --import-lost" imports them. */ lost_records?: LostRecords[];
  /** true: its files may hold purged text; the node is rewriting them. */ hold_purge?: boolean;
  /** Parts of its home that are not yet rewritten under its active data key. */ old_keys?: string[];
  /** The files of this node's state. */ store: Store;
  /** This node's embedder; absent where it has none. */ embedder?: Embedder | null;
}

export interface CompareRequest {
  /** What to look for: a question or a few words. Blank, * or everything lists the newest. */ query: string;
  /** Most memories to return, up to 1,000. Default: 10. */ top_k?: number;
  /** Only memories of this kind. */ memory_type?: string;
  /** Only this namespace; blank for all. */ namespace?: string;
  /** Only memories of this domain. */ domain?: string;
  /** Only memories of this source. */ source?: string;
  /** Only memories of this session. */ session_id?: string;
  /** Also memories that were merged into others. */ include_consolidated?: boolean;
  /** Also memories whose subject now has another value of the same relation. Others that a newer memory replaces are always returned, ranked after it. */ include_superseded?: boolean;
  /** Follow relations of what the question names. Default: true. */ expand_entities?: boolean;
  /** The question's vector, of the database's dimension; the database's embedder makes it when it is omitted. */ query_embedding?: number[];
  /** Only memories created between two dates. */ time_window?: [from: string | number | Date | null, to: string | number | Date | null];
  /** Do not strengthen the memories that are found. */ skip_reinforce?: boolean;
  /** Signals to switch off: passage, around, refers, session, density, speaker, asker, date, when, short, questions, vector, graph, freshness, importance, trust, rerank. */ without?: string[];
  /** Leave out memories that nearly repeat a better one. */ diverse?: boolean;
  /** Only memories that pass it: attributes with their values, or with operators (eq ne in nin gt gte lt lte exists contains icontains prefix); and, or, not. */ filter?: { [name: string]: unknown };
  /** Leave out memories less likely than this to answer the question. 0 returns every match. Default: 0.002. */ min_score?: number;
  /** Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node. */ min_index?: string | number;
  /** linearizable: the answer includes everything acknowledged before the request. */ consistency?: "stale" | "linearizable";
}

export interface Compared {
  /** The node's number. */ node_id: number;
  /** Log index that its answer reflects. */ index?: number;
  /** Number of memories that the node found. */ total: number;
  /** Hash of their ids and scores, in order. */ digest?: string;
  /** Why the node did not answer. */ error?: string;
}

export interface Comparison {
  /** The answer of each node. */ nodes: Compared[];
  /** Whether all nodes answered, and answered the same. */ equal: boolean;
}

export interface Conflict {
  /** The conflict's id. */ conflict_id: string;
  /** Kind of contradiction: identity_fact, preference, temporal, consolidation or minor. */ conflict_type: string;
  /** Urgency. */ priority: "critical" | "high" | "medium" | "low";
  /** Its status. */ status: "open" | "resolved" | "dismissed";
  /** One side: a memory's id, or edge: or claim: followed by an id. */ memory_a: string;
  /** The other side. */ memory_b: string;
  /** The entity that the sides are about. */ entity: string | null;
  /** The relation in which they differ. */ rel_type: string | null;
  /** Its namespace. */ namespace: string;
  /** Why the sides seem to contradict each other. */ detection_reason: string;
  /** The same as detection_reason. */ summary: string;
  /** When it was found, in Unix seconds. */ detected_at: number;
  /** When it was resolved, in Unix seconds. */ resolved_at: number | null;
  /** How the contradiction was resolved. */ strategy: string | null;
  /** The side that was kept, or the memory merged from both. */ winner_rid: string | null;
  /** The reason that was given. */ resolution_note: string | null;
  /** The text of memory_a. */ side_a?: Side | null;
  /** The text of memory_b. */ side_b?: Side | null;
}

export interface ConflictList {
  /** The most urgent first, then the newest. */ conflicts: Conflict[];
  /** Why more rows may match than the answer has, and how to get them; absent when it has all. */ incomplete?: string;
}

export interface ConflictsRequest {
  /** Status to return: open, resolved, dismissed, or all. Default: all. */ status?: string;
  /** Only those of this type; blank means all. */ conflict_type?: string;
  /** Only those about this entity, in any case; blank means all. */ entity?: string;
  /** Only those with this memory's id as a side or as the outcome; blank means all. */ memory?: string;
  /** Only those of this namespace; blank means all. */ namespace?: string;
  /** Only those of this priority: critical, high, medium or low; blank means all. */ priority?: string;
  /** Most rows to return, up to 1,000; 0 means 50. Default: 50. */ limit?: number;
  /** Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node. */ min_index?: string | number;
  /** linearizable: the answer includes everything acknowledged before the request. */ consistency?: "stale" | "linearizable";
}

export interface Control {
  /** By number. */ databases: KeptDatabase[];
  /** Valid ones, oldest first. */ tokens: KeptToken[];
}

export interface CorrectRequest {
  /** The memory's id. */ rid: string;
  /** The reason for the change, shown with its revisions. */ reason: string;
  /** The new text. */ new_text?: string;
  /** New importance, from 0 to 1. */ new_importance?: number;
  /** New emotional valence, from -1 (bad) to 1 (good). */ new_valence?: number;
  /** true pins the memory, false unpins it. */ new_pin?: boolean;
  /** When it expires from now on. */ new_expires_at?: string | number | Date;
  /** Seconds until it expires, instead of new_expires_at; 0: it no longer expires. */ new_ttl?: number;
  /** false removes it from the search index, true adds it. */ new_searchable?: boolean;
  /** Attributes that replace all it has; {} removes them. */ new_attributes?: { [name: string]: unknown };
  /** Metadata keys to replace; null removes a key. */ metadata_merge?: { [name: string]: unknown };
  /** The vector of the new text, or of the text as it is; the database's embedder makes it when it is omitted. */ embedding?: number[];
  /** The revision (number of corrections) that the memory must be at; otherwise the request fails with the code revision_conflict. */ expected_revision?: number;
  /** Idempotency key: repeating the request with it corrects nothing twice. */ idempotency_key?: string;
}

export interface Corrected {
  /** The memory's id. */ rid: string;
  /** The same as rid. */ corrected_rid: string;
  /** The same as rid. */ original_rid: string;
  /** Number of corrections. */ revision: number;
  /** Position of the write in the log; min_index on another node waits for it. */ log_index: string;
  /** Kinds of secrets removed before storing, such as github or email; absent when there were none. */ redacted?: string[];
  /** Memories that the new text supersedes. */ superseded?: string[];
  /** The newer memory that replaces this one still: correct that one if the new text is what holds now. Absent when this one is current. */ superseded_by?: string;
  /** Stated relations of names that are in the old text and not in the new one: use unrelate to remove those that no longer hold. */ relations_to_check?: Edge[];
}

export interface CountRequest {
  /** Only memories of this kind. */ memory_type?: string;
  /** Only memories of this namespace; blank for all. */ namespace?: string;
  /** Only memories of this domain. */ domain?: string;
  /** Only memories of this source. */ source?: string;
  /** Only memories of this session. */ session_id?: string;
  /** Only memories that pass it, as in a recall. */ filter?: { [name: string]: unknown };
  /** Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node. */ min_index?: string | number;
  /** linearizable: the answer includes everything acknowledged before the request. */ consistency?: "stale" | "linearizable";
}

export interface Counted {
  /** Number of memories. */ count: number;
  /** Log index that the answer reflects. */ index: number;
}

export interface Counters {
  /** Memories that are recalled. */ active_memories: number;
  /** Memories that were merged into others. */ consolidated_memories: number;
  /** Memories that were forgotten and are not purged. */ tombstoned_memories: number;
  /** Relations. */ edges: number;
  /** Names in memories or relations. */ entities: number;
  /** Operations that were ever applied to the database. */ operations: number;
  /** Contradictions that are not resolved. */ open_conflicts: number;
  /** Triggers. */ pending_triggers: number;
  /** Always 0: no memory is archived, all of them are searched. */ archived_memories?: number;
  /** Contradictions that were resolved or dismissed, up to 10,000. */ resolved_conflicts?: number;
  /** Number of patterns, up to 10,000. */ active_patterns?: number;
  /** Memories in this node's index. */ scoring_cache_entries?: number;
  /** Vectors in this node's index. */ vec_index_entries?: number;
  /** Claims. */ claims?: number;
  /** Log index that this node's state has applied. */ applied_index?: number;
  /** Log index up to which this node's search index is complete. */ indexed_index?: number;
}

export interface CreateDatabaseRequest {
  /** Its name: 1 to 64 characters of A-Z a-z 0-9 . _ -, not beginning with a dot. */ name: string;
}

export interface CreateTokenRequest {
  /** The database that the token is for. Default: the request's own. */ database?: string;
  /** The database by number; 0 to use the name. */ database_id?: number;
  /** A label, to tell the token from others. */ label?: string;
  /** Its scopes: read, write, owner or admin, only those that the caller has. Default: read and write. */ scopes?: string[];
  /** When it ends. Default: never. */ expires_at?: string | number | Date;
  /** Prefixes of namespaces, 16 at most, that the token is bound to: agents/billing binds it to that namespace and all below it. Requests without a namespace cover all of these, and new memories go to the first. Not with the scope admin. Default: not bound. */ namespaces?: string[];
  /** The highest class of trust of what it writes: operator, agent, tool or web, at most the caller's own. Default: operator with the scope owner or admin, else agent. */ trust?: "operator" | "agent" | "tool" | "web";
  /** What it writes of this class, and of those below, waits in quarantine until an owner releases it. Default: as for the caller's own token. */ quarantine?: "operator" | "agent" | "tool" | "web";
}

export interface CreatedDatabase {
  /** Its name. */ name: string;
  /** The database's number, the same on every node. */ id: number;
  /** A message for people: the database was created. */ message: string;
}

export interface CreatedToken {
  /** The token's text. It is shown once: only its hash is stored. */ token: string;
  /** The database that the token is for. */ database: string;
  /** The same database by its number. */ database_id: number;
  /** Its purpose. */ label: string;
  /** The namespaces that it is bound to; absent when it is not bound. */ namespaces?: string[];
  /** The highest class of trust of what it writes. */ trust: string;
  /** What it writes of this class, and of those below, waits in quarantine; absent: nothing does. */ quarantine?: string;
  /** The beginning of its hash, which identifies it. */ hash_prefix: string;
  /** true: the token is valid on every node. */ replicated: boolean;
}

export interface CurrentMemory {
  /** true: a namespace without a memory is an error. */ found: boolean;
  /** The namespace. */ namespace: string;
  /** Its newest memory. */ record: Memory;
}

export interface CurrentRequest {
  /** The namespace; blank for default. */ namespace?: string;
  /** Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node. */ min_index?: string | number;
  /** linearizable: the answer includes everything acknowledged before the request. */ consistency?: "stale" | "linearizable";
}

export interface Damage {
  /** The damaged part: the state, records that the log keeps for its readers, a snapshot or a search index. */ kind: "state" | "log" | "snapshot" | "index";
  /** The database, when a search index is damaged. */ database?: string;
  /** Its path in the node's home. */ file: string;
  /** How often damage was found in it since the node started. */ times: number;
  /** true once repaired. */ healed: boolean;
  /** How it is repaired, and what an operator should do. */ heals: string;
}

export interface DataKey {
  /** Its id. */ id: string;
  /** Id of the master key that wraps it. */ master: string;
  /** Whether new writes are encrypted with it. */ active: boolean;
  /** When it was made, in Unix seconds. */ created_at: number;
}

export interface Database {
  /** The database's number, the same on every node. */ id: number;
  /** Its name. */ name: string;
  /** When it was made, as YYYY-MM-DD hh:mm:ss in UTC. */ created_at: string;
}

export interface DatabaseList {
  /** Databases by number. A token without scope admin sees only its own. */ databases: Database[];
}

export interface Decision {
  /** The memory's id. */ rid: string;
  /** The beginning of its text. */ snippet: string;
  /** What kind of memory it is. */ memory_type: string;
  /** Importance, from 0 to 1. */ importance: number;
  /** When it happened, in Unix seconds. */ created_at: number;
}

export interface DeepHealthAnswer {
  /** ok, or degraded when a deciding check failed. */ status: "healthy" | "degraded";
  /** The checks. */ checks: Check[];
}

export interface DefineSkillRequest {
  /** The skill's id: 4 to 200 lower-case letters, digits and underscores, in two or more parts with dots between them. */ skill_id: string;
  /** How it is done, in 50 to 5,000 characters. */ body: string;
  /** What it is: procedure, reference, lesson, pattern or rule. */ skill_type: string;
  /** What it applies to: 1 to 10 words of lower-case letters, digits and underscores. */ applies_to: string[];
  /** Phrases that call for it, up to 50. */ triggers?: string[];
  /** Its version, as you count them. */ version?: string;
  /** The skill that it replaces. */ supersedes_skill_id?: string;
  /** More about it. */ metadata?: { [name: string]: unknown };
  /** When the id is taken: reject the request, replace the skill (update means the same), or ignore this one. Default: reject. */ on_conflict?: "reject" | "replace" | "update" | "ignore";
}

export interface DefinedSkill {
  /** The id of its memory. */ rid: string;
  /** The skill's id. */ skill_id: string;
  /** Whether this request changed anything. */ stored: boolean;
  /** Position of the write in the log; min_index on another node waits for it. */ log_index: string;
  /** Kinds of secrets removed before storing, such as github or email; absent when there were none. */ redacted?: string[];
}

export interface DeleteAnswer {
  /** The id of the memory that had the key; blank for none. */ rid: string;
  /** The key, now free. */ key: string;
  /** false: no memory had the key. */ found: boolean;
  /** Position of the write in the log; min_index on another node waits for it. */ log_index: string;
}

export interface DeleteRequest {
  /** The namespace; blank for default. */ namespace?: string;
  /** The key. */ key: string;
  /** Expect that no memory has the key. */ if_absent?: boolean;
  /** Expect the key's memory to be at this revision (its number of corrections). */ if_revision?: number;
  /** Expect the text of the key's memory to have this SHA-256, in hex. */ if_sha256?: string;
  /** The reason, stored with the memory. */ reason?: string;
  /** Idempotency key: repeating the request with it deletes nothing twice. */ idempotency_key?: string;
}

export interface DeliverTriggersRequest {
  /** Only those about memories of this namespace alone; blank means all, including those about the whole database. */ namespace?: string;
  /** Most rows to return, up to 1,000; 0 means 50. Default: 10. */ limit?: number;
}

export interface DigestAnswer {
  /** Summary of the newest session that has one. */ narrative_head: string | null;
  /** The most important of the newest 500 memories. */ top_decisions: Decision[];
  /** Open contradictions, the most urgent first. */ open_conflicts: Conflict[];
  /** Number of open contradictions of the namespace, up to 20,000. */ open_conflict_count: number;
  /** Triggers about the namespace's memories, the newest first. */ pending_triggers: Trigger[];
  /** Number of pending triggers about the namespace's memories, up to 20,000. */ pending_trigger_count: number;
  /** When maintenance last ran on the database, in Unix seconds; null for never. */ last_maintenance: number | null;
  /** Questions with poor answers; only with include_gaps. */ knowledge_gaps?: Gap[];
}

export interface DigestRequest {
  /** The namespace to summarise; blank for default. */ namespace?: string;
  /** Most memories to return. Default: 8. */ max_decisions?: number;
  /** Most contradictions to return, 1 to 1,000; 0 means 1. Default: 5. */ max_conflicts?: number;
  /** Most triggers to return, up to 1,000; 0 means 1. Default: 5. */ max_triggers?: number;
  /** Most characters of a text to return. Default: 240. */ snippet_chars?: number;
  /** Also return questions with poor answers. */ include_gaps?: boolean;
  /** Most of these to return. Default: 5. */ max_gaps?: number;
  /** Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node. */ min_index?: string | number;
  /** linearizable: the answer includes everything acknowledged before the request. */ consistency?: "stale" | "linearizable";
}

export interface Dispute {
  /** The member that sent it. */ peer: number;
  /** Log index on which the two members disagree; absent when the message has no index. */ log_index?: number;
  /** What was rejected, and why. */ says: string;
  /** Number of times. */ times: number;
  /** What the other voters hold; absent while too few have answered. */ verdict?: string;
}

export interface Doomed {
  /** Its id. */ rid: string;
  /** Its namespace. */ namespace: string;
  /** The beginning of its text; absent once it is erased. */ text?: string;
  /** Whether it was merged from others. */ merged: boolean;
  /** The earlier revision that alone is erased. */ revision?: number | null;
}

export interface Draft {
  /** What to remember: a sentence that stands by itself. */ text: string;
  /** What kind of memory it is: semantic, episodic, procedural or a name of your own. Default: semantic. */ memory_type?: string;
  /** Importance, from 0 to 1. Default: 0.5. */ importance?: number;
  /** Emotional valence, from -1 (bad) to 1 (good). */ valence?: number;
  /** Half-life in hours: after it the memory's importance has decayed by half. Default: 168. Takes a number above 0, up to 1000000. */ half_life?: number;
  /** Your own JSON object, stored with the memory. Default: {}. */ metadata?: unknown;
  /** Attributes to filter by: a flat object of strings, numbers, true, false, dates (RFC 3339) and lists of strings. */ attributes?: { [name: string]: unknown };
  /** Its namespace; blank for default. */ namespace?: string;
  /** Certainty, from 0 to 1. Default: 1. */ certainty?: number;
  /** Its domain, such as work or health. */ domain?: string;
  /** Its source. Default: user. */ source?: string;
  /** The emotion of the memory. */ emotional_state?: string;
  /** Its vector, of the database's dimension; the database's embedder makes it when it is omitted. */ embedding?: number[];
  /** The session that it joins. Default: the namespace's active session. */ session_id?: string;
  /** When it happened; default: now. */ created_at?: string | number | Date;
  /** When it is due. */ due_at?: string | number | Date;
  /** The meaning of its date: a word of your own. */ temporal_kind?: string;
  /** working, episodic or longterm, which fade by different rules; or a word of your own. */ tier?: string;
  /** true: think does not merge, move or forget it, and it does not expire. */ pin?: boolean;
  /** When it expires: from then on no answer returns it. */ expires_at?: string | number | Date;
  /** Seconds until it expires, instead of expires_at; 0 for never. Default: the database's default_ttl_secs. */ ttl?: number;
  /** Expires this many seconds after its last read; 0: reads do not change when it expires. */ refresh_on_read?: number;
  /** false: store it without indexing it. It can be read by id and in lists, but recall does not find it. */ searchable?: boolean;
  /** Idempotency key: repeating the request with it stores nothing twice. */ idempotency_key?: string;
  /** The agent that writes it, in words of your own. */ agent?: string;
  /** A lower class of trust than the token's: tool for the output of a program, web for a stranger's text. Default: the token's. */ trust?: "operator" | "agent" | "tool" | "web";
}

export interface DraftSummaryRequest {
  /** A text of what happened: each line, and each sentence of a line, becomes a memory. */ summary: string;
  /** Namespace of the memories; blank for default. */ namespace?: string;
  /** The domain that the memories get. */ domain?: string;
}

export interface Drafted {
  /** The ids of the memories. */ drafted: string[];
  /** Number of memories stored. */ count: number;
  /** Kinds of secrets removed before storing, such as github or email; absent when there were none. */ redacted?: string[];
}

export interface DropBackupRequest {
  /** The backup's id. */ id: string;
}

export interface DropDatabaseRequest {
  /** The database's name. */ name: string;
}

export interface DropTaskRequest {
  /** The task's id. */ id: string;
}

export interface DroppedBackup {
  /** The id of the backup that was removed. */ deleted: string;
}

export interface DroppedDatabase {
  /** The name of the database that was removed. */ dropped: string;
}

export interface DroppedTask {
  /** The task's id. */ id: string;
  /** true. */ deleted: boolean;
  /** Position of the write in the log; min_index on another node waits for it. */ log_index: string;
}

export interface Edge {
  /** The relation's id. */ edge_id: string;
  /** The entity that it starts from. */ src: string;
  /** The entity that it leads to. */ dst: string;
  /** How the two are related. */ rel_type: string;
  /** Weight of the relation. */ weight: number;
}

export interface EdgeList {
  /** In both directions. */ edges: Edge[];
  /** Why more rows may match than the answer has, and how to get them; absent when it has all. */ incomplete?: string;
}

export interface EdgeRequest {
  /** The relation's id. */ id: string;
  /** Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node. */ min_index?: string | number;
  /** linearizable: the answer includes everything acknowledged before the request. */ consistency?: "stale" | "linearizable";
}

export interface EdgesRequest {
  /** The entity whose relations to return, in any case. */ entity: string;
  /** Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node. */ min_index?: string | number;
  /** linearizable: the answer includes everything acknowledged before the request. */ consistency?: "stale" | "linearizable";
}

export interface Embedder {
  /** Its kind, its model and its dimension. */ name: string;
  /** Whether it answered the last request. */ up: boolean;
  /** Number of memories without a vector in the databases that it embeds; the leader embeds them, or a follower that has the model. */ queue: number;
  /** Number of failures since this node started. */ failures: number;
  /** Why it failed last; null for never. */ last_error: string | null;
  /** When it last failed, in Unix seconds. */ last_error_at: number | null;
}

export interface EmbeddingAnswer {
  /** The database's name. */ database: string;
  /** The embedder of its memories; null: clients send the vectors. */ embedder: string | null;
  /** The embedder that it is changing to, whose vectors serve once all are made; null: no change is under way. */ changes_to: string | null;
  /** true: the database is changing its embedder; done, of, missing and up are about the new one. */ reembedding: boolean;
  /** Number of memories with a vector. */ done: number;
  /** Number of memories that are not forgotten. */ of: number;
  /** Number of memories that still need a vector. */ missing: number;
  /** The embedders that this node can use. */ has: string[];
  /** Whether it answered the last request. */ up?: boolean;
  /** Number of memories without a vector in the databases that it embeds; the leader embeds them, or a follower that has the model. */ queue?: number;
  /** Number of failures since this node started. */ failures?: number;
  /** Why it failed last; null for never. */ last_error?: string | null;
  /** When it last failed, in Unix seconds. */ last_error_at?: number | null;
}

export interface EmbeddingRequest {
  /** The database's name. */ name: string;
  /** Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node. */ min_index?: string | number;
  /** linearizable: the answer includes everything acknowledged before the request. */ consistency?: "stale" | "linearizable";
}

export interface EndSessionRequest {
  /** The session's id. */ id: string;
  /** A summary of the session, for later readers. */ summary?: string;
}

export interface EndedSession {
  /** The session's id. */ session_id: string;
  /** Duration in seconds. */ duration_secs: number;
  /** Number of memories in the session. */ memory_count: number;
  /** The entities that its memories name most. */ topics: string[];
}

export interface EntitiesRequest {
  /** Only names in the newest 10,000 memories of this namespace; blank for all. */ namespace?: string;
  /** Only names that contain this text, in any case. A page searches 10,000 names for parts; next continues. A full name is searched in all. */ search?: string;
  /** The order: by name, or by mentions, the most mentioned of the first 10,000 names first. Default: name. */ sort?: "name" | "mentions";
  /** Most names to return, up to 1,000. Default: 100. */ limit?: number;
  /** The previous page's next; blank for the first page. Only for the order of names. */ after?: string;
  /** Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node. */ min_index?: string | number;
  /** linearizable: the answer includes everything acknowledged before the request. */ consistency?: "stale" | "linearizable";
}

export interface Entity {
  /** The name. */ name: string;
  /** Its kind: person, place, organisation and so on. */ type: string;
  /** Number of mentions. */ mentions: number;
  /** When it was mentioned last, in Unix seconds. */ last_seen: number;
}

export interface EntityList {
  /** Rows in the requested order. */ entities: Entity[];
  /** Pass it as after to get the next page; null at the end, and in another order than that of names. A page may have few rows or none, and a next. */ next: string | null;
  /** Why more rows may match than the answer has, and how to get them; absent when it has all. */ incomplete?: string;
}

export interface EntityProfile {
  /** Its name. */ entity: string;
  /** What kind of thing it is. */ entity_type: string;
  /** Number of memories that name it. */ mentions: number;
  /** Number of memories that name it, within the requested days. */ memories: number;
  /** Number of sessions that these belong to. */ sessions: number;
  /** Their domains, the commonest first. */ domains: string[];
  /** Average emotional valence, from -1 (bad) to 1 (good). */ average_valence: number;
  /** The average valence of the newer half minus the average of the older half; 0 for fewer than four memories. */ valence_trend: number;
  /** The most common emotion; null for none. */ dominant_emotion: string | null;
  /** Average number of these memories per day. */ per_day: number;
  /** Number of relations that it is part of. */ links: number;
  /** Their kinds, the commonest first. */ relations: string[];
  /** How close the relationship is, from 0 to 1. */ depth: number;
  /** When the oldest of the memories was created, in Unix seconds. */ first_seen: number | null;
  /** When the newest was, in Unix seconds. */ last_seen: number | null;
}

export interface EraseRequest {
  /** Their ids, at most 1,000; forgotten ones too. */ rids?: string[];
  /** With one id: only what these earlier revisions of it said. The memory stays. */ revisions?: number[];
  /** Memories whose key is this one or below it, such as /people/ada. */ prefix?: string;
  /** Memories that pass this filter, as in a recall; forgotten ones too. */ filter?: { [name: string]: unknown };
  /** Memories that name this entity. Its relations, claims and aliases are erased too. */ entity?: string;
  /** Only memories of this namespace; blank for all. With prefix: the namespace of the keys, blank for default. */ namespace?: string;
  /** The confirm value of the answer that listed what would be erased. If that list has changed since, the answer is 409 conflict. */ confirm?: string;
}

export interface ErasedRequest {
  /** The memory's id. */ rid: string;
  /** Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node. */ min_index?: string | number;
  /** linearizable: the answer includes everything acknowledged before the request. */ consistency?: "stale" | "linearizable";
}

export interface Erasing {
  /** The memories to erase, or the erased ones: those that the request names, those that they were merged or split from, and those that were merged or split from any of them. */ memories: Doomed[];
  /** Memories that recall finds again, because the memory they were merged into is erased. */ restored: string[];
  /** Relations of the entity that are erased. */ relations: number;
  /** Claims of the entity that are erased. */ claims: number;
  /** true: there are more; repeat the request after these are erased. */ more: boolean;
  /** Send it with the same request to erase. Blank when there is nothing to erase, or when it is done. */ confirm: string;
  /** Whether it is done. */ erased: boolean;
  /** Position of the write in the log. */ log_index: string;
  /** Where the erased bytes may still be, and what removes them. */ still_held_by: string[];
}

export interface EventsRequest {
  /** Begin after this log position: log_index of a write, index of a read, or 1 for all that the log still holds. 0: new events only. The header Last-Event-ID takes precedence. */ from?: string | number;
  /** Only events of these types: stored, corrected, forgotten, related, unrelated, claimed, session_started, session_ended, thought, consolidated, conflict, resolved, trigger, trigger_moved, purged, leader; * and none mean all. Every memory that changes is named, but for purged, which names none. A put on a key that has a memory is reported as corrected; a merge as consolidated, with the id of the new memory, and as corrected for each that went into it; one whose mark superseded_by ends as corrected. */ type?: string[];
  /** Only events about memories that pass this filter now, as in a recall. */ filter?: { [name: string]: unknown };
  /** Only events about memories whose key is this one or below it now, such as /prefs; a forgotten memory has its last key. */ prefix?: string;
}

export interface ExportRequest {
  /** Only memories that pass it, as in a recall. */ filter?: { [name: string]: unknown };
  /** Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node. */ min_index?: string | number;
  /** linearizable: the answer includes everything acknowledged before the request. */ consistency?: "stale" | "linearizable";
}

export interface Factors {
  /** Freshness factor, from 0 to 1. */ fresh: number;
  /** Factor of its importance. */ importance: number;
  /** Factor of its trust: 1 for an operator and an agent, 0.9 for a tool, 0.81 for the web. */ trust: number;
  /** Recency factor, from 0 to 1. */ recency: number;
  /** Decay factor, from 0 (faded) to 1. */ decay: number;
}

export interface FeedbackRequest {
  /** The question, up to 64 KiB. */ query: string;
  /** The memory that was found. */ rid: string;
  /** Whether the memory was relevant. Default: true. */ relevant?: boolean;
  /** The score that it was found with. */ score?: number;
  /** Its place in the answer, from 0. */ rank?: number;
}

export interface FetchBackupRequest {
  /** The backup's id. */ id: string;
}

export interface Filtered {
  /** The filter's name in the request; for a part of filter, its text. */ filter: string;
  /** Number of memories left. */ left: number;
}

export interface ForgetMatchingRequest {
  /** The filter, as in a recall. An empty filter, which every memory passes, is rejected. */ filter: { [name: string]: unknown };
  /** Only memories of this namespace; blank for all. */ namespace?: string;
  /** Most memories to forget. Default: 1000. Takes a whole number from 1 to 1000. */ limit?: number;
  /** The reason, for later readers. */ reason?: string;
}

export interface ForgetRequest {
  /** The memory's id. */ rid: string;
  /** The reason, for later readers. */ reason?: string;
}

export interface Forgotten {
  /** The memory's id. */ rid: string;
  /** Whether such a memory existed. */ found: boolean;
  /** Position of the write in the log; min_index on another node waits for it. */ log_index: string;
}

export interface ForgottenMatching {
  /** Number of memories that were forgotten. */ forgotten: number;
  /** Their ids, the newest first. */ rids: string[];
  /** Whether others may pass the filter. */ more: boolean;
  /** Position of the write in the log; min_index on another node waits for it. */ log_index: string;
}

export interface Gap {
  /** The question, as it was asked last. */ query: string;
  /** Number of times it was asked. */ count: number;
  /** The score of the best memory, on average. */ avg_top_score: number;
  /** Average number of memories found. */ avg_results: number;
  /** When it was last asked, in Unix seconds. */ last_seen: number;
  /** The same time in RFC 3339. */ last_seen_iso: string;
}

export interface GapList {
  /** Number of rows in this answer. */ count: number;
  /** The most often asked first. */ gaps: Gap[];
}

export interface GapsRequest {
  /** Only questions about this namespace; blank for all. A question that names no namespace counts for default. */ namespace?: string;
  /** Only questions asked at least this many times. Default: 2. */ min_count?: number;
  /** Only questions whose best memory scored at most this on average; below 0 returns no rows. Default: 0.5. Takes a number of at least -1. */ max_avg_top_score?: number;
  /** Most rows to return, up to 1,000. Default: 10. */ limit?: number;
  /** Report only the node that receives the request, not the others. */ node?: boolean;
}

export interface GetKeyRequest {
  /** The namespace; blank for default. */ namespace?: string;
  /** The key. */ key: string;
  /** Return the memory that had the key at this date, as it was then. */ as_of?: string | number | Date;
  /** Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node. */ min_index?: string | number;
  /** linearizable: the answer includes everything acknowledged before the request. */ consistency?: "stale" | "linearizable";
}

export interface GetRequest {
  /** The memory's id. */ rid: string;
  /** Also return the memories that it was made of, each with its writer and class of trust. */ sources?: boolean;
  /** Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node. */ min_index?: string | number;
  /** linearizable: the answer includes everything acknowledged before the request. */ consistency?: "stale" | "linearizable";
}

export interface GetTaskRequest {
  /** The task's id. */ id: string;
  /** Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node. */ min_index?: string | number;
  /** linearizable: the answer includes everything acknowledged before the request. */ consistency?: "stale" | "linearizable";
}

export interface GraphRequest {
  /** The entity whose relations to return, in any case. */ entity: string;
  /** Only query is offered. Default: query. */ action?: string;
  /** Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node. */ min_index?: string | number;
  /** linearizable: the answer includes everything acknowledged before the request. */ consistency?: "stale" | "linearizable";
}

export interface Health {
  /** The node that answers. */ node_id: number;
  /** Leader, Follower or Candidate. */ role: string;
  /** The same in lower case. */ role_label: string;
  /** Its Raft term. */ term: number;
  /** The node that leads; null while none is known. */ leader: number | null;
  /** Whether this node accepts writes itself. */ accepts_writes: boolean;
  /** Whether a leader is known. */ healthy: boolean;
  /** Last index in its log. */ last_log_index: number;
  /** Log index that it has applied. */ last_applied_index: number;
  /** Acknowledged log entries that it lacks; null while it hears no leader. */ replication_lag_log_entries: number | null;
}

export interface Heeded {
  /** Number of judgements recorded: 1. */ accepted: number;
  /** Position of the write in the log; min_index on another node waits for it. */ log_index: string;
}

export interface Hint {
  /** Kind of hint. */ hint_type: string;
  /** The advice. */ suggestion: string;
  /** Known names to choose from. */ related_entities: string[];
}

export interface IDsAnswer {
  /** The number of each of rids; 0 when no memory has the id. */ numbers: number[];
  /** The matches of each of short. */ full: Begun[];
}

export interface IDsRequest {
  /** Full ids to find the numbers of. */ rids?: string[];
  /** Short forms to find the ids of: #812, or at least the first 4 characters of an id. */ short?: string[];
  /** Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node. */ min_index?: string | number;
  /** linearizable: the answer includes everything acknowledged before the request. */ consistency?: "stale" | "linearizable";
}

export interface ImportRequest {
  /** Idempotency key of the whole import, up to 480 bytes: repeating the import with it answers what the first one did. */ key?: string;
  /** true: reject a line whose id is taken; false: give it a new id. */ keep_ids?: boolean;
  /** true: go on behind a line that is rejected, and list it in the answer; false: end the import there. */ skip_refused?: boolean;
}

export interface Imported {
  /** Number of lines read. */ lines: number;
  /** Number of memories stored or corrected. */ memories: number;
  /** Number of lines that changed nothing, because their memory or relation is here already; absent when there are none. */ kept?: number;
  /** With skip_refused: number of lines that were rejected; absent when there are none. */ refused?: number;
  /** The first 100 of them, and why. */ reasons?: Rejected[];
  /** Number of relations stored. */ edges: number;
  /** Position of the last one in the log. */ log_index: string;
  /** Kinds of secrets removed before storing, such as github or email; absent when there were none. */ redacted?: string[];
}

export interface KeptDatabase {
  /** Its number. */ id: number;
  /** Its name. */ name: string;
  /** The same. */ path: string;
  /** When it was made, as YYYY-MM-DD hh:mm:ss in UTC. */ created_at: string;
}

export interface KeptToken {
  /** The hash of its text. */ hash: string;
  /** The database that the token is for. */ database_id: number;
  /** Its purpose. */ label: string;
  /** When it was made, as YYYY-MM-DD hh:mm:ss in UTC. */ created_at: string;
}

export interface KeyPage {
  /** Keys and folders, in the order of their bytes. */ keys: KeyRow[];
  /** Pass it as after to get the next page; null at the end. */ next: string | null;
}

export interface KeyRow {
  /** The key, or the folder of a group of deeper keys, ending in /. */ key: string;
  /** The memory's id; absent for a folder, as are all other fields. */ rid?: string;
  /** Number of corrections. */ revision?: number | null;
  /** SHA-256 of its text, in hex. */ sha256?: string;
  /** Size of its text in bytes. */ bytes?: number;
  /** When it happened, in Unix seconds. */ created_at?: number;
  /** When it was stored or changed last, in Unix seconds. */ updated_at?: number;
  /** The memory, where full was requested. */ memory?: Memory | null;
}

export interface KeyedMemory {
  /** The memory's id. */ rid: string;
  /** Its key in its namespace; absent when it has none. */ key?: string;
  /** The same as memory_type. */ type: string;
  /** What kind of memory it is: semantic, episodic, procedural, or a name the client chooses. */ memory_type: string;
  /** Its text. */ text: string;
  /** When it happened, in Unix seconds. */ created_at: number;
  /** The same time in RFC 3339. */ created_at_iso: string;
  /** When it was stored or changed last, in Unix seconds. */ updated_at: number;
  /** The same time in RFC 3339. */ updated_at_iso: string;
  /** Importance, from 0 to 1. */ importance: number;
  /** Half-life in hours: after it the memory's importance has decayed by half. */ half_life: number;
  /** When it was recalled last, in Unix seconds. */ last_access: number;
  /** Number of recalls that returned it. */ access_count: number;
  /** Emotional valence, from -1 (bad) to 1 (good). */ valence: number;
  /** Certainty, from 0 to 1. */ certainty: number;
  /** The memory that it was merged into. */ consolidated_into: string | null;
  /** The memories that it was split into; absent when it was not. */ split_into?: string[];
  /** Its status; active memories are recalled. */ consolidation_status: "active" | "consolidated" | "tombstoned" | "quarantined";
  /** The memories that it was merged from. */ consolidation_sources: string[];
  /** hot, or the tier that the client gave. */ storage_tier: string;
  /** The metadata as a text. */ metadata_json: string;
  /** The client's own data. */ metadata: unknown;
  /** Its attributes, for filters; absent when it has none. */ attributes?: unknown;
  /** Its namespace. */ namespace: string;
  /** Its domain, as the client named it. */ domain: string;
  /** Its source. */ source: string;
  /** The emotion that it was stored with. */ emotional_state: string | null;
  /** The session that it joined. */ session_id: string | null;
  /** When it is due, in Unix seconds. */ due_at: number | null;
  /** The meaning of its date, as the client named it. */ temporal_kind: string | null;
  /** Why it was forgotten. */ tombstone_reason: string | null;
  /** The newer memory that replaces it; absent when it is current. */ superseded_by?: string | null;
  /** true: it is pinned: think does not merge, move or forget it, and it does not expire. */ pin?: boolean;
  /** When it expires, in Unix seconds; absent for never. */ expires_at?: number | null;
  /** Expires this many seconds after its last read; absent: reads do not change when it expires. */ refresh_on_read?: number;
  /** false: it can be read by id and in lists, but recall does not find it. */ searchable?: boolean | null;
  /** Number of corrections. */ revision: number;
  /** The embedder that made its vector. */ embedding_model: string | null;
  /** Size of its vector in bytes. */ embedding_bytes: number | null;
  /** The entities that its text names. */ entities: string[];
  /** The claims that were read from its text. */ claims: string[];
  /** Who wrote it: the token's label or hash; master, local or node without one. */ writer?: string;
  /** The protocol it came by, such as http or mcp; think if it was merged. */ dialect?: string;
  /** Its agent, as the client named it. */ agent?: string;
  /** Its class of trust: operator, agent, tool (output of a program) or web (a stranger's text). */ trust: "operator" | "agent" | "tool" | "web";
  /** With sources: this memory, then those it was made of. */ provenance?: Origin[];
  /** SHA-256 of its text, in hex. */ sha256: string;
}

export interface KeysAnswer {
  /** The nodes, by number. */ nodes: NodeKeys[];
}

export interface KeysRequest {
  /** Report only the node that receives the request, not the others. */ node?: boolean;
}

export interface LimitTokenRequest {
  /** The token's text, its hash, or at least 8 digits of the beginning of its hash. */ token: string;
  /** Operations a second on each node; 0: no limit. */ max_rps?: number;
  /** Burst: most operations at once; 0 for one second's worth of the rate. */ burst?: number;
  /** Most memories in one request; 0: no limit. */ max_batch_size?: number;
}

export interface LimitedToken {
  /** The beginning of its hash, which identifies it. */ hash_prefix: string;
  /** Operations a second on each node; 0: no limit. */ max_rps: number;
  /** Burst: most operations at once; 0 for one second's worth of the rate. */ burst: number;
  /** Most memories in one request; 0: no limit. */ max_batch_size: number;
  /** Position of the write in the log; min_index on another node waits for it. */ log_index: string;
}

export interface ListKeysRequest {
  /** The namespace; blank for default. */ namespace?: string;
  /** The folder whose keys are listed: /prefs for the keys that begin with /prefs/. Default: /. */ prefix?: string;
  /** Levels below the folder to list; deeper keys are grouped by folder. 0 lists every key. Takes a whole number from 0 to 20. */ depth?: number;
  /** The previous page's next; blank for the first page. */ after?: string;
  /** Most rows to return, up to 1,000. Default: 100. */ limit?: number;
  /** Return the memories too. */ full?: boolean;
  /** Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node. */ min_index?: string | number;
  /** linearizable: the answer includes everything acknowledged before the request. */ consistency?: "stale" | "linearizable";
}

export interface LogRequest {
  /** Entries from this log index on; 0 for the newest. */ from?: number;
  /** Most entries to return, up to 10,000. Default: 100. */ limit?: number;
  /** Milliseconds to wait for the entry at from, up to 60,000. */ wait_ms?: number;
  /** Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node. */ min_index?: string | number;
  /** linearizable: the answer includes everything acknowledged before the request. */ consistency?: "stale" | "linearizable";
}

export interface LostRecords {
  /** The name of the log's directory in the node's home. */ log: string;
  /** Log index of the first. */ first: number;
  /** Log index of the last. */ last: number;
  /** Number of these records that are known to be acknowledged. */ acknowledged: number;
}

export interface Maintained {
  /** The database's name. */ tenant: string;
  /** Number of groups of duplicates merged. */ consolidation_count: number;
  /** Number of new contradictions found. */ conflicts_found: number;
  /** Number of new patterns. */ patterns_new: number;
  /** Number of patterns seen again. */ patterns_updated: number;
  /** Whether the agent's traits have changed. */ personality_updated: boolean;
  /** Duration in milliseconds. */ duration_ms: number;
  /** New triggers, the most urgent first. */ triggers: Attention[];
  /** With progress: number of memories that the round read. */ read?: number | null;
  /** With progress: number of new or changed memories that no round has read yet. Repeat the request until it is 0. */ remaining?: number | null;
}

export interface MaintenanceRun {
  /** The result for each database. */ tenants: Maintained[];
  /** Number of rows. */ count: number;
}

export interface MaintenanceStatusRequest {
  /** The database's name; blank for all. */ tenant?: string;
}

export interface MakeBackupRequest {
  /** Only the log after this index; 0 for the whole state. */ since?: number;
  /** log_time of the backup that ended there. If the log had another time there, the backup is of another history: 409 conflict. */ log_time?: string;
}

export interface MeAnswer {
  /** The database that the request is for. */ database: string;
  /** Its number. */ database_id: number;
  /** The token's scopes. */ scopes: string[];
  /** Prefixes of the namespaces that the token is bound to; absent when it is not bound. */ namespaces?: string[];
  /** The highest class of trust of what this request's caller writes: operator, agent, tool or web. */ trust: string;
  /** What it writes of this class, and of those below, waits in quarantine; absent: nothing does. */ quarantine?: string;
  /** Whether it is the cluster secret. */ master: boolean;
  /** The node that answers. */ node_id: number;
  /** host:port of its wire port. */ wire: string;
  /** host:port of its gateway. */ http: string;
}

export interface Member {
  /** Its number. */ node_id: number;
  /** voter or readreplica. */ role: string;
  /** Leader, Follower, Candidate or unreachable. */ state: string;
  /** Whether it votes. */ voter: boolean;
  /** Whether it answers. */ reachable: boolean;
  /** Whether it leads. */ is_leader: boolean;
  /** Its port for its peers. */ addr: string;
  /** Its wire port. */ wire: string;
  /** Its gateway as a URL; null while its address is not known. */ http: string | null;
  /** Log index that it has applied. */ applied_index: number;
  /** The version that it runs. */ version: string;
}

export interface MembersChanged {
  /** ok, already_leader or election_started. */ status: string;
  /** A message for people. */ message: string;
  /** The node that was promoted. */ node_id?: number;
  /** The term in which it leads already. */ term?: number;
  /** The term of the election that it started. */ current_term?: number;
}

export interface MemoriesRequest {
  /** Only memories of this namespace; blank for all. */ namespace?: string;
  /** Only memories of this domain. */ domain?: string;
  /** Only memories of this kind. */ memory_type?: string;
  /** Only memories of this source. */ source?: string;
  /** Only memories created at this date or later. */ after?: string | number | Date;
  /** Only memories created before this date. */ before?: string | number | Date;
  /** Only memories that pass it, as in a recall. */ filter?: { [name: string]: unknown };
  /** Most rows to return, up to 200. Default: 50. */ limit?: number;
  /** Number of memories to skip. */ offset?: number;
  /** The previous page's cursor; blank for the first page. Only for the order of creation. */ cursor?: string;
  /** The field to sort by; the greatest value comes first. Default: created_at. */ sort?: "created_at" | "importance" | "last_access";
  /** Only records whose metadata has this kind. */ kind?: string;
  /** Only records whose metadata has this drive_id. */ drive_id?: string;
  /** The previous page's next_cursor; blank for the first page. */ since_rid?: string;
  /** asc for oldest first; otherwise newest first. */ order?: "asc" | "desc";
  /** Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node. */ min_index?: string | number;
  /** linearizable: the answer includes everything acknowledged before the request. */ consistency?: "stale" | "linearizable";
}

export interface Memory {
  /** The memory's id. */ rid: string;
  /** Its key in its namespace; absent when it has none. */ key?: string;
  /** The same as memory_type. */ type: string;
  /** What kind of memory it is: semantic, episodic, procedural, or a name the client chooses. */ memory_type: string;
  /** Its text. */ text: string;
  /** When it happened, in Unix seconds. */ created_at: number;
  /** The same time in RFC 3339. */ created_at_iso: string;
  /** When it was stored or changed last, in Unix seconds. */ updated_at: number;
  /** The same time in RFC 3339. */ updated_at_iso: string;
  /** Importance, from 0 to 1. */ importance: number;
  /** Half-life in hours: after it the memory's importance has decayed by half. */ half_life: number;
  /** When it was recalled last, in Unix seconds. */ last_access: number;
  /** Number of recalls that returned it. */ access_count: number;
  /** Emotional valence, from -1 (bad) to 1 (good). */ valence: number;
  /** Certainty, from 0 to 1. */ certainty: number;
  /** The memory that it was merged into. */ consolidated_into: string | null;
  /** The memories that it was split into; absent when it was not. */ split_into?: string[];
  /** Its status; active memories are recalled. */ consolidation_status: "active" | "consolidated" | "tombstoned" | "quarantined";
  /** The memories that it was merged from. */ consolidation_sources: string[];
  /** hot, or the tier that the client gave. */ storage_tier: string;
  /** The metadata as a text. */ metadata_json: string;
  /** The client's own data. */ metadata: unknown;
  /** Its attributes, for filters; absent when it has none. */ attributes?: unknown;
  /** Its namespace. */ namespace: string;
  /** Its domain, as the client named it. */ domain: string;
  /** Its source. */ source: string;
  /** The emotion that it was stored with. */ emotional_state: string | null;
  /** The session that it joined. */ session_id: string | null;
  /** When it is due, in Unix seconds. */ due_at: number | null;
  /** The meaning of its date, as the client named it. */ temporal_kind: string | null;
  /** Why it was forgotten. */ tombstone_reason: string | null;
  /** The newer memory that replaces it; absent when it is current. */ superseded_by?: string | null;
  /** true: it is pinned: think does not merge, move or forget it, and it does not expire. */ pin?: boolean;
  /** When it expires, in Unix seconds; absent for never. */ expires_at?: number | null;
  /** Expires this many seconds after its last read; absent: reads do not change when it expires. */ refresh_on_read?: number;
  /** false: it can be read by id and in lists, but recall does not find it. */ searchable?: boolean | null;
  /** Number of corrections. */ revision: number;
  /** The embedder that made its vector. */ embedding_model: string | null;
  /** Size of its vector in bytes. */ embedding_bytes: number | null;
  /** The entities that its text names. */ entities: string[];
  /** The claims that were read from its text. */ claims: string[];
  /** Who wrote it: the token's label or hash; master, local or node without one. */ writer?: string;
  /** The protocol it came by, such as http or mcp; think if it was merged. */ dialect?: string;
  /** Its agent, as the client named it. */ agent?: string;
  /** Its class of trust: operator, agent, tool (output of a program) or web (a stranger's text). */ trust: "operator" | "agent" | "tool" | "web";
  /** With sources: this memory, then those it was made of. */ provenance?: Origin[];
}

export interface MemoryItems {
  /** The memories. */ items: Memory[];
  /** Number of rows in this answer. */ count: number;
  /** true: more rows were left out, because the answer reached 16 MiB of memories. Request fewer rows. */ left_out?: boolean;
  /** Pass it as cursor to get the next page; absent at the end, and in lists without cursors. A page may have few rows or none, and a cursor. */ cursor?: string;
  /** Why more rows may match than the answer has, and how to get them; absent when it has all. */ incomplete?: string;
}

export interface MemoryList {
  /** true: more rows were left out, because the answer reached 16 MiB of memories. Request fewer rows. */ left_out?: boolean;
  /** Why more rows may match than the answer has, and how to get them; absent when it has all. */ incomplete?: string;
  /** The oldest first. */ memories: Memory[];
}

export interface MemoryPage {
  /** Most rows of the page. */ limit: number;
  /** Number of active memories in the namespace, or in the database. */ total?: number;
  /** Number of rows skipped. */ offset?: number;
  /** The newest first, or in the requested order. */ items?: Memory[];
  /** Pass it as offset to get the next page. Absent at the end, and where the next row is behind 100,000 others: cursor gets there. */ next_offset?: number | null;
  /** Pass it as cursor to get the next page; absent at the end. A page with filters that match little may have few rows or none, and a cursor. */ cursor?: string;
  /** Why more rows may match than the answer has, and how to get them; absent when it has all. */ incomplete?: string;
  /** Records in the order of their ids; fewer than limit when the filters match few. */ records?: Record[];
  /** Pass it as since_rid to get the next page; null at the end. */ next_cursor?: string | null;
}

export interface MergeRequest {
  /** Ids of the memories to merge, 2 to 100. */ rids: string[];
  /** The text of the new memory. */ text: string;
  /** The reason, shown with the revisions of the sources. */ reason?: string;
  /** The revision that each must be at, in the order of rids; otherwise the request fails with the code revision_conflict. */ expected_revisions?: number[];
  /** Idempotency key: repeating the request with it merges nothing twice. */ idempotency_key?: string;
}

export interface Merged {
  /** The new memory's id. */ rid: string;
  /** The memories that were merged. */ merged: string[];
  /** Position of the write in the log; min_index on another node waits for it. */ log_index: string;
  /** Kinds of secrets removed before storing, such as github or email; absent when there were none. */ redacted?: string[];
}

export interface MoveRequest {
  /** The namespace to move to. */ to: string;
  /** The memory's id. */ rid?: string;
  /** Instead of rid: the memories whose key is this one or below it, such as /people/ada. */ prefix?: string;
  /** With prefix: the namespace of the keys, blank for default. */ namespace?: string;
  /** The reason, shown with the revisions. */ reason?: string;
  /** With rid: the revision that the memory must be at; otherwise the request fails with the code revision_conflict. */ expected_revision?: number;
  /** Idempotency key: repeating the request with it moves nothing twice. */ idempotency_key?: string;
}

export interface MoveTriggerRequest {
  /** The trigger's id. */ id: string;
  /** acknowledge, act or dismiss. */ verb: string;
}

export interface Moved {
  /** Number of memories that were moved. */ moved: number;
  /** Their ids. */ rids: string[];
  /** The namespace that they are in now. */ namespace: string;
  /** Position of the write in the log; min_index on another node waits for it. */ log_index: string;
}

export interface MovedTrigger {
  /** The trigger's id. */ trigger_id: string;
  /** Its status. */ status: "acknowledged" | "acted" | "dismissed";
  /** Whether this changed something. */ changed: boolean;
  /** Position of the write in the log; min_index on another node waits for it. */ log_index: string;
}

export interface Namespace {
  /** Its name. */ name: string;
  /** Memories that recall finds. */ active: number;
  /** Memories that were merged into others. */ merged: number;
  /** Memories that were forgotten and are not purged yet. */ forgotten: number;
}

export interface NamespacePage {
  /** Shorter names first, then in the order of their bytes. */ namespaces: Namespace[];
  /** Pass it as after to get the next page; null at the end. */ next: string | null;
}

export interface NamespacesRequest {
  /** Most namespaces to return, up to 1,000. Default: 100. */ limit?: number;
  /** The previous page's next; blank for the first page. */ after?: string;
  /** Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node. */ min_index?: string | number;
  /** linearizable: the answer includes everything acknowledged before the request. */ consistency?: "stale" | "linearizable";
}

export interface Near {
  /** The memory's id. */ rid: string;
  /** Its text, or the first 500 letters. */ text: string;
  /** When it happened, in Unix seconds. */ created_at: number;
  /** How likely it says the same as the new one, from 0 to 1. */ score: number;
}

export interface NodeKeys {
  /** The node's number. */ node_id: number;
  /** Why the node did not answer. */ error?: string;
  /** Whether its home is encrypted. */ encrypted: boolean;
  /** The data keys of its home, oldest first. */ keys: DataKey[];
  /** Parts of its home that are still under a replaced data key: the node rewrites them under the active one, then drops the replaced one. */ rewriting: string[];
  /** The certificates that it presents. */ certificates: Certificate[];
  /** The ports that it listens on for clients and members, without those of same-host dialects. */ ports: Port[];
}

export interface NodePast {
  /** The node's number. */ node_id: number;
  /** Why the node did not answer. */ error?: string;
  /** Times of the points, in Unix seconds, oldest first. */ at: number[];
  /** Requests of clients on all surfaces. */ requests_per_second: (number | null)[];
  /** Requests that were answered with an error. */ refused_per_second: (number | null)[];
  /** Log entries applied. */ entries_per_second: (number | null)[];
  /** Time to answer, median, in milliseconds. */ median_ms: (number | null)[];
  /** Time to answer, 99th percentile, in milliseconds. */ p99_ms: (number | null)[];
  /** Time from proposing a write to applying it, median, in milliseconds. */ commit_ms: (number | null)[];
  /** Acknowledged log entries not applied on the node; null while it hears no leader. */ lag_entries: (number | null)[];
  /** Log entries applied and not yet in the search index. */ index_lag_entries: (number | null)[];
  /** Size of the state's files. */ disk_bytes: (number | null)[];
  /** Memory in use by the process. */ heap_bytes: (number | null)[];
  /** What happened, oldest first. */ marks: PastMark[];
}

export interface NoteOutcomeRequest {
  /** The skill's id. */ id: string;
  /** Whether it succeeded. */ succeeded: boolean;
  /** What happened, up to 4,096 bytes. */ note?: string;
  /** Idempotency key: repeating the request with it records nothing twice. */ idempotency_key?: string;
}

export interface NotedOutcome {
  /** The outcome's id. */ rid: string;
  /** The skill's id. */ skill_id: string;
  /** true. */ recorded: boolean;
  /** Position of the write in the log; min_index on another node waits for it. */ log_index: string;
  /** Kinds of secrets removed before storing, such as github or email; absent when there were none. */ redacted?: string[];
}

export interface Nothing {
}

export interface Origin {
  /** The memory's id. */ rid: string;
  /** Who wrote it: the token's label or hash; master, local or node without one. */ writer?: string;
  /** The protocol it came by, such as http or mcp; think if it was merged. */ dialect?: string;
  /** Its agent, as the client named it. */ agent?: string;
  /** Its class of trust: operator, agent, tool (output of a program) or web (a stranger's text). */ trust: "operator" | "agent" | "tool" | "web";
  /** Its status now. */ status: "active" | "consolidated" | "tombstoned" | "quarantined";
  /** The memory of this list that was made of it; absent for the first. */ made_into?: string;
}

export interface PackContextAnswer {
  /** The block; null when nothing is known. */ pack_context: string | null;
  /** Always empty: there are no packs here. */ packs_pending: string[];
  /** Always empty. */ packs_poisoned: string[];
}

export interface PackContextRequest {
  /** What the prompt is about; blank: the newest memories. */ query?: string;
  /** Most tokens of the block, up to 100,000. Default: 1000. Takes a whole number of at least 1. */ max_tokens?: number;
  /** Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node. */ min_index?: string | number;
  /** linearizable: the answer includes everything acknowledged before the request. */ consistency?: "stale" | "linearizable";
}

export interface Parts {
  /** Part of the score from the words. */ words: number;
  /** Part of the score from the memories around it, read as one text. */ passage: number;
  /** Part of the score from memories stored around it. */ around: number;
  /** Part of the score from its session. */ session: number;
  /** Factor on the match of words, from speaker, date, time, kind and length of text. */ factor: number;
  /** Whether the question names who said it. */ speaker: boolean;
  /** Part of the score from a date in the question. */ date: number;
  /** Whether the question asks for a time and the memory has one. */ when: boolean;
  /** Part of the score from the vector. */ vector: number;
  /** Added when the match of its vector, or of a neighbour's, is stronger than chance and shared words explain. */ lift: number;
  /** Part of the score from relations. */ graph: number;
  /** All parts together, before the factors. */ relevance: number;
  /** Similarity to a better row of the answer, from 0 to 1. */ alike: number;
}

export interface PastAnswer {
  /** The nodes, by number. */ nodes: NodePast[];
}

export interface PastMark {
  /** When, in Unix seconds. */ at: number;
  /** start: the node started; election: the node learned of a new leader. */ kind: "start" | "election";
  /** The term that began. */ term?: number;
  /** The node that was elected. */ leader_id?: number;
}

export interface PastRequest {
  /** How far back to go, up to 1,440. Default: 1440. Takes a whole number of at least 1. */ minutes?: number;
  /** Most points of each node, up to 2,880. Neighbouring points are combined: the worst latency and lag, and the mean of the rest. Default: 240. Takes a whole number of at least 1. */ points?: number;
  /** Report only the node that receives the request, not the others. */ node?: boolean;
}

export interface Pattern {
  /** Kind of pattern. */ pattern_type: string;
  /** The pattern in a sentence. */ description: string;
  /** Certainty, from 0 to 1. */ confidence: number;
  /** The memories that show it. */ source_rids: string[];
  /** The entities that it is about. */ entities: string[];
  /** When it was seen first, in Unix seconds. */ first_seen: number;
  /** When it was seen last, in Unix seconds. */ last_confirmed: number;
  /** Number of times it was seen. */ occurrence_count: number;
}

export interface PatternList {
  /** The most certain first. */ patterns: Pattern[];
  /** Why more rows may match than the answer has, and how to get them; absent when it has all. */ incomplete?: string;
}

export interface PatternsRequest {
  /** Only those of this type; blank means all. */ type?: string;
  /** Only those about memories of this namespace alone; blank means all, including those about the whole database. */ namespace?: string;
  /** Most rows to return, up to 1,000; 0 means 50. Default: 50. */ limit?: number;
  /** Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node. */ min_index?: string | number;
  /** linearizable: the answer includes everything acknowledged before the request. */ consistency?: "stale" | "linearizable";
}

export interface Peer {
  /** Its number. */ node_id: number;
  /** Its port for its peers. */ addr: string;
  /** Its wire port. */ wire: string;
  /** Its gateway. */ http: string;
  /** voter or readreplica. */ role: string;
  /** Leader, Follower, Candidate or unreachable. */ state: string;
  /** Whether it votes. */ voter: boolean;
  /** Whether it answers. */ reachable: boolean;
  /** Its Raft term. */ current_term: number;
  /** Seconds since it was last heard; null for never. */ last_seen_secs_ago: number | null;
  /** Acknowledged log entries that it lacks; null when it does not answer or hears no leader. */ lag_entries: number | null;
  /** Log index that it has applied. */ applied_index: number;
  /** The index at which state_hash was taken. */ state_hash_index: number;
  /** Hash of its state: equal on all replicas at the same index. */ state_hash: string;
  /** Offset of its clock from the median of the members' clocks, in milliseconds. */ clock_offset_ms: number;
  /** Whether the offset is over the limit; a leader over the limit hands leadership over. */ clock_off: boolean;
  /** The version that it runs. */ version: string;
  /** Ed25519 key of its home, in hex. It signs the node's statements about erased memories. */ node_key: string;
  /** Seconds since the node started. */ uptime_secs: number;
  /** true: the disk of its home is full, so that it rejects writes. */ disk_full?: boolean;
  /** The first files in which it found damage since it started. */ damaged?: Damage[];
  /** Messages from other members that it rejected or disputed in the last minutes. */ disputes?: Dispute[];
  /** The embedders that it can use: the full name of the configured one, the directory names of the models in its home, and builtin. */ models: string[];
  /** States, logs and snapshots that the node moved aside, because they were damaged or differed from what a majority of the voters holds. */ set_aside?: string[];
  /** Records that the cluster lacks, in logs that the node moved aside: "cairn recover --import-lost" imports them. */ lost_records?: LostRecords[];
  /** true: its files may hold purged text; the node is rewriting them. */ hold_purge?: boolean;
  /** Parts of its home that are not yet rewritten under its active data key. */ old_keys?: string[];
  /** The files of its state; absent when it does not answer. */ store?: Store | null;
}

export interface PersonalityRequest {
  /** Compute the traits from the newest 1,000 memories of this namespace; blank returns those that the last round of cognition found in the whole database. */ namespace?: string;
  /** Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node. */ min_index?: string | number;
  /** linearizable: the answer includes everything acknowledged before the request. */ consistency?: "stale" | "linearizable";
}

export interface Policies {
  /** Seconds after which memories of the tier working are forgotten; 0 for never. */ working_ttl_secs: number;
  /** Seconds after which memories of the tier episodic are forgotten; 0 for never. */ episodic_ttl_secs: number;
  /** Seconds after which a memory expires that is stored without a ttl or expires_at; 0 for never. */ default_ttl_secs: number;
  /** Number of accesses after which a memory moves up one tier; 0 for never. */ promote_after: number;
  /** Whether background cognition may merge memories that say the same thing. */ consolidate: boolean;
  /** true: no background cognition runs on the database. */ quiet_mind: boolean;
  /** Which memories lose their secrets before they are stored: capture (output of tools), all, or off. */ redact: "capture" | "all" | "off";
  /** Relations that have one value at a time in this database, but several by default: a newer value supersedes the older one. */ single_valued: string[];
  /** Relations that may have several values in this database, but one by default. */ multi_valued: string[];
  /** Members of the metadata that become attributes of a memory when it is stored. */ lift: string[];
  /** When they were changed last, in Unix seconds; null for never. */ updated_at: number | null;
}

export interface Port {
  /** The protocol. */ name: "wire" | "http" | "peers";
  /** Its address. */ addr: string;
  /** Whether it uses TLS. */ tls: boolean;
  /** Whether only this machine reaches it. */ loopback: boolean;
}

export interface ProfileRequest {
  /** The entity's name or an alias, in any case. */ name: string;
  /** Only memories of this namespace, without relations (they belong to no namespace); blank for all. */ namespace?: string;
  /** Only memories of the last N days; 0 for all. Takes a number from 0 to 36500. */ days?: number;
  /** Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node. */ min_index?: string | number;
  /** linearizable: the answer includes everything acknowledged before the request. */ consistency?: "stale" | "linearizable";
}

export interface PromptAnswer {
  /** The block; blank when nothing is known. */ context: string;
  /** Estimated number of its tokens. */ tokens: number;
  /** The memories in it, in its order. */ memories: PromptMemory[];
  /** Matches that are not in it, best first. */ left_out: PromptLeft[];
  /** Log index that the answer reflects. */ index: number;
  /** Seconds that this node is behind the leader; null while it hears none. */ lag_seconds: number | null;
}

export interface PromptLeft {
  /** The memory's id. */ rid: string;
  /** budget, or the id in the block of the memory that it repeats or resembles. */ reason: string;
}

export interface PromptMemory {
  /** The memory's id. */ rid: string;
  /** Its id in the block. */ id: string;
  /** Its namespace. */ namespace: string;
  /** Probability that it answers the question, from 0 to 1; 0 without a question. */ score: number;
  /** Tokens of its line. */ tokens: number;
  /** Whether only its best passage is in the block. */ cut: boolean;
}

export interface PromptRequest {
  /** What the prompt is about: a question or a few words. Blank: the newest memories. */ query?: string;
  /** Most tokens of the block, including the lines around the memories, up to 100,000. The best memory is always included, with up to 64 tokens. Default: 1000. Takes a whole number of at least 1. */ max_tokens?: number;
  /** Only memories of these namespaces, 16 at most. Default: the whole database. */ namespaces?: string[];
  /** Only memories that pass it: attributes with their values, or with operators (eq ne in nin gt gte lt lte exists contains icontains prefix); and, or, not. */ filter?: { [name: string]: unknown };
  /** Letters per token of your model, on average, from 0.1 to 100. 0: estimated from the writing system, within a tenth of cl100k. */ chars_per_token?: number;
  /** Leave out memories less likely than this to answer the question. Default: 0.01. */ min_score?: number;
  /** Do not strengthen the memories that are found. */ skip_reinforce?: boolean;
  /** Also memories whose subject now has another value of the same relation. */ include_superseded?: boolean;
  /** Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node. */ min_index?: string | number;
  /** linearizable: the answer includes everything acknowledged before the request. */ consistency?: "stale" | "linearizable";
}

export interface Proof {
  /** The statement that is signed. */ statement: Statement;
  /** The node. */ node_id: number;
  /** Its Ed25519 key in hex, as the cluster's status shows it. */ node_key: string;
  /** The key's signature of the statement's JSON, in hex. */ signature: string;
}

export interface PruneTriggersRequest {
  /** Only say what would be done. Default: true. */ dry_run?: boolean;
  /** Number of pending triggers to keep; the most urgent stay. Default: 64. */ max_pending?: number;
}

export interface PrunedTriggers {
  /** Whether nothing was changed. */ dry_run: boolean;
  /** Number of pending triggers before. */ pending_before: number;
  /** Number of triggers that expired because their time was over. */ expired_overdue: number;
  /** Number of triggers that expired because there were too many. */ expired_over_cap: number;
  /** Number of pending triggers after. */ pending_after: number;
  /** Position of the write in the log; min_index on another node waits for it. */ log_index: string;
}

export interface PurgeRequest {
  /** Memories created before this time are erased. */ before: string | number | Date;
  /** Only memories of this namespace; blank for all. */ namespace?: string;
  /** Only memories of this tier; blank for all. */ tier?: string;
  /** Only memories of this owner; blank for all. */ owner?: string;
}

export interface Purged {
  /** Number of erased memories that were not forgotten already. */ purged: number;
  /** Position of its last write in the log. */ log_index: string;
  /** Where the erased bytes may still be, and what removes them. */ still_held_by: string[];
}

export interface PutAnswer {
  /** The memory's id. */ rid: string;
  /** Its key. */ key: string;
  /** true: no memory had the key, and this one was stored. */ created: boolean;
  /** false: the memory had this content already, so no revision was made. */ changed: boolean;
  /** Number of corrections. */ revision: number;
  /** SHA-256 of its text, in hex. */ sha256: string;
  /** Position of the write in the log; min_index on another node waits for it. */ log_index: string;
  /** Kinds of secrets removed before storing, such as github or email; absent when there were none. */ redacted?: string[];
}

export interface PutRequest {
  /** What to remember: a sentence that stands by itself. */ text: string;
  /** What kind of memory it is: semantic, episodic, procedural or a name of your own. Default: semantic. */ memory_type?: string;
  /** Importance, from 0 to 1. Default: 0.5. */ importance?: number;
  /** Emotional valence, from -1 (bad) to 1 (good). */ valence?: number;
  /** Half-life in hours: after it the memory's importance has decayed by half. Default: 168. Takes a number above 0, up to 1000000. */ half_life?: number;
  /** Your own JSON object, stored with the memory. Default: {}. */ metadata?: unknown;
  /** Attributes to filter by: a flat object of strings, numbers, true, false, dates (RFC 3339) and lists of strings. */ attributes?: { [name: string]: unknown };
  /** Its namespace; blank for default. */ namespace?: string;
  /** Certainty, from 0 to 1. Default: 1. */ certainty?: number;
  /** Its domain, such as work or health. */ domain?: string;
  /** Its source. Default: user. */ source?: string;
  /** The emotion of the memory. */ emotional_state?: string;
  /** Its vector, of the database's dimension; the database's embedder makes it when it is omitted. */ embedding?: number[];
  /** The session that it joins. Default: the namespace's active session. */ session_id?: string;
  /** When it happened; default: now. */ created_at?: string | number | Date;
  /** When it is due. */ due_at?: string | number | Date;
  /** The meaning of its date: a word of your own. */ temporal_kind?: string;
  /** working, episodic or longterm, which fade by different rules; or a word of your own. */ tier?: string;
  /** true: think does not merge, move or forget it, and it does not expire. */ pin?: boolean;
  /** When it expires: from then on no answer returns it. */ expires_at?: string | number | Date;
  /** Seconds until it expires, instead of expires_at; 0 for never. Default: the database's default_ttl_secs. */ ttl?: number;
  /** Expires this many seconds after its last read; 0: reads do not change when it expires. */ refresh_on_read?: number;
  /** false: store it without indexing it. It can be read by id and in lists, but recall does not find it. */ searchable?: boolean;
  /** Idempotency key: repeating the request with it stores nothing twice. */ idempotency_key?: string;
  /** The agent that writes it, in words of your own. */ agent?: string;
  /** A lower class of trust than the token's: tool for the output of a program, web for a stranger's text. Default: the token's. */ trust?: "operator" | "agent" | "tool" | "web";
  /** The key: / and 1 to 20 segments with a / between them, at most 1,024 bytes, in Unicode form NFC. */ key: string;
  /** Expect that no memory has the key. */ if_absent?: boolean;
  /** Expect the key's memory to be at this revision (its number of corrections). */ if_revision?: number;
  /** Expect the text of the key's memory to have this SHA-256, in hex. */ if_sha256?: string;
  /** The reason for the change, shown with the memory's revisions. */ reason?: string;
}

export interface QuarantinePage {
  /** The oldest first. */ memories: Memory[];
  /** Pass it as after to get the next page; null at the end. */ next: string | null;
}

export interface QuarantineRequest {
  /** Only memories of this namespace; blank for all. */ namespace?: string;
  /** Most memories to return, up to 200. Default: 50. */ limit?: number;
  /** The previous page's next; blank for the first page. */ after?: string;
  /** Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node. */ min_index?: string | number;
  /** linearizable: the answer includes everything acknowledged before the request. */ consistency?: "stale" | "linearizable";
}

export interface QuotaAnswer {
  /** The database's name. */ database: string;
  /** Most active memories that the database may hold; 0: no limit. */ max_memories: number;
  /** Operations a second on each node; 0: no limit. */ max_rps: number;
  /** Burst: most operations at once; 0 for one second's worth of the rate. */ burst: number;
  /** Most memories in one request; 0: no limit. */ max_batch_size: number;
  /** Number of active memories in the database. */ active_memories: number;
}

export interface QuotaRequest {
  /** The database's name. */ name: string;
  /** Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node. */ min_index?: string | number;
  /** linearizable: the answer includes everything acknowledged before the request. */ consistency?: "stale" | "linearizable";
}

export interface QuotaSet {
  /** The database's name. */ database: string;
  /** Most active memories that the database may hold; 0: no limit. */ max_memories: number;
  /** Operations a second on each node; 0: no limit. */ max_rps: number;
  /** Burst: most operations at once; 0 for one second's worth of the rate. */ burst: number;
  /** Most memories in one request; 0: no limit. */ max_batch_size: number;
  /** Position of the write in the log; min_index on another node waits for it. */ log_index: string;
}

export interface RaftMember {
  /** Its number. */ node_id: number;
  /** Its port for its peers. */ addr: string;
  /** Whether it votes. */ is_voter: boolean;
}

export interface RaftState {
  /** The node that answers. */ node_id: number;
  /** leader, follower or candidate. */ state: string;
  /** Its Raft term. */ current_term: number;
  /** The node that leads; null while none is known. */ current_leader: number | null;
  /** Last index in its log. */ last_log_index: number;
  /** Log index that it has applied. */ last_applied_index: number;
  /** Log index of its newest snapshot. */ snapshot_index: number;
  /** Milliseconds since it heard the leader; null on the leader, and before it has heard one. */ millis_since_quorum_ack: number | null;
  /** The members by its configuration. */ members: RaftMember[];
  /** Whether a leader is known. */ healthy: boolean;
}

export interface ReadRequest {
  /** Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node. */ min_index?: string | number;
  /** linearizable: the answer includes everything acknowledged before the request. */ consistency?: "stale" | "linearizable";
}

export interface ReadyAnswer {
  /** Whether readers may be sent to this node. */ ready: boolean;
  /** Acknowledged log entries that its search index lacks; null while it hears no leader. */ behind: number | null;
  /** Log index up to which its search index is complete. */ applied_index: number;
}

export interface RecallAsOfRequest {
  /** What to look for: a question or a few words. Blank, * or everything lists the newest. */ query: string;
  /** Most memories to return, up to 1,000. Default: 10. */ top_k?: number;
  /** Only memories of this kind. */ memory_type?: string;
  /** Only this namespace; blank for all. */ namespace?: string;
  /** Only memories of this domain. */ domain?: string;
  /** Only memories of this source. */ source?: string;
  /** Only memories of this session. */ session_id?: string;
  /** Also memories that were merged into others. */ include_consolidated?: boolean;
  /** Also memories whose subject now has another value of the same relation. Others that a newer memory replaces are always returned, ranked after it. */ include_superseded?: boolean;
  /** Follow relations of what the question names. Default: true. */ expand_entities?: boolean;
  /** The question's vector, of the database's dimension; the database's embedder makes it when it is omitted. */ query_embedding?: number[];
  /** Only memories created between two dates. */ time_window?: [from: string | number | Date | null, to: string | number | Date | null];
  /** Do not strengthen the memories that are found. */ skip_reinforce?: boolean;
  /** Signals to switch off: passage, around, refers, session, density, speaker, asker, date, when, short, questions, vector, graph, freshness, importance, trust, rerank. */ without?: string[];
  /** Leave out memories that nearly repeat a better one. */ diverse?: boolean;
  /** Only memories that pass it: attributes with their values, or with operators (eq ne in nin gt gte lt lte exists contains icontains prefix); and, or, not. */ filter?: { [name: string]: unknown };
  /** Leave out memories less likely than this to answer the question. 0 returns every match. Default: 0.002. */ min_score?: number;
  /** Return the parts of each score. */ explain?: boolean;
  /** The date to answer for. */ as_of: string | number | Date;
  /** Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node. */ min_index?: string | number;
  /** linearizable: the answer includes everything acknowledged before the request. */ consistency?: "stale" | "linearizable";
}

export interface RecallRequest {
  /** What to look for: a question or a few words. Blank, * or everything lists the newest. */ query: string;
  /** Most memories to return, up to 1,000. Default: 10. */ top_k?: number;
  /** Only memories of this kind. */ memory_type?: string;
  /** Only this namespace; blank for all. */ namespace?: string;
  /** Only memories of this domain. */ domain?: string;
  /** Only memories of this source. */ source?: string;
  /** Only memories of this session. */ session_id?: string;
  /** Also memories that were merged into others. */ include_consolidated?: boolean;
  /** Also memories whose subject now has another value of the same relation. Others that a newer memory replaces are always returned, ranked after it. */ include_superseded?: boolean;
  /** Follow relations of what the question names. Default: true. */ expand_entities?: boolean;
  /** The question's vector, of the database's dimension; the database's embedder makes it when it is omitted. */ query_embedding?: number[];
  /** Only memories created between two dates. */ time_window?: [from: string | number | Date | null, to: string | number | Date | null];
  /** Do not strengthen the memories that are found. */ skip_reinforce?: boolean;
  /** Signals to switch off: passage, around, refers, session, density, speaker, asker, date, when, short, questions, vector, graph, freshness, importance, trust, rerank. */ without?: string[];
  /** Leave out memories that nearly repeat a better one. */ diverse?: boolean;
  /** Only memories that pass it: attributes with their values, or with operators (eq ne in nin gt gte lt lte exists contains icontains prefix); and, or, not. */ filter?: { [name: string]: unknown };
  /** Leave out memories less likely than this to answer the question. 0 returns every match. Default: 0.002. */ min_score?: number;
  /** Return the parts of each score. */ explain?: boolean;
  /** Recall the memories as they were at this date. */ as_of?: string | number | Date;
  /** Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node. */ min_index?: string | number;
  /** linearizable: the answer includes everything acknowledged before the request. */ consistency?: "stale" | "linearizable";
}

export interface Recalled {
  /** The best first. */ results: Result[];
  /** Number of rows in this answer. */ total: number;
  /** Always null. */ fallback: string | null;
  /** Confidence in the answer as a whole, from 0 to 1. */ confidence: number;
  /** Hints for a better question, when confidence is low. */ hints: Hint[];
  /** Log index that the answer reflects. */ index: number;
  /** Seconds that this node is behind the leader; null while it hears none. */ lag_seconds: number | null;
  /** Number of memories examined. */ considered: number;
  /** Number of matches that scored less than min_score. */ below_min_score: number;
  /** With explain: how many memories remained after each filter, in this order. */ filtered?: Filtered[];
  /** Number of rows left out because the answer reached 16 MiB of memories. Request fewer rows, or an event stream. */ left_out?: number;
  /** Why more rows may match than the answer has, and how to get them; absent when it has all. */ incomplete?: string;
}

export interface RecentTurnsRequest {
  /** Most turns to return, up to 1,000. Default: 10. */ limit?: number;
  /** The namespace; blank for default. */ namespace?: string;
  /** Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node. */ min_index?: string | number;
  /** linearizable: the answer includes everything acknowledged before the request. */ consistency?: "stale" | "linearizable";
}

export interface Record {
  /** The memory's id. */ rid: string;
  /** Its text. */ text: string;
  /** What kind of memory it is: semantic, episodic, procedural, or a name the client chooses. */ memory_type: string;
  /** Importance, from 0 to 1. */ importance: number;
  /** The client's own data. */ metadata: unknown;
  /** Its namespace. */ namespace: string;
  /** When it happened, in Unix seconds. */ created_at: number;
  /** The same time in RFC 3339. */ created_at_iso: string;
  /** Certainty, from 0 to 1. */ certainty: number;
  /** Its domain, as the client named it. */ domain: string;
  /** Its source. */ source: string;
  /** Number of recalls that returned it. */ access_count: number;
  /** When it was recalled last, in Unix seconds. */ last_access: number;
  /** hot, or the tier that the client gave. */ storage_tier: string;
  /** Its attributes, for filters; absent when it has none. */ attributes?: unknown;
}

export interface RecordPage {
  /** Records in the order of their ids; fewer than limit when the filters match few. */ records: Record[];
  /** Pass it as since_rid to get the next page; null at the end. */ next_cursor: string | null;
  /** Most rows of the page. */ limit: number;
}

export interface RecordTurnRequest {
  /** Who spoke, such as user or assistant; up to 64 bytes. */ role: string;
  /** What was said. */ content: string;
  /** The number of turns to keep, this one included. Default: 10. Takes a whole number from 1 to 1000. */ max_turns?: number;
  /** The namespace; blank for default. */ namespace?: string;
}

export interface RecordedTurn {
  /** true. */ recorded: boolean;
  /** Who spoke. */ role: string;
  /** The turn's id. */ rid: string;
  /** Number of older turns that were forgotten. */ dropped: number;
  /** Position of the write in the log; min_index on another node waits for it. */ log_index: string;
  /** Kinds of secrets removed before storing, such as github or email; absent when there were none. */ redacted?: string[];
}

export interface RecordsRequest {
  /** Only memories of this namespace; blank for all. */ namespace?: string;
  /** Only memories of this domain. */ domain?: string;
  /** Only memories of this kind. */ memory_type?: string;
  /** Only memories of this source. */ source?: string;
  /** Only memories created at this date or later. */ after?: string | number | Date;
  /** Only memories created before this date. */ before?: string | number | Date;
  /** Only memories that pass it, as in a recall. */ filter?: { [name: string]: unknown };
  /** Most rows to return, up to 200. Default: 50. */ limit?: number;
  /** Only records whose metadata has this kind. */ kind?: string;
  /** Only records whose metadata has this drive_id. */ drive_id?: string;
  /** The previous page's next_cursor; blank for the first page. */ since_rid?: string;
  /** asc for oldest first; otherwise newest first. */ order?: "asc" | "desc";
  /** Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node. */ min_index?: string | number;
  /** linearizable: the answer includes everything acknowledged before the request. */ consistency?: "stale" | "linearizable";
}

export interface ReembedRequest {
  /** The database's name. */ name: string;
  /** The model: the name of its directory in HOME/models, its full name as in the answer's embedder, builtin, or none for no vectors. Default: the model in the node's configuration. */ embedder?: string;
  /** true: cancel the change that is under way; the database keeps its current embedder. */ cancel?: boolean;
}

export interface Reembedding {
  /** The database's name. */ database: string;
  /** The embedder of its memories; null: clients send the vectors. */ embedder: string | null;
  /** The embedder that it is changing to, whose vectors serve once all are made; null: no change is under way. */ changes_to: string | null;
  /** true: the database is changing its embedder; done, of, missing and up are about the new one. */ reembedding: boolean;
  /** Number of memories with a vector. */ done: number;
  /** Number of memories that are not forgotten. */ of: number;
  /** Number of memories that still need a vector. */ missing: number;
  /** The embedders that this node can use. */ has: string[];
  /** Whether it answered the last request. */ up?: boolean;
  /** Number of memories without a vector in the databases that it embeds; the leader embeds them, or a follower that has the model. */ queue?: number;
  /** Number of failures since this node started. */ failures?: number;
  /** Why it failed last; null for never. */ last_error?: string | null;
  /** When it last failed, in Unix seconds. */ last_error_at?: number | null;
  /** Position of the write in the log; min_index on another node waits for it. */ log_index: string;
  /** Members that do not have the embedder: they answer recalls by words alone. */ lacking?: number[];
}

export interface Rejected {
  /** Its number, from 1. */ line: number;
  /** Why it was rejected. */ reason: string;
}

export interface RelateRequest {
  /** The entity that the relation starts from. */ entity: string;
  /** The entity that it leads to. */ target: string;
  /** How the two are related. */ relationship: string;
  /** Weight of the relation, at least 0. Default: 1. */ weight?: number;
}

export interface Related {
  /** The relation's id. */ edge_id: string;
  /** Position of the write in the log; min_index on another node waits for it. */ log_index: string;
}

export interface ReleaseRequest {
  /** The memory's id. */ rid: string;
  /** The reason, shown with its revisions. */ reason?: string;
}

export interface Released {
  /** The memory's id. */ rid: string;
  /** Its class of trust, which stays. */ trust: string;
  /** Position of the write in the log; min_index on another node waits for it. */ log_index: string;
}

export interface RememberBatchRequest {
  /** The memories, at most 10,000. */ memories: Draft[];
  /** Idempotency key of the batch: a memory without its own key gets this key plus its position, so repeating the request stores nothing twice. */ idempotency_key?: string;
}

export interface RememberRequest {
  /** What to remember: a sentence that stands by itself. */ text: string;
  /** What kind of memory it is: semantic, episodic, procedural or a name of your own. Default: semantic. */ memory_type?: string;
  /** Importance, from 0 to 1. Default: 0.5. */ importance?: number;
  /** Emotional valence, from -1 (bad) to 1 (good). */ valence?: number;
  /** Half-life in hours: after it the memory's importance has decayed by half. Default: 168. Takes a number above 0, up to 1000000. */ half_life?: number;
  /** Your own JSON object, stored with the memory. Default: {}. */ metadata?: unknown;
  /** Attributes to filter by: a flat object of strings, numbers, true, false, dates (RFC 3339) and lists of strings. */ attributes?: { [name: string]: unknown };
  /** Its namespace; blank for default. */ namespace?: string;
  /** Certainty, from 0 to 1. Default: 1. */ certainty?: number;
  /** Its domain, such as work or health. */ domain?: string;
  /** Its source. Default: user. */ source?: string;
  /** The emotion of the memory. */ emotional_state?: string;
  /** Its vector, of the database's dimension; the database's embedder makes it when it is omitted. */ embedding?: number[];
  /** The session that it joins. Default: the namespace's active session. */ session_id?: string;
  /** When it happened; default: now. */ created_at?: string | number | Date;
  /** When it is due. */ due_at?: string | number | Date;
  /** The meaning of its date: a word of your own. */ temporal_kind?: string;
  /** working, episodic or longterm, which fade by different rules; or a word of your own. */ tier?: string;
  /** true: think does not merge, move or forget it, and it does not expire. */ pin?: boolean;
  /** When it expires: from then on no answer returns it. */ expires_at?: string | number | Date;
  /** Seconds until it expires, instead of expires_at; 0 for never. Default: the database's default_ttl_secs. */ ttl?: number;
  /** Expires this many seconds after its last read; 0: reads do not change when it expires. */ refresh_on_read?: number;
  /** false: store it without indexing it. It can be read by id and in lists, but recall does not find it. */ searchable?: boolean;
  /** Idempotency key: repeating the request with it stores nothing twice. */ idempotency_key?: string;
  /** The agent that writes it, in words of your own. */ agent?: string;
  /** A lower class of trust than the token's: tool for the output of a program, web for a stranger's text. Default: the token's. */ trust?: "operator" | "agent" | "tool" | "web";
  /** Report older memories that this one may replace, at the cost of a search. By default only the tools of models do. */ near?: boolean;
}

export interface Remembered {
  /** false: nothing was stored, because idempotency_key was used with another text; rid is the memory that was stored with it. Absent otherwise. */ stored?: boolean | null;
  /** true: the same; absent otherwise. */ idempotency_conflict?: boolean;
  /** Why nothing was stored; absent when it was. */ error?: string;
  /** conflict when nothing was stored; absent otherwise. */ code?: string;
  /** The memory's id. */ rid: string;
  /** Position of the write in the log; min_index on another node waits for it. */ log_index?: string;
  /** Kinds of secrets removed before storing, such as github or email; absent when there were none. */ redacted?: string[];
  /** Memories that this one may replace, at most three, of the same namespace; absent when there are none, or near was not set. An answer that an idempotency key repeats may lack them. */ near?: Near[];
  /** Older memories that this one contradicts or updates: recall ranks this one before them. undo of such a memory makes it current again. */ superseded?: string[];
  /** A newer memory that replaces this one, which has an earlier date; absent when this one is current. */ superseded_by?: string;
  /** true: it waits in quarantine, as the token's policy wants, until an owner releases it; absent when recall finds it now. */ quarantined?: boolean;
}

export interface RememberedBatch {
  /** The memories' ids, in the order of the request. */ rids: string[];
  /** Number of memories stored. */ count: number;
  /** Position of the write in the log; min_index on another node waits for it. */ log_index: string;
  /** Kinds of secrets removed before storing, such as github or email; absent when there were none. */ redacted?: string[];
  /** Older memories that these replace. */ superseded?: string[];
  /** Number of these memories that wait in quarantine until an owner releases them. */ quarantined?: number;
}

export interface RenameAnswer {
  /** The memory's id. */ rid: string;
  /** Its new key. */ key: string;
  /** Number of corrections, this one included. */ revision: number;
  /** Position of the write in the log; min_index on another node waits for it. */ log_index: string;
}

export interface RenameRequest {
  /** The namespace; blank for default. */ namespace?: string;
  /** The key. */ key: string;
  /** The new key. */ to: string;
  /** Expect that no memory has the key. */ if_absent?: boolean;
  /** Expect the key's memory to be at this revision (its number of corrections). */ if_revision?: number;
  /** Expect the text of the key's memory to have this SHA-256, in hex. */ if_sha256?: string;
  /** The reason, shown with the memory's revisions. */ reason?: string;
  /** Idempotency key: repeating the request with it renames nothing twice. */ idempotency_key?: string;
}

export interface Reranked {
  /** The reranker's score, on a scale of its own. */ score: number;
  /** Its place before, from 1. */ place: number;
}

export interface ResolveRequest {
  /** The conflict's id. */ id: string;
  /** keep_a, keep_b, keep_both, merge or dismiss. */ strategy: string;
  /** The winning side, for clients that name it instead of using keep_a or keep_b. */ winner_rid?: string;
  /** The text of the memory that merge makes of both sides. */ new_text?: string;
  /** The reason for the resolution, up to 64 KiB. */ resolution_note?: string;
}

export interface Resolved {
  /** The conflict's id. */ conflict_id: string;
  /** How the contradiction was resolved. */ strategy: string;
  /** The side that was kept, or the memory merged from both. */ winner_rid: string | null;
  /** Whether one side was forgotten. */ loser_tombstoned: boolean;
  /** The memory merged from both. */ new_memory_rid: string | null;
  /** Position of the write in the log; min_index on another node waits for it. */ log_index: string;
}

export interface Result {
  /** The memory's id. */ rid: string;
  /** Its text. */ text: string;
  /** What kind of memory it is: semantic, episodic, procedural, or a name the client chooses. */ memory_type: string;
  /** Probability that it answers the question, from 0 to 1; 0 in a list. */ score: number;
  /** Importance, from 0 to 1. */ importance: number;
  /** When it happened, in Unix seconds. */ created_at: number;
  /** Why it was found. */ why_retrieved: string[];
  /** The client's own data. */ metadata: unknown;
  /** Its namespace. */ namespace: string;
  /** Its domain, as the client named it. */ domain: string;
  /** Its source. */ source: string;
  /** Certainty, from 0 to 1. */ certainty: number;
  /** Emotional valence, from -1 (bad) to 1 (good). */ valence: number;
  /** Its attributes, for filters; absent when it has none. */ attributes?: unknown;
  /** Its key in its namespace; absent when it has none. */ key?: string;
  /** The emotion that it was stored with. */ emotional_state?: string | null;
  /** The session that it joined; blank for none. */ session_id?: string;
  /** Whether it is active, consolidated, tombstoned or quarantined. */ status?: string;
  /** Parts of the score by signal; they add up to it. */ scores?: Scores;
  /** The factors that the relevance was multiplied with. */ factors?: Factors;
  /** The parts of the relevance. */ parts?: Parts;
  /** The newer memory that replaces it; absent when it is current. */ superseded_by?: string;
  /** A newer memory of this answer that says something about the same; absent when there is none, and in event streams. */ perhaps_outdated_by?: string;
  /** Who wrote it: the token's label or hash. */ writer?: string;
  /** The protocol it came by. */ dialect?: string;
  /** Its agent, as the client named it. */ agent?: string;
  /** Its class of trust: operator, agent, tool or web. */ trust?: string;
  /** The memory, then those that it was made of, each with its writer and class. */ provenance?: Origin[];
  /** The memories that it contradicts, by open conflicts. */ conflicts_with?: string[];
  /** The reranker's score and the place before it; absent when no reranker ran. */ reranked?: Reranked | null;
}

export interface Revision {
  /** Number of the revision, from 0. */ revision: number;
  /** Its text. */ text: string;
  /** Importance, from 0 to 1. */ importance: number;
  /** Emotional valence, from -1 (bad) to 1 (good). */ valence: number;
  /** Certainty, from 0 to 1. */ certainty: number;
  /** Its namespace. */ namespace: string;
  /** Why it was corrected. */ reason: string;
  /** When it was replaced, in Unix seconds. */ until: number;
  /** When what it said was erased for good, in Unix seconds; absent otherwise. */ erased_at?: number;
}

export interface RevisionList {
  /** The memory's id. */ rid: string;
  /** The oldest first. */ revisions: Revision[];
  /** Pass it as offset to get the next page; absent at the end. */ next_offset?: number | null;
}

export interface RevisionsRequest {
  /** The memory's id. */ rid: string;
  /** Number of revisions to skip. */ offset?: number;
  /** Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node. */ min_index?: string | number;
  /** linearizable: the answer includes everything acknowledged before the request. */ consistency?: "stale" | "linearizable";
}

export interface RevokeTokenRequest {
  /** The token's text, its hash, or at least 8 digits of the beginning of its hash. */ token: string;
}

export interface RevokedToken {
  /** Whether such a token existed. */ revoked: boolean;
}

export interface RunMaintenanceRequest {
  /** The database's name; blank for all. */ tenant?: string;
}

export interface Scores {
  /** Words that the question and the memory share. */ words: number;
  /** The best passage of it. */ passage: number;
  /** Memories stored around it. */ around: number;
  /** Its session. */ session: number;
  /** Similarity of the vectors. */ vector: number;
  /** Relations of what the question names. */ graph: number;
  /** Its freshness, importance and trust; less than 0 where it is trusted too little. */ worth: number;
}

export interface SearchSkillsRequest {
  /** What you need a skill for. Blank lists the newest. */ query: string;
  /** Most skills to return, up to 1,000. Default: 10. */ top_k?: number;
  /** Only skills that apply to this. */ applies_to?: string;
  /** Only skills of this type. */ skill_type?: string;
  /** Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node. */ min_index?: string | number;
  /** linearizable: the answer includes everything acknowledged before the request. */ consistency?: "stale" | "linearizable";
}

export interface Session {
  /** The session's id. */ session_id: string;
  /** The namespace whose memories join the session. */ namespace: string;
  /** The client that opened the session. */ client_id: string;
  /** When it began, in Unix seconds. */ started_at: number;
  /** When it ended, in Unix seconds; null while it is active. */ ended_at: number | null;
  /** Its status. */ status: "active" | "ended" | "abandoned" | "implicit";
  /** The summary that its client gave at the end. */ summary: string;
  /** Number of memories in the session. */ memory_count: number;
  /** The entities that its memories name most. */ topics: string[];
}

export interface SessionAndMemories {
  /** The session's id. */ session_id: string;
  /** The namespace whose memories join the session. */ namespace: string;
  /** The client that opened the session. */ client_id: string;
  /** When it began, in Unix seconds. */ started_at: number;
  /** When it ended, in Unix seconds; null while it is active. */ ended_at: number | null;
  /** Its status. */ status: "active" | "ended" | "abandoned" | "implicit";
  /** The summary that its client gave at the end. */ summary: string;
  /** Number of memories in the session. */ memory_count: number;
  /** The entities that its memories name most. */ topics: string[];
  /** Its memories, the oldest first. */ memories: Memory[];
  /** Pass it as offset to get the next page; absent at the end. */ next_offset?: number | null;
}

export interface SessionHistoryRequest {
  /** The session's id. */ id: string;
  /** Most memories to return. Default: 100. */ limit?: number;
  /** Number of memories to skip. */ offset?: number;
  /** Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node. */ min_index?: string | number;
  /** linearizable: the answer includes everything acknowledged before the request. */ consistency?: "stale" | "linearizable";
}

export interface SessionList {
  /** The newest first. */ sessions: Session[];
  /** Number of rows in this answer. */ count: number;
  /** Why more rows may match than the answer has, and how to get them; absent when it has all. */ incomplete?: string;
}

export interface SessionsRequest {
  /** Only sessions of this namespace; blank for all. */ namespace?: string;
  /** Only the sessions of this client. */ client_id?: string;
  /** Only sessions that have not ended. */ active?: boolean;
  /** Most sessions to return. Default: 50. */ limit?: number;
  /** Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node. */ min_index?: string | number;
  /** linearizable: the answer includes everything acknowledged before the request. */ consistency?: "stale" | "linearizable";
}

export interface SetQuotaRequest {
  /** The database's name. */ name: string;
  /** Most active memories that the database may hold; 0: no limit. */ max_memories?: number;
  /** Operations a second on each node; 0: no limit. */ max_rps?: number;
  /** Burst: most operations at once; 0 for one second's worth of the rate. */ burst?: number;
  /** Most memories in one request; 0: no limit. */ max_batch_size?: number;
}

export interface SetSettingsRequest {
  /** Seconds after which memories of the tier working are forgotten, up to a century; 0 for never. */ working_ttl_secs?: number;
  /** Seconds after which memories of the tier episodic are forgotten, up to a century; 0 for never. */ episodic_ttl_secs?: number;
  /** Seconds after which a memory expires that is stored without a ttl or expires_at, up to a century; 0 for never. Applies to memories that are stored from now on. */ default_ttl_secs?: number;
  /** Number of accesses after which a memory moves up one tier; 0 for never. */ promote_after?: number;
  /** Whether background cognition may merge memories that say the same thing. */ consolidate?: boolean;
  /** true: no background cognition runs on the database. */ quiet_mind?: boolean;
  /** Which memories lose their secrets before they are stored: capture (output of tools, and memories of the kind capture), all, or off. */ redact?: "capture" | "all" | "off";
  /** More relations that have one value at a time, in addition to the defaults (lives in, works at, led by, owned by, born, email, phone, status, deadline, ...): a newer value supersedes the older one. Replaces the previous list. */ single_valued?: string[];
  /** Relations that may have several values here: a newer value supersedes none. Replaces the previous list. */ multi_valued?: string[];
  /** Members of the metadata, at most 64, that become attributes to filter by when a memory is stored, or its metadata corrected, without an attribute of that name. Values that an attribute cannot have stay in the metadata alone. Applies to memories that are stored or imported from now on; replaces the previous list. */ lift?: string[];
}

export interface Side {
  /** Kind of the side. */ kind: "memory" | "relation" | "claim";
  /** Its text; null when it no longer exists. */ text: string | null;
  /** When it was stored, in Unix seconds. */ created_at: number | null;
}

export interface Skill {
  /** The id of its memory. */ rid: string;
  /** The skill's id. */ skill_id: string;
  /** How it is done. */ text: string;
  /** The same as text. */ body: string;
  /** Probability that it answers the query, from 0 to 1; 0 in a list. */ score: number;
  /** Its type. */ skill_type: string;
  /** What it applies to. */ applies_to: string[];
  /** All its fields, with the names of the request that defined it. */ metadata: unknown;
  /** When it was defined, in Unix seconds. */ created_at: number;
  /** How often it was replaced. */ revision: number;
}

export interface SkillList {
  /** The best first. */ skills: Skill[];
  /** Number of rows. */ total: number;
  /** Number of rows left out because the answer reached 16 MiB of skills. Request fewer rows. */ left_out?: number;
}

export interface SplitRequest {
  /** The memory's id. */ rid: string;
  /** The texts of the new memories, 2 to 100. */ texts: string[];
  /** The reason, shown with the revisions of the source. */ reason?: string;
  /** The revision (number of corrections) that the memory must be at; otherwise the request fails with the code revision_conflict. */ expected_revision?: number;
  /** Idempotency key: repeating the request with it splits nothing twice. */ idempotency_key?: string;
}

export interface Splitted {
  /** The memory that was split. */ rid: string;
  /** The new memories, in the order of the texts. */ rids: string[];
  /** Position of the write in the log; min_index on another node waits for it. */ log_index: string;
  /** Kinds of secrets removed before storing, such as github or email; absent when there were none. */ redacted?: string[];
}

export interface StaleRequest {
  /** Least number of days since the memory was last accessed. Default: 30. Takes a number from 0 to 36500. */ days?: number;
  /** Only memories of this namespace; blank for all. */ namespace?: string;
  /** Most rows to return, up to 1,000. Default: 50. */ limit?: number;
  /** Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node. */ min_index?: string | number;
  /** linearizable: the answer includes everything acknowledged before the request. */ consistency?: "stale" | "linearizable";
}

export interface StartSessionRequest {
  /** Memories of this namespace join the session; blank for default. */ namespace?: string;
  /** The client that opens the session. A client has one active session in a namespace. */ client_id?: string;
  /** The client's own data for the session. Default: {}. */ metadata?: unknown;
  /** The session's id; generated when it is omitted. */ session_id?: string;
}

export interface StartedSession {
  /** The session's id. */ session_id: string;
}

export interface Statement {
  /** The memory's id. */ rid: string;
  /** Its database. */ database: string;
  /** Position of the record that erased it. */ index: number;
  /** When, in Unix seconds. */ erased_at: number;
  /** Number of its earlier texts that are erased with it. */ revisions: number;
  /** Number of claims that its text made. */ claims: number;
  /** Number of names in its text. */ entities: number;
  /** Whether it had a vector. */ vector: boolean;
  /** Whether it was merged from others. */ merged: boolean;
  /** Whether this node's files may still have its bytes, because it has not rewritten them yet. */ node_files_hold: boolean;
  /** Where else its bytes may be, and what removes them. */ still_held_by: string[];
}

export interface StatsRequest {
  /** Return more counters. */ verbose?: boolean;
  /** Count this namespace only; blank counts the whole database. */ namespace?: string;
  /** Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node. */ min_index?: string | number;
  /** linearizable: the answer includes everything acknowledged before the request. */ consistency?: "stale" | "linearizable";
}

export interface Store {
  /** Size on the disk. */ disk_bytes: number;
  /** Number of tables. */ tables: number;
  /** How far compaction is behind: bytes of tables above the lowest level. */ unmerged_bytes: number;
  /** Number of damaged blocks read since the node started; nothing is returned from them. */ damaged_blocks: number;
}

export interface Task {
  /** The task's id, the same as its memory's id. */ id: string;
  /** Its namespace. */ namespace: string;
  /** What is to be done. */ title: string;
  /** Its status. */ status: string;
  /** How urgent it is. */ priority: "low" | "medium" | "high" | "critical";
  /** The task that this one is a part of. */ parent_id: string | null;
  /** When it was added, in Unix seconds. */ created_at: number;
  /** When it was changed last, in Unix seconds. */ updated_at: number;
  /** Number of changes. */ revision: number;
}

export interface TaskList {
  /** The most urgent first, then the oldest. */ tasks: Task[];
  /** Number of rows. */ count: number;
  /** Whether more tasks pass; to see them, request one status, or the parts of one task. */ more: boolean;
  /** Why more rows may match than the answer has, and how to get them; absent when it has all. */ incomplete?: string;
}

export interface TasksRequest {
  /** The namespace; blank for default. */ namespace?: string;
  /** Only tasks of this status; all is every status. Default: all. */ status?: string;
  /** Only parts of this task; blank means all. */ parent_id?: string;
  /** Most rows to return, up to 1,000. Default: 1000. */ limit?: number;
  /** Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node. */ min_index?: string | number;
  /** linearizable: the answer includes everything acknowledged before the request. */ consistency?: "stale" | "linearizable";
}

export interface ThinkRequest {
  /** Merge memories that say the same thing. Default: true. */ run_consolidation?: boolean;
  /** Look for contradictions. Default: true. */ run_conflict_scan?: boolean;
  /** Look for patterns. */ run_pattern_mining?: boolean;
  /** Compute the agent's traits again. Default: true. */ run_personality?: boolean;
  /** Also report minor contradictions, which may be false positives. */ include_minor?: boolean;
  /** Number of memories to find duplicates of, up to 10,000; 0 for none. The next round continues after them. In a database of more than 10,000 memories the unread ones come in addition. Default: 50. */ consolidation_limit?: number;
  /** Most days between the creation of two duplicates; 0 means 7. Default: 7. Takes a number from 0 to 36500. */ consolidation_time_window_days?: number;
  /** Least number of active memories for merging; 0 means 10. Default: 10. */ min_active_memories?: number;
  /** Most triggers to return, up to 1,000; 0 means 10. Default: 10. */ max_triggers?: number;
  /** Look at the memories and claims of this namespace alone; blank for all. Then relations, patterns, traits and what concerns the whole database are left out. */ namespace?: string;
  /** Milliseconds after which the round reads no more, up to 60,000; 0 for 60,000. It decides on what it has read, and the next round continues. Default: 0. */ max_ms?: number;
  /** Also return read and remaining. */ progress?: boolean;
}

export interface Thought {
  /** Number of groups of duplicates merged. */ consolidation_count: number;
  /** Number of new contradictions found. */ conflicts_found: number;
  /** Number of new patterns. */ patterns_new: number;
  /** Number of patterns seen again. */ patterns_updated: number;
  /** Whether the agent's traits have changed. */ personality_updated: boolean;
  /** Duration in milliseconds. */ duration_ms: number;
  /** New triggers, the most urgent first. */ triggers: Attention[];
  /** With progress: number of memories that the round read. */ read?: number | null;
  /** With progress: number of new or changed memories that no round has read yet. Repeat the request until it is 0. */ remaining?: number | null;
}

export interface TimelineRequest {
  /** The memory's id. */ rid: string;
  /** Number of memories to return on each side of it, up to 100. Default: 5. */ limit?: number;
  /** Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node. */ min_index?: string | number;
  /** linearizable: the answer includes everything acknowledged before the request. */ consistency?: "stale" | "linearizable";
}

export interface Token {
  /** The beginning of its hash, which identifies it. */ hash_prefix: string;
  /** The database that the token is for. */ database: string;
  /** Its purpose. */ label: string;
  /** Its scopes; an empty list means read and write. */ scopes: string[];
  /** The namespaces that it is bound to; absent when it is not bound. */ namespaces?: string[];
  /** The highest class of trust of what it writes. */ trust: string;
  /** What it writes of this class, and of those below, waits in quarantine; absent: nothing does. */ quarantine?: string;
  /** When it was made, in Unix seconds. */ created_at: number;
  /** When it ends, in Unix seconds; null for never. */ expires_at: number | null;
  /** When it was revoked, in Unix seconds; null if it was not. */ revoked_at: number | null;
  /** When it was last used, within a few minutes, in Unix seconds; null for never. */ last_used_at: number | null;
  /** Operations a second on each node; 0: no limit. */ max_rps: number;
  /** Burst: most operations at once; 0 for one second's worth of the rate. */ burst: number;
  /** Most memories in one request; 0: no limit. */ max_batch_size: number;
}

export interface TokenList {
  /** Rows by creation, oldest first. */ tokens: Token[];
}

export interface TopologyAnswer {
  /** The cluster's id. */ cluster_id: string;
  /** The node that answers. */ node_id: number;
  /** The node that leads; null while none is known. */ leader_id: number | null;
  /** The term of the last election that the node knows of. */ term: number;
  /** Number of voters that a decision needs. */ quorum_size: number;
  /** All members, by number. */ nodes: Member[];
}

export interface Trait {
  /** The trait's name. */ name: string;
  /** Strength, from 0 to 1. */ score: number;
}

export interface TraitList {
  /** attentiveness, depth, energy and warmth. */ traits: Trait[];
}

export interface Trigger {
  /** The trigger's id. */ trigger_id: string;
  /** Kind of trigger. */ trigger_type: string;
  /** Urgency, from 0 to 1. */ urgency: number;
  /** Its status. */ status: "pending" | "delivered" | "acknowledged" | "acted" | "dismissed" | "expired";
  /** Why an agent should act on it. */ reason: string;
  /** A suggested action. */ suggested_action: string;
  /** The memories that it is about. */ source_rids: string[];
  /** The entity that it is about. */ entity: string | null;
  /** When it was raised, in Unix seconds. */ created_at: number;
  /** When it expires, in Unix seconds. */ expires_at: number | null;
}

export interface TriggerHistoryRequest {
  /** Status to return: pending, delivered, acknowledged, acted, dismissed, expired, or all. Default: all. */ status?: string;
  /** Only those of this type; blank means all. */ type?: string;
  /** Only those about memories of this namespace alone; blank means all, including those about the whole database. */ namespace?: string;
  /** Most rows to return, up to 1,000; 0 means 50. Default: 50. */ limit?: number;
  /** Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node. */ min_index?: string | number;
  /** linearizable: the answer includes everything acknowledged before the request. */ consistency?: "stale" | "linearizable";
}

export interface TriggerList {
  /** The newest first within a status. */ triggers: Trigger[];
  /** Number of rows. */ count: number;
  /** Why more rows may match than the answer has, and how to get them; absent when it has all. */ incomplete?: string;
}

export interface TriggersRequest {
  /** Status to return: pending, delivered, acknowledged, acted, dismissed, expired, or all. Default: pending. */ status?: string;
  /** Only those of this type; blank means all. */ type?: string;
  /** Only those about memories of this namespace alone; blank means all, including those about the whole database. */ namespace?: string;
  /** Most rows to return, up to 1,000; 0 means 50. Default: 50. */ limit?: number;
  /** Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node. */ min_index?: string | number;
  /** linearizable: the answer includes everything acknowledged before the request. */ consistency?: "stale" | "linearizable";
}

export interface Turn {
  /** The turn's id. */ rid: string;
  /** Who spoke. */ role: string;
  /** What was said. */ content: string;
  /** When it was recorded, in Unix seconds. */ created_at: number;
}

export interface TurnList {
  /** The oldest first. */ turns: Turn[];
  /** Number of rows. */ count: number;
  /** true: older turns were left out, because the answer reached 16 MiB of them. keys with the prefix /.turns lists all. */ left_out?: boolean;
}

export interface UndoRequest {
  /** The memory's id. */ rid: string;
  /** The number of the revision to go back to. Default: the one before the last correction. */ revision?: number;
  /** The reason, shown with its revisions. */ reason?: string;
  /** The revision (number of corrections) that the memory must be at; otherwise the request fails with the code revision_conflict. */ expected_revision?: number;
  /** Idempotency key: repeating the request with it undoes nothing twice. */ idempotency_key?: string;
}

export interface Undone {
  /** The memory's id. */ rid: string;
  /** Its text after the undo. */ text: string;
  /** The revision that it went back to. */ restored: number;
  /** Number of corrections, this one included. */ revision: number;
  /** Of a merge or a split: the sources, which recall finds again. */ recalled_again?: string[];
  /** Of a merge or a split: the memories that it had made. */ forgotten?: string[];
  /** true: the memory has no vector now, because clients bring the vectors of this database and that of an earlier text is not kept. Send it with correct. */ embedding_missing?: boolean;
  /** Position of the write in the log; min_index on another node waits for it. */ log_index: string;
}

export interface UnrelateRequest {
  /** The relation's id. */ id: string;
}

export interface Unrelated {
  /** The relation's id. */ edge_id: string;
  /** Whether such a relation existed. */ found: boolean;
  /** Position of the write in the log; min_index on another node waits for it. */ log_index: string;
}

export interface UpcomingRequest {
  /** Days from now within which it is due. Default: 7. */ days?: number;
  /** Only memories of this namespace; blank for all. */ namespace?: string;
  /** Most rows to return, up to 1,000. Default: 50. */ limit?: number;
  /** The previous page's cursor; blank for the first page. */ cursor?: string;
  /** Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node. */ min_index?: string | number;
  /** linearizable: the answer includes everything acknowledged before the request. */ consistency?: "stale" | "linearizable";
}

export interface Upkeep {
  /** The database's name. */ tenant: string;
  /** When maintenance last ran, in Unix seconds; null for never. */ last_maintenance: number | null;
  /** Number of memories that a recall searches. */ active_memories: number;
  /** Number of open contradictions. */ open_conflicts: number;
  /** Number of pending triggers. */ pending_triggers: number;
}

export interface UpkeepList {
  /** The state of each database. */ tenants: Upkeep[];
  /** Number of rows. */ count: number;
}

export interface ValuePage {
  /** Values in the order of the bytes of their JSON; a list counts as one value. */ values: AttributeValue[];
  /** Number of values on all pages. */ total: number;
  /** Pass it as after to get the next page; null at the end. */ next: string | null;
}

export interface ValuesRequest {
  /** The attribute's name. */ attribute: string;
  /** Only memories of this namespace; blank for all. */ namespace?: string;
  /** Only memories that pass it, as in a recall. */ filter?: { [name: string]: unknown };
  /** Most values to return, up to 1,000. Default: 100. */ limit?: number;
  /** The previous page's next; blank for the first page. */ after?: string;
  /** Wait until this node has applied the log up to here: the log_index of a write, to read your own write on another node. */ min_index?: string | number;
  /** linearizable: the answer includes everything acknowledged before the request. */ consistency?: "stale" | "linearizable";
}

/** One method for each operation that a gateway serves. */
export interface Operations {
  // Storing, recalling, correcting, curating and forgetting.

  /** Store a memory. To store it under a key of your own, or to replace what a key has, use put. */
  remember(request: RememberRequest, options?: CallOptions): Promise<Remembered>;
  /** Store memories, all or none. */
  rememberBatch(request: RememberBatchRequest, options?: CallOptions): Promise<RememberedBatch>;
  /** Find memories by words, meaning, relation and time. Words match when they or their stems are the same; meaning needs an embedder (embedding_model in the answer of /v1/health names it). With Accept: text/event-stream each row is an event named result, and the event named end has the rest. Only memories that match the question and score at least min_score are returned: considered and below_min_score count those examined and those left out. */
  recall(request: RecallRequest, options?: CallOptions): Promise<Recalled>;
  /** Recall the memories as they were at a date. */
  recallAsOf(request: RecallAsOfRequest, options?: CallOptions): Promise<Recalled>;
  /** What is known about something, as one block of text for a prompt, within a budget of tokens: one memory per line, the best first. Long memories are cut to their best passage, repetitions are left out, and the answer names what was left out, with the reason. The block quotes its memories, so that nothing in them reads as an instruction. */
  context(request?: PromptRequest, options?: CallOptions): Promise<PromptAnswer>;
  /** The same block, about the newest memories when there is no question, in the form that SDKs of YantrikDB expect. */
  packContext(request?: PackContextRequest, options?: CallOptions): Promise<PackContextAnswer>;
  /** Make a memory invisible to recall and lists; it can still be read by its id until it is purged. */
  forget(request: ForgetRequest, options?: CallOptions): Promise<Forgotten>;
  /** Forget the newest memories that pass a filter, all of them or none; repeat while the answer has more. A memory that was corrected meanwhile and no longer passes is not forgotten, and neither is one with searchable false. */
  forgetMatching(request: ForgetMatchingRequest, options?: CallOptions): Promise<ForgottenMatching>;
  /** Erase memories for good: their texts, vectors, revisions and claims, what they were merged or split into, and what that was merged or split into in turn. Of a memory that was itself merged or split from others it erases these too. Without confirm nothing is erased: the answer lists what would be, with a confirm value. Repeat the request with that value to erase it. From then on, storing one of these texts again is rejected. */
  erase(request?: EraseRequest, options?: CallOptions): Promise<Erasing>;
  /** A statement, signed by the node, about a memory that was erased for good: when, by which log record, what it consisted of, and where its bytes may still be. Nothing of its text is in it. */
  erased(request: ErasedRequest, options?: CallOptions): Promise<Proof>;
  /** Change a memory in place; the old text is kept as a revision. */
  correct(request: CorrectRequest, options?: CallOptions): Promise<Corrected>;
  /** Merge memories of one namespace into a new one with a text of yours. The new one has the highest importance and the lowest certainty of its sources, the attributes that they share, and their entities. The sources stay readable by id, lead to the new one, and lose their keys. undo of any of them takes the merge back. */
  merge(request: MergeRequest, options?: CallOptions): Promise<Merged>;
  /** Split a memory into several, each with a text of yours and the fields of the source. The source stays readable by id, leads to the new ones, and loses its key. undo of any of them takes the split back. */
  split(request: SplitRequest, options?: CallOptions): Promise<Splitted>;
  /** Move memories to another namespace: one by its id, or all below a key, at most 1,000, all or none. They keep their ids, keys and revisions. undo moves a memory back. */
  move(request: MoveRequest, options?: CallOptions): Promise<Moved>;
  /** Restore a memory to the state before a correction or a move; its current text is kept as a revision, so that this can be undone too. Of a memory that was merged or split, or made by that and not corrected since, it takes the merge or split back: what was made is forgotten, and the sources are recalled again, with their keys. A vector that a client sent with the old text is not restored. A class of trust that sank with the other text rises again, as far as whoever wrote the old one is trusted. */
  undo(request: UndoRequest, options?: CallOptions): Promise<Undone>;
  /** One memory, even if it was merged or forgotten. */
  memory(request: GetRequest, options?: CallOptions): Promise<Memory>;
  /** A memory's earlier texts, one before each correction, oldest first. */
  revisions(request: RevisionsRequest, options?: CallOptions): Promise<RevisionList>;
  /** The newest memory of a namespace that recall finds. */
  current(request?: CurrentRequest, options?: CallOptions): Promise<CurrentMemory>;
  /** Memories that wait in quarantine, the oldest first. They are in no recall, list or subscription. release lets one in; forget rejects it. */
  quarantine(request?: QuarantineRequest, options?: CallOptions): Promise<QuarantinePage>;
  /** Let a memory out of quarantine: from then on recall finds it. It keeps its class of trust. */
  release(request: ReleaseRequest, options?: CallOptions): Promise<Released>;

  // Memories under keys, with conditions: one memory for several writers without lost writes.

  /** Store a memory under a key. If the key has a memory, the request corrects it under the same id and keeps a revision: text, importance, valence, certainty, pin, metadata and attributes are replaced (omitted ones are cleared), expiry and searchability change only if the request sets them, and other fields stay. If if_absent, if_revision or if_sha256 does not hold: 409 precondition_failed, with rid, revision and sha256 of the current memory. */
  put(request: PutRequest, options?: CallOptions): Promise<PutAnswer>;
  /** The memory that a key has, or had at a date. */
  get(request: GetKeyRequest, options?: CallOptions): Promise<KeyedMemory>;
  /** Give a key's memory another key in its namespace. The memory keeps its id. */
  rename(request: RenameRequest, options?: CallOptions): Promise<RenameAnswer>;
  /** Forget a key's memory, which frees the key. */
  delete(request: DeleteRequest, options?: CallOptions): Promise<DeleteAnswer>;
  /** The keys below a folder, in the order of their bytes. With a depth, deeper keys are grouped by folder, and listing a group costs as much as listing one key. */
  keys(request?: ListKeysRequest, options?: CallOptions): Promise<KeyPage>;
  /** Read and write keys in one atomic step: if all conditions hold, all writes are done, otherwise none. Reads see the state before the writes. */
  batch(request: BatchRequest, options?: CallOptions): Promise<BatchAnswer>;

  // Memories page by page, and how many there are.

  /** Memories, newest first, or the newest 20,000 sorted by a field. total counts the namespace, or the database. To walk through all memories pass the cursor of each page, or use records; with kind, drive_id, since_rid or order this returns what records returns. */
  memories(request?: MemoriesRequest, options?: CallOptions): Promise<MemoryPage>;
  /** All memories in the order of their ids, page by page: pass the next_cursor of each page as since_rid, until it is null. */
  records(request?: RecordsRequest, options?: CallOptions): Promise<RecordPage>;
  /** The namespaces of a database, and how many memories each has. */
  namespaces(request?: NamespacesRequest, options?: CallOptions): Promise<NamespacePage>;
  /** The ids that short forms stand for, and the numbers of memories. */
  ids(request?: IDsRequest, options?: CallOptions): Promise<IDsAnswer>;
  /** How many active memories pass filters. Memories with searchable false are not counted. */
  count(request?: CountRequest, options?: CallOptions): Promise<Counted>;
  /** The values of an attribute, and how many active memories have each. Memories with searchable false are not counted. */
  values(request: ValuesRequest, options?: CallOptions): Promise<ValuePage>;
  /** Counters of a database or a namespace. Counters that need a scan stop at 20,000. For a namespace, relations and operations are 0, because they belong to no namespace. verbose=1 returns more. */
  stats(request?: StatsRequest, options?: CallOptions): Promise<Counters>;

  // Memories by when they were created, are due or were last accessed; what is known of an entity.

  /** Memories that were not accessed for days, the most important first. */
  stale(request?: StaleRequest, options?: CallOptions): Promise<MemoryItems>;
  /** Memories due within days, the soonest first. */
  upcoming(request?: UpcomingRequest, options?: CallOptions): Promise<MemoryItems>;
  /** Memories stored between two dates, the oldest first. */
  chronology(request?: ChronologyRequest, options?: CallOptions): Promise<MemoryItems>;
  /** An entity's profile: mentions, sessions, relations, valence. */
  entity(request: ProfileRequest, options?: CallOptions): Promise<EntityProfile>;
  /** Memories stored shortly before and after a memory, oldest first. */
  timeline(request: TimelineRequest, options?: CallOptions): Promise<MemoryList>;
  /** Names that memories, relations and claims mention. */
  entities(request?: EntitiesRequest, options?: CallOptions): Promise<EntityList>;

  // Sessions: stretches of a client's work.

  /** Open a session; its namespace's memories join it. */
  sessionStart(request?: StartSessionRequest, options?: CallOptions): Promise<StartedSession>;
  /** Close a session. */
  sessionEnd(request: EndSessionRequest, options?: CallOptions): Promise<EndedSession>;
  /** A session and its memories, in order. */
  session(request: SessionHistoryRequest, options?: CallOptions): Promise<SessionAndMemories>;
  /** Sessions, newest first. */
  sessions(request?: SessionsRequest, options?: CallOptions): Promise<SessionList>;
  /** Store a session's summary, as one memory for each statement. */
  sessionDraft(request: DraftSummaryRequest, options?: CallOptions): Promise<Drafted>;

  // What agents keep of their work: the last turns of a conversation, tasks, and skills with their outcomes.

  /** Add a turn to the end of a namespace's conversation, and forget the oldest ones beyond max_turns. */
  turnRecord(request: RecordTurnRequest, options?: CallOptions): Promise<RecordedTurn>;
  /** The last turns of a namespace's conversation, word for word, the oldest first. */
  turns(request?: RecentTurnsRequest, options?: CallOptions): Promise<TurnList>;
  /** Forget all turns of a namespace's conversation. */
  turnsClear(request?: ClearTurnsRequest, options?: CallOptions): Promise<ClearedTurns>;
  /** Add a task to a namespace's list. */
  taskAdd(request: AddTaskRequest, options?: CallOptions): Promise<AddedTask>;
  /** The tasks of a namespace, the most urgent first, then the oldest. In a namespace with more than 20,000 tasks, only the first 20,000 added are listed, and incomplete says so. */
  tasks(request?: TasksRequest, options?: CallOptions): Promise<TaskList>;
  /** One task. */
  task(request: GetTaskRequest, options?: CallOptions): Promise<Task>;
  /** Change a task's status, priority or title. */
  taskChange(request: ChangeTaskRequest, options?: CallOptions): Promise<ChangedTask>;
  /** Forget a task. Its subtasks stay. */
  taskDelete(request: DropTaskRequest, options?: CallOptions): Promise<DroppedTask>;
  /** Find skills by what they are for, the best first. */
  skillsSearch(request: SearchSkillsRequest, options?: CallOptions): Promise<SkillList>;
  /** Store a skill under its id. If a skill has the id already, on_conflict says whether to replace it. */
  skillDefine(request: DefineSkillRequest, options?: CallOptions): Promise<DefinedSkill>;
  /** Record whether a skill succeeded when it was used. */
  skillOutcome(request: NoteOutcomeRequest, options?: CallOptions): Promise<NotedOutcome>;

  // Relations, claims and names of entities.

  /** Relate two entities; repeating it changes the weight. Relations belong to the database, not to a namespace. */
  relate(request: RelateRequest, options?: CallOptions): Promise<Related>;
  /** The relations that an entity is in, in both directions, one step away. entity also returns its memories and claims. */
  edges(request: EdgesRequest, options?: CallOptions): Promise<EdgeList>;
  /** The same as edges, as a POST. */
  graph(request: GraphRequest, options?: CallOptions): Promise<EdgeList>;
  /** A relation, by its id. */
  edge(request: EdgeRequest, options?: CallOptions): Promise<Edge>;
  /** Delete a relation. */
  unrelate(request: UnrelateRequest, options?: CallOptions): Promise<Unrelated>;
  /** State a relation with its evidence. */
  ingestClaim(request: ClaimRequest, options?: CallOptions): Promise<Claimed>;
  /** Claims about an entity, newest first. */
  getClaims(request: ClaimsRequest, options?: CallOptions): Promise<ClaimList>;
  /** Make a name an alias of another. */
  addAlias(request: AliasRequest, options?: CallOptions): Promise<Aliased>;

  // What cognition finds: contradictions, triggers, traits and patterns.

  /** Look for duplicates, contradictions, patterns and things an agent should act on. */
  think(request?: ThinkRequest, options?: CallOptions): Promise<Thought>;
  /** Contradictions, the most urgent first, then the newest. */
  conflicts(request?: ConflictsRequest, options?: CallOptions): Promise<ConflictList>;
  /** Resolve a contradiction. */
  resolveConflict(request: ResolveRequest, options?: CallOptions): Promise<Resolved>;
  /** Triggers: things an agent should act on. */
  triggers(request?: TriggersRequest, options?: CallOptions): Promise<TriggerList>;
  /** Triggers of every status. */
  triggersHistory(request?: TriggerHistoryRequest, options?: CallOptions): Promise<TriggerList>;
  /** Take pending triggers and mark them as delivered. */
  triggersDeliver(request?: DeliverTriggersRequest, options?: CallOptions): Promise<TriggerList>;
  /** Acknowledge a trigger, act on it or dismiss it. */
  triggerMove(request: MoveTriggerRequest, options?: CallOptions): Promise<MovedTrigger>;
  /** Expire pending triggers that are overdue, then the least urgent ones beyond max_pending. By default it only counts them. One request expires at most 1,000. */
  triggersPrune(request?: PruneTriggersRequest, options?: CallOptions): Promise<PrunedTriggers>;
  /** Lists of words of which only one can hold at a time, such as names of databases. The lists are built in. */
  categories(request?: CategoriesRequest, options?: CallOptions): Promise<CategoryList>;
  /** The words of a category. */
  categoryMembers(request: CategoryMembersRequest, options?: CallOptions): Promise<CategoryWords>;
  /** The agent's traits, computed from its memories. */
  personality(request?: PersonalityRequest, options?: CallOptions): Promise<TraitList>;
  /** Patterns, the most certain first. */
  patterns(request?: PatternsRequest, options?: CallOptions): Promise<PatternList>;
  /** Say whether a recalled memory was relevant; ranking learns from it. */
  feedback(request: FeedbackRequest, options?: CallOptions): Promise<Heeded>;
  /** Questions that were asked often and had poor answers, on all nodes since they started. */
  gaps(request?: GapsRequest, options?: CallOptions): Promise<GapList>;
  /** What an agent should know of a namespace at the start of its work. */
  digest(request?: DigestRequest, options?: CallOptions): Promise<DigestAnswer>;

  // Changes, as they happen.

  /** A stream of changes that stays open: ids, never a memory's text. The first event, subscribed, has the log position at which the stream begins. When one write makes several events, only the last has an id line. To continue after that write, send the id as the header Last-Event-ID or as from. After 15 seconds without an event, a line with only a colon is sent. The event lagged means that the log no longer holds events you missed, or that it ends before the position you named. */
  events(request?: EventsRequest, options?: CallOptions): Feed;

  // Databases, their quotas, settings and embedders, and erasing from them.

  /** Create a database. */
  databasesCreate(request: CreateDatabaseRequest, options?: CallOptions): Promise<CreatedDatabase>;
  /** The databases that the token may use. */
  databases(request?: ReadRequest, options?: CallOptions): Promise<DatabaseList>;
  /** Delete a database with all its content; its tokens are revoked. */
  databasesDrop(request: DropDatabaseRequest, options?: CallOptions): Promise<DroppedDatabase>;
  /** A database's limits; 0 for no limit. */
  quota(request: QuotaRequest, options?: CallOptions): Promise<QuotaAnswer>;
  /** Set a database's limits: active memories, and requests on each node; 0 for no limit; omitted fields stay as they are. */
  quotaSet(request: SetQuotaRequest, options?: CallOptions): Promise<QuotaSet>;
  /** A database's policies; ages in seconds, 0 for none. */
  settings(request?: ReadRequest, options?: CallOptions): Promise<Policies>;
  /** Change a database's policies; omitted fields stay. */
  settingsSet(request?: SetSettingsRequest, options?: CallOptions): Promise<Policies>;
  /** Erase memories created before a time: texts, vectors and revisions. */
  purge(request: PurgeRequest, options?: CallOptions): Promise<Purged>;
  /** A database's embedder, the number of memories with a vector, and the state of this node's embedder. */
  embedding(request: EmbeddingRequest, options?: CallOptions): Promise<EmbeddingAnswer>;
  /** Change a database's embedder and embed its memories again, in the background; old vectors serve until it is done. */
  reembed(request: ReembedRequest, options?: CallOptions): Promise<Reembedding>;
  /** Merge duplicates and look for contradictions and patterns, in one database or all. */
  maintenanceRun(request?: RunMaintenanceRequest, options?: CallOptions): Promise<MaintenanceRun>;
  /** When maintenance last ran, for one database or each, and what waits for a decision. */
  maintenanceStatus(request?: MaintenanceStatusRequest, options?: CallOptions): Promise<UpkeepList>;

  // Tokens, and what each may do.

  /** The scopes and the database of this request's token. */
  me(request?: Nothing, options?: CallOptions): Promise<MeAnswer>;
  /** Create a token; its text is shown once. */
  tokensCreate(request?: CreateTokenRequest, options?: CallOptions): Promise<CreatedToken>;
  /** All tokens, by the beginning of their hashes. */
  tokens(request?: ReadRequest, options?: CallOptions): Promise<TokenList>;
  /** Revoke a token, given as its text, its hash or the beginning of its hash. */
  tokensRevoke(request: RevokeTokenRequest, options?: CallOptions): Promise<RevokedToken>;
  /** Limit a token's requests on each node; 0 or omitted for no limit. */
  tokensLimit(request: LimitTokenRequest, options?: CallOptions): Promise<LimitedToken>;

  // Backups, exports and imports.

  /** Make a backup of all databases as this node has them: the whole state, or, with since, the log after an index. */
  backup(request?: MakeBackupRequest, options?: CallOptions): Promise<Backup>;
  /** Download a backup; ranges are served. */
  backupSend(request: FetchBackupRequest, options?: CallOptions): Promise<ReadableStream<Uint8Array>>;
  /** Delete a backup that was downloaded. */
  backupDrop(request: DropBackupRequest, options?: CallOptions): Promise<DroppedBackup>;
  /** A database's memories with their revisions and claims, merged ones included, then its relations; NDJSON. With a filter, relations are left out. Forgotten memories, claims that clients stated, aliases, sessions, policies and what think found are in a backup alone. */
  export(request?: ExportRequest, options?: CallOptions): AsyncGenerator<Line, void>;
  /** Import NDJSON as export writes it. Memories and relations keep their ids, unless an id is taken already. A line with a key or an external_id is stored under it, or corrects the memory there if that says something else. A line that is there already changes nothing, so an import that broke off can be repeated. A line is read only after the lines before it are stored. */
  import(lines: Lines, request?: ImportRequest, options?: CallOptions): Promise<Imported>;

  // The members, the log, and who changed what.

  /** The cluster as this node sees it. Without a token: whether the node is alive and ready. */
  cluster(request?: Nothing, options?: CallOptions): Promise<ClusterStatus>;
  /** The members of the cluster and where each is reached. */
  clusterTopology(request?: Nothing, options?: CallOptions): Promise<TopologyAnswer>;
  /** Raft as this node knows it. */
  clusterRaft(request?: Nothing, options?: CallOptions): Promise<RaftState>;
  /** Rates, latencies, lag and sizes of every node over the last 24 hours, with starts and elections. Each node keeps its own in memory, since it started. */
  clusterMetrics(request?: PastRequest, options?: CallOptions): Promise<PastAnswer>;
  /** Encryption and TLS of every member: whether its home is encrypted, the ids and ages of its data keys, what a key rotation has left to do, its certificates and when they end, and which ports use TLS. No key is returned. */
  clusterKeys(request?: KeysRequest, options?: CallOptions): Promise<KeysAnswer>;
  /** Change the cluster's members: join, leave, remove, promote, transfer. promote without a node_id requests leadership for this node. */
  clusterChange(request: ChangeMembersRequest, options?: CallOptions): Promise<MembersChanged>;
  /** The replicated databases and tokens; for tokens with the scope admin only. */
  controlSnapshot(request?: ReadRequest, options?: CallOptions): Promise<Control>;
  /** Ask every node the same question: nodes at the same index give the same answer. */
  recallCompare(request: CompareRequest, options?: CallOptions): Promise<Comparison>;
  /** Changes of the cluster and the callers that made them, newest first. */
  audit(request?: AuditsRequest, options?: CallOptions): Promise<AuditList>;
  /** Applied log entries without their texts; NDJSON. */
  log(request?: LogRequest, options?: CallOptions): AsyncGenerator<Line, void>;

  // The health of a node. Needs no token.

  /** Whether the process is alive; always 200. */
  health(request?: Nothing, options?: CallOptions): Promise<AliveAnswer>;
  /** Whether state, index and quorum answer; 503 when one does not. The embedder's state is included but does not count. */
  healthDeep(request?: Nothing, options?: CallOptions): Promise<DeepHealthAnswer>;
  /** Whether the node has caught up since its start and is not far behind; 503 when not. A node that loses its leader stays ready, because it still answers reads. behind is null while it hears no leader. */
  healthReady(request?: Nothing, options?: CallOptions): Promise<ReadyAnswer>;
}
