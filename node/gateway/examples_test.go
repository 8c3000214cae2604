package gateway

import "testing"

// TestEveryOperationHasAnExample: the reference shows a request of each operation that it lists, and what a node
// answered.
func TestEveryOperationHasAnExample(t *testing.T) {
	without := map[string]string{"reembed": "the node of the examples has no model", "cluster_change": "it is alone", "trigger_move": "nothing deserves its attention"}
	all := succeeded()
	for _, s := range subjects() {
		for _, op := range s.Ops {
			if _, ok := exampleOf(op, all); ok == (without[op.Name] != "") {
				t.Errorf("%s: no request of %s %s succeeds in examples/", op.Name, op.Method(), op.Path())
			}
		}
	}
}

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		route, path string
		want        bool
	}{
		{"/v1/memory/{rid}", "/v1/memory/${A}?min_seq=3", true},
		{"/v1/memory/{rid}", "/v1/memory/${A}/revisions", false},
		{"/v1/memory/{rid}/revisions", "/v1/memory/x/timeline", false},
		{"/v1/v1/{a}", "/v1/v2/b", false},
		{"/v1/{a}/{b}", "/v1/x/y", true},
	} {
		if matches(c.route, c.path) != c.want {
			t.Errorf("%s of %s: %v", c.path, c.route, !c.want)
		}
	}
}
