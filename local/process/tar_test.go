package process_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func tgz(t testing.TB, entries ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, h := range entries {
		body := "of " + h.Name
		if h.Typeflag == 0 {
			h.Typeflag = tar.TypeReg
		}
		if h.Typeflag == tar.TypeReg {
			h.Size = int64(len(body))
		}
		if h.Mode == 0 {
			h.Mode = 0o777
		}
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if h.Size > 0 {
			if _, err := w.Write([]byte(body)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, err := range []error{w.Close(), z.Close()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

// tree lists every path below dir, with its type and mode.
func tree(t testing.TB, dir string) string {
	t.Helper()
	var l []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		i, err := d.Info()
		if err != nil {
			return err
		}
		l = append(l, fmt.Sprintf("%s %s", strings.TrimPrefix(path, dir+"/"), i.Mode()))
		return nil
	})
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return strings.Join(l, ", ")
}

// No archive writes outside of the directory, and a valid one is unpacked exactly. The test is not parallel, because
// the umask belongs to the process.
func TestArchives(t *testing.T) {
	socket, _ := listen(t)
	p := connect(t, socket)
	old := syscall.Umask(0o277) // the modes are exact, whatever the umask of the server
	defer syscall.Umask(old)
	long := strings.Repeat("n", 120) + "/" + strings.Repeat("m", 150)
	for _, c := range []struct {
		name    string
		entries []tar.Header
		result  string
		tree    string
	}{
		{"nothing", nil, `{"success":true,"fileCount":0}`, ".synced -rw-------"},
		{"modes", []tar.Header{{Name: "a", Mode: 0o4755}, {Name: "d/", Typeflag: tar.TypeDir}, {Name: "d/b", Mode: 0o1}},
			`{"success":true,"fileCount":2}`, ".synced -rw-------, a -rw-------, d drwx------, d/b -rw-------"},
		{"parents", []tar.Header{{Name: "x/y/z"}}, `{"success":true,"fileCount":1}`,
			".synced -rw-------, x drwx------, x/y drwx------, x/y/z -rw-------"},
		{"itself", []tar.Header{{Name: "./", Typeflag: tar.TypeDir}, {Name: "./a"}}, `{"success":true,"fileCount":1}`,
			".synced -rw-------, a -rw-------"},
		{"twice", []tar.Header{{Name: "a"}, {Name: "a"}}, `{"success":true,"fileCount":2}`, ".synced -rw-------, a -rw-------"},
		{"absolute", []tar.Header{{Name: "/etc/passwd"}}, `{"success":true,"fileCount":1}`,
			".synced -rw-------, etc drwx------, etc/passwd -rw-------"},
		{"back inside", []tar.Header{{Name: "a/../b"}, {Name: "a/b/../../c"}}, `{"success":true,"fileCount":2}`,
			".synced -rw-------, b -rw-------, c -rw-------"},
		{"long", []tar.Header{{Name: long, Format: tar.FormatPAX}}, `{"success":true,"fileCount":1}`,
			".synced -rw-------, " + strings.Repeat("n", 120) + " drwx------, " + long + " -rw-------"},
		{"up", []tar.Header{{Name: "a"}, {Name: "../evil"}},
			`{"success":false,"fileCount":0,"error":"unsafe path in archive: ../evil"}`, "a -rw-------"},
		{"up and down", []tar.Header{{Name: "a/../../evil"}},
			`{"success":false,"fileCount":0,"error":"unsafe path in archive: a/../../evil"}`, ""},
		{"absolute and up", []tar.Header{{Name: "/../evil"}},
			`{"success":false,"fileCount":0,"error":"unsafe path in archive: /../evil"}`, ""},
		{"neighbour", []tar.Header{{Name: "../out-evil/f"}},
			`{"success":false,"fileCount":0,"error":"unsafe path in archive: ../out-evil/f"}`, ""},
		{"parent directory", []tar.Header{{Name: "..", Typeflag: tar.TypeDir}},
			`{"success":false,"fileCount":0,"error":"unsafe path in archive: .."}`, ""},
		{"link", []tar.Header{{Name: "l", Typeflag: tar.TypeSymlink, Linkname: "/etc"}, {Name: "l/passwd"}},
			`{"success":false,"fileCount":0,"error":"unsupported tar entry type 2: l"}`, ""},
		{"hard link", []tar.Header{{Name: "l", Typeflag: tar.TypeLink, Linkname: "/etc/passwd"}},
			`{"success":false,"fileCount":0,"error":"unsupported tar entry type 1: l"}`, ""},
		{"device", []tar.Header{{Name: "n", Typeflag: tar.TypeChar}},
			`{"success":false,"fileCount":0,"error":"unsupported tar entry type 3: n"}`, ""},
		{"block", []tar.Header{{Name: "n", Typeflag: tar.TypeBlock}},
			`{"success":false,"fileCount":0,"error":"unsupported tar entry type 4: n"}`, ""},
		{"pipe", []tar.Header{{Name: "n", Typeflag: tar.TypeFifo}},
			`{"success":false,"fileCount":0,"error":"unsupported tar entry type 6: n"}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, archive, neighbours := scene(t)
			if err := os.WriteFile(archive, tgz(t, c.entries...), 0o600); err != nil {
				t.Fatal(err)
			}
			if got := extract(t, p, archive, out); got != c.result {
				t.Errorf("got  %s\nwant %s", got, c.result)
			}
			if got := tree(t, out); got != c.tree {
				t.Errorf("got  %s\nwant %s", got, c.tree)
			}
			if _, err := os.Lstat(archive); err == nil {
				t.Error("the archive is still there")
			}
			if got := tree(t, filepath.Dir(archive)); got != neighbours {
				t.Errorf("outside is %s", got)
			}
		})
	}
}

// scene creates a directory with old content, a place for an archive, and a directory next to it that must not
// change.
func scene(t *testing.T) (out, archive, neighbours string) {
	t.Helper()
	old := syscall.Umask(0o022)
	defer syscall.Umask(old)
	dir := t.TempDir()
	out = filepath.Join(dir, "out")
	for _, d := range []string{out, filepath.Join(dir, "in", "out-evil")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(out, "stale"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	return out, filepath.Join(dir, "in", "a.tgz"), "out-evil drwxr-xr-x"
}

func extract(t *testing.T, p *peer, archive, out string) string {
	t.Helper()
	p.t = t
	return p.call("files.extract_tar", map[string]any{"archivePath": archive, "destDir": out})
}

// An archive that is truncated at any byte is rejected, and leaves no mark of success.
func TestTruncatedArchives(t *testing.T) {
	t.Parallel()
	socket, _ := listen(t)
	p := connect(t, socket)
	whole := tgz(t, tar.Header{Name: "a"}, tar.Header{Name: "b"})
	for n := range whole {
		out, archive, _ := scene(t)
		if err := os.WriteFile(archive, whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		got := extract(t, p, archive, out)
		if !strings.HasPrefix(got, `{"success":false,"fileCount":0,"error":"gzip: `) {
			t.Errorf("%d of %d bytes: %s", n, len(whole), got)
		}
		if strings.Contains(tree(t, out), ".synced") {
			t.Errorf("%d of %d bytes: marked as done", n, len(whole))
		}
		if n < 10 && tree(t, out) != "stale -rw-r--r--" { // without a gzip header, nothing is changed
			t.Errorf("%d of %d bytes: %s", n, len(whole), tree(t, out))
		}
	}
	for in, want := range map[string]string{"": "gzip: EOF", "this is not gzip data": "gzip: gzip: invalid header"} {
		out, archive, _ := scene(t)
		if err := os.WriteFile(archive, []byte(in), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := extract(t, p, archive, out); got != `{"success":false,"fileCount":0,"error":"`+want+`"}` {
			t.Errorf("%q: %s", in, got)
		}
	}
}

func TestWhereArchivesGo(t *testing.T) {
	home := filepath.Join(t.TempDir(), "home", "me")
	if err := os.MkdirAll(home, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", home)
	socket, _ := listen(t)
	p := connect(t, socket)
	out, archive, _ := scene(t)
	dir := filepath.Dir(out)
	around := filepath.Join(dir, "around")
	if err := os.Symlink(filepath.Dir(filepath.Dir(home)), around); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(archive, tgz(t, tar.Header{Name: "a"}), 0o600); err != nil {
		t.Fatal(err)
	}
	const fail = `{"success":false,"fileCount":0,"error":"`
	for _, c := range []struct{ dest, want string }{
		{"", "error -32602 archivePath and destDir are required"},
		{"out", fail + `destDir must be an absolute, non-root path: \"out\""}`},
		{"/", fail + `destDir must be an absolute, non-root path: \"/\""}`},
		{"/a/..", fail + `destDir must be an absolute, non-root path: \"/a/..\""}`},
		{home, fail + `destDir must not be or contain the home directory: \"` + home + `\""}`},
		{filepath.Dir(home) + "/", fail + `destDir must not be or contain the home directory: \"` + filepath.Dir(home) + `/\""}`},
		{around + "/home", fail + `destDir must not be or contain the home directory: \"` + around + `/home\""}`},
	} {
		if got := extract(t, p, archive, c.dest); got != c.want {
			t.Errorf("%q: %s, want %s", c.dest, got, c.want)
		}
	}
	if _, err := os.Stat(archive); err != nil {
		t.Fatalf("a refusal took the archive: %v", err)
	}
	// If a link is in place of the directory, the link is removed, but not its target.
	link := filepath.Join(dir, "link")
	if err := os.Symlink(out, link); err != nil {
		t.Fatal(err)
	}
	if got := extract(t, p, archive, link); got != `{"success":true,"fileCount":1}` {
		t.Error(got)
	}
	if got := tree(t, out); got != "stale -rw-r--r--" {
		t.Errorf("what the link led to: %s", got)
	}
	if got := tree(t, link); got != ".synced -rw-------, a -rw-------" {
		t.Errorf("extracted: %s", got)
	}
	if got := extract(t, p, filepath.Join(dir, "none"), out); got != fail+`open archive: open `+dir+`/none: no such file or directory"}` {
		t.Error(got)
	}
	if got := extract(t, p, dir, out); !strings.HasPrefix(got, fail+"open archive: ") {
		t.Error(got)
	}
}

// TestNoArchiveReplacesAHomeByAnotherName: the home directory is left alone under another name without a link, as on
// a file system that ignores case or behind a mount.
func TestNoArchiveReplacesAHomeByAnotherName(t *testing.T) {
	home, other := filepath.Join(t.TempDir(), "home", "me"), filepath.Join(t.TempDir(), "other")
	for _, dir := range []string{home, other} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	mount(t, filepath.Dir(home), other)
	kept := filepath.Join(home, "kept")
	if err := os.WriteFile(kept, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", home)
	socket, _ := listen(t)
	p := connect(t, socket)
	_, archive, _ := scene(t)
	if err := os.WriteFile(archive, tgz(t, tar.Header{Name: "a"}), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dest := range []string{filepath.Join(other, "me"), other} {
		if got := extract(t, p, archive, dest); !strings.Contains(got, "destDir must not be or contain the home directory") {
			t.Errorf("%s: %s", dest, got)
		}
		if _, err := os.Stat(kept); err != nil {
			t.Fatal(err)
		}
	}
}
