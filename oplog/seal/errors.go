package seal

import (
	"errors"
	"fmt"
)

// What can be wrong. Callers compare with errors.Is.
var (
	// ErrDamaged says that sealed bytes are not what was sealed: changed, cut, moved, or of another key than they
	// say.
	ErrDamaged = errors.New("encrypted data is damaged")
	// ErrKeyring says that the keyring is not what was stored, in addition to ErrDamaged, or that it is gone.
	ErrKeyring = errors.New("the keyring is damaged or missing")
	// ErrKey says that a key that is needed is not there: the master key is missing or another one.
	ErrKey = errors.New("the encryption key does not match")
	// ErrPlain says that something is not sealed that should be.
	ErrPlain = errors.New("not encrypted")
	// ErrSealed says that something is sealed and no key was given.
	ErrSealed = errors.New("encrypted, and no key is configured")
)

// ErrUnread says that the source of a master key gives none. Such an error is an ErrKey as well.
var ErrUnread = errors.New("the encryption key cannot be read")

type unreadKey struct{ error }

func (u unreadKey) Unwrap() error        { return u.error }
func (u unreadKey) Is(target error) bool { return target == ErrKey }

func unread(format string, args ...any) error {
	return unreadKey{fmt.Errorf("%w: "+format, append([]any{ErrUnread}, args...)...)}
}
