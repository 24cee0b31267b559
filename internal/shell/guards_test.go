package shell

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// analyze analyzes a line in the surroundings of the tests.
func analyze(line string) *Facts {
	return Analyze(line, Options{Dir: "/home/dev/proj", Home: "/home/dev"})
}

// runs reports whether a line runs a command with these words, or may run anything.
func runs(f *Facts, want string) (seen, opaque bool) {
	for i := range f.Actions {
		a := &f.Actions[i]
		if a.Kind == Opaque && a.May&MayRun != 0 {
			opaque = true
		}
		if a.Kind == Command && text(a.Words) == want {
			seen = true
		}
	}
	return seen, opaque
}

func text(words []Word) string {
	parts := make([]string, len(words))
	for i := range words {
		parts[i] = show(&words[i])
	}
	return strings.Join(parts, " ")
}

// TestTreeHidesNothing checks the places where the tree of mvdan.cc/sh v3.14.1 lacks
// a command that bash 5.2 runs.
func TestTreeHidesNothing(t *testing.T) {
	for _, tt := range []struct{ name, line, runs string }{
		{"comment continued by a backslash", "ls # x \\\ntouch p", "touch p"},
		{"# behind an expansion in backquotes", "echo `ls $x#$(touch p)`", "touch p"},
		{"# behind a substitution in backquotes", "echo `ls $(b)#$(touch p)`", "touch p"},
		{"# behind a quote in backquotes", "echo `ls 'a'#$(touch p)`", "touch p"},
		{"# behind nested backquotes", "echo `ls \\`b\\`#$(touch p)`", "touch p"},
		{"carriage return is no blank", "git status\rx", ""},
		{"carriage return before a newline", "git status\r\ntouch p", ""},
		{"carriage return after a backslash", "git \\\r\nstatus", ""},
		{"single quotes in :- inside double quotes", `echo "${x-'$(touch p)'}"`, "touch p"},
		{"single quotes in := inside double quotes", `echo "${x:='$(touch p)'}"`, "touch p"},
		{"single quotes in = in a here-document", "cat <<E\n${x='$(touch p)'}\nE", "touch p"},
		{"single quotes in :+ in a here-document", "cat <<E\n${x:+'$(touch p)'}\nE", "touch p"},
		{"backquote in single quotes inside double quotes", "echo \"${x:-'`touch p`'}\"", "touch p"},
		{"process substitution in an expansion", "echo ${x:-<(touch p)}", "touch p"},
		{"output substitution in an expansion", "echo ${x:->(touch p)}", "touch p"},
		{"extended glob in [[ ]]", "[[ a == @($(touch p)|b) ]]", "touch p"},
		{"negated extended glob in [[ ]]", "[[ -n a && !($(touch p)) ]]", "touch p"},
		{"backquote in an extended glob", "[[ a == +(`touch p`) ]]", "touch p"},
		{"extended glob outside [[ ]]", "x=(@(a)); cat <<E\ntouch p\nE", "touch p"},
		{"extended glob as an argument", "echo @(a)", ""},
		{"time behind a pipe", "ls | time [[ a ||\ntouch == p ]]", "touch == p ]]"},
		{"time before a compound", "time [[ a ]]", ""},
		{"coproc with an assignment", "coproc x=1 rm y", "rm y"},
		{"coproc with a quoted name", "coproc 'rm' <<<x", ""},
		{"backquotes three deep", "echo `echo \\`echo \\\\\\`touch p\\\\\\`\\``", "touch p"},
		{"braces make the name", "{rm,-rf} build", "rm -rf build"},
		{"an empty brace element vanishes", "{,rm} -rf build", "rm -rf build"},
		{"an empty process substitution vanishes", "tou<()ch p", "touch p"},
		{"braces of an expansion inside a brace expansion", `c1 {sub,${x#{1,"a"}}}`, "c1 sub }"},
		{"empty braces at the start of a brace expansion", `{}touch,x} p`, "}touch x p"},
		{"braces beside a brace expansion", `c{a,b}{}d,e}`, "ca}d cb}d cae cbe"},
		{"(( behind an eval of text that ends with a backslash", "f() { eval 'c5 a\\\\'; }; f; x=1\n(( 1 ? 2 : 3 ))", "1 ? 2 : 3"},
		{"a separator behind a here-document in a substitution", "x=$(cat <<E\nd\nE\nls; touch p)", "ls touch p"},
		{"the same in a process substitution", "cat <({ cat <<E\nd\nE\n}; ls; touch p)", "ls touch p"},
		{"a plus before -c", "sh + -c 'touch p'", "touch p"},
		{"quotes in a bracket behind a class", "touch [[:alpha:]'time c1']", ""},
		{"quotes in a bracket behind its first ]", "touch []'x']", ""},
		{"-- behind time", "time -- touch p", "touch p"},
		{"a dash behind command", "command - touch p", "- touch p"},
		{"a dash behind exec", "exec - touch p", "- touch p"},
		{"-- behind env", "env -- -u touch p", "-u touch p"},
		{"braces around a substitution in a declaration", "export x={`ls`,touch}; $x p", "touch p"},
		{"$ and { on two lines", "touch $\\\n{x}p", "touch p"},
		{"a line of a here-document that becomes its end", "cat <<E\n\\\nE\ntouch p\nE", "touch p"},
		{"empty quotes in a delimiter", "cat <<\"\"E\na \\\nE\ntouch p\nE", "touch p"},
		{"process substitution in ? in double quotes", `echo "${x?<(touch p)}"`, "touch p"},
		{"a variable behind >& expands twice", "x='$(touch p)'; echo >&$x", "touch p"},
		{"single quotes behind >& do not quote", "echo >&'`touch p`'", "touch p"},
		{"braces make the name of a variable longer", "xa=q; touch $x{a,b}", "touch q "},
		{"a brace element that ends in a dollar makes a variable", "m=build; rm {$,}m", "rm build m"},
		{"the same beside other text", "m=build; rm {a,x$}{m,n}", "rm am an xbuild x"},
		{"quotes in backquotes in quotes end a brace element", "c1 {\"`echo '\"'`\",b}", ""},
		{"a backslash in an array in a substitution", "c1 $(x=(\\()\ntouch p)7", "touch p"},
		{"the same in a declaration in a process substitution", "c1 <(declare -a x=(a\\;touch)\np)", ""},
		{"$$ before a brace in an expansion in quotes", `c8 "${@/#a/$${}$x" a` + "\"b}\" c", ""},
		{"$$ before a bracket in an expansion", `c8 "${@/#a/$$(c4 a)}$x" a:~/b`, ""},
		{"$'..' in an expansion in a substitution in quotes", `ls "$(echo ${x-$'$(touch p)'})"`, "touch p"},
		{"the same below another substitution, by an escape", `ls "$(echo $(echo ${x:=a$'\x24(touch p)'}))"`, "touch p"},
		{"braces behind an element make a name longer", "xb=q; touch {$x,a}b", "touch q ab"},
		{"several options of jobs -x", "jobs -x -x touch p", "touch p"},
		{"a newline goes out of quotes in backquotes", "echo `'tou\\\nch' p`", "touch p"},
		{"backslashes in nested backquotes", "echo `echo \\`'touc\\\\\\\\h'\\``", "touch"},
		{"backquotes glued to a word in backquotes", "echo `tou\\`printf ch\\` p`", "touch p"},
		{"a backslash before a joined line in backquotes", "echo `touc\\\\\\\nh p`", "touch p"},
		{"a backquote in quotes in backquotes", "n `'`\n'`$((6))}`", "n"},
		{"a here-document in backquotes that goes on", "x=`cat <<E\n\\\\\nE\ntouch p\nE`", "touch p"},
		{"a line of a here-document in a substitution that begins with its delimiter", "x=$(cat <<'E'\nE)\ntouch p #\nE\n)", "touch p"},
		{"braces in quotes in an expansion in quotes", "touch \"${x-\"{p,q}\"}\"", "touch p q"},
		{"braces in quotes in backquotes in quotes", "ls \"`touch \"{p,q}\"`\"", "touch p"},
		{"a backslash at the end behind another line", "ls '\n'; touch\\", "touch"},
		{"a bracket pattern across quotes", `cat ["a"]b`, "cat ab"},
		{"a word that is no assignment", "./evil=[ ls", ""},
		{"a word behind >&- without a blank", "ls 2>&-touch p", "ls touch p"},
		{"a word behind <&- without a blank", "ls <&-touch p", "ls touch p"},
		{"assignment with an index that runs", "a[$(touch p)]=1 ls", "touch p"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			seen, opaque := runs(analyze(tt.line), tt.runs)
			if !seen && !opaque {
				t.Errorf("%q: %q is neither an action nor in an opaque spot:\n%s", tt.line, tt.runs, dump(analyze(tt.line)))
			}
		})
	}
}

