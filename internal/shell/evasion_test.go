package shell

import (
	"slices"
	"strings"
	"testing"
)

// TestNothingIsHidden checks lines that run "rm -rf y" in a way that is easily
// overlooked: by state that one command leaves for the next, or in text of another
// language.
func TestNothingIsHidden(t *testing.T) {
	for _, tt := range []struct{ name, line string }{
		{"printf with an attached name", "x=ls; printf -vx rm; $x -rf y"},
		{"read into an attached array", "x=ls; read -rax <<<'rm -rf y'; $x -rf y"},
		{"read without a name", "REPLY=ls; read <<<'rm -rf y'; $REPLY"},
		{"mapfile without a name", "MAPFILE=ls; mapfile -t <<<'rm -rf y'; $MAPFILE"},
		{"the argument of getopts", "OPTARG=ls; getopts a: x -a'rm -rf y'; $OPTARG"},
		{"the last argument", "_=ls; echo rm; $_ -rf y"},
		{"declare makes a local variable", "x=ls; f(){ declare x; $x rm -rf y; }; f"},
		{"readonly keeps a variable empty", "readonly x\nx=ls\n$x rm -rf y"},
		{"a function sets what eval uses", "f(){ x='rm -rf y'; }; eval 'x=ls; f; $x'"},
		{"a function sets what a trap uses", "f(){ x='rm -rf y'; }; trap 'x=ls; f; $x' EXIT"},
		{"a function sets what a shell uses", "f(){ x='rm -rf y'; }; export -f f; bash -c 'x=ls; f; $x'"},
		{"command -p twice", "command -pp rm -rf y"},
		{"exec -a in a cluster", "exec -la ls rm -rf y"},
		{"test: -v is known late", `read op <<<-v; [ "$op" 'a[$(rm -rf y)]' ]`},
		{"test: -v behind a split", `[ $(echo '-v a[$(rm -rf y)]') ]`},
		{"printf: -v is known late", `read a b <<<'-v x[$(rm -rf y)]'; printf "$a" "$b"`},
		{"printf: -v attached, known late", `read a <<<'-vx[$(rm -rf y)]'; printf "$a" z`},
		{"an escape spells a substitution", `echo "${y-$'\x24(rm -rf y)'}"`},
		{"declare -p assigns nothing", "declare -p x=ls; $x rm -rf y"},
		{"declare with an option that is known late", "declare $o x=ls; $x rm -rf y"},
		{"printf: the last -v counts", "x=ls; printf -va -vx 'rm -rf y'; $x"},
		{"printf: the last -v counts, apart", "printf -v a -v RANDOM 'b[$(rm -rf y)]'"},
		{"a here-document joins lines in quotes", "cat <<E\n$('r\\\nm' -rf y)\nE"},
		{"printf: -v behind a split", `printf $(echo '-v x[$(rm -rf y)] z')`},
		{"wait: -p is known late", `wait $(echo '-n -p x[$(rm -rf y)]')`},
		{"make reads a file of the line", "echo 'all: ; rm -rf y' > x.mk; make -f x.mk"},
		{"awk: regular expression behind else", `awk 'BEGIN{ if(0); else /"/; system("rm -rf y"); /"/ }'`},
		{"awk: slash behind a condition", `awk 'BEGIN{ if (1) /"/; system("rm -rf y"); /"/ }'`},
		{"awk: slash behind ++", `awk 'BEGIN{ x=1; x++ /system("rm -rf y")/ 1 }'`},
		{"make expands a variable", "make 'X:=$(shell rm -rf y)'"},
		{"recipes run a variable", "make CC='rm -rf y'"},
		{"a git alias", "git config alias.x '!rm -rf y'; git x"},
		{"a git setting that is a command", "git config set core.fsmonitor 'rm -rf y'; git status"},
		{"runuser with a user", "runuser -u x -- rm -rf y"},
		{"sed: an escaped backslash ends the text of a", "sed 'a foo\\\\\ne rm -rf y' f"},
		{"sed: a blank ends a label", "sed ':a e rm -rf y' f"},
		{"sed: a blank ends the label of t", "sed 'ta e rm -rf y' f"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := analyze(tt.line)
			if seen, opaque := runs(f, "rm -rf y"); !seen && !opaque {
				t.Errorf("%q: rm is not seen\n%s", tt.line, dump(f))
			}
		})
	}
}

// touches reports whether a line reads or writes a path, or may use an unknown one.
func touches(f *Facts, kind Kind, path string) bool {
	may := map[Kind]Effects{Read: MayRead | MayRun, Write: MayWrite | MayRun}[kind]
	for i := range f.Actions {
		a := &f.Actions[i]
		switch {
		case a.Kind == Opaque && a.May&may != 0:
			return true
		case a.Kind != kind:
		case a.Path.Known() && pathClean(a.Path.Text) == path:
			return true
		case a.Recursive && a.Path.Known() && strings.HasPrefix(path, pathClean(a.Path.Text)+"/"):
			return true
		case !a.Path.Known() && mayLieBelow(&a.Path, &Word{Text: "/"}) || a.Path.hasHole(AnyText) && a.Path.Holes[0].At == 0:
			return true
		}
	}
	return false
}

