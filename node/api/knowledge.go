package api

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"strings"
)

// The knowledge graph of @modelcontextprotocol/server-memory, as this server stores it: an entity is a folder of keys
// in its own namespace, with a memory that says its type and one for each observation, so that a recall finds each
// by its words. Its relations are relations like any others.
const (
	GraphNamespace = "server-memory"
	GraphFolder    = "/graph"
	graphType      = "entity" // the last segment of the key that has an entity's type
)

// A GraphFact is a memory of the graph: the type of an entity, or what was observed of it.
type GraphFact struct{ Entity, Says string }

// EntityFolder is the folder of an entity's keys.
func EntityFolder(name string) string {
	segment := url.PathEscape(name)
	if strings.Trim(segment, ".") == "" { // . and .. are not segments
		segment = strings.ReplaceAll(segment, ".", "%2E")
	}
	return GraphFolder + "/" + segment
}

// TypeKey is the key of the memory that says an entity's type.
func (f GraphFact) TypeKey() string { return EntityFolder(f.Entity) + "/" + graphType }

// Key is the key of an observation, which is the same for the same words.
func (f GraphFact) Key() string {
	sum := sha256.Sum256([]byte(f.Says))
	return EntityFolder(f.Entity) + "/" + hex.EncodeToString(sum[:8])
}

// Text is the fact as its memory has it: it names the entity, so that it stands by itself.
func (f GraphFact) Text() string { return f.Entity + ": " + f.Says }

// GraphFactOf reads the fact of a key and its memory's text; isType reports whether it is an entity's type.
func GraphFactOf(key, text string) (f GraphFact, isType bool) {
	segment, last, _ := strings.Cut(strings.TrimPrefix(key, GraphFolder+"/"), "/")
	var err error
	if f.Entity, err = url.PathUnescape(segment); err != nil {
		f.Entity = segment // another client's key is a name as it is
	}
	f.Says = strings.TrimPrefix(text, f.Entity+": ")
	return f, last == graphType
}
