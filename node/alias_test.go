package node_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestAnAliasHidesNothing checks that memories, relations and claims stored under a name are found by it and by the
// name that it is an alias of, also if it became an alias later or the alias was reversed.
func TestAnAliasHidesNothing(t *testing.T) {
	t.Parallel()
	w := start(t, 1).web(0)
	w.ok("POST", "/v1/remember", obj{"text": "Bob eats lunch early."})
	w.ok("POST", "/v1/remember", obj{"text": "Robert plays chess."})
	w.ok("POST", "/v1/relate", obj{"entity": "Bob", "relationship": "likes", "target": "Tea"})
	w.ok("POST", "/v1/relate", obj{"entity": "Robert", "relationship": "owns", "target": "Car"})
	w.ok("POST", "/v1/claim", obj{"src": "Bob", "rel_type": "lives_in", "dst": "Oslo"})
	w.ok("POST", "/v1/claim", obj{"src": "Robert", "rel_type": "works_at", "dst": "Acme"})
	same := func(when string, names ...string) {
		t.Helper()
		for _, name := range names {
			said := w.ok("GET", "/v1/chronology?entity="+name, nil)["items"].([]any)
			claims := w.ok("GET", "/v1/claims?entity="+name, nil)["claims"].([]any)
			edges := w.ok("GET", "/v1/edges?entity="+name, nil)["edges"].([]any)
			p := w.ok("GET", "/v1/entities/"+name, nil)
			if got := fmt.Sprintln(len(said), len(claims), len(edges), p["memories"], p["links"],
				p["relations"]); got != "2 2 2 2 2 [likes owns]\n" {
				t.Errorf("%s: %s has memories, claims, relations and profile %s", when, name, got)
			}
		}
	}
	w.ok("POST", "/v1/alias", obj{"alias": "Bob", "canonical_name": "Robert"})
	same("after the alias", "Bob", "Robert", "bob")
	w.ok("POST", "/v1/alias", obj{"alias": "Robert", "canonical_name": "Bob"})
	same("turned round", "Bob", "Robert")
	w.ok("POST", "/v1/alias", obj{"alias": "Robert", "canonical_name": "Rob"})
	same("under a name that nothing has", "Robert", "Rob")
	if got := w.ok("GET", "/v1/entities/Robert", nil)["entity"]; got != "Rob" {
		t.Errorf("the profile is %v's", got)
	}
	w.ok("POST", "/v1/alias", obj{"alias": "Bobby-B", "canonical_name": "Rob"})
	same("an alias in another case", "Bobby-B", "bobby-b")
}

// TestANameStandsForItsCases checks that a name that no entity has in this case means all that have it in another
// case, in every operation, and that an exact match means only that entity.
func TestANameStandsForItsCases(t *testing.T) {
	t.Parallel()
	w := start(t, 1).web(0)
	for _, name := range []string{"ACME", "Acme"} {
		w.ok("POST", "/v1/relate", obj{"entity": name, "relationship": "sells", "target": "Anvils"})
		w.ok("POST", "/v1/claim", obj{"src": name, "rel_type": "sits_in", "dst": "Oslo"})
		w.ok("POST", "/v1/remember", obj{"text": "We met " + name + " in spring."})
	}
	for name, want := range map[string]string{"acme": "2 2 2 2 2\n", "Acme": "2 1 1 2 1\n"} {
		said := w.ok("GET", "/v1/chronology?entity="+name, nil)["items"].([]any)
		claims := w.ok("GET", "/v1/claims?entity="+name, nil)["claims"].([]any)
		edges := w.ok("GET", "/v1/edges?entity="+name, nil)["edges"].([]any)
		p := w.ok("GET", "/v1/entities/"+name, nil)
		if got := fmt.Sprintln(len(said), len(claims), len(edges), p["memories"], p["links"]); got != want {
			t.Errorf("%s has memories, claims, relations and profile %s, want %s", name, got, want)
		}
	}
}

// TestANameIsNotItsOwnAlias checks that a name cannot become an alias of itself, except to end an existing alias,
// also if that request is repeated.
func TestANameIsNotItsOwnAlias(t *testing.T) {
	t.Parallel()
	w := start(t, 1).web(0)
	const itself = `{"alias":"Ali","canonical_name":"Ali"}`
	if got := w.raw("POST", "/v1/alias", itself); !strings.Contains(got, "invalid_request") || !strings.Contains(got, "'Ali' is no alias") {
		t.Errorf("its own alias: %s", got)
	}
	w.ok("POST", "/v1/alias", obj{"alias": "Ali", "canonical_name": "Alice"})
	for i, added := range []bool{true, false} {
		if got := w.ok("POST", "/v1/alias", obj{"alias": "Ali", "canonical_name": "Ali"})["added"]; got != added {
			t.Errorf("the end of an alias, attempt %d: added %v", i, got)
		}
	}
	w.ok("POST", "/v1/relate", obj{"entity": "Alice", "relationship": "likes", "target": "Tea"})
	if edges := w.ok("GET", "/v1/edges?entity=Ali", nil)["edges"].([]any); len(edges) != 0 {
		t.Errorf("Ali has Alice's relations behind the end of the alias: %v", edges)
	}
}
