package node

import (
	"embed"
	"io/fs"
	"net/http"
)

// The console is plain modules, served as they are written: nothing has to be built, and nothing comes from elsewhere.
//
//go:embed console
var consoleFiles embed.FS

// consolePolicy lets a page load what this node serves and nothing more; no script or style is inline.
const consolePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// console serves the page at / and what it loads below /console/.
func console() http.Handler {
	files := http.FileServerFS(consoleFiles)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", consolePolicy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-cache")
		if r.URL.Path != "/" {
			files.ServeHTTP(w, r)
			return
		}
		page, err := fs.ReadFile(consoleFiles, "console/index.html")
		if err != nil {
			http.Error(w, "the console is not part of this build", http.StatusInternalServerError)
			return
		}
		h.Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write(page) // a client that went away is no failure of ours
	})
}
