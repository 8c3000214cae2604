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

// pages are the documents; what they load is below /console/.
var pages = map[string]string{"/": "index.html", "/oauth/authorize": "consent.html"}

// Handler serves the console at /, the page of consent at /oauth/authorize, and what both load below /console/.
func Handler() http.Handler {
	below := http.StripPrefix("/console", http.FileServerFS(files))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-cache")
		if page, ok := pages[r.URL.Path]; ok {
			http.ServeFileFS(w, r, files, page)
			return
		}
		below.ServeHTTP(w, r)
	})
}
