package oauth

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/cairndb/cairn/oplog"
)

// Prefixes of sealed texts.
const (
	clientPrefix  = "cairn_client_"
	codePrefix    = "cairn_code_"
	refreshPrefix = "cairn_refresh_"
	accessPrefix  = "cairn_access_"
)

// maxSealed bounds the sealed texts that clients send.
const maxSealed = 8 << 10

// A ticket is the content of a code, a refresh token or an access token.
type ticket struct {
	Consent   string     `json:"g"`           // hash of the consent's token
	Turn      uint64     `json:"n"`           // number of earlier renewals; unused in an access token
	Client    string     `json:"c,omitempty"` // digest of the client_id; empty in an access token
	Redirect  string     `json:"r,omitempty"` // in a code: the redirect URI
	Challenge string     `json:"s,omitempty"` // in a code: the PKCE challenge
	Until     oplog.Time `json:"x"`
}

// A sealer seals texts under the first of its keys, and opens texts sealed under any of them.
type sealer struct {
	keys     []cipher.AEAD
	resource string
}

func newSealer(secrets []string, resource string) (*sealer, error) {
	s := &sealer{resource: resource}
	for _, secret := range secrets {
		key, err := hkdf.Key(sha256.New, []byte(secret), nil, "cairn oauth", 32)
		if err != nil {
			return nil, err
		}
		block, err := aes.NewCipher(key)
		if err != nil {
			return nil, err
		}
		aead, err := cipher.NewGCMWithRandomNonce(block)
		if err != nil {
			return nil, err
		}
		s.keys = append(s.keys, aead)
	}
	return s, nil
}

func (s *sealer) seal(prefix string, v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic("oauth: " + err.Error()) // structs of strings and numbers always encode
	}
	return prefix + base64.RawURLEncoding.EncodeToString(s.keys[0].Seal(nil, nil, b, []byte(prefix+s.resource)))
}

// open decodes a sealed text. It returns false unless a member sealed the text with this prefix.
func (s *sealer) open(prefix, text string, to any) bool {
	text, ok := strings.CutPrefix(text, prefix)
	if !ok || len(text) > maxSealed {
		return false
	}
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return false
	}
	for _, key := range s.keys {
		if plain, err := key.Open(nil, nil, b, []byte(prefix+s.resource)); err == nil {
			return json.Unmarshal(plain, to) == nil
		}
	}
	return false
}

// digest returns the base64url SHA-256 of a text, as in PKCE.
func digest(text string) string {
	h := sha256.Sum256([]byte(text))
	return base64.RawURLEncoding.EncodeToString(h[:])
}
