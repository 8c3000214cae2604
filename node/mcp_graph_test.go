package node_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
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
