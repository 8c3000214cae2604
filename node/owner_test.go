package node_test

import (
	"testing"
	"time"
)

// TestOwnerNeedsNoOtherScope checks that an owner may change the policies of its database and erase memories without
// another scope.
func TestOwnerNeedsNoOtherScope(t *testing.T) {
	t.Parallel()
	master := start(t, 1).web(0)
	owner := master.with(master.createToken(obj{"scopes": []string{"read", "owner"}}))
	if got := owner.ok("POST", "/v1/admin/settings", obj{"promote_after": 3.0, "quiet_mind": true}); got["promote_after"] != 3.0 ||
		got["quiet_mind"] != true {
		t.Errorf("%v", got)
	}
	if got := owner.ok("POST", "/v1/admin/settings", obj{"working_ttl_secs": 60}); got["promote_after"] != 3.0 ||
		got["working_ttl_secs"] != 60.0 {
		t.Errorf("what was left out did not stay: %v", got)
	}
	master.ok("POST", "/v1/remember", obj{"text": "of no use any more"})
	if got := owner.ok("POST", "/v1/admin/purge", obj{"before": time.Now().Add(time.Minute).Unix()}); got["purged"] != 1.0 {
		t.Errorf("%v", got)
	}
}