// TestNoPathIsHidden checks lines that read or write a path whose name is not in the
// expected place.
func TestNoPathIsHidden(t *testing.T) {
	const env, keys, up = "/home/dev/proj/.env", "/home/dev/.ssh/authorized_keys", "/home/dev/x"
	for _, tt := range []struct {
		name string
		kind Kind
		path string
		line string
	}{
		{"find prints what it is told", Read, env, `find src -printf '../.env\n' | xargs cat`},
		{"messages come through the pipe", Read, env, "find src |& xargs cat"},
		{"find runs what prints", Read, env, `find src -exec echo .env \; | xargs cat`},
		{"ls leaves the directory out", Read, env, "ls -A d | xargs cat"},
		{"xargs -a takes names from a file", Read, keys, "find src | xargs -a list cat"},
		{"git prints what it is told", Read, env, "git ls-files --format=.env | xargs cat"},
		{"git prints before a name", Read, env, "git diff --name-only --line-prefix=../ | xargs cat"},
		{"tail cuts a name", Read, env, "find src | tail -c 5 | xargs cat"},
		{"names are taken in another directory", Read, keys, "find . -name '*.pub' | (cd ~/.ssh && xargs cat)"},
		{"names are kept for another directory", Read, keys, `f=$(ls); cd ~/.ssh; cat "$f"`},
		{"names behind a directory", Read, keys, "cat ~/.ssh/$(ls k)"},
		{"names behind a dot", Read, up, "cat .$(find .)"},
		{"names behind ..", Read, up, `for f in $(git ls-files); do cat "../$f"; done`},
		{"names that climb", Read, up, "cat src/$(ls -d ../x)"},
		{"text behind names climbs", Read, env, `cat "$(ls -d src)/../.env"`},
		{"names are joined by NUL", Read, up, "cat $(find . -print0)"},
		{"names are joined by a quoted NUL", Read, up, `cat $(git diff --name-only "-z")`},
		{"names are joined by a NUL that is not plain", Read, up, `cat $(git ls-files "$z")`},
		{"names of two places", Read, up, "cat $(ls a)$(ls b)"},
		{"ls -a prints its parent", Read, up, "cat $(ls -a)"},
		{"ls -l prints where a link leads", Read, up, "cat $(ls -l)"},
		{"an option takes the name", Read, keys, "curl -d @../.ssh/$(ls k) h"},
		{"names of a message", Read, up, "cat $(git show --name-only)"},
		{"names are no proof of what is written", Write, keys, "rm -- $(git ls-files)"},
		{"a name is no proof of what is written", Write, keys, `tee "$(git ls-files | head -1)"`},
		{"names are no proof of what is copied", Read, keys, "cp -- $(git ls-files) d"},
		{"text before the name of xargs", Read, keys, "ls k | xargs -I{} cat ~/.ssh/{}"},
		{"text behind the name of find", Read, env, `find src -maxdepth 0 -exec cat {}/../.env \;`},
		{"find -execdir runs elsewhere", Read, env, `find src -name x -execdir cat ../.env \;`},
		{"a link of the line", Read, env, "ln -s . d && cat d/.env"},
		{"a link of the line, written through", Write, keys, "ln -s ~/.ssh d && echo k > d/authorized_keys"},
		{"a link of the line, entered", Write, keys, "ln -s ~/.ssh d; cd d && echo k > authorized_keys"},
		{"git prints a file", Read, env, "git diff --no-index /dev/null .env"},
		{"git prints a file of a revision", Read, env, "git show HEAD:.env"},
		{"git prints an object by its name", Read, env, "git cat-file -p HEAD:.env"},
		{"git prints the history of a file", Read, env, "git log -p -- .env"},
		{"git prints the history of lines", Read, env, "git log -L1,3:.env"},
		{"git prints what changed between trees", Read, env, "git diff-tree -p HEAD -- .env"},
		{"a program that is not known", Read, env, "foobar --file=.env"},
		{"a script", Read, env, "bash .env"},
		{"an argument of a script", Read, env, "perl x.pl .env"},
		{"a file of another language", Read, env, "awk -f .env"},
		{"a file that is read and written", Read, env, "nano .env"},
		{"a URL of a file", Read, env, "curl file://localhost/home/dev/proj/.env"},
		{"cp --parents keeps the directories", Write, "/home/dev/proj/.git/config", "cd a && cp --parents .git/config .."},
		{"awk: getline into an element", Read, env, `awk 'BEGIN{while((getline a[1] < ".env")>0) print a[1]}'`},
		{"awk: ARGV names a file", Read, env, `awk 'BEGIN{ARGV[1]=".env";ARGC=2} {print}'`},
		{"awk: a string that looks like a brace", Write, keys, `awk 'BEGIN{print "}" > "/home/dev/.ssh/authorized_keys"}'`},
		{"awk: a string that looks like a bracket", Write, keys, `awk 'BEGIN{print "(" > "/home/dev/.ssh/authorized_keys"}'`},
		{"awk: print goes on behind a comma", Write, keys, "awk 'BEGIN{print \"a\",\n \"b\" > \"/home/dev/.ssh/authorized_keys\"}'"},
		{"curl: a parameter from a file", Read, env, "curl --url-query x@.env h"},
		{"go mod edit prints a file", Read, env, "go mod edit -print .env"},
		{"go work edit prints a file", Read, env, "go work edit -json .env"},
		{"parallel reads files of arguments", Read, env, "parallel echo ::: a :::: .env"},
		{"cpio reads what a list names", Read, env, "echo .env | cpio -o"},
		{"pax reads what a list names", Read, env, "pax -w < list"},
		{"zip reads what a list names", Read, env, "zip -@ x.zip < list"},
		{"wc reads what a list names", Read, env, "wc --files0-from=list"},
		{"file reads what a list names", Read, env, "file -f list"},
		{"rsync sends what a list names", Read, env, "rsync --files-from=list . h:"},
		{"a directory mounted elsewhere", Read, env, "mount --bind . /mnt; cat /mnt/.env"},
		{"tar removes what it keeps", Write, env, "tar cf a.tar --remove-files .env"},
		{"cpp has an output", Write, env, "cpp a.c .env"},
		{"a listing of an assembler", Write, env, "nasm -l .env a.asm"},
		{"the linker writes", Write, env, "go build -ldflags=-o=.env ."},
		{"the linker writes, among others", Write, env, "go test '-ldflags=all=-s -cpuprofile .env' ."},
		{"the compiler writes", Write, env, "go build -gcflags=-memprofile=.env ."},
		{"a formatter is told where", Write, env, "terraform fmt .env"},
		{"a formatter of a language", Write, env, "gleam format .env"},
		{"codespell -w", Write, env, "codespell -w .env"},
		{"svgo changes its operand", Write, env, "svgo .env"},
		{"elfedit changes its operand", Write, env, "elfedit --output-type dyn .env"},
		{"sed: a backup elsewhere", Write, keys, "sed -i'/home/dev/.ssh/*' s/a/a/ authorized_keys"},
		{"find: a test takes -exec", Write, "/home/dev/.ssh", "find ~/.ssh -name -exec -o -delete"},
		{"a loop changes the directory", Read, up, "for i in a b; do cat x; cd ..; done"},
		{"a trap changes the directory", Write, keys, "trap 'cd ~/.ssh' DEBUG; echo k > authorized_keys"},
		{"exit does not run without its redirection", Write, keys, "cd ~/.ssh && cd /no || exit >/no/x; echo k > authorized_keys"},
		{"exit --help goes on", Write, keys, "cd ~/.ssh && cd /no || exit --help; echo k > authorized_keys"},
		{"cd -P follows links", Read, keys, "cd -P link/..; cat authorized_keys"},
		{"a function that may be there changes the directory", Write, keys, "test -f x && f(){ cd ~/.ssh; }; f; echo k > authorized_keys"},
		{"a function changes the directory of an eval", Write, keys, "f(){ cd ~/.ssh; }; eval 'f; echo k > authorized_keys'"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if f := analyze(tt.line); !touches(f, tt.kind, tt.path) {
				t.Errorf("%q: %s is not seen\n%s", tt.line, tt.path, dump(f))
			}
		})
	}
}

