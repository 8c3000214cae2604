package doctor

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/certs"
	"github.com/cairndb/cairn/raft/transport"
)

func (e *examination) certificates(context.Context) (fs []Finding) {
	if at, err := e.t.HomeAddresses(); e.path == "" && err == nil && at.TLS {
		return []Finding{{"", Warn, "not checked: the node's configuration says where they are", "name it with --config"}}
	}
	if !e.cfg.TLS.Clients.On() && !e.cfg.TLS.Peers.On() {
		return []Finding{{"", OK, "none: plain text", ""}}
	}
	id := max(e.cfg.Member.NodeID, 1)
	for _, c := range []struct {
		name  string
		files certs.Files
		peer  bool
	}{{"tls", e.cfg.TLS.Clients, false}, {"tls.cluster", e.cfg.TLS.Peers, true}} {
		if c.files.On() {
			fs = append(fs, CheckCertificate(c.name, c.files, c.peer, id))
		}
	}
	return fs
}

// CheckCertificate examines a certificate of the peer port (peer) or of the clients' ports.
func CheckCertificate(name string, files certs.Files, peer bool, id uint32) Finding {
	pair, err := tls.LoadX509KeyPair(files.Cert, files.Key)
	if err != nil {
		return Finding{"", Fail, fmt.Sprintf("[%s]: %v", name, err), "`cairn cluster cert` issues one"}
	}
	left := time.Until(pair.Leaf.NotAfter)
	f := Finding{"", OK, fmt.Sprintf("[%s]: ends in %d days", name, int(left.Hours()/24)), ""}
	switch {
	case time.Until(pair.Leaf.NotBefore) > 0:
		f = Finding{"", Fail, fmt.Sprintf("[%s]: valid from %s, and the time here is %s", name, pair.Leaf.NotBefore.UTC().Format(time.RFC3339),
			time.Now().UTC().Format(time.RFC3339)), "set this machine's clock, or replace the certificate"}
	case left < 0:
		f = Finding{"", Fail, fmt.Sprintf("[%s]: ended %s", name, pair.Leaf.NotAfter.Format(time.DateOnly)),
			"replace it; the node takes the new one by itself"}
	case left < 14*24*time.Hour:
		f.Status, f.Do = Warn, "replace it; the node takes the new one by itself"
	}
	if peer && !slices.Contains(pair.Leaf.DNSNames, transport.Identity(id)) {
		return Finding{"", Fail,
			fmt.Sprintf("[%s]: it is for %v, and this node needs %s", name, pair.Leaf.DNSNames, transport.Identity(id)),
			"issue one with `cairn cluster cert --node-id " + fmt.Sprint(id) + "`"}
	}
	if files.CA != "" && f.Status != Fail {
		pem, err := os.ReadFile(files.CA)
		if err != nil {
			return Finding{"", Fail, fmt.Sprintf("[%s]: %v", name, err), "name the authority's certificate in ca_path"}
		}
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(pem)
		between := x509.NewCertPool() // intermediate authorities in the certificate file
		for _, der := range pair.Certificate[1:] {
			if c, err := x509.ParseCertificate(der); err == nil {
				between.AddCert(c)
			}
		}
		if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: pool, Intermediates: between,
			KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}); err != nil {
			return Finding{"", Fail, fmt.Sprintf("[%s]: %v", name, err), "ca_path and cert_path belong to different authorities"}
		}
	}
	return f
}

// servedCertificates reports the members whose served certificate is invalid or ends soon. The token needs scope
// admin.
func (e *examination) servedCertificates(ctx context.Context) (fs []Finding) {
	if e.running == nil {
		return nil
	}
	all, err := cli.Call(ctx, e.t, api.Keys, nil)
	if cli.Status(err) == http.StatusForbidden {
		return []Finding{{"", OK, "those of the running nodes are not checked: this needs a token with scope admin", ""}}
	}
	if err != nil {
		return []Finding{{"", Warn, err.Error(), "see the node's log"}}
	}
	for _, n := range all.Nodes {
		for _, c := range n.Certificates {
			says := fmt.Sprintf("the one that node %d shows %s ", n.NodeID, c.To)
			end := time.Unix(int64(c.Until), 0).UTC().Format(time.RFC3339)
			do := fmt.Sprintf("replace its files, as `cairn cluster cert --node-id %d` does; the node uses them at once", n.NodeID)
			switch {
			case c.Fault != "":
				fs = append(fs, Finding{"", Fail, says + "is not that of its files, with which it would not start: " + c.Fault, do})
			case c.State == "ended":
				fs = append(fs, Finding{"", Fail, says + "ended " + end, do})
			case c.State == "not_yet":
				fs = append(fs, Finding{"", Fail, says + "is not valid yet", "check that node's clock, and the certificate"})
			case c.State == "ends_soon":
				fs = append(fs, Finding{"", Warn, says + "ends " + end, do})
			}
		}
	}
	return fs
}
