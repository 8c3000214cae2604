package api

import "github.com/cairndb/cairn/wire/field"

// Memories by time, and what is known of an entity.
var (
	Stale = row[StaleRequest, MemoryItems](Op{Name: "stale", Scope: Read, HTTP: "GET /v1/stale", Also: []string{"/v1/temporal/stale"},
		Does: "What is worth something and was not looked at for days, the most important first."})
	Upcoming = row[UpcomingRequest, MemoryItems](Op{Name: "upcoming", Scope: Read, HTTP: "GET /v1/upcoming", Also: []string{"/v1/temporal/upcoming"},
		Does: "What is due within days, the soonest first."})
	Chronology = row[ChronologyRequest, MemoryItems](Op{Name: "chronology", Scope: Read, HTTP: "GET /v1/chronology", Also: []string{"/v1/temporal/range"},
		Does: "What was stored in a stretch of time, the oldest first; from and to are dates."})
	Profile = row[ProfileRequest, EntityProfile](Op{Name: "entity", Scope: Read, HTTP: "GET /v1/entities/{name}", Missing: "entity_not_found", Does: "What is known of an entity."})
)

type StaleRequest struct {
	Days      float64 `json:"days" is:"number[0..36500]" default:"30" doc:"For how many days it was not looked at."`
	Namespace string  `json:"namespace" doc:"Only memories of this namespace; blank for all."`
	Limit     int     `json:"limit" is:"integer[0..]" default:"50" doc:"At most so many, up to 1,000."`
}

type UpcomingRequest struct {
	Days      float64 `json:"days" is:"number[0..36500]" default:"7" doc:"Within how many days it is due."`
	Namespace string  `json:"namespace" doc:"Only memories of this namespace; blank for all."`
	Limit     int     `json:"limit" is:"integer[0..]" default:"50" doc:"At most so many, up to 1,000."`
}

type ChronologyRequest struct {
	From      field.Date `json:"from" doc:"Only memories created at this date or after it."`
	To        field.Date `json:"to" doc:"Only memories created before this date."`
	Namespace string     `json:"namespace" doc:"Only memories of this namespace; blank for all."`
	Entity    string     `json:"entity" doc:"Only memories that name this entity, or that one of its aliases names."`
	Type      string     `json:"memory_type" doc:"Only memories of this kind."`
	Limit     int        `json:"limit" is:"integer[0..]" default:"50" doc:"At most so many, up to 1,000."`
}

type MemoryItems struct {
	Items []Memory `json:"items" doc:"The memories."`
	Count int      `json:"count" doc:"How many are listed."`
}

type ProfileRequest struct {
	Name string  `json:"name" in:"path" doc:"The entity's name, or an alias of it."`
	Days float64 `json:"days" is:"number[0..36500]" doc:"Only what was stored within so many days; 0 means all of time."`
}

// An EntityProfile is what a database knows of an entity, from the newest 2,000 memories that name it.
type EntityProfile struct {
	Entity    string   `json:"entity" doc:"Its name."`
	Type      string   `json:"entity_type" doc:"What kind of thing it is."`
	Mentions  uint64   `json:"mentions" doc:"How often memories name it."`
	Memories  int      `json:"memories" doc:"How many memories name it, of the days that were asked for."`
	Sessions  int      `json:"sessions" doc:"How many sessions these belong to."`
	Domains   []string `json:"domains" doc:"Their domains, the commonest first."`
	Valence   float64  `json:"average_valence" doc:"How good or bad they are on average, from -1 to 1."`
	Trend     float64  `json:"valence_trend" doc:"The average of the newer half less that of the older one; 0 under four memories."`
	Emotion   *string  `json:"dominant_emotion" doc:"The commonest feeling; null for none."`
	PerDay    float64  `json:"per_day" doc:"How many of the memories a day brings."`
	Links     int      `json:"links" doc:"How many relations it is in."`
	Relations []string `json:"relations" doc:"Their kinds, the commonest first."`
	Depth     float64  `json:"depth" doc:"How close the relationship is, from 0 to 1."`
	First     *float64 `json:"first_seen" doc:"When the oldest of the memories was created, in Unix seconds."`
	Last      *float64 `json:"last_seen" doc:"When the newest was, in Unix seconds."`
}
