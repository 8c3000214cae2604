package api

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"strings"
)

// The knowledge graph of @modelcontextprotocol/server-memory, as this server stores it. An entity is a folder of keys
// in its own namespace, with a memory for its type and one for each observation, so that recall finds each observation
// by its words. Relations are stored like all others.
const (
	GraphNamespace = "server-memory"
	GraphFolder    = "/graph"
	graphType      = "entity" // last segment of the key of an entity's type
)

// A GraphFact is a memory of the graph: the type of an entity, or an observation about it.
type GraphFact struct{ Entity, Says string }

// EntityFolder returns the folder of an entity's keys.
func EntityFolder(name string) string {
	segment := url.PathEscape(name)
	if strings.Trim(segment, ".") == "" { // . and .. are not segments
		segment = strings.ReplaceAll(segment, ".", "%2E")
	}
	return GraphFolder + "/" + segment
}

// TypeKey returns the key of the memory with an entity's type.
func (f GraphFact) TypeKey() string { return EntityFolder(f.Entity) + "/" + graphType }

// Key returns the key of an observation. The same words have the same key.
func (f GraphFact) Key() string {
	sum := sha256.Sum256([]byte(f.Says))
	return EntityFolder(f.Entity) + "/" + hex.EncodeToString(sum[:8])
}

// Text returns the text of the fact's memory. It names the entity, so that it can be understood alone.
func (f GraphFact) Text() string { return f.Entity + ": " + f.Says }

// GraphFactOf parses a key and the text of its memory. isType reports whether the fact is an entity's type.
func GraphFactOf(key, text string) (f GraphFact, isType bool) {
	segment, last, _ := strings.Cut(strings.TrimPrefix(key, GraphFolder+"/"), "/")
	var err error
	if f.Entity, err = url.PathUnescape(segment); err != nil {
		f.Entity = segment // the key of another client contains the name unescaped
	}
	f.Says = strings.TrimPrefix(text, f.Entity+": ")
	return f, last == graphType
}
