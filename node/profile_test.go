package node_test

import (
	"fmt"
	"testing"
)

// TestAProfileBehindOtherNamespaces checks that an entity has a profile in a namespace in which it is named, however
// often newer memories of other namespaces name it.
func TestAProfileBehindOtherNamespaces(t *testing.T) {
	t.Parallel()
	w := start(t, 1).web(0)
	w.ok("POST", "/v1/remember", obj{"text": "Ada Lovelace likes tea.", "namespace": "kitchen"})
	batch := make([]obj, 2100)
	for i := range batch {
		batch[i] = obj{"text": fmt.Sprint("Ada Lovelace wrote note ", i), "namespace": "office"}
	}
	w.ok("POST", "/v1/remember/batch", obj{"memories": batch})
	if p := w.ok("GET", "/v1/entities/Ada%20Lovelace?namespace=kitchen", nil); p["memories"] != 1. || p["mentions"] != 1. {
		t.Errorf("in the kitchen: %v", p)
	}
	if p := w.ok("GET", "/v1/entities/Ada%20Lovelace?namespace=office", nil); p["memories"] != 2000. {
		t.Errorf("in the office: %v", p)
	}
}
