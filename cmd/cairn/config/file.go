package config

// File is the TOML configuration of a node. Keys keep the spelling of existing files.
//
// The tags of a field describe its key. doc is its meaning; default, the value if it is omitted; unit, the unit of a
// number; negative, that the number may be below 0; secret, that its value is never shown; env, the variables that
// override it, if not CAIRN_SECTION_KEY. deploy/CONFIG.md and the environment variables are generated from them.
type File struct {
	Server     server     `toml:"server"`
	Cluster    cluster    `toml:"cluster"`
	Limits     limits     `toml:"limits"`
	Log        retention  `toml:"log"`
	TLS        tlsSection `toml:"tls"`
	Backup     backup     `toml:"backup"`
	Embedding  embedding  `toml:"embedding"`
	Rerank     reranking  `toml:"rerank"`
	Background background `toml:"background"`
	Index      indexes    `toml:"index"`
	Local      Local      `toml:"local"`
	Encryption encryption `toml:"encryption"`

	// Raft is accepted and has no effect.
	Raft map[string]any `toml:"raft"`
}

type server struct {
	WirePort      int      `toml:"wire_port" default:"7437" doc:"Port of the clients' binary protocol."`
	HTTPPort      int      `toml:"http_port" default:"wire_port + 1" doc:"Port of the gateway."`
	Bind          string   `toml:"bind" default:"0.0.0.0" doc:"Address to listen on."`
	DataDir       string   `toml:"data_dir" default:"./data" doc:"The home: directory of all that the node stores."`
	ForwardWrites *bool    `toml:"forward_writes" default:"over HTTP only" doc:"Whether a follower forwards writes to the leader. Unset: it forwards those that come over HTTP, and rejects those over the wire with the leader's address; true: it forwards both; false: it rejects both, over HTTP with 307."`
	Lenient       bool     `toml:"lenient" default:"false" doc:"false: requests with unknown fields, values of the wrong type or numbers out of range are rejected, and the error names the field; true: accepted, as clients of the first gateways (0.7 and before) rely on: unknown fields and values of the wrong type are ignored, numbers are kept as sent. Unreadable dates are always rejected."`
	CORSOrigins   []string `toml:"cors_origins" default:"none" doc:"Origins of web pages that may send requests to the gateway, as scheme://host:port; * for all."`
	OAuthIssuer   string   `toml:"oauth_issuer" default:"none" doc:"URL at which clients reach the gateway, without /mcp, such as https://cairn.example.com; the same on all members. It turns OAuth 2.1 for /mcp on: MCP clients register, a person agrees in the browser with a token, and the client gets an access token of an hour and a refresh token. https, or http on a loopback host."`
	MasterToken   *bool    `toml:"master_token" default:"false for new homes" doc:"Whether the cluster secret is an admin token of database \"default\". Unset: false for a new home, and true, with a warning, for an older one. When it is false the node makes an admin token in data_dir/token, if there is none."`
}

type cluster struct {
	NodeID        uint32 `toml:"node_id" default:"1" env:"CAIRN_CLUSTER_NODE_ID,YANTRIKDB_CLUSTER_NODE_ID" doc:"The node's number; every member has its own."`
	Role          string `toml:"role" default:"voter" doc:"voter or read_replica."`
	ClusterPort   int    `toml:"cluster_port" default:"7440 with peers, else none" doc:"Port of the other members. A node without peers opens none unless it is set."`
	Bind          string `toml:"bind" default:"server.bind" doc:"Address that the peer port listens on."`
	AdvertiseAddr string `toml:"advertise_addr" doc:"host:port that peers dial; required when the peer port listens on every address. The node reports its host to clients too."`
	AdvertiseWire string `toml:"advertise_wire" default:"host of advertise_addr, wire_port" doc:"host:port of the wire port, as the node reports it to clients."`
	AdvertiseHTTP string `toml:"advertise_http" default:"host of advertise_addr, http_port" doc:"host:port of the gateway, as the node reports it to clients."`
	timings
	Secret          string `toml:"cluster_secret" secret:"true" env:"CAIRN_CLUSTER_SECRET,CAIRN_CLUSTER_CLUSTER_SECRET,YANTRIKDB_CLUSTER_SECRET" default:"the one in data_dir/cluster.secret" doc:"Shared by all members, at least 32 characters: cairn cluster secret makes one. A node without peers makes one at its first start."`
	SecretFile      string `toml:"cluster_secret_file" doc:"File with the secret, instead of cluster_secret."`
	OtherSecret     string `toml:"other_cluster_secret" secret:"true" doc:"A second secret that is accepted, while the secret is being changed."`
	OtherSecretFile string `toml:"other_cluster_secret_file" doc:"File with the other secret, instead of other_cluster_secret."`
	Admit           string `toml:"admit" default:"secret" doc:"Who readmits a member whose home was emptied, so that it has a new key. secret: the leader, once the old key was not seen for a while; operator: you, with cairn cluster remove. The same on all members."`
	InsecurePeers   bool   `toml:"insecure_peers" default:"false" doc:"Whether members may talk in plain text over a network, without [tls.cluster]: every machine in between can then read and change their traffic. A peer port on loopback needs no TLS."`
	ReplicationMode string `toml:"replication_mode" doc:"Accepted in older files, without effect: a write is always stored on a majority."`
	snapshots
	PeersSRV      string     `toml:"peers_srv" doc:"Instead of peers: the DNS name whose SRV records are all members, this one too, such as _peer._tcp.cairn-peers. The node resolves it when it starts."`
	PeersExpected int        `toml:"peers_expected" default:"3" unit:"members" doc:"Number of members that peers_srv must name before a node with an empty home starts: fewer could found their own cluster."`
	Peers         []filePeer `toml:"peers" doc:"The other members."`
}

