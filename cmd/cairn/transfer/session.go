package transfer

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/cairndb/cairn/local/kit"
	"github.com/cairndb/cairn/local/transcript"
)

// maxLine bounds a line of a session file.
const maxLine = 16 << 20

// isTranscript reports whether the beginning of a file is that of a coding agent's session.
func isTranscript(begin []byte) bool {
	for line := range bytes.Lines(begin) {
		if l, err := transcript.Parse(line); err == nil && l.Tool != "" {
			return true
		}
	}
	return false
}

// session is a rowReader of a coding agent's session. It yields a row for each message with a text. The external id
// consists of the ids of the session and the message. Agents only append to the file, so the ids are stable.
type session struct {
	lines    func() ([]byte, error, bool)
	id       string
	n        int // lines so far
	messages int // messages so far
}

func newSession(in io.Reader, path string) *session {
	s := &session{}
	s.lines, _ = iter.Pull2(kit.Lines(in, maxLine))
	if path != "" {
		s.id = transcript.SessionOf(path)
	}
	return s
}

func (s *session) row() int { return s.n }

func (s *session) next() (importRow, error) {
	for {
		raw, err, ok := s.lines()
		if !ok {
			return nil, io.EOF
		}
		s.n++
		if errors.Is(err, kit.ErrLongLine) { // such as a picture; the next lines are still read
			return nil, err
		}
		if err != nil {
			return nil, &unreadableError{err}
		}
		l, err := transcript.Parse(raw)
		if err != nil && !bytes.HasSuffix(raw, []byte("\n")) { // an incomplete last line, which the agent is writing
			return nil, io.EOF
		}
		if err != nil {
			return nil, err
		}
		s.id = cmp.Or(l.Session, s.id)
		if l.Text == "" {
			continue
		}
		s.messages++
		l.ID = cmp.Or(l.ID, fmt.Sprint(s.messages))
		return textRow(map[string]string{"text": l.Text, "memory_type": "episodic", "source": l.Tool, "speaker": l.Role, "session_id": s.id,
			"created_at": l.At.UTC().Format(time.RFC3339Nano), "external_id": s.id + ":" + l.ID}), nil
	}
}
