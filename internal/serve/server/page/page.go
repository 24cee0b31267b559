// Package page has the web page on which a person answers approvals, watches and takes
// over terminals, and reads what was decided: the files of the directory static, as they
// are. There is no build step, and nothing on the page is interpreted as markup: dom.js is
// the only way by which a module makes elements, and it sets text.
//
// The page is public and says nothing by itself. Whatever it shows comes from the API of
// package server, with the credential of a browser that was paired.
package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"
)

//go:embed static
var static embed.FS

// policy is the Content-Security-Policy of the page: it is made of its own files, and
// talks to its own server.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; " +
	"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"

// types are the media types of the files, by their endings: those of the system, which
// package mime reads, may differ.
var types = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
	"":      "text/plain; charset=utf-8", // licences and sums
}

// file is a file as it is sent.
type file struct {
	kind, tag string // media type, entity tag
	data      []byte
}

// Handler returns the handler of "/", and of the files below "/static/". It answers GET
// and HEAD, and sets the page's own Content-Security-Policy and Cache-Control.
func Handler() http.Handler {
	files, err := load()
	if err != nil {
		panic(err) // the files are part of the program
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { serve(files, w, r) })
}

// load reads the files, by the paths of their URLs.
func load() (map[string]file, error) {
	files := map[string]file{}
	err := fs.WalkDir(static, "static", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := static.ReadFile(name)
		sum := sha256.Sum256(data)
		files["/"+name] = file{kindOf(name), `"` + hex.EncodeToString(sum[:]) + `"`, data}
		return err
	})
	files["/"] = files["/static/index.html"]
	delete(files, "/static/index.html") // it has one address
	return files, err
}

func kindOf(name string) string {
	if kind, ok := types[path.Ext(name)]; ok {
		return kind
	}
	return types[""]
}

// serve sends a file. Browsers ask each time whether it has changed, so that the modules
// of two versions do not meet.
func serve(files map[string]file, w http.ResponseWriter, r *http.Request) {
	f, ok := files[r.URL.Path]
	switch {
	case !ok:
		http.Error(w, "this path does not exist", http.StatusNotFound)
		return
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "this path accepts only GET, HEAD", http.StatusMethodNotAllowed)
		return
	}
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("Content-Type", f.kind)
	h.Set("Cache-Control", "no-cache")
	h.Set("ETag", f.tag)
	if strings.HasPrefix(f.kind, "text/html") {
		h.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=(), payment=(), usb=()")
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(f.data))
}
