// Package extract finds what a text names: people, organisations, places, tools, handles, quoted terms, code
// identifiers and dates. It is a pure function of the text and of Version, without a model and without a list of
// the world's names: capitals, punctuation and a few words around them decide.
//
// What is found travels in the log entry of the memory, with the version that found it, so that replicas never
// extract anything themselves and a better extractor changes no past. Change Version with every change of what is
// found.
//
//	runs of capitals   Alice Chen, San Francisco, Series A      person, place, organization or unknown
//	known words, caps  Postgres, AWS, gRPC                      tech
//	handles            @alice, alice@example.com, #launch       handle
//	quoted terms       "blue book"                              term
//	identifiers        parseRequest, snake_case, a/b/c.go       code
//	dates              2024-05-01, March 3, 3 May 2025          date
//
// Between the names it finds claims as well (claims.go): "Alice Chen is the CEO of Acme" is ceo_of(Alice Chen, Acme),
// denied or only reported where a word says so.
//
// A capital at the beginning of a sentence says little. A lone word there counts unless it is a common one
// (openers.go) or reads as a verb or as several things ("Renew the domain", "Photos are"). A noun counts all the same
// where the text has it with its capital inside a sentence too. Before a number a common word is a label: Standup
// 103.
package extract

// Version numbers what this package finds.
const Version = 4

// Bounds, so that no text costs more than a little.
const (
	maxText     = 64 << 10 // bytes looked at
	maxEntities = 48
	maxNameLen  = 96
	maxRun      = 5 // words of a name
)

// An Entity is a name in a text.
type Entity struct {
	Name string
	Type string // person, organization, place, tech, handle, term, code, date or unknown
}
