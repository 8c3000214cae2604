package transfer

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

// TestRowsOfOthers: rows of all supported formats are converted.
func TestRowsOfOthers(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, in, want string }{
		{"an export of ours",
			`{"type":"memory","rid":"r1","text":"a","memory_type":"semantic","importance":0.9,"created_at":12.5,"namespace":"n","metadata":{"k":1},"source":"user"}
			{"type":"edge","edge_id":"e","src":"Alice","dst":"payments","rel_type":"leads","weight":0.5}`,
			`memory a n 12.5 {"k":1}; edge Alice leads payments`},
		{"mem0, one a line",
			`{"id":"m1","memory":"Alice leads payments","hash":"h","metadata":{"topic":"org"},"created_at":"2024-07-29T16:22:51.612718-07:00","updated_at":null,"user_id":"bob","categories":["work"]}`,
			`memory Alice leads payments bob "2024-07-29T16:22:51.612718-07:00" {"categories":["work"],"id":"m1","topic":"org","user_id":"bob"}`},
		{"mem0, all at once",
			`{"results":[{"id":"m1","memory":"a","created_at":"2024-07-29T16:22:51Z","agent_id":"x","run_id":"s"},{"id":"m2","memory":"b"}],
			"relations":[{"source":"alice","relationship":"leads","target":"payments"},{"source":"bob","relationship":"knows","destination":"alice"}]}`,
			`memory a x "2024-07-29T16:22:51Z" {"agent_id":"x","id":"m1","run_id":"s"}; memory b  0 {"id":"m2"}; edge alice leads payments; edge bob knows alice`},
		{"server-memory", `{"type":"entity","name":"Ada","entityType":"person","observations":["drinks tea","drinks tea","plays chess"]}
			{"type":"relation","from":"Ada","to":"ACME","relationType":"works_at"}`,
			`memory Ada: person server-memory 0 ; memory Ada: drinks tea server-memory 0 ; memory Ada: plays chess server-memory 0 ; edge Ada works_at ACME`},
		{"documents", `[{"page_content":"a","metadata":{"page":3}},{"content":"b","url":"u"},"c"] {"text":"d","created_at":"2026-03-01"}`,
			`memory a  0 {"page":3}; memory b  0 {"url":"u"}; memory c  0 ; memory d  "2026-03-01" `},
		{"metadata that is no object",
			`{"id":"m1","memory":"a","user_id":"u","metadata":null} {"text":"b","metadata":null} {"text":"c","metadata":["x"],"url":"u"}`,
			`memory a u 0 {"id":"m1","user_id":"u"}; memory b  0 ; memory c  0 {"metadata":["x"],"url":"u"}`},
		{"no text", `{"text":"a"}{"url":"u"}`, `memory a  0 ; row 2: no text: want a field text, memory, content or page_content`},
		{"times without a zone", `{"text":"a","created_at":"2026-03-01 12:30:00.25"} {"text":"b","created_at":"2026-03-01T12:30:00"}`,
			`memory a  "2026-03-01T12:30:00.25Z" ; memory b  "2026-03-01T12:30:00Z" `},
		{"no time", `{"text":"a","created_at":"yesterday"}`,
			`row 1: created_at: want a date: RFC 3339 (2026-01-31 or 2026-01-31T12:00:00Z) or Unix seconds, got "yesterday"`},
		{"a number", `17`, `row 1: want an object or a text, got 17`},
		{"broken off", `[{"text":"a"}`, `memory a  0 ; row 2: unexpected EOF`},
		{"not JSON", `{"text":"a"} what`, `memory a  0 ; row 2: invalid character 'w' looking for beginning of value`},
		{"a bracket too many", `{"text":"a"} ]`, `memory a  0 ; row 2: invalid character ']' looking for beginning of value`},
		{"not UTF-8", `{"text":"a"} {"text":"caf` + "\xe9" + `"} {"text":"b"}`,
			`memory a  0 ; row 2: text: byte 12 of the JSON is not UTF-8`},
		{"nothing", " \n", ``},
	} {
		var got []string
		for r := newRows(strings.NewReader(tc.in)); ; {
			row, err := r.next()
			if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
				break
			}
			if err != nil {
				got = append(got, fmt.Sprintf("row %d: %v", r.n, err))
				break
			}
			if _, err := row.line(); err != nil {
				got = append(got, fmt.Sprintf("row %d: %v", r.n, err))
				break
			}
			if row.text("type") == "edge" {
				got = append(got, fmt.Sprint("edge ", row.text("src"), " ", row.text("rel_type"), " ", row.text("dst")))
				continue
			}
			got = append(got, fmt.Sprintf("memory %s %s %s %s", row.text("text"), row.text("namespace"),
				cmp.Or(string(row["created_at"]), "0"), row["metadata"]))
		}
		if s := strings.Join(got, "; "); s != tc.want {
			t.Errorf("%s:\n got %s\nwant %s", tc.name, s, tc.want)
		}
	}
}
