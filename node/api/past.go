package api

// Past returns measurements of the nodes over the last day.
var Past = row[PastRequest, PastAnswer](Op{Name: "cluster_metrics", Node: true, Scope: Read, Asked: true, HTTP: "GET /v1/cluster/metrics",
	Does: "Rates, latencies, lag and sizes of every node over the last 24 hours, with starts and elections. Each node keeps its own in memory, since it started."})

type PastRequest struct {
	Minutes int  `json:"minutes" is:"integer[1..]" default:"1440" doc:"How far back to go, up to 1,440."`
	Points  int  `json:"points" is:"integer[1..]" default:"240" doc:"Most points of each node, up to 2,880. Neighbouring points are combined: the worst latency and lag, and the mean of the rest."`
	Here    bool `json:"node" doc:"Report only the node that receives the request, not the others."`
}

type PastAnswer struct {
	Nodes []NodePast `json:"nodes" doc:"The nodes, by number."`
}

// A NodePast holds a node's measurements. The lists have the same length, with a value for each time; null is unknown.
type NodePast struct {
	NodeID   uint32     `json:"node_id" doc:"The node's number."`
	Error    string     `json:"error,omitempty" doc:"Why the node did not answer."`
	At       []float64  `json:"at" doc:"Times of the points, in Unix seconds, oldest first."`
	Requests []*float64 `json:"requests_per_second" doc:"Requests of clients on all surfaces."`
	Refused  []*float64 `json:"refused_per_second" doc:"Requests that were answered with an error."`
	Writes   []*float64 `json:"entries_per_second" doc:"Log entries applied."`
	Median   []*float64 `json:"median_ms" doc:"Time to answer, median, in milliseconds."`
	Slowest  []*float64 `json:"p99_ms" doc:"Time to answer, 99th percentile, in milliseconds."`
	Commit   []*float64 `json:"commit_ms" doc:"Time from proposing a write to applying it, median, in milliseconds."`
	Lag      []*float64 `json:"lag_entries" doc:"Acknowledged log entries not applied on the node; null while it hears no leader."`
	Unfound  []*float64 `json:"index_lag_entries" doc:"Log entries applied and not yet in the search index."`
	Disk     []*float64 `json:"disk_bytes" doc:"Size of the state's files."`
	Heap     []*float64 `json:"heap_bytes" doc:"Memory in use by the process."`
	Marks    []PastMark `json:"marks" doc:"What happened, oldest first."`
}

// A PastMark is a start or an election.
type PastMark struct {
	At     float64 `json:"at" is:"time" doc:"When, in Unix seconds."`
	Kind   string  `json:"kind" is:"string{start,election}" doc:"start: the node started; election: the node learned of a new leader."`
	Term   uint64  `json:"term,omitempty" doc:"The term that began."`
	Leader uint32  `json:"leader_id,omitempty" doc:"The node that was elected."`
}