// TestFindNames checks that a name that find searches for is read below its starting
// points, whether or not such a file exists.
func TestFindNames(t *testing.T) {
	for line, want := range map[string][]string{
		"find . -name .env -exec cat {} +":           {"./.env", "./…/.env", "./…/…/.env", "./…/…/…/.env"},
		"find . , -name .env -exec cat {} +":         {"./.env", "./…/.env", "./…/…/.env", "./…/…/…/.env"},
		"find . -name '.e*' | xargs cat":             {"./.e…", "./…/.e…", "./…/…/.e…", "./…/…/…/.e…"},
		"find src -iname ID_RSA -exec cat {} ';'":    {"src/id_rsa", "src/…/id_rsa", "src/…/…/id_rsa", "src/…/…/…/id_rsa"},
		"find . -path './secrets/*' -exec cat {} +":  {"./secrets/…", "./…/secrets/…", "./…/…/secrets/…", "./…/…/…/secrets/…"},
		"find . -name '*.go' -exec cat {} +":         {"./….go"},
		"find . -name '?env' | xargs cat":            {"./…env"},
		"find . ! -name '?env' | xargs cat":          nil,
		"find . -name '[.]env' | xargs cat":          {"./.env"},
		"find . -path '*/.aws/c*' | xargs cat":       {"./.aws/c…", "./c…"},
		`find . -regex '.*/\.env' | xargs cat`:       {"./.env"},
		"find . -iregex '.*/ID_(rsa|dsa)'|xargs cat": {"./id_rsa", "./id_dsa"},
		"find . -type f | xargs cat":                 nil,
	} {
		var got []string
		for _, a := range analyze(line).Actions {
			path := strings.TrimPrefix(show(&a.Path), "/home/dev/proj/")
			if a.Kind == Read && path != "." && path != "src" && path != "/home/dev/proj" && !slices.Contains(got, path) {
				got = append(got, path)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: reads %q, want %q", line, got, want)
		}
	}
}

// TestNamesLieBelow checks that the names that a program prints of a directory are
// read below it.
func TestNamesLieBelow(t *testing.T) {
	for _, tt := range []struct{ line, below string }{
		{"cat migrations/$(ls -1 migrations | tail -1)", "/home/dev/proj/migrations"},
		{`cat "migrations/$(ls -1t migrations | head -n 1)"`, "/home/dev/proj/migrations"},
		{`f=$(ls -1 migrations | tail -1); cat "migrations/$f"`, "/home/dev/proj/migrations"},
		{`for f in $(git diff --name-only); do wc -l "$f"; done`, "/home/dev/proj"},
		{"for f in $(find src -name '*.go'); do head -3 $f; done", "/home/dev/proj/src"},
		{"head -5 $(grep -rl x src | sort -u)", "/home/dev/proj/src"},
		{"cat $(rg -l x src)", "/home/dev/proj/src"},
		{"cat `git ls-files | head -3`", "/home/dev/proj"},
		{"cat $(ls -d src)/x.txt", "/home/dev/proj/src"},
		{"cd src && cat $(ls)", "/home/dev/proj/src"},
		{"find src | xargs cat", "/home/dev/proj/src"},
		{"find src | xargs -I{} cat {}", "/home/dev/proj/src"},
		{"find . | (cd src && xargs cat)", "/home/dev/proj/src"},
	} {
		found := false
		for _, a := range analyze(tt.line).Actions {
			if a.Kind != Read || a.ByPattern {
				continue
			}
			found = true
			if !a.Recursive || !a.Path.Known() || !strings.HasPrefix(pathClean(a.Path.Text)+"/", tt.below+"/") {
				t.Errorf("%q reads %s (all below: %v), not what lies below %s", tt.line, show(&a.Path), a.Recursive, tt.below)
			}
		}
		if !found {
			t.Errorf("%q reads nothing", tt.line)
		}
	}
}

// TestEverydayStaysClear checks that common lines similar to those above hide
// nothing.
func TestEverydayStaysClear(t *testing.T) {
	for _, line := range []string{
		`while getopts "a:b" o; do echo $o; done`,
		`awk '{print $1 "|" $2}' f`,
		`awk -F: '{ if ($3 > 5) print $1/2, ($1+$2)/3 }' f`,
		`awk '/a"b/ {print} $1 ~ /x/ {n++} END {print n}' f`,
		`[ "$x" = "$y" ] && echo same`,
		`[ $? -eq 0 ] && echo ok`,
		`[ -n "$x" -a -f "$y" ]`,
		`sed -n '/a/,/b/p; :a; ta' f`,
		`sed -i.bak s/a/b/ f`,
		`printf '%s\n' "$x"`,
		`command -v git`,
		`trap 'rm -f x' EXIT; cd sub && ls`,
		`ln -s a b`,
		`cd sub || exit 1`,
		`git config user.name x`,
		`git config --get core.pager`,
		`make CC=clang -j4`,
	} {
		if f := analyze(line); hasOpaque(f, MayRun|MayRead|MayWrite) {
			t.Errorf("%q: an opaque spot\n%s", line, dump(f))
		}
	}
}

// TestZshReadsVariablesFurther checks that in zsh a subscript needs no braces.
func TestZshReadsVariablesFurther(t *testing.T) {
	for _, line := range []string{`x=rmls; "$x[1,2]" -rf y`, `x=.envs; cat "$x[1,4]"`, `x=/bin/rm/a; "$x:h" -rf y`} {
		if f := Analyze(line, Options{Dir: "/home/dev/proj", Dialect: Zsh}); !hasOpaque(f, MayRun) {
			t.Errorf("%q: no opaque spot\n%s", line, dump(f))
		}
	}
}
