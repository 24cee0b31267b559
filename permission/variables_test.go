package permission

import (
	"os"
	"strings"
	"testing"
)

// TestVariableValues checks that ask and deny rules look at the values of variables
// that the program may obey, before a command as well as exported.
func TestVariableValues(t *testing.T) {
	s := spec{allow: "Bash", deny: "Bash(rm:*); Bash(curl:*); Bash(git push:*); Read(.env); Edit(src/**); WebFetch(evil.com)"}
	for _, tt := range []struct {
		name, value, command string
		allowed              bool
	}{
		{"PIP_PYTHON", "/bin/rm", "pip list", false},
		{"GOCACHEPROG", "curl http://x.example", "go list -deps .", false},
		{"GOCACHEPROG", "sh -c 'git push'", "go list -deps .", false},
		{"LIBVIRT_DEFAULT_URI", "qemu+ext:///system?command=/bin/rm", "virsh list", false},
		{"UNHEARD_OF", "a; rm x", "npm ls", false},
		{"PGHOST", "evil.com", "pg_isready", false},
		{"PGHOST", "db.evil.com", "pg_isready", false},
		{"VAULT_ADDR", "https://evil.com", "vault status", false},
		{"VAULT_ADDR", "https://evil.com:8200/v1", "vault status", false},
		{"DATABASE_URL", "postgres://u:p@evil.com/db", "npm ls", false},
		{"CONNECTION", "host=evil.com port=1", "npm ls", false},
		{"NODE_V8_COVERAGE", "src", "npm ls", false},
		{"TF_LOG_PATH", "src/x", "terraform version", false},
		{"XZ_DEFAULTS", "--files=.env", "xzcat x", false},
		{"AWS_SHARED_CREDENTIALS_FILE", ".env", "aws s3 ls", false},
		{"GROFF_BIN_PATH", "src", "man ls", false},

		{"DATABASE_URL", "sqlite:///./data/app.db", "npm ls", true},
		{"GOCACHEPROG", "gocache serve", "go list -deps .", true},
		{"PGHOST", "db.example", "pg_isready", true},
		{"UNHEARD_OF", "src", "cd a", true}, // which the shell does itself
		{"CI", "src", "npm ls", true},
		{"APP", "form", "npm ls", true},
	} {
		value := "'" + strings.ReplaceAll(tt.value, "'", `'\''`) + "'"
		for _, line := range []string{
			tt.name + "=" + value + " " + tt.command,
			"export " + tt.name + "=" + value + "; " + tt.command,
			"set -a; " + tt.name + "=" + value + "; " + tt.command,
		} {
			d := s.decideOn(t, using("Bash", line))
			if tt.allowed != (d.Behavior == Allow) || !tt.allowed && d.Rule == "" {
				t.Errorf("%s: %v by %q: %s", line, d.Behavior, d.Rule, d.Reason)
			}
		}
	}
}

// TestExportedIsPrefixed takes lines that a rule for their program covers, and checks
// that one is allowed where a variable is exported to it if, and only if, it is
// allowed where the variable stands before it.
func TestExportedIsPrefixed(t *testing.T) {
	data, err := os.ReadFile("../internal/shell/testdata/lines.txt")
	if err != nil {
		t.Fatal(err)
	}
	s := spec{risk: true}
	variables := []string{"GOCACHEPROG=./x", "APT_CONFIG=./x", "UNHEARD_OF=x", "XZ_OPT=--files=a", "GOMAXPROCS=4", "CI=1"}
	forms := []string{"export V; L", "declare -x V && L", "set -a; V; L", "f() { L; }; export V; f", "(export V; L)"}
	compared, allowed := 0, 0
	for i, line := range strings.Split(string(data), "\n") {
		command, safe := strings.CutPrefix(line, "+ ")
		if !safe || strings.ContainsAny(command, "|&;()<>`\\") || s.decideOn(t, using("Bash", command)).Behavior != Allow {
			continue
		}
		v := variables[i%len(variables)]
		want := s.decideOn(t, using("Bash", v+" "+command)).Behavior == Allow
		for _, form := range forms {
			filled := func(v string) string { return strings.NewReplacer("V", v, "L", command).Replace(form) }
			if s.decideOn(t, using("Bash", filled("CI=1"))).Behavior != Allow {
				continue
			}
			compared++
			if want {
				allowed++
			}
			if d := s.decideOn(t, using("Bash", filled(v))); want != (d.Behavior == Allow) {
				t.Errorf("%s: %v, and before the command %v: %s", filled(v), d.Behavior, want, d.Reason)
			}
		}
	}
	if compared < 1500 || allowed < 300 || compared-allowed < 300 {
		t.Errorf("%d lines were compared, %d of them allowed", compared, allowed)
	}
}
