package engine_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// filler gives every field of a value its own content by reflection, so that it also fills fields of later versions.
type filler struct{ n int }

func (f *filler) fill(v reflect.Value, path string) {
	f.n++
	switch v.Kind() {
	case reflect.String:
		if v.SetString(fmt.Sprintf("%s %d", path, f.n)); strings.HasSuffix(path, ".Path") {
			v.SetString(fmt.Sprintf("/%s/%d", path, f.n)) // a key
		}
		if strings.HasSuffix(path, ".Trust") {
			v.SetString(oplog.TrustTool)
		}
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		if v.SetFloat(float64(f.n) / 8); strings.HasSuffix(path, ".HalfLife") {
			v.SetFloat(float64(f.n) * 450) // seconds, of which exports have the hours
		}
	case reflect.Int64:
		v.SetInt(1_700_000_000_000_000 + int64(f.n)*1_000_001)
	case reflect.Int8:
		v.SetInt(1)
	case reflect.Uint8:
		v.SetUint(1)
	case reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(f.n))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem(), path)
	case reflect.Struct:
		for i := range v.NumField() {
			f.fill(v.Field(i), strings.TrimPrefix(path+"."+v.Type().Field(i).Name, "."))
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte(fmt.Sprintf(`{"<%s>":%d}`, path, f.n)))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			f.fill(v.Index(i), fmt.Sprintf("%s[%d]", path, i))
		}
	default:
		panic("no way to fill " + path + ", a " + v.Type().String())
	}
}

// kept holds all that a database stores about one memory.
type kept struct {
	Memory    oplog.Memory
	Vector    oplog.Vector
	Revisions []oplog.Revision
	Claims    []oplog.StoredClaim
	Types     []string // of the entities
}

