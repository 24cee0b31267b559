package shell

import "testing"

// TestBodyFromInput checks when httpie takes standard input for a body.
func TestBodyFromInput(t *testing.T) {
	for line, want := range map[string]string{
		"http :80/x":                            "GET",
		"http :80/x | sort":                     "GET",
		"sort <a; http :80/x":                   "GET",
		"sort a | sort && http :80/x":           "GET",
		"sort a | http --ignore-stdin :80/x":    "GET",
		"sort a | http get :80/x":               "GET",
		"sort a | xh delete :80/x":              "DELETE",
		"sort a | http :80/x":                   "POST",
		"http :80/x <a":                         "POST",
		"http :80/x <<<a":                       "POST",
		"sort a | { sort; http :80/x; }":        "POST",
		"if true; then exec <a; fi; http :80/x": "POST",
		"while read x; do http :80/x; done <a":  "POST",
		"f() { http :80/x; }; sort a | f":       "POST",
		"sort a | xargs -I{} http :80/x":        "POST",
		"xargs -a a -I{} http :80/x":            "POST",
		"sort a | env http :80/x":               "POST",
		"sort a | sh -c 'http :80/x'":           "POST",
		"sort a > >(http :80/x)":                "POST",
		"http :80/x &":                          "POST",
	} {
		facts := Analyze(line, Options{Dir: "/p", Home: "/h", Workspace: "/p"})
		got := "none"
		for i := range facts.Actions {
			if a := &facts.Actions[i]; a.Kind == Command && (a.Words[0].Text == "http" || a.Words[0].Text == "xh") {
				got = a.Method()
			}
		}
		if got != want {
			t.Errorf("%s: method %q, want %q", line, got, want)
		}
	}
}
