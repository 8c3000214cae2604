package doctor

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/cairndb/cairn/node/certs"
)

// TestAChainOfCertificatesIsWell: a certificate file with an intermediate authority passes.
func TestAChainOfCertificatesIsWell(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var parent *x509.Certificate
	var by *ecdsa.PrivateKey
	var chain [][]byte
	for i, name := range []string{"root", "between", "node"} {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		c := &x509.Certificate{SerialNumber: big.NewInt(int64(i + 1)), Subject: pkix.Name{CommonName: name},
			NotBefore: time.Now().Add(-time.Hour),
			NotAfter:  time.Now().AddDate(1, 0, 0), IsCA: name != "node", BasicConstraintsValid: true}
		if parent == nil {
			parent, by = c, key
		}
		der, err := x509.CreateCertificate(rand.Reader, c, parent, key.Public(), by)
		if err != nil {
			t.Fatal(err)
		}
		chain = append(chain, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
		if parent, err = x509.ParseCertificate(der); err != nil {
			t.Fatal(err)
		}
		by = key
	}
	raw, err := x509.MarshalECPrivateKey(by)
	if err != nil {
		t.Fatal(err)
	}
	files := certs.Files{Cert: filepath.Join(dir, "node.crt"), Key: filepath.Join(dir, "node.key"), CA: filepath.Join(dir, "ca.crt")}
	for path, text := range map[string][]byte{files.Cert: bytes.Join([][]byte{chain[2], chain[1]}, nil), files.CA: chain[0],
		files.Key: pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: raw})} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if f := CheckCertificate("tls", files, false, 1); f.Status != OK {
		t.Errorf("%+v", f)
	}
}
