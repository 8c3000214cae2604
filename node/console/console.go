// Package console is the page by which people look after a node: plain modules, served as they are written. Nothing has
// to be built, and nothing comes from elsewhere. It asks the gateway for all it shows, in the browser; on the server it
// is files and their headers alone.
package console

import (
	"embed"
	"net/http"
)

//go:embed *.html *.js *.css *.svg views
var files embed.FS

// policy lets a page load what this node serves and nothing more; no script or style is inline.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Handler serves the page at / and what it loads below /console/.
func Handler() http.Handler {
	below := http.StripPrefix("/console", http.FileServerFS(files))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-cache")
		if r.URL.Path == "/" {
			http.ServeFileFS(w, r, files, "index.html")
			return
		}
		below.ServeHTTP(w, r)
	})
}
