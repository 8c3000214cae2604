package command

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
	"testing"

	"github.com/cairndb/cairn/local/stringd/command/state"
)

// TestWhyAFileIsNotWritten: the error does not contain the path of the temporary file, even if several things failed
// at once.
func TestWhyAFileIsNotWritten(t *testing.T) {
	full := &fs.PathError{Op: "write", Path: "/home/a/.tmp-1", Err: syscall.ENOSPC}
	moved := &os.LinkError{Op: "rename", Old: "/home/a/.tmp-1", New: "/home/a/x", Err: syscall.EACCES}
	for _, tc := range []struct{ err, want error }{
		{full, syscall.ENOSPC}, {errors.Join(full, errors.New("close")), syscall.ENOSPC}, {moved, syscall.EACCES},
		{errors.ErrUnsupported, errors.ErrUnsupported},
	} {
		if got := state.Cause(tc.err); got != tc.want {
			t.Errorf("%v: %v, want %v", tc.err, got, tc.want)
		}
	}
}
