package operate

import (
	"cmp"
	"context"
	"crypto/x509"
	"slices"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/certs"
	"github.com/cairndb/cairn/oplog/seal"
)

// Shown is a certificate of a port of this node.
type Shown = certs.Shown

// Keys returns the keys and certificates of all nodes.
func (cl *Cluster) Keys(ctx context.Context, c api.Caller, q *api.KeysRequest) (*api.KeysAnswer, error) {
	a := &api.KeysAnswer{Nodes: []api.NodeKeys{cl.ownKeys(time.Now())}}
	if !q.Here && !c.Asked {
		for id, got := range cl.cfg.OthersKeys(ctx, c, &api.KeysRequest{Here: true}) {
			if got == nil || len(got.Nodes) != 1 {
				got = &api.KeysAnswer{Nodes: []api.NodeKeys{{NodeID: id, Error: "did not answer", Keys: []api.DataKey{},
					Rewriting: []string{}, Certificates: []api.Certificate{}, Ports: []api.Port{}}}}
			}
			a.Nodes = append(a.Nodes, got.Nodes[0])
		}
	}
	slices.SortFunc(a.Nodes, func(a, b api.NodeKeys) int { return cmp.Compare(a.NodeID, b.NodeID) })
	return a, nil
}

// ownKeys returns the ids of this node's keys, and its certificates. The bytes of keys never leave package seal.
func (cl *Cluster) ownKeys(now time.Time) api.NodeKeys {
	n := api.NodeKeys{NodeID: cl.cfg.Member.NodeID, Encrypted: cl.cfg.Keys != nil, Keys: []api.DataKey{},
		Rewriting:    api.OrEmpty(cl.cfg.Leftovers().OldKeys),
		Certificates: []api.Certificate{}, Ports: cl.cfg.Ports()}
	if cl.cfg.Keys != nil {
		n.Keys = api.Each(cl.cfg.Keys.Keys(), func(k seal.Info) api.DataKey {
			return api.DataKey{ID: k.ID.String(), Master: k.Master.String(), Active: k.Active, Created: float64(k.Created.Unix())}
		})
	}
	for audience, cert := range cl.cfg.Certificates() {
		c := certificateOf(audience, cert.Leaf, now)
		c.Fault = cert.Fault
		n.Certificates = append(n.Certificates, c)
	}
	slices.SortFunc(n.Certificates, func(a, b api.Certificate) int { return cmp.Compare(a.To, b.To) })
	return n
}

func certificateOf(audience string, cert *x509.Certificate, now time.Time) api.Certificate {
	names := slices.Clone(cert.DNSNames)
	for _, ip := range cert.IPAddresses {
		names = append(names, ip.String())
	}
	for _, uri := range cert.URIs {
		names = append(names, uri.String())
	}
	state := "valid"
	switch remaining := cert.NotAfter.Sub(now); {
	case remaining < 0:
		state = "ended"
	case cert.NotBefore.After(now):
		state = "not_yet"
	case remaining < certs.Warning:
		state = "ends_soon"
	}
	return api.Certificate{To: audience, Subject: cert.Subject.String(), Issuer: cert.Issuer.String(), Names: api.OrEmpty(names),
		From: float64(cert.NotBefore.Unix()), Until: float64(cert.NotAfter.Unix()), State: state}
}