// timings are the keys of [cluster] for heartbeats, elections and clocks.
type timings struct {
	HeartbeatMS      int `toml:"heartbeat_interval_ms" default:"400" unit:"milliseconds" doc:"How often the leader sends heartbeats to the followers."`
	MaxClockOffsetMS int `toml:"max_clock_offset_ms" default:"2000" unit:"milliseconds" doc:"How far a node's clock may be from the median of the members' clocks. A leader over the limit uses the others' time and transfers leadership."`
	ElectionMS       int `toml:"election_timeout_ms" default:"1200" unit:"milliseconds" doc:"How long followers wait for a heartbeat before they elect another leader; at least twice the heartbeat."`
}

// snapshots are the keys of [cluster] for snapshots and the truncation of the log.
type snapshots struct {
	SnapshotThreshold  uint64 `toml:"snapshot_threshold" default:"8192" unit:"log entries" doc:"A snapshot is taken after this many log entries; also after 64 MiB of log, and when entries have waited for an hour."`
	SnapshotIntervalMS int    `toml:"snapshot_interval_ms" default:"120000" unit:"milliseconds" doc:"How often the node checks whether a snapshot is due."`
	TrailingLogs       uint64 `toml:"trailing_logs" default:"10240" unit:"log entries" doc:"Log entries kept although a snapshot holds them, for members that were away; at most 128 MiB, and about a day of them."`
}

type filePeer struct {
	Addr string `toml:"addr" doc:"Peer address, host:port."`
	Role string `toml:"role" default:"voter" doc:"voter or read_replica."`
}

type limits struct {
	MaxConnections      int `toml:"max_connections" default:"4096" unit:"connections" doc:"Most connections on the wire port, and as many on the gateway. Each port gets at most a quarter of the process's limit of open files."`
	MaxConnectionsPerIP int `toml:"max_connections_per_ip" default:"100" unit:"connections" doc:"Most connections on each port from one IPv4 address or one IPv6 /64 network; loopback is exempt."`
	MaxInFlight         int `toml:"max_in_flight" default:"1024" unit:"requests" doc:"Most requests in progress at once on the wire port, and as many on the HTTP port."`
	MaxRPS              int `toml:"max_rps" default:"10000" negative:"true" unit:"operations a second" doc:"Operations a second of one token over HTTP, unless cairn token limit sets another limit; a batch counts as many as it has memories; negative: no limit."`
	MaxDatabases        int `toml:"max_databases" default:"100" negative:"true" unit:"databases" doc:"Most databases that the tokens of one database may create; tokens with scope admin have no limit; negative: no limit."`
	FailedLogins        int `toml:"failed_logins" default:"100" unit:"logins" doc:"Attempts with wrong tokens that one address may make at once, and one a second after that; valid tokens are always accepted."`
	TokenUseMinutes     int `toml:"token_use_minutes" default:"5" unit:"minutes" doc:"How often a node reports to the others when tokens were last used."`
}

type retention struct {
	RetainOperations int `toml:"retain_operations" default:"1000000" unit:"operations" doc:"Applied operations kept for readers of the log and for backups of log ranges."`
	RetainHours      int `toml:"retain_hours" default:"168" unit:"hours" doc:"How long they are kept at most."`
	SlowMS           int `toml:"slow_ms" default:"1000" negative:"true" unit:"milliseconds" doc:"Operations that take at least this long are logged, without their content; negative: none are."`
}

type tlsSection struct {
	tlsFiles
	Cluster tlsFiles `toml:"cluster"`
}

