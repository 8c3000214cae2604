package cluster

import (
	"crypto/tls"
	"strings"
	"testing"
	"time"
)

// TestACertificateEndsWithItsAuthority: no certificate is valid longer than its authority, and an expired authority
// issues none.
func TestACertificateEndsWithItsAuthority(t *testing.T) {
	t.Parallel()
	au, err := OpenAuthority(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	name, err := au.Issue(1, []string{"localhost"}, now, now.AddDate(200, 0, 0))
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.LoadX509KeyPair(au.Path(name+".crt"), au.Path(name+".key"))
	if err != nil {
		t.Fatal(err)
	}
	if !pair.Leaf.NotAfter.Equal(au.cert.NotAfter) {
		t.Errorf("it ends %s, the authority %s", pair.Leaf.NotAfter, au.cert.NotAfter)
	}
	au.cert.NotAfter = now.Add(-time.Hour)
	if _, err := au.Issue(1, nil, now, now.AddDate(1, 0, 0)); err == nil || !strings.Contains(err.Error(), "ended") {
		t.Errorf("of an authority that has ended: %v", err)
	}
}
