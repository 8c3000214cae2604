package seal

import (
	"bytes"
	"cmp"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/cairndb/cairn/oplog/syncwriter"
)

// RingFile is the keyring's name in a home.
const RingFile = "keyring"

const ringVersion = 2

// Ring holds the keys of one home. A nil Ring passes data through unchanged.
type Ring struct {
	path    string // empty: never stored
	masters []Master

	mu       sync.RWMutex
	active   KeyID
	keys     map[KeyID]*dataKey
	outdated map[KeyID]bool     // keys that were already replaced when the ring was opened
	retired  map[KeyID]*dataKey // dropped keys, for files that this process still has open
}

// dataKey is a key that seals data, with its stored form.
type dataKey struct {
	storedKey
	key    [keySize]byte
	values cipher.AEAD
}

// Info is the public part of a data key.
type Info struct {
	ID      KeyID
	Created time.Time
	Master  KeyID
	Active  bool
}

type storedRing struct {
	Version int         `json:"version"`
	Active  KeyID       `json:"active"`
	Keys    []storedKey `json:"keys"`
	Sum     string      `json:"sum"`
}

// encode returns the keyring file. Each ring has exactly one encoding.
func (s storedRing) encode() ([]byte, error) {
	s.Sum = ""
	raw, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return nil, err
	}
	s.Sum = fmt.Sprintf("%x", sha256.Sum256(raw))
	raw, err = json.MarshalIndent(s, "", "  ")
	return append(raw, '\n'), err
}

type storedKey struct {
	ID      KeyID     `json:"id"`
	Created time.Time `json:"created"`
	Master  KeyID     `json:"master"` // the key that wraps it
	Wrapped []byte    `json:"wrapped"`
}

// Ephemeral returns a ring whose key is never stored, so that nobody can open its data after the process has ended. It
// reads backups that are sealed under the masters.
func Ephemeral(masters []Master) *Ring {
	r := &Ring{masters: masters, keys: map[KeyID]*dataKey{}}
	r.add()
	return r
}

// Create makes a home's keyring, with one data key. It returns an error if there is one.
func Create(home string, masters []Master) (*Ring, error) {
	r := Ephemeral(masters)
	r.path = filepath.Join(home, RingFile)
	if _, err := os.Lstat(r.path); err == nil {
		return nil, fmt.Errorf("%s exists", r.path)
	}
	return r, r.store()
}

// Exists reports whether a home has a keyring, so that it is encrypted.
func Exists(home string) bool {
	_, err := os.Lstat(filepath.Join(home, RingFile))
	return err == nil
}

// Open reads a home's keyring. If one of the older master keys wraps the data keys, the master key was changed. Open
// then wraps all data keys under the current master key, adds a new active data key, and stores the keyring before it
// returns.
func Open(home string, masters []Master) (r *Ring, rotated bool, err error) {
	if r, err = Load(home, masters); err != nil {
		return nil, false, err
	}
	for _, k := range r.keys {
		rotated = rotated || k.Master != masters[0].ID()
	}
	if rotated {
		if err := r.Rotate(); err != nil {
			return nil, false, err
		}
		r.noteOutdated()
	}
	return r, rotated, nil
}

// noteOutdated records the keys that are not active. It must be called before anything is sealed.
func (r *Ring) noteOutdated() {
	r.outdated = map[KeyID]bool{}
	for id := range r.keys {
		if id != r.active {
			r.outdated[id] = true
		}
	}
}

// Load reads a home's keyring without changing it.
func Load(home string, masters []Master) (*Ring, error) {
	r := &Ring{path: filepath.Join(home, RingFile), masters: masters, keys: map[KeyID]*dataKey{}}
	raw, err := os.ReadFile(r.path)
	if err != nil {
		return nil, err
	}
	if err := r.load(raw); errors.Is(err, ErrDamaged) {
		return nil, fmt.Errorf("%w: %s: %w", ErrKeyring, r.path, err)
	} else if err != nil {
		return nil, fmt.Errorf("keyring %s: %w", r.path, err)
	}
	return r, nil
}

func (r *Ring) load(raw []byte) error {
	var s storedRing
	if err := json.Unmarshal(raw, &s); err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if s.Version != ringVersion {
		return fmt.Errorf("%w: version %d, this version of Cairn reads %d", ErrDamaged, s.Version, ringVersion)
	}
	if whole, err := s.encode(); err != nil || !bytes.Equal(raw, whole) {
		return fmt.Errorf("%w: its checksum does not match", ErrDamaged)
	}
	for _, k := range s.Keys {
		m, ok := r.master(k.Master)
		if !ok {
			return fmt.Errorf("%w: data key %s is wrapped by master key %s, and the one configured is %s", ErrKey, k.ID,
				k.Master, r.masters[0].ID())
		}
		key, err := unwrap(m.key, k.Wrapped, ringContext(k.ID))
		if err != nil {
			return fmt.Errorf("data key %s: %w", k.ID, err)
		}
		r.keys[k.ID] = newDataKey(k, key)
	}
	if r.keys[s.Active] == nil {
		return fmt.Errorf("%w: no active key", ErrDamaged)
	}
	r.active = s.Active
	r.noteOutdated()
	return nil
}

