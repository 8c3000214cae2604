package seal_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairndb/cairn/oplog/seal"
)

func ring(t testing.TB) *seal.Ring { return seal.Ephemeral([]seal.Master{seal.NewMaster()}) }

func TestValues(t *testing.T) {
	r := ring(t)
	for _, v := range []string{"", "a", strings.Repeat("long ", 1000)} {
		sealed := r.Seal([]byte("before"), []byte(v), []byte("here"))
		if len(v) > 9 && bytes.Contains(sealed, []byte(v)) {
			t.Errorf("%d bytes stand in what was sealed", len(v))
		}
		got, err := r.Open([]byte("x"), sealed[6:], []byte("here"))
		if err != nil || string(got) != "x"+v {
			t.Errorf("%d bytes come back as %d: %v", len(v), len(got), err)
		}
		if _, err := r.Open(nil, sealed[6:], []byte("there")); !errors.Is(err, seal.ErrDamaged) {
			t.Errorf("in another place: %v", err)
		}
		for i := range sealed[6:] {
			bad := bytes.Clone(sealed[6:])
			bad[i] ^= 1
			want := seal.ErrDamaged
			if i < 4 { // the id of the key
				want = seal.ErrKey
			}
			if _, err := r.Open(nil, bad, []byte("here")); !errors.Is(err, want) {
				t.Fatalf("byte %d changed: %v", i, err)
			}
			if i > 100 {
				break
			}
		}
	}
	var off *seal.Ring
	if got, err := off.Open(nil, off.Seal(nil, []byte("v"), nil), nil); err != nil || string(got) != "v" {
		t.Errorf("without a ring: %q, %v", got, err)
	}
}

func TestBackupsNeedTheMasterKeyAlone(t *testing.T) {
	m := seal.NewMaster()
	sealed := sealFile(t, []byte("all there is"), seal.Ephemeral([]seal.Master{m}).Backup)
	elsewhere := seal.Ephemeral([]seal.Master{seal.NewMaster(), m})
	if got, err := readAll(elsewhere, sealed); err != nil || string(got) != "all there is" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := readAll(ring(t), sealed); !errors.Is(err, seal.ErrKey) {
		t.Errorf("another master key: %v", err)
	}
	var none *seal.Ring
	if _, err := none.Reader(bytes.NewReader(sealed)); !errors.Is(err, seal.ErrSealed) {
		t.Errorf("no key: %v", err)
	}
}

