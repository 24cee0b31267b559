package server

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/golden"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/signed"
)

// TestOpenAPI: the description is the routes' own, and every reference in it leads
// somewhere.
func TestOpenAPI(t *testing.T) {
	h := listen(t, Options{})
	got := h.do("GET", "/openapi.json", "", "")
	h.want(got, 200, "")
	golden.Check(t, "testdata/openapi.json", got.body)
	var doc struct {
		Paths      map[string]map[string]any
		Components struct{ Schemas map[string]any }
	}
	if err := json.Unmarshal([]byte(got.body), &doc); err != nil {
		t.Fatal(err)
	}
	for _, rt := range routes() {
		if doc.Paths[rt.path][strings.ToLower(rt.method)] == nil {
			t.Errorf("%s %s is not described", rt.method, rt.path)
		}
	}
	for _, ref := range regexp.MustCompile(`#/components/schemas/(\w*)`).FindAllStringSubmatch(got.body, -1) {
		if doc.Components.Schemas[ref[1]] == nil {
			t.Errorf("nothing is at %s", ref[0])
		}
	}
}

// TestPage: docs/reference/api.md lists the routes as they are; -update writes them.
func TestPage(t *testing.T) {
	const file, head = "../../../docs/reference/api.md", "| | who | |\n"
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := strings.Cut(string(page), head)
	old, after, found := strings.Cut(rest, "\n\n")
	want := table(routes())
	switch {
	case !found:
		t.Fatal("docs/reference/api.md has no table of routes")
	case head+old+"\n" == want:
	case golden.Updating():
		if err := os.WriteFile(file, []byte(before+want+"\n"+after), 0o644); err != nil {
			t.Error(err)
		}
	default:
		t.Errorf("docs/reference/api.md has another table of routes than\n%s", want)
	}
}

// table returns the table of routes as the page has it.
func table(all []route) string {
	var out strings.Builder
	out.WriteString("| | who | |\n|---|---|---|\n")
	for i := range all {
		rt := &all[i]
		var names []string
		for _, p := range rt.query {
			names = append(names, p.name)
		}
		query := ""
		if len(names) > 0 {
			query = "?" + strings.Join(names, "&")
		}
		who := "anyone"
		if rt.access != anyone {
			who = strings.Join(rt.access.names(), ", ")
		}
		out.WriteString("| `" + rt.method + " " + rt.path + query + "` | " + who + " | " + rt.about + " |\n")
	}
	return out.String()
}

// TestRoutes: no route is open by mistake, and every credential has a role.
func TestRoutes(t *testing.T) {
	open := map[string]bool{"/healthz": true, "/readyz": true, "/openapi.json": true, signed.HelloPath: true}
	for _, rt := range routes() {
		if (rt.access == anyone) != open[rt.path] {
			t.Errorf("%s %s: access %v", rt.method, rt.path, rt.access.names())
		}
		if (rt.stream == nil) == (rt.action.run == nil) || rt.about == "" {
			t.Errorf("%s %s has no handler, or two, or says nothing of itself", rt.method, rt.path)
		}
	}
}
