package home

import (
	"crypto/ed25519"
	"testing"

	"github.com/cairndb/cairn/local/covenant/canon"
	"github.com/cairndb/cairn/oplog"
)

func TestSignatureVectors(t *testing.T) {
	seed := make([]byte, 32)
	for i := range seed {
		seed[i] = byte(i)
	}
	key := ed25519.NewKeyFromSeed(seed)
	if got := keyText(key); got != "FAe4sisG95oZ42w7buUn5qEE4TAnfTTFPiguZUHmhiF" {
		t.Fatalf("public key %s", got)
	}
	self := AgentID{"user@local", keyText(key)}
	expires := uint64(1714938000000)
	for _, v := range []struct {
		scope   string
		expires *uint64
		want    string
	}{
		{"{}", nil, "3cnMnoBRiZ19hNaX4jsBB1h73FUagy5MpAHMc7HCZkBteaT8uENUMhibdTgTMWENRwHc1yH9H7VRsXK4dLYaUSzt"},
		{`{"version":1,"tiers":["working"]}`, &expires,
			"5F6z6sXdmNHhVazusfFybQTVAY5ZrbFRD9fmtFxPdXssjtmJErrEXLvcYYcK9cB4fq5PKsEYsM7XaZjkuQKDb62G"},
	} {
		scope, err := canon.JSON([]byte(v.scope))
		if err != nil {
			t.Fatal(err)
		}
		g, err := Capability{Subject: self, Action: "memory.write", Scope: scope, GrantedBy: self, Expires: v.expires}.sign(key, 1, 0)
		if err != nil || g.Signature != v.want {
			t.Errorf("%s: %s, %v; want %s", v.scope, g.Signature, err, v.want)
		}
		stored := oplog.StoredGrant{Grant: *g}
		if !Signed(stored) {
			t.Errorf("%s: is not signed", v.scope)
		}
		stored.Action = "memory.read"
		if Signed(stored) {
			t.Errorf("%s: is signed for another action", v.scope)
		}
	}
}

func TestSealedKey(t *testing.T) {
	key := ed25519.NewKeyFromSeed(make([]byte, 32))
	public := key.Public().(ed25519.PublicKey)
	sealed, err := sealOperatorKey("the cluster's secret", key)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := openOperatorKey("the cluster's secret", sealed, public); err != nil || !got.Equal(key) {
		t.Errorf("opened as %v, %v", got, err)
	}
	for _, secret := range []string{"", "another"} {
		if got, _ := openOperatorKey(secret, sealed, public); got != nil {
			t.Errorf("secret %q opens it", secret)
		}
	}
}
