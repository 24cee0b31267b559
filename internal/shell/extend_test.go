package shell

import (
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
)

type tables = map[string]any

// placeOf formats the position of a key.
func placeOf(table []string, key string) string { return strings.Join(table, ".") + ":" + key }

func extend(t *testing.T, own tables) *program.Catalog {
	t.Helper()
	c, err := program.NewCatalog(own, placeOf)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// effectsOf lists the effects of a line as "write x".
func effectsOf(line string, c *program.Catalog) string {
	f := Analyze(line, Options{Dir: "/w", Workspace: "/w", Catalog: c})
	var out []string
	for i := range f.Actions {
		switch a := &f.Actions[i]; a.Kind {
		case Command:
			out = append(out, "run "+a.Words[0].Text)
		case Write:
			out = append(out, "write "+a.Path.Text)
		case Read:
			out = append(out, "read "+a.Path.Text)
		case Fetch:
			out = append(out, "fetch "+a.Path.Text)
		case Opaque:
			out = append(out, "opaque")
		}
	}
	return strings.Join(out, "; ")
}

func TestCatalogExtends(t *testing.T) {
	c := extend(t, tables{
		"deploy": tables{
			"names": []any{"dep"}, "operands": "reads",
			"options": []any{"-o --output= : write", "--hook= : run", "-v --verbose", "-u= : url"},
			"sub":     tables{"all": tables{"operands": "text", "options": []any{"--log= : write"}}},
		},
		"wrap": tables{"operands": "runs-args", "plain": true},
		"git":  tables{"options": []any{"--own= : write"}, "sub": tables{"own": tables{"options": []any{"--to= : write"}}, "log": tables{"options": []any{"--keep= : write"}}}},
		"mute": tables{"options": []any{"-q"}},
	})
	for _, tt := range []struct{ line, want string }{
		{"deploy -v a", "run deploy; read /w/a"},
		{"dep --output=x a", "run dep; write /w/x; read /w/a"},
		{"./deploy -ox", "run ./deploy; write /w/x"},
		{"deploy --hook 'touch p'", "run deploy; run touch; write /w/p"},
		{"deploy all --log l", "run deploy; write /w/l"},
		{"wrap touch p", "run wrap; run touch; write /w/p"},
		{"git --own=f status", "run git; write /w/f"},
		{"git own --to f", "run git; write /w/f"},
		{"git log --keep f", "run git; write /w/f"},
	} {
		if got := effectsOf(tt.line, c); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.line, got, tt.want)
		}
		if strings.HasPrefix(tt.line, "git") || !strings.Contains(tt.want, "write") {
			continue
		}
		if got := effectsOf(tt.line, nil); got == tt.want {
			t.Errorf("%s: the same without the entry", tt.line)
		}
	}
	if got, want := effectsOf("git log -p a", c), effectsOf("git log -p a", nil); got != want {
		t.Errorf("git log: %s with an entry of another option, %s without", got, want)
	}
	if p := c.Lookup("mute"); p == nil || p.Operands != program.Unread {
		t.Error("without operands the words of a new program are not unread")
	}
}
