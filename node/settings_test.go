package node_test

import (
	"fmt"
	"sync"
	"testing"
)

// TestSettingsOfTwoNodesAreKept checks that a change of some policies or limits keeps those that another node, or
// another request, has just changed.
func TestSettingsOfTwoNodesAreKept(t *testing.T) {
	t.Parallel()
	c := start(t, 3)
	leader := c.leader()
	at, other := c.web(leader), c.web((leader+1)%3)
	other.token = at.token
	for i := 1.0; i <= 4; i++ {
		at.ok("POST", "/v1/admin/settings", obj{"promote_after": i})
		if got := other.ok("POST", "/v1/admin/settings", obj{"working_ttl_secs": i}); got["promote_after"] != i ||
			got["working_ttl_secs"] != i {
			t.Fatalf("%v: %v", i, got)
		}
		at.ok("POST", "/v1/admin/databases/default/quota", obj{"max_rps": 1000 + i})
		if got := other.ok("POST", "/v1/admin/databases/default/quota", obj{"burst": 2000 + i}); got["max_rps"] != 1000+i ||
			got["burst"] != 2000+i {
			t.Fatalf("%v: %v", i, got)
		}
	}
	var both sync.WaitGroup
	for _, name := range []string{"working_ttl_secs", "episodic_ttl_secs", "promote_after"} {
		both.Go(func() {
			for i := range 10 {
				at.send("POST", "/v1/admin/settings", obj{name: 100 + i})
			}
		})
	}
	both.Wait()
	if got := at.ok("GET", "/v1/admin/settings", nil); got["working_ttl_secs"] != 109.0 || got["episodic_ttl_secs"] != 109.0 ||
		got["promote_after"] != 109.0 {
		t.Errorf("changed at once: %v", got)
	}
}

// TestATokenThatWasJustMadeIsRevoked checks that a new token can be revoked on a node that does not know it yet.
func TestATokenThatWasJustMadeIsRevoked(t *testing.T) {
	t.Parallel()
	c := start(t, 3)
	leader := c.leader()
	at, other := c.web(leader), c.web((leader+1)%3)
	other.token = at.token
	for range 4 {
		made := at.createToken(obj{})
		if got := other.ok("POST", "/v1/admin/tokens/revoke", obj{"token": made}); got["revoked"] != true {
			t.Errorf("revoked: %v", got)
		}
		made = at.createToken(obj{})
		if got := other.ok("POST", "/v1/admin/tokens/limit", obj{"token": made, "max_rps": 100}); got["max_rps"] != 100.0 {
			t.Errorf("limited: %v", got)
		}
	}
	if got := other.ok("POST", "/v1/admin/tokens/revoke", obj{"token": "none"}); got["revoked"] != false {
		t.Errorf("one that is not there: %v", got)
	}
}

// TestADatabaseThatWasJustMadeIsFound checks that a node that does not know a new database yet finds it for a new
// token, and for a read that waits for an index.
func TestADatabaseThatWasJustMadeIsFound(t *testing.T) {
	t.Parallel()
	c := start(t, 3)
	leader := c.leader()
	at, other := c.web(leader), c.web((leader+1)%3)
	other.token = at.token
	for i := range 8 {
		name := fmt.Sprint("made-", i)
		at.ok("POST", "/v1/databases", obj{"name": name})
		if got := other.ok("POST", "/v1/admin/tokens", obj{"database": name}); got["database"] != name {
			t.Errorf("a token: %v", got)
		}
		name += "-too"
		at.ok("POST", "/v1/databases", obj{"name": name})
		done := at.ok("POST", "/v1/remember?database="+name, obj{"text": "the sky is blue"})
		if got := other.ok("GET", fmt.Sprintf("/v1/stats?database=%s&min_index=%v", name, done["log_index"]),
			nil); got["active_memories"] != 1.0 {
			t.Errorf("a read: %v", got)
		}
	}
}

// TestATokenThatWasJustMadeIsLetIn checks that a node that does not yet know a new token and its database lets it in,
// over HTTP and over the wire, and a dialect of its host as well. A made-up token is rejected.
func TestATokenThatWasJustMadeIsLetIn(t *testing.T) {
	t.Parallel()
	c := start(t, 3)
	leader := c.leader()
	at, behind := c.web(leader), (leader+1)%3
	other := c.web(behind)
	for i := range 8 {
		name := fmt.Sprint("made-", i)
		at.ok("POST", "/v1/databases", obj{"name": name})
		if _, err := c.nodes[behind].Access().Local(name); err != nil {
			t.Errorf("a dialect: %v", err)
		}
		name += "-too"
		at.ok("POST", "/v1/databases", obj{"name": name})
		made := at.ok("POST", "/v1/admin/tokens", obj{"database": name})["token"].(string)
		if i%2 == 0 {
			other.token = made
			other.ok("GET", "/v1/stats", nil)
			continue
		}
		if _, err := c.nodes[behind].Access().Login(t.Context(), "192.0.2.1:1", made); err != nil {
			t.Errorf("a client: %v", err)
		}
	}
	other.token = "made up"
	if status, _ := other.send("GET", "/v1/stats", nil); status != 401 {
		t.Errorf("a made-up token: %d", status)
	}
}
