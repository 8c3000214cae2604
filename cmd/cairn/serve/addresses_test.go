package serve

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/cairndb/cairn/cmd/cairn/cluster"
	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/node/certs"
)

// TestCommandsDialWhatTheCertificateNames: a node with a wildcard listen address writes an address into its home that
// its certificate is valid for. Other addresses are unchanged.
func TestCommandsDialWhatTheCertificateNames(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		bound string
		hosts []string // of the certificate; none: plain
		want  string
	}{
		{"[::]:7437", nil, "127.0.0.1:7437"},
		{"0.0.0.0:7437", nil, "127.0.0.1:7437"},
		{"10.0.0.1:7437", nil, "10.0.0.1:7437"},
		{"[::1]:7437", nil, "[::1]:7437"},
		{"[::]:7437", []string{"127.0.0.1", "db.example"}, "127.0.0.1:7437"},
		{"[::]:7437", []string{"localhost", "db.example"}, "localhost:7437"},
		{"[::]:7437", []string{"db.example"}, "db.example:7437"},
		{"[::]:7437", []string{"other.example"}, "127.0.0.1:7437"},
		{"127.0.0.2:7437", []string{"db.example"}, "127.0.0.2:7437"},
	} {
		var files certs.Files
		if tc.hosts != nil {
			au, err := cluster.OpenAuthority(filepath.Join(t.TempDir(), "tls"))
			if err != nil {
				t.Fatal(err)
			}
			name, err := au.Issue(1, tc.hosts, time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
			if err != nil {
				t.Fatal(err)
			}
			files = certs.Files{Cert: au.Path(name + ".crt"), Key: au.Path(name + ".key"), CA: au.Path("ca.crt")}
		}
		at, err := addressesOf(node.Addrs{Wire: tc.bound, HTTP: tc.bound}, "db.example:7440", files)
		if err != nil || at.Wire != tc.want || at.HTTP != tc.want || at.TLS != (tc.hosts != nil) || at.CA != files.CA {
			t.Errorf("%s with %v: %+v, %v, want %s", tc.bound, tc.hosts, at, err, tc.want)
		}
	}
}
