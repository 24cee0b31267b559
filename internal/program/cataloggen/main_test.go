package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestUpToDate: the checked-in tables are generated from the TOML files.
func TestUpToDate(t *testing.T) {
	want, err := generate("../catalog")
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../catalog_gen.go")
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != string(got) {
		t.Error("internal/program/catalog_gen.go is out of date: run go generate ./internal/program")
	}
}

func TestGenerate(t *testing.T) {
	got := generated(t, `
[group.common]
options = ["--help", "-v --verbose"]

[group.tool]
risk = ["get describe +0 -a|--all (-q -v) : safe", "delete : high", "!destroys : high, drops data", "moderate, runs code"]

[sort]
names = ["gsort"]
risk = "safe"
operands = "reads"
use = ["common"]
options = ["-o --output= : write", "-f= : input pattern", "--color?", "--pair==", "--[no-]x"]

[msort]
like = "sort"
risk = "unknown"

[msort2]
names = ["msort3"]
risk = "unknown"
also = ["sort", "sub a|b ~ . * x", "c = npm exec"]
abbreviates = true

[hg]
wordless = true
risk = "tool"
is = ["fetcher", "interpreter"]
secrets = [
  "-p SECRET", "login --pw SECRET", "-pSECRET", "_ SECRET", "set|add _ SECRET", "encrypt ... SECRET", "--arg NAME SECRET",
  "-u|--user NAME:SECRET", "-b COOKIES", "by settings",
]

[npm]
risk = "tool"
workdir = true
[npm.sub.exec]
names = ["x"]
operands = "runs-args"
options = ["-c --call= : run ends"]
`)
	for _, want := range []string{
		"{name: \"gsort\", text: `alias sort`}",
		"{name: \"sort\", text: `use common\toperands reads\trisk ;;safe;read-only;\talso ;;msort2;\talso ;;msort3;\t\t-o --output = write\t-f = input Pattern\t--color ?\t--pair ==\t--x\t--no-x`}",
		"{name: \"common\", text: `--help\t-v --verbose`},",
		"{name: \"msort\", text: `like sort\toperands reads`}",
		"{name: \"msort2\", text: `also ;;sort;\talso sub a;;msort2 a x;part\talso sub b;;msort2 b x;part\talso c;;npm exec;\tabbreviates`}",
		"{name: \"msort3\", text: `alias msort2\talso ;;sort;\talso sub a;;msort3 a x;part\talso sub b;;msort3 b x;part\talso c;;npm exec;`}",
		"risk get describe;+0 -a|--all;safe;read-only;-q -v\trisk delete;;high;destructive operation;\trisk ;!destroys;high;drops data;\trisk ;;moderate;runs code;",
		"secret value;;-p;0;\tsecret value;login;--pw;0;\tsecret attached;;-p;0;\tsecret operand;;;1;\tsecret operand;;set add;1;\tsecret last;encrypt;;0;\tsecret named;;--arg;0;",
		"secret user;;-u --user;0;:\tsecret cookies;;-b;0;\tsecret reader;;settings;0;\tis fetcher;interpreter\twordless`}",
		"also exec;;msort2 c;",
		"subs: []row{\n\t\t{name: \"exec\", text: `path exec\toperands runs-args\tends\tworkdir\t\t-c --call = run Ends`},\n\t\t{name: \"x\", text: `alias exec\tsame exec`},",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in:\n%s", want, got)
		}
	}
}

func generated(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.toml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	code, err := generate(dir)
	if err != nil {
		t.Fatal(err)
	}
	return string(code)
}