// TestShapesLoseNothing checks syntax in which commands are lost if only calls are
// examined.
func TestShapesLoseNothing(t *testing.T) {
	for _, line := range []string{
		`> $(touch p)`, `< $(touch p)`, `f() { :; } > $(touch p)`, `for i in $(touch p); do :; done`,
		`for ((i=$(touch p); i<1; i++)); do :; done`, `case $(touch p) in a) ;; esac`,
		`case a in $(touch p)) ;; esac`, `if $(touch p); then :; fi`, `a[$(touch p)]=1`, `a=([$(touch p)]=1)`,
		`a=($(touch p))`, `x=$(touch p)`, `x+=$(touch p)`, `echo ${x[$(touch p)]}`, `echo ${x:$(touch p)}`,
		`echo ${x:0:$(touch p)}`, `echo ${x/$(touch p)/b}`, `echo ${x/a/$(touch p)}`, `echo ${x#$(touch p)}`,
		`echo ${x:=$(touch p)}`, `echo $(( $(touch p) ))`, `echo $[ $(touch p) ]`, `(( $(touch p) ))`,
		`let x=$(touch p)`, `export x=$(touch p)`, `export $(touch p)`, `declare -a x=($(touch p))`,
		`readonly x=$(touch p)`, "cat <<E\n$(touch p)\nE", "cat <<-E\n\t`touch p`\n\tE", `cat <<< $(touch p)`,
		`[[ $(touch p) ]]`, `[[ a == $(touch p) ]]`, `[[ a =~ $(touch p) ]]`, `[[ ! ( -n $(touch p) ) ]]`,
		`! touch p`, `touch p &`, `(touch p)`, `{ touch p; }`, `while touch p; do :; done`,
		`until touch p; do :; done`, `while :; do touch p; done`, `if :; then :; elif touch p; then :; fi`,
		`if :; then :; else touch p; fi`, `select x in $(touch p); do :; done`, `echo >(touch p)`, `cat <(touch p)`,
		`f() { touch p; }`, `function f { touch p; }`, `f() ( touch p )`, `time touch p`, `time -p touch p`,
		`: | touch p`, `: |& touch p`, `echo "${x:-$(touch p)}"`, `echo "$(touch p)"`, `echo a$(touch p)b`,
		`exec {fd}> $(touch p)`, `coproc X { touch p; }`, `eval touch p`, `eval "touch p"`, `trap 'touch p' EXIT`,
		`command touch p`, `builtin eval touch p`, `exec touch p`, `exec -a x touch p`, `env touch p`,
		`env -i A=1 touch p`, `nohup touch p`, `nice -n 5 touch p`, `timeout -s KILL 5 touch p`,
		`stdbuf -oL touch p`, `setsid touch p`, `ionice -c 3 touch p`, `flock /tmp/l touch p`,
		`flock /tmp/l -c "touch p"`, `script -qc "touch p" /dev/null`, `strace touch p`, `watch touch p`,
		`busybox touch p`, `sudo -u x touch p`, `doas touch p`, `bash -c "touch p"`, `sh -c 'touch p'`,
		`zsh -c 'touch p'`, `bash -ec "touch p"`, `bash -O extglob -c "touch p"`,
		`find . -exec touch p \;`, `find . -execdir touch p \;`, `find . -ok touch p \;`,
		`start-stop-daemon --start --exec /x -- y; touch p`, `timeout 5 nice nohup sudo touch p`,
		`sed '1e touch p' f`, `jobs -x touch p`, `sudo A=1 touch p`, `sudo -n -u x LC_ALL=C touch p`,
		`x=touch; $x p`, `for x in ls touch; do $x p; done`, `find . -exec sh -c 'touch p' \;`, `xargs sudo touch p; sudo touch p`,
	} {
		if seen, _ := runs(analyze(line), "touch p"); !seen {
			t.Errorf("%q: touch p is no action:\n%s", line, dump(analyze(line)))
		}
	}
}