// tlsFiles names PEM files. As everywhere here, relative paths are relative to the working directory.
type tlsFiles struct {
	CertPath string `toml:"cert_path" doc:"PEM of the certificate; with key_path it turns TLS on."`
	KeyPath  string `toml:"key_path" doc:"PEM of its private key."`
	CAPath   string `toml:"ca_path" doc:"PEM of the authorities; needed in [tls.cluster]."`
}

type backup struct {
	Dir             string `toml:"dir" default:"none" doc:"Directory for backups; no backups are made without it."`
	IntervalMinutes int    `toml:"interval_minutes" default:"60" unit:"minutes" doc:"How often a backup is made."`
	FullEvery       int    `toml:"full_every" default:"24" unit:"backups" doc:"How many log ranges are backed up between two whole states."`
	Keep            int    `toml:"keep" default:"7" unit:"whole states" doc:"How many whole states are kept, with the log ranges that follow them."`
}

type embedding struct {
	Strategy string `toml:"strategy" default:"none" doc:"none, builtin, static, bert or http. A write waits 250 ms for a vector at most, a question 500 ms; the leader, or a follower that has the model, embeds later what was stored without one."`
	Path     string `toml:"path" doc:"static (model2vec) and bert (MiniLM, bge-small, e5-small, gte-small and their kind): the model's directory. cairn embed fetch downloads known ones."`
	Int8     bool   `toml:"int8" default:"false" doc:"bert: keep the model's table of words in 8 bits. It takes a quarter of the memory, and the cosine of a vector with the exact one is over .99. Useful for multilingual models, which consist mostly of this table."`
	URL      string `toml:"url" doc:"http: the server's URL, with the path /v1/embeddings (OpenAI) or /api/embed (Ollama)."`
	Model    string `toml:"model" doc:"http: the model's name there."`
	KeyFile  string `toml:"key_file" doc:"http: file with the bearer token."`
	Dim      int    `toml:"dim" default:"builtin: 384" unit:"dimensions" doc:"Dimensions of the vectors that builtin makes, or the model at url."`
}

type reranking struct {
	URL     string `toml:"url" default:"none" doc:"URL of a server that reorders the first 50 results of a recall, with the path /rerank or /v1/rerank: Text Embeddings Inference, llama.cpp, vLLM, Jina, Cohere. It receives the question and these memories."`
	Model   string `toml:"model" doc:"The model's name there; none for Text Embeddings Inference."`
	KeyFile string `toml:"key_file" doc:"File with the bearer token."`
	WaitMS  int    `toml:"wait_ms" default:"500" unit:"milliseconds" doc:"How long a recall waits for it; without an answer the order stays as it was."`
}

// background configures the leader's background tasks.
type background struct {
	ThinkMinutes         *int `toml:"think_interval_minutes" default:"30" negative:"true" unit:"minutes" doc:"How often cognition looks through every database for conflicts, triggers and tiers; 0: never."`
	ConsolidationMinutes *int `toml:"consolidation_interval_minutes" negative:"true" unit:"minutes" doc:"The older name of think_interval_minutes."`
	Consolidate          bool `toml:"consolidate" default:"false" doc:"Whether cognition merges duplicates, also in databases whose policies do not enable it."`
	SessionHours         int  `toml:"session_hours" default:"24" unit:"hours" doc:"A session that no client ended is abandoned after this many hours."`
	DecaySweepMinutes    *int `toml:"decay_sweep_interval_minutes" negative:"true" unit:"minutes" doc:"Accepted in older files, without effect: cognition reports fading memories."`
}

type indexes struct {
	IdleSeconds int `toml:"idle_seconds" default:"300" negative:"true" unit:"seconds" doc:"The index of a database that was not queried for this long is closed, and the next query opens it; negative: never."`
	MaxOpen     int `toml:"max_open" default:"128" negative:"true" unit:"databases" doc:"About how many databases have their index open at once; beyond that, the least recently queried one is closed; negative: no limit."`
}

type encryption struct {
	KeyFile    string `toml:"key_file" doc:"File with the master key: a line of 64 hex digits or base64, older keys on lines below; mode 0600. It encrypts all of the home."`
	KeyPath    string `toml:"key_path" env:"-" doc:"The name of key_file in older files."`
	KeyEnv     string `toml:"key_env" doc:"Name of an environment variable with the key instead; several keys are separated by commas."`
	KeyCommand string `toml:"key_command" secret:"true" doc:"Command that prints the key instead, run by /bin/sh."`
	Generate   bool   `toml:"auto_generate" env:"-" default:"false" doc:"Accepted as false in older files; true is rejected: a key stored next to the data protects nothing."`
}
