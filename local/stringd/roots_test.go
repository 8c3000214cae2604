package stringd_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairndb/cairn/local/stringd"
	"github.com/cairndb/cairn/node/api"
)

// The home and the allowed paths of an agent must be in the roots, when it is registered, by whichever way, and when
// a path is used. Closed directories in a root are never allowed.
func TestRoots(t *testing.T) {
	t.Parallel()
	var project, private, closed string
	d := start(t, func(c *stringd.Config) {
		project, private = filepath.Join(c.Home, "project"), filepath.Join(c.Home, "private")
		closed = filepath.Join(project, "node")
		for _, dir := range []string{project, private, project + "-2", closed} {
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "f.md"), []byte("# of "+filepath.Base(dir)+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Symlink(private, filepath.Join(project, "link")); err != nil {
			t.Fatal(err)
		}
		c.Roots, c.Closed, c.Memory.Also = []string{project}, []string{closed}, []api.Scope{api.Files}
	})
	refused := func(what, got string) {
		t.Helper()
		if !strings.Contains(got, "lies outside the directories this node gives to agents") || !strings.Contains(got, project) ||
			!strings.Contains(got, "string_roots") {
			t.Errorf("%s: %s", what, got)
		}
	}
	for _, path := range []string{"/", private, project + "-2", project + "/..", project + "/link", closed,
		closed + "/below", d.dir, "relative", "", "~/../../..", "/nowhere/at/all"} {
		if path != "" {
			a := d.do("POST", "/agents", `{"agent_id":"a","allowed_paths":["`+project+`","`+path+`"]}`)
			refused("allowed "+path, a.body)
			if a.status != 400 {
				t.Errorf("allowed %s: status %d", path, a.status)
			}
			refused("the hub's /add --allow "+path, d.exec("agent", "/add b --allow "+path).Content)
		}
		if filepath.IsAbs(path) {
			refused("home "+path, d.do("POST", "/agents", `{"agent_id":"b","home":"`+path+`"}`).body)
			refused("the hub's /add --home "+path, d.exec("agent", "/add b --home "+path).Content)
		}
	}
	if list := d.do("GET", "/agents", "").body; strings.Contains(list, `"b"`) || !strings.Contains(list, `"allowedPaths":[]`) {
		t.Errorf("a refused registration changed something: %s", list)
	}
	if _, err := os.Stat("/nowhere"); err == nil {
		t.Error("the home of a refused registration was made")
	}
	d.fails("main", "/open "+project+"/f.md", "FILE_NOT_ALLOWED")
	if a := d.do("POST", "/agents", `{"agent_id":"a","allowed_paths":["`+project+`/"]}`); a.status != 200 {
		t.Errorf("a root: %s", a.body)
	}
	has(t, d.ok("main", "/open "+project+"/f.md"), "# of project")
	d.fails("main", "/open "+closed+"/f.md", "FILE_NOT_ALLOWED")
	d.fails("main", "/write "+closed+"/g.md\n# mine\n", "FILE_NOT_ALLOWED")
	d.fails("main", "/open "+project+"/link/f.md", "FILE_NOT_ALLOWED")
	d.fails("main", "/open "+project+"-2/f.md", "FILE_NOT_ALLOWED")

	// The roots have changed: paths that were registered below the old roots are rejected.
	d.s.Close()
	d = restart(t, d.dir)
	d.fails("main", "/open "+project+"/f.md", "FILE_NOT_ALLOWED")
	if o := d.exec("main", "/ls"); !o.OK {
		t.Errorf("the home: %+v", o)
	}
}