// TestOpaque checks that what cannot be known is opaque.
func TestOpaque(t *testing.T) {
	for _, line := range []string{
		`$x`, `$(echo rm) -rf b`, `"$cmd" a`, `r${u}m b`, `/bin/r? b`, `{1..99999999}`, `eval "$x"`, `bash -c "$x"`,
		`echo x | sh`, `sh`, `sh -c -s ls`, `bash < f`, `python3 -c 'x'`, `perl -e 'x'`, `node -e 'x'`, `. ./f`, `source f`,
		`x='$(touch p)'; echo "${x@P}"`, `echo ${!x}`, `echo $((x))`, `echo ${a[i]}`, `echo ${x:y}`, `[[ x -eq y ]]`,
		`[[ -v 'a[$(x)]' ]]`, `test -v 'a[$(x)]'`, `printf -v 'a[$(x)]' y`, `read 'a[$(x)]'`, `unset 'a[$(x)]'`,
		`declare -n r=x`, `declare -i n=x`, `declare 'a[$(x)]=1'`, `export "$x"`, `let x=y`, `mapfile -C x -c 1 a`,
		`hash -p /x ls`, `alias ls=rm`, `enable -n echo`, `shopt -s expand_aliases`, "echo $(ls <<E &\nx\nE\n)", `set -k`, `set -o "$x"`, `complete -C x y`,
		`compgen -W '$(x)'`, `fc -s`, `PATH=. ls`, `LD_PRELOAD=x ls`, `export PATH=.`, `IFS=/`, `read PATH`,
		`for PATH in .; do :; done`, `printf -v PATH x`, `ls() { :; }`, `command_not_found_handle() { :; }`,
		`exec 3<>/dev/tcp/h/80`, `make --eval 'x:'`, `git -c a=b log`, `awk 'BEGIN{system("x" y)}'`,
		`awk 'BEGIN{print | "x"}'`, `sed 's/a/b/e' f`, `echo x > s.sh; bash s.sh`, `xargs sh -c "$x"`,
		`env -S "a b"`, `make SHELL=./x`, `git fetch ext::x`, `find . $x`, `a | if`, `echo "`, "ls \x00",
		`n=$(cat f); echo $((n+1))`, `n=$(wc -lw < f); echo $((n+1))`, `n=$(wc -l f); echo $((n+1))`, `n=$(wc -l < f 2>&1); echo $((n+1))`, `n=$(wc -l < f | cat x); echo $((n+1))`,
		`n=$(wc -l 2>&1 < 'a[$(x)]'); echo $((n+1))`, `n=$(X=1 wc -l < f); echo $((n+1))`, `n=$(date +%s%x); echo $((n+1))`, `n=$(wc -l < f; cat x); echo $((n+1))`,
		`i=1; printf -v "$x" a; [ $i -lt 5 ]`, `i=1; printf $x a; [ $i -lt 5 ]`, `i=1; printf "-v" i 'a[0]'; [ $i -lt 5 ]`, `i=1; command printf -v "$x" a; [ $i -lt 5 ]`,
		`[ $x -lt 5 ]`, `read i; [ $i -lt 5 ]`, `i="-v a[0]"; [ $i ]`, `n=$(cat f); [ $n -lt 5 ]`, `IFS= ls`, `IFS=; read x`, `IFS=$x read y`, `IFS+=a read y`,
		`IFS= X=1 PATH=. read y`, `read() { :; }; IFS= read x`, `IFS=$(touch p) read y`, `IFS=1 builtin read y`,
		`(( x++ ))`, `declare -x LD_PRELOAD=x`, `command export PATH=.`, `"declare" -x PATH=.`, `coproc a`,
	} {
		if _, opaque := runs(analyze(line), ""); !opaque {
			t.Errorf("%q holds no opaque spot:\n%s", line, dump(analyze(line)))
		}
	}
}

