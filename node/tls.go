package node

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"sync"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/engine"
)

// TLSFiles names a certificate chain, its key and the authorities that vouch for the other side, all PEM. The files are
// looked at again while the node runs: a certificate that is replaced is used from the next connection on.
type TLSFiles struct {
	Cert, Key string
	CA        string // needed on the peer port; on the clients' ports it is only told to this host's commands
}

// On says whether there is anything to secure.
func (f TLSFiles) On() bool { return f != TLSFiles{} }

func (f TLSFiles) validate(name string, needCA bool) error {
	switch {
	case !f.On():
		return nil
	case f.Cert == "" || f.Key == "":
		return fmt.Errorf("%s: cert_path and key_path belong together", name)
	case needCA && f.CA == "":
		return fmt.Errorf("%s: ca_path is needed: members are known by certificates of an authority", name)
	}
	return nil
}

// certCheck is how often the files are looked at, at most.
const certCheck = time.Second

// certificates is what TLSFiles hold, kept current. It is looked at by every handshake.
type certificates struct {
	files TLSFiles
	log   *slog.Logger

	mu      sync.Mutex
	checked time.Time
	stamp   [3]time.Time // of the files as loaded
	cert    *tls.Certificate
	pool    *x509.CertPool
}

// openCertificates loads the files; what cannot be loaded at the start is an error, later only a warning.
func openCertificates(files TLSFiles, log *slog.Logger) (*certificates, error) {
	c := &certificates{files: files, log: log, checked: time.Now(), stamp: files.stamp()}
	if err := c.load(); err != nil {
		return nil, err
	}
	return c, nil
}

func (f TLSFiles) stamp() (s [3]time.Time) {
	for i, path := range []string{f.Cert, f.Key, f.CA} {
		if st, err := os.Stat(path); err == nil {
			s[i] = st.ModTime()
		}
	}
	return s
}

func (c *certificates) load() error {
	cert, err := tls.LoadX509KeyPair(c.files.Cert, c.files.Key)
	if err != nil {
		return fmt.Errorf("certificate: %w", err)
	}
	var pool *x509.CertPool
	if c.files.CA != "" {
		if pool, err = loadPool(c.files.CA); err != nil {
			return err
		}
	}
	c.cert, c.pool = &cert, pool
	if left := time.Until(cert.Leaf.NotAfter); left < engine.CertificateWarning {
		c.log.Warn("certificate ends soon", "path", c.files.Cert, "not_after", cert.Leaf.NotAfter, "left", left.Round(time.Minute))
	}
	return nil
}

func loadPool(path string) (*x509.CertPool, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("authority: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(b) {
		return nil, fmt.Errorf("authority %s: no certificate in it", path)
	}
	return pool, nil
}

// current is the certificate and the authorities as the files have them. Files that are half written are tried again.
func (c *certificates) current() (*tls.Certificate, *x509.CertPool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); now.Sub(c.checked) >= certCheck {
		c.checked = now
		if s := c.files.stamp(); s != c.stamp {
			if err := c.load(); err != nil {
				c.log.Warn("new certificate not used", "path", c.files.Cert, "err", err)
			} else {
				c.stamp = s
				c.log.Info("certificate replaced", "path", c.files.Cert, "not_after", c.cert.Leaf.NotAfter)
			}
		}
	}
	return c.cert, c.pool
}

// forClients secures the ports that clients come to.
func (c *certificates) forClients() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		cert, _ := c.current()
		return cert, nil
	}}
}

// forPeers secures the peer port from both ends. Names of hosts are not looked at: raft compares the certificate with
// the id a member says hello with.
func (c *certificates) forPeers() (server, client *tls.Config) {
	server = c.forClients()
	server.MinVersion, server.ClientAuth = tls.VersionTLS13, tls.RequireAnyClientCert
	server.VerifyConnection = c.verify(x509.ExtKeyUsageClientAuth)
	client = &tls.Config{MinVersion: tls.VersionTLS13, InsecureSkipVerify: true, // VerifyConnection does it, with the authorities of the moment
		VerifyConnection: c.verify(x509.ExtKeyUsageServerAuth),
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			cert, _ := c.current()
			return cert, nil
		}}
	return server, client
}

func (c *certificates) verify(use x509.ExtKeyUsage) func(tls.ConnectionState) error {
	return func(s tls.ConnectionState) error {
		if len(s.PeerCertificates) == 0 {
			return errors.New("no certificate")
		}
		_, pool := c.current()
		between := x509.NewCertPool()
		for _, cert := range s.PeerCertificates[1:] {
			between.AddCert(cert)
		}
		_, err := s.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: pool, Intermediates: between, KeyUsages: []x509.ExtKeyUsage{use}})
		return err
	}
}

// secured is a listener's TLS side; a plain one off loopback is spoken of.
func (n *Node) secured(name string, ln net.Listener, c *certificates, protocols ...string) net.Listener {
	if c == nil {
		n.plainly(name, ln)
		return ln
	}
	cfg := c.forClients()
	cfg.NextProtos = protocols
	return tls.NewListener(ln, cfg)
}

func (n *Node) plainly(name string, ln net.Listener) {
	if a, ok := ln.Addr().(*net.TCPAddr); ok && !a.IP.IsLoopback() {
		n.log.Warn("PLAIN TEXT OFF LOOPBACK: every machine on the way can read memories, tokens and secrets; configure [tls] and [tls.cluster]",
			"surface", name, "addr", a.String())
	}
}

// shownCertificates are this node's certificates, by who is shown them.
func (n *Node) shownCertificates() map[string]*x509.Certificate {
	shown := map[string]*x509.Certificate{}
	for to, c := range n.certs {
		cert, _ := c.current()
		shown[to] = cert.Leaf
	}
	return shown
}

// ports are those that clients and members come to.
func (n *Node) ports() (all []api.Port) {
	at := n.Addrs()
	for _, p := range []api.Port{{Name: "wire", Addr: at.Wire, TLS: n.cfg.TLS.Clients.On()}, {Name: "http", Addr: at.HTTP, TLS: n.cfg.TLS.Clients.On()}, {Name: "peers", Addr: at.Cluster, TLS: n.cfg.TLS.Peers.On()}} {
		if p.Addr == "" { // a node that is alone listens for no members
			continue
		}
		ap, err := netip.ParseAddrPort(p.Addr)
		p.Loopback = err == nil && ap.Addr().IsLoopback()
		all = append(all, p)
	}
	return all
}

// gateways are how this node asks the others' gateways.
func (n *Node) gateways() (engine.Gateways, error) {
	g, files := engine.Gateways{Client: http.DefaultClient, Scheme: "http://"}, n.cfg.TLS.Clients
	if files.On() {
		g.Scheme = "https://"
	}
	if !n.cfg.Tokens.NoMaster {
		g.Secret = n.cfg.Member.Secret
	}
	if files.CA == "" {
		return g, nil
	}
	pool, err := loadPool(files.CA)
	g.Client = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, IdleConnTimeout: time.Minute}}
	return g, err
}