func newDataKey(k storedKey, key [keySize]byte) *dataKey {
	return &dataKey{k, key, gcm(derive(key, nil, "cairn values"))}
}

func ringContext(id KeyID) []byte { return []byte("cairn data key " + id.String()) }

func (r *Ring) master(id KeyID) (Master, bool) {
	for _, m := range r.masters {
		if m.ID() == id {
			return m, true
		}
	}
	return Master{}, false
}

// add makes a data key and makes it the active one.
func (r *Ring) add() {
	k := storedKey{Created: time.Now().UTC().Truncate(time.Second), Master: r.masters[0].ID()}
	for k.ID == 0 || r.keys[k.ID] != nil {
		var raw [4]byte
		rand.Read(raw[:])
		k.ID = KeyID(binary.BigEndian.Uint32(raw[:]))
	}
	r.keys[k.ID] = newDataKey(k, NewMaster().key)
	r.active = k.ID
}

// store replaces the keyring file. The keys are wrapped by the current master key.
func (r *Ring) store() (err error) {
	if r.path == "" {
		return nil
	}
	s := storedRing{Version: ringVersion, Active: r.active}
	m := r.masters[0]
	for _, id := range slices.Sorted(maps.Keys(r.keys)) {
		k := r.keys[id]
		s.Keys = append(s.Keys, storedKey{id, k.Created, m.ID(), wrap(m.key, k.key, ringContext(id))})
	}
	raw, err := s.encode()
	if err != nil {
		return err
	}
	if err := syncwriter.Replace(r.path, raw, 0o600); err != nil {
		return fmt.Errorf("keyring: %w", err)
	}
	for _, k := range r.keys {
		k.Master = m.ID()
	}
	return nil
}

// Rotate makes a new active data key and wraps all keys by the current master key.
func (r *Ring) Rotate() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	was := r.active
	r.add()
	if err := r.store(); err != nil {
		delete(r.keys, r.active)
		r.active = was
		return err
	}
	return nil
}

// ErrRotated says that another process has rotated the keyring since this one opened it.
var ErrRotated = errors.New("the keyring was rotated meanwhile")

// Retire drops the outdated keys. The caller has rewritten the files that they sealed; this process can still read old
// ones that it has open. Retire does not change a keyring that was rotated since it was opened.
func (r *Ring) Retire() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.path != "" {
		now, err := Load(filepath.Dir(r.path), r.masters)
		if err != nil {
			return err
		}
		if now.active != r.active {
			return ErrRotated
		}
	}
	all := r.keys
	r.keys = maps.Clone(all)
	maps.DeleteFunc(r.keys, func(id KeyID, _ *dataKey) bool { return r.outdated[id] })
	if err := r.store(); err != nil {
		r.keys = all
		return err
	}
	r.retired, r.outdated = all, nil
	return nil
}

// Keys lists the data keys, oldest first.
func (r *Ring) Keys() (keys []Info) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for id, k := range r.keys {
		keys = append(keys, Info{ID: id, Created: k.Created, Master: k.Master, Active: id == r.active})
	}
	slices.SortFunc(keys, func(a, b Info) int { return a.Created.Compare(b.Created) })
	return keys
}

// Active returns the key that seals new data.
func (r *Ring) Active() KeyID {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.active
}

func (r *Ring) activeKey() *dataKey {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.keys[r.active]
}

func (r *Ring) dataKey(id KeyID) (*dataKey, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if k := cmp.Or(r.keys[id], r.retired[id]); k != nil {
		return k, nil
	}
	return nil, fmt.Errorf("%w: it names data key %s, which the keyring does not have", ErrKey, id)
}

// derive derives a key for one use from another key.
func derive(key [keySize]byte, salt []byte, use string) [keySize]byte {
	out, err := hkdf.Key(sha256.New, key[:], salt, use, keySize)
	if err != nil {
		panic("seal: " + err.Error()) // deriving 32 bytes does not fail
	}
	return [keySize]byte(out)
}

func gcm(key [keySize]byte) cipher.AEAD {
	b, err := aes.NewCipher(key[:])
	if err == nil {
		if a, err := cipher.NewGCM(b); err == nil {
			return a
		}
	}
	panic("seal: AES-256-GCM is not there") // impossible, because all keys have the right size
}

const wrappedSize = nonceSize + keySize + tagSize

// wrap seals a key by another.
func wrap(by, key [keySize]byte, context []byte) []byte {
	nonce := make([]byte, nonceSize, wrappedSize)
	rand.Read(nonce)
	return gcm(by).Seal(nonce, nonce, key[:], context)
}

func unwrap(by [keySize]byte, wrapped, context []byte) (key [keySize]byte, err error) {
	if len(wrapped) != wrappedSize {
		return key, fmt.Errorf("%w: wrapped key of %d bytes", ErrDamaged, len(wrapped))
	}
	b, err := gcm(by).Open(nil, wrapped[:nonceSize], wrapped[nonceSize:], context)
	if err != nil {
		return key, fmt.Errorf("%w: wrapped key", ErrDamaged)
	}
	return [keySize]byte(b), nil
}
