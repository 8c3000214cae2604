package seal

import "errors"

// What can be wrong. Callers compare with errors.Is.
var (
	// ErrDamaged says that sealed bytes are not what was sealed: changed, cut, moved, or of another key than they say.
	ErrDamaged = errors.New("encrypted data is damaged")
	// ErrKeyring says, beside ErrDamaged, that the keyring is not what was stored.
	ErrKeyring = errors.New("the keyring is damaged")
	// ErrKey says that a key that is needed is not there: the master key is missing or another one.
	ErrKey = errors.New("the encryption key does not match")
	// ErrPlain says that something is not sealed that should be.
	ErrPlain = errors.New("not encrypted")
	// ErrSealed says that something is sealed and no key was given.
	ErrSealed = errors.New("encrypted, and no key is configured")
)
