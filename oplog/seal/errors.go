package seal

import (
	"errors"
	"fmt"
)

// Errors that callers test with errors.Is.
var (
	// ErrDamaged says that sealed bytes were changed, truncated or moved, or are not of the key that they name.
	ErrDamaged = errors.New("encrypted data is damaged")
	// ErrKeyring says that the keyring is missing or, together with ErrDamaged, that it was changed.
	ErrKeyring = errors.New("the keyring is damaged or missing")
	// ErrKey says that a required key is missing, or that the master key is a different one.
	ErrKey = errors.New("the encryption key does not match")
	// ErrPlain says that data is not sealed although it should be.
	ErrPlain = errors.New("not encrypted")
	// ErrSealed says that data is sealed and no key was given.
	ErrSealed = errors.New("encrypted, and no key is configured")
)

// ErrUnread says that no master key could be read from its source. Such an error is an ErrKey too.
var ErrUnread = errors.New("the encryption key cannot be read")

type unreadKey struct{ error }

func (u unreadKey) Unwrap() error        { return u.error }
func (u unreadKey) Is(target error) bool { return target == ErrKey }

func unread(format string, args ...any) error {
	return unreadKey{fmt.Errorf("%w: "+format, append([]any{ErrUnread}, args...)...)}
}
