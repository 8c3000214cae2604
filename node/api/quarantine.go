package api

import "github.com/cairndb/cairn/wire/field"

// Quarantine.
var (
	Quarantine = row[QuarantineRequest, QuarantinePage](Op{Name: "quarantine", Bound: Narrowed, Scope: Owner, HTTP: "GET /v1/quarantine",
		Does: "Memories that wait in quarantine, the oldest first. They are in no recall, list or subscription. release lets one in; forget rejects it."})
	Release = row[ReleaseRequest, Released](Op{Name: "release", Bound: Narrowed, Scope: Owner, Writes: true,
		HTTP: "POST /v1/release", Missing: "memory_not_found",
		Does: "Let a memory out of quarantine: from then on recall finds it. It keeps its class of trust."})
)

type QuarantineRequest struct {
	Namespace string `json:"namespace" doc:"Only memories of this namespace; blank for all."`
	Limit     int    `json:"limit" is:"integer[0..]" default:"50" doc:"Most memories to return, up to 200."`
	After     string `json:"after" doc:"The previous page's next; blank for the first page."`
	Fresh
}

type QuarantinePage struct {
	Memories []Memory `json:"memories" doc:"The oldest first."`
	Next     *string  `json:"next" doc:"Pass it as after to get the next page; null at the end."`
}

type ReleaseRequest struct {
	RID    string `json:"rid" names:"memory" is:"rid!" doc:"The memory's id." example:"0190a3c2-7d5e-7c1a-9b1e-2f4d6a8c0e12"`
	Reason string `json:"reason" doc:"The reason, shown with its revisions."`
}

type Released struct {
	RID   string      `json:"rid" is:"rid" doc:"The memory's id."`
	Trust string      `json:"trust" doc:"Its class of trust, which stays."`
	Index field.Token `json:"log_index" doc:"Position of the write in the log; min_index on another node waits for it."`
}