// TestClear checks that what is known is not opaque: a needless opaque spot is a
// needless prompt.
func TestClear(t *testing.T) {
	for _, line := range []string{
		`ls -la && echo done`, `git status`, `git commit -m "a && b; $(date)"`, `x=1; echo $x`, `echo $((1+2))`,
		`for i in 1 2 3; do echo "$i"; done`, `for ((i=0; i<3; i++)); do echo $i; done`, `n=5; head -n $((n+1)) f`,
		`[[ -f README.md ]] && cat README.md`, `[ -n "$x" ]`, `test -f a`, `export NODE_ENV=test`, `A=1 ls`,
		`cat <<'EOF'` + "\n`x` $(y)\nEOF", `echo "it's"`, `ls *.go`, `cat {a,b}.txt`, `sed -n '1,5p' f`, `sed 's/a/b/g' f`,
		`awk '{print $1}' f`, `awk -F: '$3 > 5 {print $1}' f`, `awk '/a|b/ {n++} END {print n}' f`, `sort -u f`,
		`find . -name '*.go' | xargs grep -l x`, `find . -name x -exec grep -l y {} +`, `echo x > f`, `f() { ls; }; f`,
		`if test -f a; then cat a; fi`, `case $x in a) ls;; *) pwd;; esac`, `while read -r l; do echo "$l"; done < f`,
		`diff <(ls a) <(ls b)`, `cd a && npm test`, `timeout 5 npm test 2>&1 | tail -20`, `echo "${x:-y}" "${#x}" "$?"`,
		`python3 -m pytest -q`, `node script.js`, `bash script.sh`, `set -euo pipefail`, `printf '%s\n' "$x"`,
		`grep -n "a#b" f # comment`, `curl -s http://localhost:3000/x`, `tar tf a.tar`, `cp a b`, `trap - EXIT`,
		`read -r x y`, `((x=5)); echo $((x+1))`, `enable`, `sed 's/[[:alpha:]]/x/' f`, `sed 's/[a]\/b/c/' f`, "echo \\`", `kill %1`, `wait`, `sleep 1 &`, `unset FOO`, `type ls`, `command -v go`, `[[ a =~ ^b$ ]]`,
		`n=$(wc -l < f); echo $((n+1))`, `n=$(ls | wc -l); [ $n -gt 3 ] && echo $((n*2))`, `s=$(date +%s); echo $(( $(date +%s) - s ))`,
		`i=0; while [ $i -lt 5 ]; do i=$((i+1)); done`, `for i in 1 2 3; do [ $i -lt 2 ] && echo $i; done`, `while IFS= read -r f; do echo "$f"; done < f`,
		`i=1; printf '%s ' $x; [ $i -lt 5 ]`,
		`while IFS=: read -r a b; do echo "$a"; done < f`, `golangci-lint run -c /dev/null`,
		`[[ $x == a* ]]`, `bash -c 'ls; pwd'`, `sudo ls`, `echo $'a\tb'`, `ls 2>/dev/null >&2`, `time ls`,
	} {
		if _, opaque := runs(analyze(line), ""); opaque {
			t.Errorf("%q holds an opaque spot:\n%s", line, dump(analyze(line)))
		}
	}
}

