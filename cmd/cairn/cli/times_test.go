package cli

import "testing"

func TestTimesInJSON(t *testing.T) {
	for in, want := range map[string]string{
		`{"rid":"a<b","created_at":1795435302.778844,"created_at_iso":"2026-11-23T12:01:42Z","score":0.5,"list":[{"last_access":0,"n":12345678901234567890}],"due_at":null}`: `{"rid":"a<b","created_at":"2026-11-23T12:01:42.778844Z","score":0.5,"list":[{"last_access":"1970-01-01T00:00:00Z","n":12345678901234567890}],"due_at":null}`,
		`{"metadata":{"created_at":5,"due_at_iso":"x","a":{"until":1.50,"s":"<"}},"due_at":0,"attributes":{"at":[7]}}`:                                                       `{"metadata":{"created_at":5,"due_at_iso":"x","a":{"until":1.50,"s":"<"}},"due_at":"1970-01-01T00:00:00Z","attributes":{"at":[7]}}`,
		`[]`:                        `[]`,
		`{}`:                        `{}`,
		`"text"`:                    `"text"`,
		`{"created_at":"as it is"}`: `{"created_at":"as it is"}`,
		`{"created_at":`:            `{"created_at":`,
	} {
		if got := string(formatTimes([]byte(in))); got != want {
			t.Errorf("%s\nbecomes %s\nwant    %s", in, got, want)
		}
	}
	for _, name := range []string{"created_at", "until", "last_seen", "time", "at"} {
		if !timeFields()[name] {
			t.Errorf("%s is no time by the table", name)
		}
	}
	for _, name := range []string{"score", "importance", "uptime_secs", "rid"} {
		if timeFields()[name] {
			t.Errorf("%s is a time by the table", name)
		}
	}
}
