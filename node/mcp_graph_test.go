package node_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cairndb/cairn/oplog/suite"
)

// TestGraphsAreShared checks that clients of the profile server-memory on several nodes that create the same entity
// concurrently create it once, and lose no observation.
func TestGraphsAreShared(t *testing.T) {
	t.Parallel()
	c := start(t, 3)
	const writers = 6
	made := make([]int, writers)
	var all sync.WaitGroup
	for i := range writers {
		m := c.web(i % 3).model("server-memory")
		all.Go(func() {
			r, err := m.CallTool(t.Context(),
				&mcp.CallToolParams{Name: "create_entities",
					Arguments: obj{"entities": []obj{{"name": "Ada", "entityType": "person", "observations": []string{"drinks tea"}}}}})
			if err != nil || r.IsError {
				t.Errorf("create: %+v %v", r, err)
				return
			}
			made[i] = len(r.StructuredContent.(map[string]any)["entities"].([]any))
			r, err = m.CallTool(t.Context(),
				&mcp.CallToolParams{Name: "add_observations",
					Arguments: obj{"observations": []obj{{"entityName": "Ada", "contents": []string{"drinks tea", fmt.Sprint("met ", i)}}}}})
			if err != nil || r.IsError {
				t.Errorf("add: %+v %v", r, err)
			}
		})
	}
	all.Wait()
	sum := 0
	for _, n := range made {
		sum += n
	}
	m := c.web(c.leader()).model("server-memory")
	graph := m.call("read_graph", obj{}).StructuredContent.(map[string]any)["entities"].([]any)
	if sum != 1 || len(graph) != 1 || len(graph[0].(map[string]any)["observations"].([]any)) != 1+writers {
		t.Errorf("%d were told that they made it: %v", sum, graph)
	}
}

// TestObservationsOfOneCall checks that a call may add to an entity several times, also the same observation.
func TestObservationsOfOneCall(t *testing.T) {
	t.Parallel()
	m := start(t, 1).web(0).model("server-memory")
	m.call("create_entities", obj{"entities": []obj{{"name": "Ada", "entityType": "person", "observations": []string{"drinks tea"}}}})
	r := m.call("add_observations",
		obj{"observations": []obj{{"entityName": "Ada", "contents": []string{"likes maps"}},
			{"entityName": "Ada", "contents": []string{"drinks tea", "likes maps", "owns a boat"}}}})
	added := fmt.Sprint(r.StructuredContent)
	want := "map[results:[map[addedObservations:[likes maps] entityName:Ada] map[addedObservations:[owns a boat] entityName:Ada]]]"
	if r.IsError || added != want {
		t.Errorf("added %s, want %s", added, want)
	}
	if graph := m.call("read_graph", obj{}).StructuredContent.(map[string]any)["entities"].([]any); len(graph[0].(map[string]any)["observations"].([]any)) != 3 {
		t.Errorf("stored: %v", graph)
	}
}

// TestRelationsOfAHub checks that a call deletes a relation of an entity that has more relations than one call looks
// at, or says that it did not.
func TestRelationsOfAHub(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	w := start(t, 1).web(0)
	var lines strings.Builder
	for i := range 10_001 {
		fmt.Fprintf(&lines, `{"type":"edge","src":"hub","dst":"n%05d","rel_type":"links"}`+"\n", i)
	}
	if status, said := post(t, w.base+"/v1/import", w.token, lines.String()); status != 200 {
		t.Fatalf("import: %d %s", status, said)
	}
	m := w.model("server-memory")
	gone := 0
	for _, target := range []string{"n00000", "n05000", "n10000", "none"} {
		r := m.call("delete_relations", obj{"relations": []obj{{"from": "hub", "to": target, "relationType": "links"}}})
		if !r.IsError {
			gone++
		}
	}
	if left := w.ok("GET", "/v1/stats", nil)["edges"]; left != float64(10_001-min(gone, 3)) {
		t.Errorf("%d calls deleted a relation, by their answers, and %v are left", gone, left)
	}
	if gone == 0 {
		t.Error("nothing was deleted")
	}
}