func dump(f *Facts) string {
	var sb strings.Builder
	for i := range f.Actions {
		a := &f.Actions[i]
		fmt.Fprintf(&sb, "\t%d kind %d parent %d %s %s %s\n", i, a.Kind, a.Parent, text(a.Words), show(&a.Path), a.Reason+a.Why.String())
	}
	return sb.String()
}

// TestSubstitutionIsSeen checks that a command with a substitution is marked, even
// after the commands inside it.
func TestSubstitutionIsSeen(t *testing.T) {
	for line, want := range map[string]bool{
		`echo $(id)`: true, "echo `id` x": true, `echo "a $(id)"`: true, `cat <(ls)`: true, `export x=$(id)`: true,
		`echo id`: false, `echo '$(id)'`: false, `x=$(id); echo a`: false,
	} {
		f := analyze(line)
		last := f.Actions[len(f.Actions)-1]
		if last.Substitution != want {
			t.Errorf("%q: substitution %v, want %v", line, last.Substitution, want)
		}
	}
}

// TestSimple checks which lines are one command without a substitution.
func TestSimple(t *testing.T) {
	for line, want := range map[string]bool{`echo "a $x"`: true, `echo "a $(id)"`: false, "echo ${x:-$(id)}": false, "echo $x; ls": false} {
		if got := analyze(line).Simple; got != want {
			t.Errorf("%q: simple %v, want %v", line, got, want)
		}
	}
}

