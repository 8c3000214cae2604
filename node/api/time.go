package api

import "github.com/cairndb/cairn/wire/field"

// Memories by time, and profiles of entities.
var (
	Stale = row[StaleRequest, MemoryItems](Op{Name: "stale", Bound: Narrowed, Scope: Read, HTTP: "GET /v1/stale",
		Also: []string{"/v1/temporal/stale"},
		Does: "Memories that were not accessed for days, the most important first."})
	Upcoming = row[UpcomingRequest, MemoryItems](Op{Name: "upcoming", Bound: Narrowed, Scope: Read, HTTP: "GET /v1/upcoming",
		Also: []string{"/v1/temporal/upcoming"},
		Does: "Memories due within days, the soonest first."})
	Chronology = row[ChronologyRequest, MemoryItems](Op{Name: "chronology", Bound: Narrowed, Scope: Read,
		HTTP: "GET /v1/chronology", Also: []string{"/v1/temporal/range"},
		Does: "Memories stored between two dates, the oldest first."})
	Profile = row[ProfileRequest, EntityProfile](Op{Name: "entity", Bound: Narrowed, Scope: Read,
		HTTP: "GET /v1/entities/{name}", Missing: "entity_not_found", Does: "An entity's profile: mentions, sessions, relations, valence.",
		Tool: &Tool{Name: "entity", Title: "Profile of an entity", Full: true, ReadOnly: true, Idempotent: true,
			Text: "Numbers about a person, project or thing: how many memories name it, since when, and its relations."}})
)

type StaleRequest struct {
	Days      float64 `json:"days" is:"number[0..36500]" default:"30" doc:"Least number of days since the memory was last accessed."`
	Namespace string  `json:"namespace" doc:"Only memories of this namespace; blank for all."`
	Limit     int     `json:"limit" is:"integer[0..]" default:"50" doc:"Most rows to return, up to 1,000."`
	Fresh
}

type UpcomingRequest struct {
	Days      float64 `json:"days" is:"number[0..36500]" default:"7" doc:"Days from now within which it is due."`
	Namespace string  `json:"namespace" doc:"Only memories of this namespace; blank for all."`
	Limit     int     `json:"limit" is:"integer[0..]" default:"50" doc:"Most rows to return, up to 1,000."`
	Cursor    string  `json:"cursor" doc:"The previous page's cursor; blank for the first page."`
	Fresh
}

type ChronologyRequest struct {
	From      field.Date `json:"from" doc:"Only memories created at this date or after it."`
	To        field.Date `json:"to" doc:"Only memories created before this date."`
	Namespace string     `json:"namespace" doc:"Only memories of this namespace; blank for all."`
	Entity    string     `json:"entity" doc:"Only memories that name this entity or one of its aliases."`
	Type      string     `json:"memory_type" doc:"Only memories of this kind."`
	Limit     int        `json:"limit" is:"integer[0..]" default:"50" doc:"Most rows to return, up to 1,000."`
	Cursor    string     `json:"cursor" doc:"The previous page's cursor; blank for the first page. Not with entity."`
	Fresh
}

type MemoryItems struct {
	Items []Memory `json:"items" doc:"The memories."`
	Count int      `json:"count" doc:"Number of rows in this answer."`
	Left  bool     `json:"left_out,omitempty" doc:"true: more rows were left out, because the answer reached 16 MiB of memories. Request fewer rows."`

	Cursor string `json:"cursor,omitempty" doc:"Pass it as cursor to get the next page; absent at the end, and in lists without cursors. A page may have few rows or none, and a cursor."`
	Bounded
}

type ProfileRequest struct {
	Name      string  `json:"name" in:"path" doc:"The entity's name or an alias, in any case." example:"Alice"`
	Namespace string  `json:"namespace" doc:"Only memories of this namespace, without relations (they belong to no namespace); blank for all."`
	Days      float64 `json:"days" is:"number[0..36500]" doc:"Only memories of the last N days; 0 for all."`
	Fresh
}

// An EntityProfile summarises an entity from the newest 2,000 memories that name it.
type EntityProfile struct {
	Entity    string   `json:"entity" doc:"Its name."`
	Type      string   `json:"entity_type" doc:"What kind of thing it is."`
	Mentions  uint64   `json:"mentions" doc:"Number of memories that name it."`
	Memories  int      `json:"memories" doc:"Number of memories that name it, within the requested days."`
	Sessions  int      `json:"sessions" doc:"Number of sessions that these belong to."`
	Domains   []string `json:"domains" doc:"Their domains, the commonest first."`
	Valence   float64  `json:"average_valence" doc:"Average emotional valence, from -1 (bad) to 1 (good)."`
	Trend     float64  `json:"valence_trend" doc:"The average valence of the newer half minus the average of the older half; 0 for fewer than four memories."`
	Emotion   *string  `json:"dominant_emotion" doc:"The most common emotion; null for none."`
	PerDay    float64  `json:"per_day" doc:"Average number of these memories per day."`
	Links     int      `json:"links" doc:"Number of relations that it is part of."`
	Relations []string `json:"relations" doc:"Their kinds, the commonest first."`
	Depth     float64  `json:"depth" doc:"How close the relationship is, from 0 to 1."`
	First     *float64 `json:"first_seen" is:"time" doc:"When the oldest of the memories was created, in Unix seconds."`
	Last      *float64 `json:"last_seen" is:"time" doc:"When the newest was, in Unix seconds."`
}
