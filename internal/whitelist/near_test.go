package whitelist

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fake is a Look with fixed answers.
type fake struct {
	scripts, targets, programs []string
	err                        error
}

func (f fake) Scripts() ([]string, error) { return f.scripts, f.err }
func (f fake) Targets() ([]string, error) { return f.targets, f.err }
func (f fake) OnPath(name string) bool {
	for _, p := range f.programs {
		if p == name {
			return true
		}
	}
	return false
}

// TestDetails: the details that are added to the reason, from the list alone
// and with a look at the files.
func TestDetails(t *testing.T) {
	l := parse(t, head+`,"defaults":{"npm":{"commands":["test","run build"],"allow_args":["--coverage","--"],"deny_args":["--force"]},"git":{"commands":["status"]},"make":{"commands":["test"]},"yarn":{"commands":["build"]}},"custom":{"npx":{"binary":"npx"}}}`)
	look := fake{scripts: []string{"build", "test:coverage", "test", "lint"}, targets: []string{"test", "check-all"}, programs: []string{"npm", "gti", "rm"}}
	for _, tt := range []struct{ line, alone, looked string }{
		{"npm run test-coverage-with-magic-flag", "\"npm run test-coverage-with-magic-flag\" is not in the list: did you mean `npm test`?", "no such script in package.json: did you mean `test:coverage`?"},
		{"npm run biuld", "\"npm run biuld\" is not in the list: did you mean `npm run build`?", "no such script in package.json: did you mean `build`?"},
		{"npm run lint", `"npm run lint" is not in the list`, `"npm run lint" is not in the list: there is a script in package.json of that name`},
		{"npm run zzzzzzzz", `"npm run zzzzzzzz" is not in the list`, "no such script in package.json"},
		{"npm run", "\"npm run\" is not in the list", "\"npm run\" is not in the list"},
		{"npm tset", "\"npm tset\" is not in the list: did you mean `npm test`?", "\"npm tset\" is not in the list: did you mean `npm test`?"},
		{"npm", `"npm" is not in the list without a subcommand`, `"npm" is not in the list without a subcommand`},
		{"npm --coverage run lint", `"npm run lint" is not in the list`, `"npm run lint" is not in the list: there is a script in package.json of that name`},
		{"yarn bild", "\"yarn bild\" is not in the list: did you mean `yarn build`?", "no such script in package.json: did you mean `build`?"},
		{"make check-al", `"make check-al" is not in the list`, "no such target in the Makefile: did you mean `check-all`?"},
		{"make tes", "\"make tes\" is not in the list: did you mean `make test`?", "no such target in the Makefile: did you mean `test`?"},
		{"gti status", "\"gti\" is not in the list: did you mean `git`?", "\"gti\" is not in the list: did you mean `git`?"},
		{"gitt status", "\"gitt\" is not in the list: did you mean `git`?", "\"gitt\" is not in the list; program not on PATH: did you mean `git`?"},
		{"superbuild", `"superbuild" is not in the list`, `"superbuild" is not in the list; program not on PATH`},
		{"rm -rf x", `"rm" is not in the list`, `"rm" is not in the list`},
		{"npx foo", `npx runs "foo" is not in the list`, `npx runs "foo" is not in the list; program not on PATH`},
		{"npm test --covrage", "\"--covrage\" is not in allow_args of npm: did you mean `--coverage`?", "\"--covrage\" is not in allow_args of npm: did you mean `--coverage`?"},
		{"npm test x", `"x" is not in allow_args of npm, and words that are not options are not allowed (allow_positionals)`, `"x" is not in allow_args of npm, and words that are not options are not allowed (allow_positionals)`},
		{"npm test --force", `"--force" is denied by "--force" in deny_args of npm`, `"--force" is denied by "--force" in deny_args of npm`},
		{"NODE_ENVV=1 npm test", "the variable NODE_ENVV is not in allow_env_vars: did you mean `NODE_ENV`?", "the variable NODE_ENVV is not in allow_env_vars: did you mean `NODE_ENV`?"},
		{"npm test | cat", "| at byte 10", "| at byte 10"},
		{"npm test $x", "$x at byte 10: the shell would expand it; quote it, or write out its value", "$x at byte 10: the shell would expand it; quote it, or write out its value"},
		{"npm 'test", "the line cannot be parsed: 1:5: reached EOF without closing quote `'`", "the line cannot be parsed: 1:5: reached EOF without closing quote `'`"},
		{"", "the line contains no command", "the line contains no command"},
		{strings.Repeat("x", 501), "501 bytes, at most 500", "501 bytes, at most 500"},
	} {
		if e := l.Validate(tt.line, analyze(tt.line)); e == nil || e.Detail != tt.alone {
			t.Errorf("%q: %v, want %s", tt.line, e, tt.alone)
		}
		v := &Validator{List: l, Look: look}
		if e := v.Validate(tt.line, analyze(tt.line)); e == nil || e.Detail != tt.looked {
			t.Errorf("%q: with a look %v, want %s", tt.line, e, tt.looked)
		}
	}
	// A Look that fails adds nothing.
	v := &Validator{List: l, Look: fake{err: errors.New("no")}}
	if e := v.Validate("npm run biuld", analyze("npm run biuld")); e.Detail != "\"npm run biuld\" is not in the list: did you mean `npm run build`?" {
		t.Error(e)
	}
}

