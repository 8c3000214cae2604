package operate

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/cairndb/cairn/node/certs"
)

// TestCertificatesAreWarnedOf checks that a certificate has a warning before it expires, and the names for which it
// is valid.
func TestCertificatesAreWarnedOf(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	for state, when := range map[string][2]time.Duration{
		"valid": {-time.Hour, certs.Warning}, "ends_soon": {-time.Hour, certs.Warning - time.Second},
		"ended": {-time.Hour, -time.Second}, "not_yet": {time.Hour, time.Hour + certs.Warning},
	} {
		got := certificateOf("clients",
			&x509.Certificate{Subject: pkix.Name{CommonName: "node-1"}, DNSNames: []string{"n1.example"},
				IPAddresses: []net.IP{net.IPv4(10, 0, 0, 1)},
				NotBefore:   now.Add(when[0]), NotAfter: now.Add(when[1])}, now)
		if got.State != state || got.Subject != "CN=node-1" || !slices.Equal(got.Names, []string{"n1.example", "10.0.0.1"}) ||
			got.Until != float64(now.Add(when[1]).Unix()) {
			t.Errorf("%+v, want %s", got, state)
		}
	}
}
