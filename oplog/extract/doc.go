// Package extract finds names in a text: people, organisations, places, tools, handles, quoted terms, code
// identifiers and dates. Its result depends only on the text and Version. It uses no model and no list of the world's
// names: it decides by capitals, punctuation and a few words around them.
//
// The result travels in the log entry of the memory, with the version that found it. So replicas never extract
// anything themselves, and a better extractor does not change stored memories. Change Version with every change of
// the result.
//
//	runs of capitals   Alice Chen, San Francisco, Series A      person, place, organization or unknown
//	known words, caps  Postgres, AWS, gRPC                      tech
//	handles            @alice, alice@example.com, #launch       handle
//	quoted terms       "blue book"                              term
//	identifiers        parseRequest, snake_case, a/b/c.go       code
//	dates              2024-05-01, March 3, 3 May 2025          date
//
// It also finds claims between the names (claims.go): "Alice Chen is the CEO of Acme" is ceo_of(Alice Chen, Acme),
// marked as denied or reported if a word says so.
//
// A capital at the beginning of a sentence is weak evidence. A single word there counts as a name unless it is a
// common word (openers.go) or reads as a verb or a plural noun ("Renew the domain", "Photos are"). A noun counts if
// the text also has it with a capital inside a sentence. Before a number a common word is a label: Standup 103.
package extract

// Version is the version of the extractor.
const Version = 4

// Bounds of the work for one text.
const (
	maxText     = 64 << 10 // bytes that are read
	maxEntities = 48
	maxNameLen  = 96
	maxRun      = 5 // words of a name
)

// An Entity is a name in a text.
type Entity struct {
	Name string
	Type string // person, organization, place, tech, handle, term, code, date or unknown
}
