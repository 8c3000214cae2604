package seal

import (
	"bufio"
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/cairndb/cairn/oplog/private"
)

const keySize = 32

// A Master is a key that wraps others.
type Master struct{ key [keySize]byte }

// NewMaster makes a key.
func NewMaster() (m Master) {
	rand.Read(m.key[:]) // never fails
	return m
}

// Text returns the key in the form of a key file: 64 hex digits.
func (m Master) Text() string { return hex.EncodeToString(m.key[:]) }

// ID returns an id of the key that does not reveal the key.
func (m Master) ID() KeyID {
	h := hmac.New(sha256.New, m.key[:])
	h.Write([]byte("cairn master key id"))
	return KeyID(binary.BigEndian.Uint32(h.Sum(nil)))
}

// A KeyID names a key.
type KeyID uint32

func (id KeyID) String() string { return fmt.Sprintf("%08x", uint32(id)) }

// MarshalText implements encoding.TextMarshaler.
func (id KeyID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (id *KeyID) UnmarshalText(text []byte) error {
	n, err := strconv.ParseUint(string(text), 16, 32)
	if err != nil || len(text) != 8 {
		return fmt.Errorf("%w: key id %q", ErrDamaged, text)
	}
	*id = KeyID(n)
	return nil
}

// Source says where to read the master keys. At most one field is set; none means no encryption.
type Source struct {
	File    string // path of a file
	Env     string // name of an environment variable
	Command string // run by /bin/sh -c; it prints the content of a key file
}

// On reports whether encryption is requested.
func (s Source) Enabled() bool { return s != Source{} }

// commandTime bounds how long a key command may take.
const commandTime = 30 * time.Second

// Masters reads the keys: one per line, 32 bytes in hex or base64, first the current key and then those that it
// replaced. Empty lines and lines that begin with # are skipped. A file of exactly 32 bytes is a key itself.
func (s Source) Masters(ctx context.Context) (keys []Master, err error) {
	var raw []byte
	switch {
	case s.File != "" && s.Env == "" && s.Command == "":
		raw, err = keyFile(s.File)
	case s.Env != "" && s.File == "" && s.Command == "":
		v, ok := os.LookupEnv(s.Env)
		if !ok || v == "" {
			return nil, unread("environment variable %s is not set", s.Env)
		}
		raw = []byte(strings.ReplaceAll(v, ",", "\n"))
	case s.Command != "" && s.File == "" && s.Env == "":
		raw, err = keyCommand(ctx, s.Command)
	default:
		return nil, errors.New("encryption: configure only one of key_file, key_env and key_command")
	}
	if err != nil {
		return nil, err
	}
	if keys, err = parseMasters(raw); err != nil {
		return nil, unread("%s: %w", s, err)
	}
	return keys, nil
}

// String names the source, not the key.
func (s Source) String() string {
	switch {
	case s.File != "":
		return s.File
	case s.Env != "":
		return "$" + s.Env
	case s.Command != "":
		return "key_command"
	}
	return "no key"
}

func keyFile(path string) ([]byte, error) {
	raw, err := private.ReadNamed(path)
	if err != nil {
		return nil, unread("%w", err)
	}
	return raw, nil
}

func keyCommand(ctx context.Context, command string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, commandTime)
	defer cancel()
	c := exec.CommandContext(ctx, "/bin/sh", "-c", command)
	c.WaitDelay = time.Second
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, os.Stderr
	if err := c.Run(); err != nil {
		return nil, unread("key_command: %w", err)
	}
	return out.Bytes(), nil
}

func parseMasters(raw []byte) (keys []Master, err error) {
	if len(raw) == keySize {
		return []Master{{key: [keySize]byte(raw)}}, nil
	}
	lines := bufio.NewScanner(bytes.NewReader(raw))
	for n := 1; lines.Scan(); n++ {
		text := strings.TrimSpace(lines.Text())
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		b, err := hex.DecodeString(text)
		if err != nil {
			b, err = base64.StdEncoding.DecodeString(text)
		}
		if err != nil || len(b) != keySize { // the line may contain a secret, so the error does not quote it
			return nil, fmt.Errorf("line %d is not 32 bytes in hex or base64", n)
		}
		keys = append(keys, Master{key: [keySize]byte(b)})
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if len(keys) == 0 {
		return nil, errors.New("it holds no key; `cairn key new` makes one")
	}
	return keys, nil
}