// TestStateIsNotCertain checks that words are unknown if bash may reach their command
// without the commands before it.
func TestStateIsNotCertain(t *testing.T) {
	for line, certain := range map[string]bool{
		"x=1; c $x":                        true,
		"export x=1; c ${x:-p}":            true,
		"export x=1 <missing; c ${x:-p}":   false,
		"x=1 >/no/such; c $x":              false,
		"{ x=1; } >/no/such; c $x":         false,
		"x=1 >/no/such && c $x":            true,
		"c $!":                             false,
		"local x=1; c $x":                  false,
		"f() { local x=1; c $x; }; f":      true,
		"if false; then x=1; fi; c ${x-p}": false,
	} {
		f := analyze(line)
		i := slices.IndexFunc(f.Actions, func(a Action) bool { return len(a.Words) == 2 && a.Words[0].Text == "c" })
		if i < 0 {
			t.Fatalf("%q: no command c:\n%s", line, dump(f))
		}
		if f.Actions[i].Words[1].Known() != certain {
			t.Errorf("%q: known %v, want %v:\n%s", line, !certain, certain, dump(f))
		}
	}
}

// TestPatternsMatchMore checks that a word allows for whatever a bracket pattern or
// ** may match.
func TestPatternsMatchMore(t *testing.T) {
	for _, line := range []string{"cat [[:alpha:]]", "cat []a]", "cat [!]a]", "cat [^]]", `cat [\]a]`} {
		if w := analyze(line).Actions[0].Words[1]; w.Text != "" || !w.hasHole(AnyText) {
			t.Errorf("%q: the pattern is read as %q", line, show(&w))
		}
	}
	if w := analyze("cat [a-z]x").Actions[0].Words[1]; w.Text != "x" || w.hasHole(AnyText) {
		t.Errorf("a plain bracket pattern is read as %q", show(&w))
	}
	if _, opaque := runs(analyze("shopt -s globstar"), ""); !opaque {
		t.Error("globstar lets ** meet slashes")
	}
}
