package oplog

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestKindsThatAMemberLacks: a peer that reports no kinds is assumed to read those of the first release.
func TestKindsThatAMemberLacks(t *testing.T) {
	newer := Newer([]Op{&Remember{}, &SetLimit{}, &Audit{}, &Audit{}})
	if got := newer.String(); got != "set_limit, audit" {
		t.Errorf("newer kinds: %s", got)
	}
	if got := Reads().Lacks(newer); len(got) != 0 {
		t.Errorf("this version lacks %s", got)
	}
	if got := Kinds(nil).Lacks(append(newer, byte(KindOf[Remember]()), 200)).String(); got != "set_limit, audit, kind 200" {
		t.Errorf("the first release lacks %s", got)
	}
}

// TestOldMembersReadWhatTheyAreSent compares the fields of every operation with testdata/kinds.txt. Do not add a
// field to an operation: older members skip it, and their state differs from then on. Add a new kind instead.
// CAIRN_UPDATE=1 writes the file, for new kinds.
func TestOldMembersReadWhatTheyAreSent(t *testing.T) {
	var b strings.Builder
	for _, k := range Reads() {
		fmt.Fprintf(&b, "%d %s:%s\n", k, OpKind(k), shape(reflect.TypeOf(OpKind(k).New()).Elem(), 0))
	}
	path := filepath.Join("testdata", "kinds.txt")
	if os.Getenv("CAIRN_UPDATE") != "" {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	known := slices.Collect(strings.Lines(string(want)))
	for line := range strings.Lines(b.String()) {
		if !slices.Contains(known, line) {
			t.Errorf("not as older members know it, or new:\n%s", line)
		}
	}
	for _, line := range known {
		if !strings.Contains(b.String(), line) {
			t.Errorf("the log may hold it, and this version does not read it:\n%s", line)
		}
	}
}

// shape returns the keys of a type in the log.
func shape(t reflect.Type, depth int) string {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || depth > 4 {
		return ""
	}
	var b strings.Builder
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("msgpack"), ",")
		if !f.IsExported() || name == "-" {
			continue
		}
		b.WriteString(" " + name)
		if inner := shape(f.Type, depth+1); inner != "" {
			b.WriteString("{" + strings.TrimSpace(inner) + "}")
		}
	}
	return b.String()
}