func TestNearest(t *testing.T) {
	names := []string{"test", "test:coverage", "build", "lint", "typecheck"}
	for word, want := range map[string]string{
		"tets": "test", "tst": "test", "biuld": "build", "buildd": "build", "lint": "", "typechekc": "typecheck", "coverage-test": "test:coverage", "run-build-now": "build", "zzz": "", "": "", strings.Repeat("x", 65): "", "li": "",
	} {
		if got := nearest(word, names); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
	if nearest("x", []string{"", strings.Repeat("x", 65)}) != "" || nearest("ab", []string{"--", "_"}) != "" {
		t.Error("a name that is none is near")
	}
	if a, b := nearest("tesx", []string{"tesa", "tesb"}), nearest("tesx", []string{"tesb", "tesa"}); a != "tesa" || b != "tesa" {
		t.Errorf("%s, %s: the order of the names counts", a, b)
	}
}

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	f := Files{Dir: dir, Path: filepath.Join(dir, "bin") + string(os.PathListSeparator) + "rel"}
	if _, err := f.Scripts(); err == nil {
		t.Error("scripts without a package.json")
	}
	if _, err := f.Targets(); err == nil {
		t.Error("targets without a Makefile")
	}
	write("package.json", `{"scripts":{"b":"x","a:c":"y","$(evil)":"z","":"w"}}`, 0o600)
	write("Makefile", "X := 1\nall test: dep\n\tgo test\nlint:\nlint: more\n.PHONY: all\nV=1\n%.o: %.c\nclean::\n", 0o600)
	write("bin/tool", "", 0o755)
	write("bin/plain", "", 0o644)
	write("rel/x", "", 0o755)
	scripts, err := f.Scripts()
	if diff := cmp.Diff([]string{"a:c", "b"}, scripts); diff != "" || err != nil {
		t.Error(diff, err)
	}
	targets, err := f.Targets()
	if diff := cmp.Diff([]string{"clean", "lint"}, targets); diff != "" || err != nil {
		t.Error(diff, err)
	}
	for name, want := range map[string]bool{"tool": true, "plain": false, "none": false, "x": false, "bin/tool": true, "./bin/tool": true, filepath.Join(dir, "bin/tool"): true, "bin": false, "./none": false} {
		if got := f.OnPath(name); got != want {
			t.Errorf("OnPath(%q) = %v", name, got)
		}
	}
	write("package.json", `{"scripts":[]}`, 0o600)
	if _, err := f.Scripts(); err == nil {
		t.Error("scripts of a broken package.json")
	}
	write("package.json", strings.Repeat(" ", maxFile+1), 0o600)
	if _, err := f.Scripts(); err == nil {
		t.Error("scripts of a file that is too long")
	}
	if err := os.Remove(filepath.Join(dir, "package.json")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/hostname", filepath.Join(dir, "package.json")); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Scripts(); err == nil {
		t.Error("a link out of the workspace is followed")
	}
	if _, err := (Files{Dir: filepath.Join(dir, "none")}).Scripts(); err == nil {
		t.Error("scripts of no workspace")
	}
}
