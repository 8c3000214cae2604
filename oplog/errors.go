package oplog

import (
	"errors"
	"fmt"
	"slices"
)

// A Kind says what the caller can do about an error. Kinds travel as numbers: add at the end, never reorder.
type Kind uint8

// The kinds of error every surface maps to its own codes.
const (
	Internal       Kind = iota // a bug or a broken disk
	Invalid                    // can never succeed as sent
	NotFound                   // no such memory, session or database
	Denied                     // token missing, wrong or too weak
	Conflict                   // contradicts what is there: name taken, session active, key reused
	TooLarge                   // over a size
	Unavailable                // no leader or no quorum now; nothing was written; retry
	NotLeader                  // this node rejects writes; the leader may take them
	UnknownOutcome             // it may or may not have happened; ask again with the same idempotency key
	Corrupt                    // a file or a record does not hold what it says
	TooOld                     // a member's version cannot read it yet; nothing was written
	OverQuota                  // a database or a token may have no more
)

var kindNames = [...]string{"internal", "invalid", "not found", "denied", "conflict", "too large",
	"unavailable", "not leader", "unknown outcome", "corrupt", "too old", "over quota"}

func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// An Error may leave the process: a surface shows Kind and Text. Err is for the log alone and never travels.
type Error struct {
	Kind  Kind   `msgpack:"k"`
	Text  string `msgpack:"t"`
	Found *Found `msgpack:"f,omitempty"` // what a rejected write met; nil where that says nothing to its client
	Err   error  `msgpack:"-"`
}

// Found is the memory that a keyed write met, without its text. Its zero value says that there is none.
type Found struct {
	RID      string `msgpack:"r,omitempty"`
	Path     string `msgpack:"p,omitempty"`
	Revision uint32 `msgpack:"v,omitempty"`
	SHA256   string `msgpack:"h,omitempty"` // lower-case hex of its text's SHA-256
}

func (e *Error) Error() string {
	if e.Err != nil {
		return e.Text + ": " + e.Err.Error()
	}
	return e.Text
}

// Unwrap returns the cause, if this process knows it.
func (e *Error) Unwrap() error { return e.Err }

// Is matches by value, so a sentinel decoded from a peer's reply still compares equal.
// A target without text matches every error of its kind.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Kind == e.Kind && (t.Text == "" || t.Text == e.Text)
}

// IsKind reports whether an error is of one of some kinds: the outermost Error in it decides.
func IsKind(err error, kinds ...Kind) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && slices.Contains(kinds, e.Kind)
}

// Errorf makes an error of a kind.
func Errorf(k Kind, format string, args ...any) *Error {
	return &Error{Kind: k, Text: fmt.Sprintf(format, args...)}
}

// What callers branch on. The texts are part of the replicated results: change them only with the entry version.
var (
	ErrNoMemory   = &Error{Kind: NotFound, Text: "no such memory"}
	ErrNoDatabase = &Error{Kind: NotFound, Text: "no such database"}
	ErrNoToken    = &Error{Kind: NotFound, Text: "no such token"}
	ErrNoSession  = &Error{Kind: NotFound, Text: "no such session"}
	ErrRevision   = &Error{Kind: Conflict, Text: "the memory is at another revision than the request expects"}
	ErrCondition  = &Error{Kind: Conflict, Text: "the key is not as the request expects"}
	ErrPathTaken  = &Error{Kind: Conflict, Text: "another memory has the key, or one above or below it"}
	ErrHolder     = &Error{Kind: Conflict, Text: "the key has another memory, or another revision of it, than the write was decided from"}
	ErrNoHolder   = &Error{Kind: NotFound, Text: "no memory has the key"}
	ErrKeyReused  = &Error{Kind: Conflict, Text: "idempotency key was used with another request"}
	ErrErasedText = &Error{Kind: Conflict, Text: "this text was erased for good, and is not stored again"}
)
