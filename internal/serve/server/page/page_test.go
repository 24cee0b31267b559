package page

import (
	"io/fs"
	"net/http"
	"net/http/httptest"
	"path"
	"regexp"
	"strings"
	"testing"
)

// request returns the answer of the page.
func request(t *testing.T, method, target string, header http.Header) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, target, nil)
	for name, values := range header {
		r.Header[name] = values
	}
	w := httptest.NewRecorder()
	Handler().ServeHTTP(w, r)
	return w
}

func TestPageHasItsOwnPolicy(t *testing.T) {
	w := request(t, "GET", "/", nil)
	if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "text/html; charset=utf-8" || w.Header().Get("Cache-Control") != "no-cache" {
		t.Fatalf("the page: %d, %v", w.Code, w.Header())
	}
	got := w.Header().Get("Content-Security-Policy")
	for _, want := range []string{
		"default-src 'none'", "script-src 'self';", "style-src 'self';", "connect-src 'self'", "base-uri 'none'", "form-action 'none'",
		"frame-ancestors 'none'", "require-trusted-types-for 'script'",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the policy %q has no %q", got, want)
		}
	}
	if strings.Contains(got, "unsafe") || strings.Contains(got, "*") {
		t.Errorf("the policy %q is open", got)
	}
}

func TestFilesAreThereOnce(t *testing.T) {
	for target, kind := range map[string]string{
		"/static/main.js": "text/javascript; charset=utf-8", "/static/style.css": "text/css; charset=utf-8", "/static/icon.svg": "image/svg+xml",
	} {
		w := request(t, "GET", target, nil)
		if w.Code != http.StatusOK || w.Header().Get("Content-Type") != kind || w.Body.Len() == 0 {
			t.Errorf("%s: %d, %v", target, w.Code, w.Header())
		}
		again := request(t, "GET", target, http.Header{"If-None-Match": w.Header()["Etag"]})
		if again.Code != http.StatusNotModified || again.Body.Len() != 0 {
			t.Errorf("%s again: %d, %d bytes", target, again.Code, again.Body.Len())
		}
		if head := request(t, "HEAD", target, nil); head.Code != http.StatusOK || head.Body.Len() != 0 {
			t.Errorf("HEAD %s: %d, %d bytes", target, head.Code, head.Body.Len())
		}
	}
	for _, target := range []string{"/static/", "/static", "/static/index.html", "/static/nothing.js", "/static/../page.go", "/page.go", "/index.html"} {
		if w := request(t, "GET", target, nil); w.Code != http.StatusNotFound {
			t.Errorf("%s: %d", target, w.Code)
		}
	}
	if w := request(t, "POST", "/", nil); w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "GET, HEAD" {
		t.Errorf("POST: %d, %v", w.Code, w.Header())
	}
}

// sources are the files of the page that are ours, by their names.
func sources(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := fs.WalkDir(static, "static", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.Contains(name, "/vendor/") {
			return err
		}
		data, err := static.ReadFile(name)
		all[name] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// markup finds the ways from a string to markup, script or style. The policy stops most
// of them too; the page has none that it would stop.
var markup = regexp.MustCompile(`(?i)innerHTML|outerHTML|insertAdjacentHTML|setHTML|document\.write|createContextualFragment|DOMParser|srcdoc|\beval\b|new Function|setTimeout\(\s*['"` + "`" + `]|javascript:|\.cssText|setAttribute\(\s*['"](on|style|src)|trustedTypes|createPolicy`)

func TestTextIsNeverMarkup(t *testing.T) {
	for name, text := range sources(t) {
		if path.Ext(name) != ".js" {
			continue
		}
		for i, line := range strings.Split(text, "\n") {
			if found := markup.FindString(line); found != "" {
				t.Errorf("%s:%d: %s", name, i+1, found)
			}
		}
	}
}

// inline finds script and style in the page itself, which the policy refuses, and what is
// loaded from elsewhere.
var inline = regexp.MustCompile(`(?i)<script(\s[^>]*)?>[^<]|<style|\sstyle=|\son[a-z]+=|(src|href)="(https?:)?//`)

func TestPageHasNothingInline(t *testing.T) {
	for name, text := range sources(t) {
		if path.Ext(name) == ".html" && inline.MatchString(text) {
			t.Errorf("%s: %s", name, inline.FindString(text))
		}
		if path.Ext(name) == ".css" && regexp.MustCompile(`(?i)@import|url\(`).MatchString(text) {
			t.Errorf("%s loads something", name)
		}
	}
}

// imports finds the modules that a module needs.
var imports = regexp.MustCompile(`(?m)^(?:import|export)\b.*?from '([^']+)'|^import '([^']+)'|\bimport\('([^']+)'\)`)

func TestModulesAreThere(t *testing.T) {
	all := sources(t)
	for name, text := range all {
		if path.Ext(name) != ".js" {
			continue
		}
		for _, m := range imports.FindAllStringSubmatch(text, -1) {
			target := m[1] + m[2] + m[3]
			if !strings.HasPrefix(target, "./") {
				t.Errorf("%s imports %s, which is not a file of the page", name, target)
				continue
			}
			if _, err := static.ReadFile(path.Join(path.Dir(name), target)); err != nil {
				t.Errorf("%s imports %s: %v", name, target, err)
			}
		}
	}
}
