// Package certs is the certificates that a node shows and trusts: loaded when it starts, looked at again while it runs,
// so that a certificate that is replaced is used from the next connection on. It opens no port; package node secures
// its listeners with it. Any goroutine may call it.
package certs

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// Files names a certificate chain, its key and the authorities that vouch for the other side, all PEM. The files are
// looked at again while the node runs: a certificate that is replaced is used from the next connection on.
type Files struct {
	Cert, Key string
	CA        string // needed on the peer port; on the clients' ports it is only told to this host's commands
}

// On reports whether there is anything to secure.
func (f Files) On() bool { return f != Files{} }

// Validate returns an error that says which file is missing; name is the configuration section that the error begins
// with.
func (f Files) Validate(name string, needCA bool) error {
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

// Warning is the time before a certificate's end at which the node starts to warn.
const Warning = 14 * 24 * time.Hour

// lookAgain is the shortest interval between two checks of the files.
const lookAgain = time.Second

// Certificates holds the content of Files and keeps it current. Every handshake checks it.
type Certificates struct {
	files Files
	log   *slog.Logger

	mu      sync.Mutex
	checked time.Time
	stamp   [3]time.Time // of the files as loaded
	cert    *tls.Certificate
	pool    *x509.CertPool
	fault   string // why the files as they are now are not used; blank when they are
}

// Open loads the files. A file that cannot be loaded is an error here, and only a warning later, when the certificate
// loaded before is used on.
func Open(files Files, log *slog.Logger) (*Certificates, error) {
	c := &Certificates{files: files, log: log, checked: time.Now(), stamp: files.stamp()}
	if err := c.load(); err != nil {
		return nil, err
	}
	return c, nil
}

func (f Files) stamp() (s [3]time.Time) {
	for i, path := range []string{f.Cert, f.Key, f.CA} {
		if st, err := os.Stat(path); err == nil {
			s[i] = st.ModTime()
		}
	}
	return s
}

func (c *Certificates) load() error {
	cert, err := tls.LoadX509KeyPair(c.files.Cert, c.files.Key)
	if err != nil {
		return fmt.Errorf("certificate %s with key %s: %w", c.files.Cert, c.files.Key, err)
	}
	var pool *x509.CertPool
	if c.files.CA != "" {
		if pool, err = Authorities(c.files.CA); err != nil {
			return err
		}
	}
	c.cert, c.pool = &cert, pool
	switch left := time.Until(cert.Leaf.NotAfter); {
	case left < 0:
		c.log.Error("certificate has ended: clients and members reject it", "path", c.files.Cert, "not_after", cert.Leaf.NotAfter)
	case left < Warning:
		c.log.Warn("certificate ends soon", "path", c.files.Cert, "not_after", cert.Leaf.NotAfter, "left", left.Round(time.Minute))
	}
	return nil
}

// Authorities are the certificates in a file.
func Authorities(path string) (*x509.CertPool, error) {
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

// Current is the certificate and the authorities as the files have them. Files that are half written are tried again.
func (c *Certificates) Current() (*tls.Certificate, *x509.CertPool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); now.Sub(c.checked) >= lookAgain {
		c.checked = now
		if s := c.files.stamp(); s != c.stamp {
			if err := c.load(); err != nil {
				if err.Error() != c.fault { // each second meets it again
					c.log.Warn("new certificate not used", "path", c.files.Cert, "err", err)
				}
				c.fault = err.Error()
			} else {
				c.stamp, c.fault = s, ""
				c.log.Info("certificate replaced", "path", c.files.Cert, "not_after", c.cert.Leaf.NotAfter)
			}
		}
	}
	return c.cert, c.pool
}

// Shown is a certificate that is shown, and why the files as they are now are not used; blank when they are.
type Shown struct {
	Leaf  *x509.Certificate
	Fault string
}

// Shown looks at the files.
func (c *Certificates) Shown() Shown {
	cert, _ := c.Current()
	c.mu.Lock()
	defer c.mu.Unlock()
	return Shown{Leaf: cert.Leaf, Fault: c.fault}
}

// ForClients secures the ports that clients come to.
func (c *Certificates) ForClients() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		cert, _ := c.Current()
		return cert, nil
	}}
}

// ForPeers secures the peer port from both ends. Names of hosts are not looked at: raft compares the certificate with
// the id a member says hello with.
func (c *Certificates) ForPeers() (server, client *tls.Config) {
	server = c.ForClients()
	server.MinVersion, server.ClientAuth = tls.VersionTLS13, tls.RequireAnyClientCert
	server.VerifyConnection = c.verify(x509.ExtKeyUsageClientAuth)
	// VerifyConnection verifies, with the authorities that are loaded at that moment.
	client = &tls.Config{MinVersion: tls.VersionTLS13, InsecureSkipVerify: true,
		VerifyConnection: c.verify(x509.ExtKeyUsageServerAuth),
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			cert, _ := c.Current()
			return cert, nil
		}}
	return server, client
}

func (c *Certificates) verify(use x509.ExtKeyUsage) func(tls.ConnectionState) error {
	return func(s tls.ConnectionState) error {
		if len(s.PeerCertificates) == 0 {
			return errors.New("no certificate")
		}
		_, pool := c.Current()
		between := x509.NewCertPool()
		for _, cert := range s.PeerCertificates[1:] {
			between.AddCert(cert)
		}
		_, err := s.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: pool, Intermediates: between, KeyUsages: []x509.ExtKeyUsage{use}})
		return err
	}
}