func TestRing(t *testing.T) {
	home, old, other := t.TempDir(), seal.NewMaster(), seal.NewMaster()
	r, err := seal.Create(home, []seal.Master{old})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := seal.Create(home, []seal.Master{old}); err == nil {
		t.Error("a keyring was made over another")
	}
	sealed := r.Seal(nil, []byte("v"), nil)
	if _, _, err := seal.Open(home, []seal.Master{other}); !errors.Is(err, seal.ErrKey) ||
		!strings.Contains(err.Error(), other.ID().String()) {
		t.Errorf("wrong master key: %v", err)
	}
	if _, rotated, err := seal.Open(home, []seal.Master{old, other}); err != nil || rotated {
		t.Errorf("same master key: rotated %v, %v", rotated, err)
	}
	r2, rotated, err := seal.Open(home, []seal.Master{other, old})
	if err != nil || !rotated || len(r2.Keys()) != 2 || r2.Active() == r.Active() {
		t.Fatalf("new master key: rotated %v, keys %v, %v", rotated, r2.Keys(), err)
	}
	r3, rotated, err := seal.Open(home, []seal.Master{other})
	if err != nil || rotated {
		t.Fatalf("new master key alone: rotated %v, %v", rotated, err)
	}
	if got, err := r3.Open(nil, sealed, nil); err != nil || string(got) != "v" {
		t.Errorf("what the old data key sealed: %q, %v", got, err)
	}
	if err := r3.Retire(); err != nil {
		t.Fatal(err)
	}
	if got, err := r3.Open(nil, sealed, nil); err != nil || string(got) != "v" {
		t.Errorf("in the process that retired its key: %q, %v", got, err)
	}
	r4, _, err := seal.Open(home, []seal.Master{other})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r4.Open(nil, sealed, nil); !errors.Is(err, seal.ErrKey) {
		t.Errorf("after its key was retired: %v", err)
	}
	raw, err := os.ReadFile(filepath.Join(home, seal.RingFile))
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(raw, []byte(`"wrapped": "`)) + 20
	raw[at] = 'A' + (raw[at]-'A'+1)%26
	if err := os.WriteFile(filepath.Join(home, seal.RingFile), raw, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := seal.Open(home, []seal.Master{other}); !errors.Is(err, seal.ErrDamaged) {
		t.Errorf("damaged keyring: %v", err)
	}
}

func TestSources(t *testing.T) {
	a, b := seal.NewMaster(), seal.NewMaster()
	path := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(path, []byte("# the new one\n"+a.Text()+"\n\n"+b.Text()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TEST_KEYS", a.Text()+","+b.Text())
	for _, s := range []seal.Source{{File: path}, {Env: "TEST_KEYS"}, {Command: "cat '" + path + "'"}} {
		got, err := s.Masters(context.Background())
		if err != nil || len(got) != 2 || got[0] != a || got[1] != b {
			t.Errorf("%s: %d keys, %v", s, len(got), err)
		}
	}
	for name, s := range map[string]seal.Source{"two at once": {File: path, Env: "TEST_KEYS"}, "no variable": {Env: "TEST_NONE"},
		"no file": {File: path + "x"}, "failing command": {Command: "exit 3"}, "no key": {Command: "echo"},
		"no hex": {Command: "echo secret"}} {
		if keys, err := s.Masters(context.Background()); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %d keys, %v", name, len(keys), err)
		}
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := (seal.Source{File: path}).Masters(context.Background()); !errors.Is(err, seal.ErrKey) || !errors.Is(err, seal.ErrUnread) ||
		!strings.HasPrefix(err.Error(), "the encryption key cannot be read: ") || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a file that others may read: %v", err)
	}
}

func TestLines(t *testing.T) {
	r := ring(t)
	line := r.Line([]byte(`{"text":"secret"}`), "mailbox")
	if bytes.ContainsAny(line, "\n") || bytes.Contains(line, []byte("secret")) {
		t.Errorf("line %q", line)
	}
	if got, err := r.OpenLine(line, "mailbox"); err != nil || string(got) != `{"text":"secret"}` {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := r.OpenLine([]byte(`{"text":"plain"}`), "mailbox"); !errors.Is(err, seal.ErrPlain) {
		t.Errorf("a plain line: %v", err)
	}
	if got, err := r.Plain(r.Bytes([]byte("small"))); err != nil || string(got) != "small" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := r.Plain([]byte("small")); !errors.Is(err, seal.ErrPlain) {
		t.Errorf("a plain file: %v", err)
	}
}

func BenchmarkSeal(b *testing.B) {
	r := ring(b)
	v, place := bytes.Repeat([]byte("x"), 400), []byte("memories 00000001")
	b.SetBytes(int64(len(v)))
	var buf []byte
	for b.Loop() {
		buf = r.Seal(buf[:0], v, place)
	}
}

// FuzzRing: a changed keyring is rejected, or the change has no effect. Only keyrings that the master key wrapped are
// read.
func FuzzRing(f *testing.F) {
	home, m := f.TempDir(), seal.NewMaster()
	if _, err := seal.Create(home, []seal.Master{m}); err != nil {
		f.Fatal(err)
	}
	good, err := os.ReadFile(filepath.Join(home, seal.RingFile))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte(`{"version":2,"active":"00000001","keys":[{"id":"00000001","master":"` + m.ID().String() + `","wrapped":"AAAA"}]}`))
	f.Add([]byte(`{"version":2,"active":"x"}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, seal.RingFile), in, 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := seal.Load(dir, []seal.Master{m})
		if err == nil && len(r.Keys()) != 1 {
			t.Fatalf("%d keys in a ring that was never made", len(r.Keys()))
		}
	})
}
