package api

import "testing"

// TestAnotherClientsKeyNamesItsEntity: a graph folder with a name from another client is read as the entity of that
// name, even if the name is not a valid escape.
func TestAnotherClientsKeyNamesItsEntity(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"Ada", "100%", "a/b", "..", "50%zz", "Zoë"} {
		f, _ := GraphFactOf(GraphFact{Entity: name, Says: "x"}.Key(), "")
		if f.Entity != name {
			t.Errorf("%q is read as %q", name, f.Entity)
		}
	}
	for folder, name := range map[string]string{"100%": "100%", "50%zz": "50%zz", "a%20b": "a b"} {
		if f, isType := GraphFactOf(GraphFolder+"/"+folder+"/"+graphType, name+": person"); f.Entity != name ||
			f.Says != "person" || !isType {
			t.Errorf("the folder %q: %+v", folder, f)
		}
	}
}
