package sift

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/cairndb/cairn/local/kit"
	"github.com/cairndb/cairn/local/transcript"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
)

// Every transcript is read to its end, and every capture from it can be stored.
func FuzzTranscript(f *testing.F) {
	f.Add([]byte(useLine("1", "Bash", `{"command":"make"}`, 1) + resultLine("1", `"ok"`) + "{broken\n\n" + resultLine("2",
		`[{"type":"text","text":"x"},{"type":"image","source":{}}]`)))
	f.Add([]byte("{\"type\":\"user\",\"timestamp\":\"1969-01-01T00:00:00Z\",\"message\":{\"content\":[1]}}\n\xff\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		for line, err := range kit.Lines(bytes.NewReader(in), maxLine) {
			if err != nil {
				t.Fatal(err)
			}
			l, _ := transcript.Parse(line)
			for _, b := range l.Blocks {
				o, err := toolOutput{at: oplog.At(l.At)}.newObservation(api.Said{Session: "s", Tool: b.Name + "x", Source: "replay",
					Payload: map[string]any{"tool_input": decodeContent(b.Input), "tool_response": decodeContent(b.Content)}})
				if err != nil {
					continue
				}
				if !json.Valid(o.payloadJSON) || !utf8.Valid(o.payloadJSON) || len(o.hash) != 32 || summarize(o).text == "" {
					t.Fatalf("%q became %q", line, o.payloadJSON)
				}
			}
		}
	})
}