func TestErrors(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"[sort]\nstile = \"gnu\"\n", "a.toml:2: [sort]: unknown key stile"},
		{"[sort]\nStyle = \"gnu\"\n", "a.toml:2: [sort]: unknown key Style"},
		{"[sort]\n\nstyle = \"bsd\"\n", "a.toml:3: [sort]: style is one of bundle, dash, exact, gnu, joined, none, posix"},
		{"[sort]\nskip = 0\n", "a.toml:2: [sort]: skip is a number from 1 to 9"},
		{"[sort]\nsafe = 1\n", "a.toml:2: [sort]: safe is true or false"},
		{"[sort]\noptions = \"-a\"\n", "a.toml:2: [sort]: options is not a list of strings"},
		{"[sort]\noptions = [\"-a\",\n  \"-b : wipe\"]\n", `a.toml:3: [sort]: option "-b : wipe": unknown effect "wipe"`},
		{"[sort]\noptions = [\"output\"]\n", `a.toml:2: [sort]: option "output": "output" is no name of an option`},
		{"[sort]\noptions = [\"-a= --all?\"]\n", `a.toml:2: [sort]: option "-a= --all?": the names take different values: make them two options`},
		{"[sort]\noptions = [\"-a\", \"-b -a\"]\n", "a.toml:2: [sort]: option -a is given twice"},
		{"[sort]\n[uniq]\nnames = [\"sort\"]\n", "a.toml:2: [uniq]: sort stands in [sort] at a.toml:1 as well"},
		{"[git.sub.log]\n[git.sub.show]\nnames = [\"log\"]\n", "a.toml:2: [git.sub.show]: log stands in [git.sub.log] at a.toml:1 as well"},
		{"[sort]\nuse = [\"nothing\"]\n", `a.toml:2: [sort]: there is no group "nothing"`},
		{"[group.x]\nstyle = \"gnu\"\n", "a.toml:2: [group.x]: a group has options, use, equal and risk only, not style"},
		{"x = 1\n", "a.toml:1: [x]: x is not a table"},
		{"[sort]\n", `a.toml:1: [sort]: what it risks is missing: risk is rows, a group's, or "unknown"`},
		{"[sort]\nrisk = \"secure\"\n", `a.toml:2: [sort]: "secure" is no class of risk, and no group has such rows`},
		{"[sort]\nrisk = \"x\"\n[group.x]\noptions = [\"-a\"]\n", `a.toml:2: [sort]: "x" is no class of risk`},
		{"[group.x]\nrisk = \"unknown\"\n", "a.toml:2: [group.x]: the risk of a group is rows"},
		{"[sort]\nrisk = []\n", "a.toml:2: [sort]: the last row must hold for every use"},
		{"[sort]\nrisk = [\"-o : high\"]\n", "a.toml:2: [sort]: the last row must hold for every use"},
		{"[sort]\nrisk = [\"safe\",\n  \"fatal\"]\n", `a.toml:3: [sort]: risk "fatal": unknown class "fatal"`},
		{"[sort]\nrisk = [\"-o x : high\", \"safe\"]\n", `a.toml:2: [sort]: risk "-o x : high": the subcommand x stands behind an option`},
		{"[sort]\nrisk = [\"-o|out : high\", \"safe\"]\n", `a.toml:2: [sort]: risk "-o|out : high": "-o|out" is no list of options`},
		{"[sort]\nrisk = [\"+x : high\", \"safe\"]\n", `a.toml:2: [sort]: risk "+x : high": "+x" asks for no option, count or form`},
		{"[sort]\nrisk = [\"(-o) -x : high\", \"safe\"]\n", `a.toml:2: [sort]: risk "(-o) -x : high": the options in parentheses stand last`},
		{"[git.sub.log]\nrisk = \"safe\"\n", "a.toml:2: [git.sub.log]: the risk of a subcommand is a row of its program's"},
		{"[sort]\nsecrets = [\"-p\"]\n", `a.toml:2: [sort]: secret "-p": no such form`},
		{"[sort]\nsecrets = [\"x y SECRET\"]\n", `a.toml:2: [sort]: secret "x y SECRET": no such form`},
		{"[sort]\nsecrets = [\"-u NAMESECRET\"]\n", `a.toml:2: [sort]: secret "-u NAMESECRET": no such form`},
		{"[sort]\nsettings = [\"config set\"]\n", `a.toml:2: [sort]: setting config set: no such form`},
		{"[sort]\nsettings = [\"KEY\"]\n", `a.toml:2: [sort]: setting KEY: no such form`},
		{"[sort]\nsettings = [\"set -x y KEY\"]\n", `a.toml:2: [sort]: setting set -x y KEY: no such form`},
		{"[git.sub.log]\nsettings = [\"set KEY\"]\n", "a.toml:2: [git.sub.log]: setting set KEY: no such form"},
		{"[sort]\nalso = [\"x =\"]\n", `a.toml:2: [sort]: also "x =": no program stands on the right`},
		{"[sort]\nalso = [\"x -x = git\"]\n", `a.toml:2: [sort]: also "x -x = git": with options it is one-way`},
		{"[sort]\nalso = [\"x = -x\"]\n", `a.toml:2: [sort]: also "x = -x": -x is no name of a program or subcommand`},
		{"[sort]\nalso = [\"x = git a|b\"]\n", `a.toml:2: [sort]: also "x = git a|b": a|b is no name`},
		{"[git.sub.log]\nalso = [\"x\"]\n", "a.toml:2: [git.sub.log]: the other spellings of a subcommand stand in its program's"},
		{"[sort]\nis = [\"nice\"]\n", "a.toml:2: [sort]: is holds each of these once, of a program: by-subcommand, editor, fetcher,"},
		{"[sort]\nis = [\"fetcher\", \"fetcher\"]\n", "a.toml:2: [sort]: is holds each of these once"},
		{"[git.sub.log]\nis = [\"fetcher\"]\n", "a.toml:2: [git.sub.log]: is holds each of these once"},
		{"[sort]\nlike = \"uniq\"\n", `a.toml:2: [sort]: there is no section "uniq" that says how words are read`},
		{"[uniq]\n[sort]\nlike = \"uniq\"\nsafe = true\n", "a.toml:4: [sort]: the words are read like those of uniq: safe cannot be said as well"},
		{"[uniq]\n[sort]\nlike = \"uniq\"\noptions = [\"-a\"]\n", "a.toml:2: [sort]: the words are read like those of uniq: options and subcommands stand there"},
		{"[sort]\n[sort]\n", "a.toml: toml: line 2"},
		{"[sort]\nrisk = \"safe\"\nhome = \"a;b\"\n", `a.toml:1: [sort]: "a;b" holds a semicolon, a backquote, a tab or a new line`},
		{"[sort]\nrisk = \"safe, a\\tb\"\nhome = \"a\\tb\"\n", `a.toml:1: [sort]: "a\tb" holds a semicolon, a backquote, a tab or a new line`},
		{"[sort]\nrisk = \"safe\"\noptions = [\"-`\"]\n", "a.toml:3: [sort]: the name of an option holds a backquote"},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "a.toml"), []byte(test.text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := generate(dir)
		if err == nil {
			t.Errorf("%q: no error, want %s", test.text, test.want)
			continue
		}
		if got := err.Error(); !strings.HasPrefix(got, test.want) {
			t.Errorf("%q (-want +got):\n%s", test.text, cmp.Diff(test.want, got))
		}
	}
}

func TestNoFiles(t *testing.T) {
	if _, err := generate(t.TempDir()); err == nil {
		t.Error("an empty folder gives tables")
	}
}

func TestRun(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out.go")
	if err := run("../catalog", out); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(out); err != nil || info.Size() == 0 {
		t.Errorf("nothing written: %v", err)
	}
}
