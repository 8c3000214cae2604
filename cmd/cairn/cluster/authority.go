package cluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/oplog/syncwriter"
	"github.com/cairndb/cairn/raft/transport"
)

// Lifetimes of the certificates.
const (
	authorityYears = 10
	nodeDays       = 365
)

// Authority is a small certificate authority in a directory: ca.crt and ca.key. It is for clusters without another
// authority. Whoever holds ca.key can issue certificates of members.
type Authority struct {
	dir  string
	cert *x509.Certificate // nil until it exists
	key  any               // private key of cert
}

// OpenAuthority opens the authority in a directory. It creates one if there is no ca.crt.
func OpenAuthority(dir string) (*Authority, error) {
	a := &Authority{dir: dir}
	if _, err := os.Stat(a.Path("ca.crt")); errors.Is(err, os.ErrNotExist) {
		if err := a.create(); err != nil {
			return nil, err
		}
	}
	pair, err := tls.LoadX509KeyPair(a.Path("ca.crt"), a.Path("ca.key"))
	if err != nil {
		return nil, fmt.Errorf("ca.crt and ca.key of %s: %w", dir, err)
	}
	a.cert, a.key = pair.Leaf, pair.PrivateKey
	return a, nil
}

func (a *Authority) Path(name string) string { return filepath.Join(a.dir, name) }

func (a *Authority) create() error {
	if err := os.MkdirAll(a.dir, 0o700); err != nil {
		return err
	}
	return a.sign("ca", &x509.Certificate{Subject: pkix.Name{CommonName: "Cairn cluster authority"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(authorityYears, 0, 0),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign})
}

// Issue writes a node's certificate for use as server and client, NAME.crt and NAME.key, replacing existing files.
// The certificate ends no later than the authority's own, because from then on it is not trusted.
func (a *Authority) Issue(id uint32, hosts []string, from, until time.Time) (name string, err error) {
	if end := a.cert.NotAfter; end.Before(until) {
		if until = end; end.Before(time.Now()) {
			return "", fmt.Errorf("%s ended %s", a.Path("ca.crt"), end.UTC().Format(time.RFC3339))
		}
	}
	t := &x509.Certificate{Subject: pkix.Name{CommonName: transport.Identity(id)}, NotBefore: from, NotAfter: until,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		DNSNames: []string{transport.Identity(id)}}
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			t.IPAddresses = append(t.IPAddresses, ip)
		} else {
			t.DNSNames = append(t.DNSNames, h)
		}
	}
	name = fmt.Sprintf("node%d", id)
	return name, a.sign(name, t)
}

// sign creates a key and a certificate with a random serial number. Without an authority the certificate is
// self-signed. It writes the key first: a node that loads the files in between finds a mismatch and keeps its old
// pair.
func (a *Authority) sign(name string, t *x509.Certificate) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	parent, by := a.cert, a.key
	if parent == nil {
		parent, by = t, key
	}
	der, err := x509.CreateCertificate(rand.Reader, t, parent, key.Public(), by)
	if err != nil {
		return err
	}
	k, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	return errors.Join(syncwriter.Replace(a.Path(name+".key"), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: k}), 0o600),
		syncwriter.Replace(a.Path(name+".crt"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o644))
}

func clusterCert(s *cli.Streams) *cobra.Command {
	var dir string
	var id uint32
	var hosts []string
	var days int
	c := &cobra.Command{
		Use:   "cert --node-id N --host NAME",
		Short: "Issue a node's certificate from the authority of `cluster init --tls`, or replace it", Args: cobra.NoArgs,
		Long: `Issue a node's certificate from the authority of ` + "`cluster init --tls`" + `, or replace it. A running node uses
the new one for its next connections. Clients check the --host names; members check the node's id, which is in it.`,
		RunE: func(c *cobra.Command, _ []string) error {
			if id == 0 {
				return cli.Usage(errors.New("cluster cert needs --node-id"))
			}
			if days < 1 {
				return cli.Usagef("--days %d: want at least 1", days)
			}
			if _, err := os.Stat(filepath.Join(dir, "ca.crt")); err != nil { // do not create a new authority, which no member trusts
				return cli.Hint(err, "name the authority's directory with --dir; `cairn cluster init --tls` makes one")
			}
			au, err := OpenAuthority(dir)
			if err != nil {
				return err
			}
			name, err := au.Issue(id, hosts, time.Now().Add(-time.Hour), time.Now().AddDate(0, 0, days))
			if err != nil {
				return cli.Hint(err, "deploy/OPERATE.md says how members get another authority")
			}
			if end := au.cert.NotAfter; end.Before(time.Now().AddDate(0, 0, days)) {
				fmt.Fprintf(s.Err, "it ends %s, with the authority\n", end.UTC().Format(time.RFC3339))
			}
			fmt.Fprintf(s.Out, "%s\n%s\n", au.Path(name+".crt"), au.Path(name+".key"))
			return nil
		},
	}
	c.Flags().StringVar(&dir, "dir", "./tls", "directory of ca.crt and ca.key")
	c.Flags().Uint32Var(&id, "node-id", 0, "id of the node that the certificate is for")
	c.Flags().StringSliceVar(&hosts, "host", []string{"127.0.0.1", "localhost"}, "names and addresses clients use for the node")
	c.Flags().IntVar(&days, "days", nodeDays, "how long the certificate is valid")
	return c
}