func memoriesOf(t *testing.T, n *node.Node, c api.Caller) (all []kept) {
	t.Helper()
	db := c.DB
	if err := n.State().Read(func(v *state.View) error {
		v.Memories(db, 0, func(m *oplog.Memory) bool {
			k := kept{Memory: *m, Vector: v.Vector(db, m.Seq), Revisions: v.Revisions(db, m.Seq)}
			for _, id := range m.Claims {
				claim, _ := v.Claim(db, id)
				k.Claims = append(k.Claims, claim)
			}
			for _, name := range m.Entities {
				e, _ := v.Entity(db, name)
				k.Types = append(k.Types, e.Type)
			}
			all = append(all, k)
			return true
		})
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

func exported(t *testing.T, n *node.Node, c api.Caller) string {
	t.Helper()
	a, err := api.Export.Do(t.Context(), n.Host(), c, &api.ExportRequest{})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	out := json.NewEncoder(&b)
	out.SetEscapeHTML(false)
	for rows, err := range a.Memories {
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			if err := out.Encode(r); err != nil {
				t.Fatal(err)
			}
		}
	}
	for rows, err := range a.Edges {
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			if err := out.Encode(r); err != nil {
				t.Fatal(err)
			}
		}
	}
	return b.String()
}

// differences returns the names of the fields in which two values differ.
func differences(got, want reflect.Value, path string) (all []string) {
	if got.Kind() == reflect.Struct {
		for i := range got.NumField() {
			all = append(all, differences(got.Field(i), want.Field(i), path+"."+got.Type().Field(i).Name)...)
		}
		return all
	}
	if got.Kind() == reflect.Slice && got.Len() == want.Len() && got.Type().Elem().Kind() == reflect.Struct {
		for i := range got.Len() {
			all = append(all, differences(got.Index(i), want.Index(i), fmt.Sprintf("%s[%d]", path, i))...)
		}
		return all
	}
	if !reflect.DeepEqual(got.Interface(), want.Interface()) {
		all = append(all, fmt.Sprintf("%s: %v, want %v", path, got.Interface(), want.Interface()))
	}
	return all
}

// TestMemoriesSurviveExport fills every field of a memory and its history by reflection. After an export and an
// import, all of them must be there under the old ids, and a second export must have the same bytes. The test names
// lost fields.
func TestMemoriesSurviveExport(t *testing.T) {
	t.Parallel()
	n, c := startSingle(t)
	var f filler
	var ops []oplog.Op
	full := func(status oplog.Status, searchable bool) {
		op := &oplog.Remember{}
		f.fill(reflect.ValueOf(op).Elem(), "")
		if status != oplog.Active {
			op.Path = "" // no memory that was merged has a key
		}
		op.Claims, op.Was.Status, op.Vector = nil, status, oplog.MakeVector([]float32{1, .1, float32(f.n)})
		op.Was.Revision, op.Was.Revisions[0].Number, op.Was.Revisions[1].Number = 2, 0, 1
		for i := range op.Was.Claims {
			op.Was.Claims[i].SourceRID = op.RID
		}
		op.Held = false // an export has the status instead
		if op.Unsearchable = !searchable; !searchable || status == oplog.Quarantined {
			op.Entities, op.Was.Claims, op.Vector = nil, nil, nil
		}
		ops = append(ops, op)
	}
	full(oplog.Active, true)
	full(oplog.Consolidated, true)
	full(oplog.Active, false)
	full(oplog.Quarantined, true)
	for i := range 200 { // half-lives after reinforcement, which are shown in hours
		ops = append(ops, &oplog.Remember{Content: oplog.Content{RID: oplog.NewID(), Text: "x", Namespace: " n ",
			HalfLife: 604800 * math.Pow(1.2, float64(i%25)) * float64(1+i/25), Created: 1, Extractor: 1,
			Stamp: oplog.Stamp{Writer: "w", Dialect: "http", Trust: oplog.TrustAgent}}})
	}
	ops = append(ops, &oplog.Relate{ID: "edge", Src: "a", Dst: "b", Type: "knows", Weight: .3, At: 1_700_000_000_000_001,
		Since: 1_600_000_000_000_001})
	if err := n.Service().Propose(t.Context(), c, ops...); err != nil {
		t.Fatal(err)
	}
	first, whole := exported(t, n, c), memoriesOf(t, n, c)
	if !whole[2].Memory.Unsearchable {
		t.Error("the third memory is searchable")
	}
	for i, k := range whole[:2] { // every field must be set; Undone names forgotten memories, which no export has
		v := reflect.ValueOf(k.Memory)
		for _, f := range reflect.VisibleFields(v.Type()) {
			if v.FieldByIndex(f.Index).IsZero() && f.Name != "Status" && f.Name != "Unsearchable" && f.Name != "Undone" &&
				(f.Name != "Path" || i == 0) {
				t.Errorf("the test leaves %s empty", f.Name)
			}
		}
	}
	if strings.Count(first, "\n") != len(ops) {
		t.Fatalf("%d lines are exported of %d:\n%s", strings.Count(first, "\n"), len(ops), first)
	}
	if _, err := api.CreateDatabase.Do(t.Context(), n.Host(), c, &api.CreateDatabaseRequest{Name: "copy"}); err != nil {
		t.Fatal(err)
	}
	there, err := n.Access().Local("copy")
	if err != nil {
		t.Fatal(err)
	}
	there.Policy.Trust = oplog.TrustOperator // may vouch for texts of other writers
	lines := first
	take := func(keep bool) error {
		_, err := api.Import.Do(t.Context(), n.Host(), there, &api.ImportRequest{Lines: strings.NewReader(lines), Keep: keep})
		return err
	}
	if err := take(true); err != nil {
		t.Fatal(err)
	}
	copied := memoriesOf(t, n, there)
	if len(copied) != len(whole) {
		t.Fatalf("%d memories are imported of %d", len(copied), len(whole))
	}
	for i := range copied {
		got, want := copied[i], whole[i]
		got.Memory.Seq, got.Memory.Keys = want.Memory.Seq, want.Memory.Keys // these belong to one database
		if i > 2 {
			got.Memory.HalfLife = want.Memory.HalfLife // hours are rounded: the second export is compared instead
		}
		for _, d := range differences(reflect.ValueOf(got), reflect.ValueOf(want), "") {
			t.Errorf("memory %d after the import: %s", i+1, d)
		}
	}
	if second := exported(t, n, there); second != first {
		for i, line := range strings.Split(second, "\n") {
			if was := strings.Split(first, "\n")[i]; line != was {
				t.Fatalf("line %d of the second export:\n%s\nof the first:\n%s", i+1, line, was)
			}
		}
	}
	if err := take(true); err == nil || !strings.Contains(err.Error(), "exists already") {
		t.Errorf("again, under the same ids: %v", err)
	}
	for range 2 {
		if err := take(false); err != nil {
			t.Fatal(err)
		}
		if second := exported(t, n, there); second != first {
			t.Error("what is there already was changed by an import of it")
		}
	}
	lines = strings.ReplaceAll(first, `"text":"x"`, `"text":"y"`)
	for range 2 { // the ids belong to other memories now: each memory gets a new id, once
		if err := take(false); err != nil {
			t.Fatal(err)
		}
		if got := len(memoriesOf(t, n, there)); got != len(whole)+200 {
			t.Errorf("%d memories after another import, want %d", got, len(whole)+200)
		}
	}
}

// TestImportRefusesImpossibleHistories: an import rejects histories that Apply could not check itself.
func TestImportRefusesImpossibleHistories(t *testing.T) {
	t.Parallel()
	n, c := startSingle(t)
	for _, tc := range []struct{ name, line, want string }{
		{"forgotten", `"consolidation_status":"tombstoned"`, "want active, consolidated or quarantined"},
		{"revisions out of order", `"revision":2,"revisions":[{"revision":1},{"revision":0}]`, "history"},
		{"a revision to come", `"revision":1,"revisions":[{"revision":1}]`, "history"},
		{"a claim of nothing", `"claims":[{"claim_id":"c"}]`, "history"},
		{"an endless number", `"access_count":1e400`, "line 1"},
		{"a long name", `"consolidated_into":"` + strings.Repeat("x", 600) + `"`, "over 512"},
	} {
		line := `{"type":"memory","text":"a","extractor":1,"updated_at":2,"last_access":2,` + tc.line + "}\n"
		if _, err := api.Import.Do(t.Context(), n.Host(), c, &api.ImportRequest{Lines: strings.NewReader(line)}); err == nil ||
			!strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.want)
		}
	}
	if got := memoriesOf(t, n, c); len(got) != 0 {
		t.Errorf("stored: %+v", got)
	}
}
