package permission

import (
	"slices"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/shell"
)

// spot is a line with an opaque spot, the expected reason, and the rewritten
// line; "" if the rewrite is not a single line.
type spot struct {
	line, reason, clear string
	dialect             shell.Dialect
}

var spots = []spot{
	{"jobs $x ls", "an option of jobs is known only when it runs", "jobs -x ls", shell.Bash},
	{`echo $(x=(\();ls)`, "a backslash in an array, in a substitution", `echo $(x=('(');ls)`, shell.Bash},
	{`echo "${x#$${y}}"`, "$$ before a bracket in an expansion, which bash reads as another expansion", `echo "${x#$y}"`, shell.Bash},
	{`echo "${x?<(c)}"`, "a process substitution within a quoted expansion", `echo "$x"`, shell.Bash},
	{"cat <<E\n\\\nE\nE", "a line of a here-document next to its end is continued with a backslash", "cat <<E\nE", shell.Bash},
	{"echo $\\\nx", "a line is continued inside a word or an operator", "echo \\\n$x", shell.Bash},
	{"echo x >&$y", "bash expands the word behind >& twice", "echo x > f 2>&1", shell.Bash},
	{"cat <<''E\nE", "the delimiter of a here-document has several parts", "cat <<'E'\nE", shell.Bash},
	{`ls ["a"]b`, "a bracket pattern contains quotes or an expansion", "ls ab", shell.Bash},
	{"echo `echo \\`ls\\``", "nested backquotes", "echo $(echo $(ls))", shell.Bash},
	{"echo `c\\\\\\\n8`", "a backslash before a line continuation in backquotes", "echo $(c8)", shell.Sh},
	{"echo `echo 'a\\\nb'`", "quotes within backquotes contain a backquote or a backslash", "echo $(echo 'a\\\nb')", shell.Bash},
	{"x=$(cat <<'E'\nEx\nE\n)", "a line that begins with the delimiter of its here-document, in a substitution", "x=$(cat <<'F'\nEx\nF\n)", shell.Bash},
	{"echo \"${x-\"{a,b}\"}\"", "braces within nested quotes", "echo \"${x-a}\"", shell.Bash},
	{"trap '- ls' EXIT", "an unsupported option of trap", "trap ls EXIT", shell.Bash},
	{`ls \`, "a backslash at the end of the line", "ls", shell.Bash},
	{"yq 'load(\"x\")' a", "an expression of yq loads files", "yq .a a", shell.Bash},
	{"ls &!c", "a character after & means something else in zsh", "ls & ! c", shell.Zsh},
	{">f", "a redirection without a command means something else in zsh", "true >f", shell.Zsh},
	{"cd a b", "cd with two words means something else in zsh", "cd a", shell.Zsh},
	{"noglob ls", "noglob means something else in zsh", "ls", shell.Zsh},
	{"set -y", "an option of set means something else in zsh", "set -e", shell.Zsh},
	{"command -x ls", "an option before a command means something else in zsh", "command ls", shell.Zsh},
	{"a=(b c)", "an array or += means something else in zsh", "a=b", shell.Zsh},
	{"0=1 ls", "a name with = means something else in zsh", "ls", shell.Zsh},
	{"x==ls", "= at the start of a value means something else in zsh", "x='=ls'", shell.Zsh},
	{"ls $x=ls", "= after an expansion means something else in zsh", `ls "$x=ls"`, shell.Zsh},
	{"typeset x=1", "typeset means something else in zsh", "x=1", shell.Zsh},
	{"export -p x", "an option of export means something else in zsh", "export x=1", shell.Zsh},
	{"ls 12>f", "a descriptor of several characters means something else in zsh", "ls 2>f", shell.Zsh},
	{"ls 6&>f", "a digit before &> means something else in zsh", "ls 6 &>f", shell.Zsh},
	{"ls >!f", "! after a redirection means something else in zsh", "ls >f", shell.Zsh},
	{"ls <1-9>x", "a range of numbers in <..> means something else in zsh", "ls '<1-9>x'", shell.Zsh},
	{"ls {a,b}", "a brace means something else in zsh", "ls a b", shell.Zsh},
	{"ls **", "** means something else in zsh", "ls *", shell.Zsh},
	{"ls ^a", "^ in a word means something else in zsh", "ls '^a'", shell.Zsh},
	{"ls a~b", "~ in a word means something else in zsh", "ls 'a~b'", shell.Zsh},
	{"ls ~[a]", "~ before a part of a word means something else in zsh", "ls '~[a]'", shell.Zsh},
	{`echo "$=x"`, "$ before a character means something else in zsh", `echo "\$=x"`, shell.Zsh},
	{"echo ${x#a}", "a parameter expansion with an operator means something else in zsh", "echo $x", shell.Zsh},
	{`echo $'\t'`, "an escape in $'..' means something else in zsh", "echo '\t'", shell.Zsh},
	{"case a in a) ls;;& esac", ";;& means something else in zsh", "case a in a) ls;; esac", shell.Zsh},
	{"function f { ls; }", "function means something else in zsh", "f() { ls; }", shell.Zsh},
	{"select x in a; do ls; done", "select means something else in zsh", "for x in a; do ls; done", shell.Zsh},
	{"time -p ls", "time -p means something else in zsh", "time ls", shell.Zsh},
	{"let x=1", "let means something else in zsh", "echo $((1))", shell.Zsh},
	{"[[ a == @(b) ]]", "a pattern with parentheses means something else in zsh", "[[ a == b ]]", shell.Zsh},
	{strings.Repeat("eval ", 20) + "ls", "eval is nested too deep", "ls", shell.Bash},
	{strings.Repeat("sudo ", 20) + "ls", "commands are nested too deep", "sudo ls", shell.Bash},
	{`eval 'ls \'`, "eval of text that ends with a backslash", "eval 'ls'", shell.Bash},
	{"eval 'ls ('", "eval: the line cannot be parsed", "ls", shell.Bash},
	{"echo $((x))", "arithmetic evaluates the value of a variable", "x=1; echo $((x))", shell.Bash},
	{`[[ -v 'a[$(x)]' ]]`, "-v evaluates the index in the name", "[[ -v a ]]", shell.Bash},
	{`test -v 'a[$(x)]'`, "-v evaluates the index in the name", "test -v a", shell.Bash},
	{"[[ $x -eq 1 ]]", "[[ -eq ]] evaluates the value of a variable as arithmetic", `[ "$x" -eq 1 ]`, shell.Bash},
	{"[[ a == @($x|b) ]]", "an extended glob may contain commands", "[[ a == b* ]]", shell.Bash},
	{`awk "$p" f`, "the program of awk is known only when it runs", "awk '{print}' f", shell.Bash},
	{"awk '{ x++ /y/ 1 }' f", "an unsupported awk program", "awk -f p.awk f", shell.Bash},
	{`awk '{print | "sort"}' f`, "a pipe in the awk program runs a command", "awk '{print}' f | sort", shell.Bash},
	{`awk 'BEGIN{ARGV[1]="x"} {print}'`, "the awk program can name the files that it reads", "awk '{print}' x", shell.Bash},
	{`awk '@load "x"; {print}' f`, "@ in the awk program loads or calls something", "awk '{print}' f", shell.Bash},
	{"awk '{print > $1}' f", "the awk program writes a file whose name is known only when it runs", "awk '{print}' f > out", shell.Bash},
	{"awk '{getline x < $1; print x}' f", "the awk program reads a file whose name is known only when it runs", "awk '{print}' f", shell.Bash},
	{"awk '{system($1)}' f", "system() in the awk program runs a command that is known only when it runs", "ls", shell.Bash},
	{"export x={a,b}", "a declaration expands braces", "export x='{a,b}'", shell.Bash},
	{"command let x=y", "let evaluates its arguments as arithmetic", "x=$((1))", shell.Bash},
	{`export "$x"`, "what export sets is known only when it runs", "export NAME=1", shell.Bash},
	{"declare -i n=x", "option -i of declare evaluates the values of variables", "declare n=1", shell.Bash},
	{`declare 'a[$(x)]=1'`, "declare evaluates the index in the name", "declare a=1", shell.Bash},
	{`read 'a[$(x)]'`, "read evaluates the name of a variable", "read a", shell.Bash},
	{"mapfile -C x -c 1 a", "option -C of mapfile runs a command on what it reads", "mapfile a", shell.Bash},
	{"wait $x", "an argument of wait is known only when it runs", "wait 123", shell.Bash},
	{`unset 'a[$(x)]'`, "unset evaluates the index in the name", "unset a", shell.Bash},
	{`printf "$x" y`, "the format of printf is known only when it runs, and may be an option", "printf '%s' y", shell.Bash},
	{"[ $x ]", "an argument of [ may become several words, -v among them", `[ "$x" ]`, shell.Bash},
	{"hash -p /x ls", "hash -p binds a command name to another program", "/x", shell.Bash},
	{`trap "$x" EXIT`, "a trap whose text is known only when it runs", "trap ls EXIT", shell.Bash},
	{"alias l=ls", "an alias changes the meaning of a command name", "ls", shell.Bash},
	{"enable -n echo", "enable changes what command names mean", "echo", shell.Bash},
	{"set $x", "an option of set is known only when it runs", "set -e", shell.Bash},
	{"set -o posix", "an option of set changes what the line means", "set -o pipefail", shell.Bash},
	{"set -k", "set -k makes arguments variables, set -P changes what cd means", "set -e", shell.Bash},
	{`shopt "-s$x"`, "an option of shopt is known only when it runs", "shopt -s nullglob", shell.Bash},
	{"shopt -s expand_aliases", "an option of shopt changes how the line is read", "shopt -s nullglob", shell.Bash},
	{"complete -C x y", "complete runs commands or expands words", "ls", shell.Bash},
	{"fc -s", "fc runs commands again", "ls", shell.Bash},
	{"python3 -c x", "option -c of python3 is code in another language", "python3 x.py", shell.Bash},
	{"git -c a=b log", "option -c of git can make it run anything", "git log", shell.Bash},
	{`flock l -c "$x"`, "option -c of flock: the command is known only when it runs", "flock l -c ls", shell.Bash},
	{`make -f "$x"`, "option -f of make: its instructions are known only when it runs", "make -f a.mk", shell.Bash},
	{"sqlite3 db 'select 1'", "an argument of sqlite3 is code in another language", "", shell.Bash},
	{`python3 -m "$x"`, "the module that python3 runs is unknown", "python3 -m pytest", shell.Bash},
	{"ls | sh", "sh runs a program that it reads from standard input", "sh a.sh", shell.Bash},
	{strings.Repeat("ln -s . d; ", 200) + "ls", "the line creates too many links", "", shell.Bash},
	{"ln -s . d && cat d/x", "the line uses a link that it also creates", "cat d/x", shell.Bash},
	{"echo ls > s.sh; bash s.sh", "the line runs a file that it also writes", "bash s.sh", shell.Bash},
	{"echo {}touch,x}", "braces that bash may expand differently", "echo '{}touch,x}'", shell.Bash},
	{"echo {a,b}", "brace expansion means something else in sh", "echo a b", shell.Sh},
	{"echo c{a,b}{}d,e}", "a brace expansion contains further braces or quotes", "echo ca cb", shell.Bash},
	{"echo {1..99999999}", "a brace expansion makes too many words", "seq 99999999", shell.Bash},
	{"echo $[1]", "$[..] means something else in sh", "echo $((1))", shell.Sh},
	{"echo @(a)", "an extended glob outside [[ ]]", "echo a*", shell.Bash},
	{"echo $'a'", "$'..' means something else in sh", "echo 'a'", shell.Sh},
	{"cat <(ls)", "sh has no process substitution", "ls > t; cat t", shell.Sh},
	{"x=$(cat <<E\nd\nE\nls; pwd)", "a here-document among several commands of a substitution", "x=$(cat <<E\nd\nE\n)", shell.Bash},
	{"echo ${!x}", "${!x} expands a name that is known only when it runs", "echo $x", shell.Bash},
	{"echo ${x@P}", "${x@..} may run the value of the variable", "echo $x", shell.Bash},
	{"echo \"${x-'$(ls)'}\"", "single quotes do not quote inside this expansion", "echo \"${x-$(ls)}\"", shell.Bash},
	{"go build -ldflags=-extld=./x .", "option -ldflags of go can name a program to run", "go build .", shell.Bash},
	{"gcc @opts", "gcc reads options from a file", "gcc -O2 a.c", shell.Bash},
	{"curl -w '%output{x}' http://h/", "option -w of curl writes a file", "curl -o x http://h/", shell.Bash},
	{"ls 2>&-touch", "a word follows >&- without a space", "ls 2>&- touch", shell.Bash},
	{"exec 3<>/dev/tcp/h/80", "a redirection to a network connection", "curl http://h/", shell.Bash},
	{`sed "$x" f`, "the script of sed is known only when it runs", "sed p f", shell.Bash},
	{"sed -i'/x/*' s/a/b/ f", "the suffix of sed -i can name a file elsewhere", "sed -i.bak s/a/b/ f", shell.Bash},
	{"sed u f", "an unsupported sed script", "sed p f", shell.Bash},
	{"sed s/a/b/e f", "the e flag of a sed substitution runs a command", "sed s/a/b/ f", shell.Bash},
	{"sed e f", "the e command of the sed script runs its input", "sed p f", shell.Bash},
	{"git config core.pager x", "the git setting core.pager can run a program", "", shell.Bash},
	{"gh config set editor x", "the setting editor of gh can name a program or the place to find one", "", shell.Bash},
	{"npm config set editor x", "the setting editor of npm can name a program or the place to find one", "", shell.Bash},
	{"python3 -X presite=x a.py", "option -X of python can import a module first", "python3 a.py", shell.Bash},
	{"make 'X=$(shell ls)'", "make expands the variable X", "make X=a", shell.Bash},
	{`command "$x"`, "the command is known only when it runs", "command ls", shell.Bash},
	{`eval "$x"`, "eval of text that is known only when it runs", "ls", shell.Bash},
	{". ./f", "source runs a file in this shell", "bash ./f", shell.Bash},
	{`exec -a "$x" ls`, "the name given by exec -a is known only when it runs", "exec -a y ls", shell.Bash},
	{"agent-wrapper exec -- ls $x", "the number of arguments of agent-wrapper exec is known only when it runs", `agent-wrapper exec -- ls "$x"`, shell.Bash},
	{"env $x ls", "an argument of env is known only when it runs", "env A=1 ls", shell.Bash},
	{"env --unheard ls", "an argument of env is uncertain", "env A=1 ls", shell.Bash},
	{`rsync -e 'ssh -o "x y"' a h:b`, "option -e of rsync gets more words than the line shows", "rsync -e 'ssh -p 22' a h:b", shell.Bash},
	{"env -S 'ls -l'", "env splits a string into a command", "ls -l", shell.Bash},
	{`env "A$x=1" ls`, "the name of a variable is known only when it runs", "env A=1 ls", shell.Bash},
	{"find . $x", "an argument of find is known only when it runs, and may be an action", "find . -name x", shell.Bash},
	{"dd $x", "an argument of dd is known only when it runs", "dd if=a of=b", shell.Bash},
	{"bash $x", "an argument of bash is known only when it runs", "bash a.sh", shell.Bash},
	{`bash -c "ls $x"`, "text for bash -c that is known only when it runs", "bash -c ls", shell.Bash},
	{"ssh -o ProxyCommand=x h", "option -o of ssh can run a program", "ssh h", shell.Bash},
	{"make LD_PRELOAD=./x", "the variable LD_PRELOAD can make recipes run anything", "make", shell.Bash},
	{"make ARGS='a; b'", "recipes may run the value of the variable ARGS", "make ARGS=a", shell.Bash},
	{"make CFLAGS='a; b'", "recipes may run the value of the variable CFLAGS", "make CFLAGS=a", shell.Bash},
	{"go env -w GOFLAGS=x", "the setting GOFLAGS of go can name a program or the place to find one", "go env", shell.Bash},
	{"tmux display '#(x)'", "a tmux format runs a command", "tmux display a", shell.Bash},
	{"mvn -DargLine=x test", "the property argLine can make mvn load code", "mvn test", shell.Bash},
	{"make SHELL=./x", "the variable SHELL changes what make runs", "make", shell.Bash},
	{"git fetch ext::x", "a git URL of the form ext:: runs a command", "git fetch https://h/x", shell.Bash},
	{"echo `ls $x#a`", "a # inside a word", "echo `ls $x '#a'`", shell.Bash},
	{"ls # x \\\npwd", "a comment that ends in a backslash continues the command", "ls # x\npwd", shell.Bash},
	{"ls\rx", "a carriage return is outside single quotes", "ls\nx", shell.Bash},
	{"tar cf h:a b", "an archive on another host", "tar cf a b", shell.Bash},
	{"[[ a ]]", "[[ means something else in sh", "[ a ]", shell.Sh},
	{"coproc ls", "coproc", "ls &", shell.Bash},
	{"cat < \"$NPM_TOKEN\"", "shows the value of a variable that may hold a secret", "", shell.Bash},
	{"ls | time { cat; }", "time after a pipe is not the keyword", "time ls | cat", shell.Bash},
	{"for i in a b; { echo $i; }", "a loop with braces", "for i in a b; do echo $i; done", shell.Bash},
	{"ls() { :; }", "the function ls replaces a command", "mine() { :; }", shell.Bash},
	{"f() { f | f & }; f", "fork bomb", "", shell.Bash},
	{"while true; do x & done", "a loop without end starts programs in the background", "while true; do x & wait; done", shell.Bash},
	{"time -- ls", "an option of time looks like a command", "time ls", shell.Bash},
	{"time [[ a ]]", "time before a compound command", "[[ a ]]", shell.Bash},
	{"./x=[ ls", "a word looks like an assignment but is not one", "'./x=[' ls", shell.Bash},
	{"cat <<E\n$('a\\\nb')\nE", "a line of a here-document is continued inside quotes", "cat <<'E'\n$('a\\\nb')\nE", shell.Bash},
	{"RANDOM=x", "a shell evaluates the value of RANDOM as arithmetic", "RANDOM=5", shell.Bash},
	{`ls {a[1]}>f`, "a redirection evaluates a variable name", "ls {a}>f", shell.Bash},
	{"exit x", "zsh evaluates an argument of exit as arithmetic", "exit 1", shell.Zsh},
	{"[[ -t $x ]]", "[[ -t ]] evaluates the value of a variable as arithmetic", "[[ -t 1 ]]", shell.Zsh},
	{`echo $"a"`, `bash translates $".." with a message catalogue, whose text it expands`, `echo "a"`, shell.Bash},
	{"PATH=. ls", "the variable PATH can change what commands do", "ls", shell.Bash},
	{"$x", "the command name is known only when it runs", "ls", shell.Bash},
	{"echo $x[1]", "the text after a variable means something else in zsh", "echo ${x}1", shell.Zsh},
	{"echo ${x:-<(ls)}", "text that the shell may read as a command", "echo ${x:-a}", shell.Bash},
	{"=ls", "= at the start of a word means something else in zsh", "ls", shell.Zsh},
	// Lines that cannot be read at all.
	{"ls (", "the line cannot be parsed", "ls", shell.Bash},
	{strings.Repeat("(", 2000), "opens more than", "ls", shell.Bash},
	{"Get-ChildItem", "not support", "", shell.Foreign},
	{strings.Repeat("ls;", 11000), "the line has too many parts to read all of them", "ls", shell.Bash},
	// Text that a command runs.
	{"bash -c 'ls ('", "bash -c: the line cannot be parsed: 1:1: ", "bash -c ls", shell.Bash},
	{"ksh -c ls", "ksh -c: the line is for a shell that agent-wrapper does not support", "bash -c ls", shell.Bash},
	{`agent-wrapper exec -- "$x"`, "the command is known only when it runs", "agent-wrapper exec -- ls", shell.Bash},
}

// unreached holds causes that no line has: most are for syntax trees of other
// languages. They are checked in case a line has them.
var unreached = []string{
	"the parser failed: …", // nothing makes it fail

	"arithmetic in the syntax of another shell",
	"an unsupported comparison",
	"an unsupported part of a word",
	"a substitution in the syntax of another shell",
	"a parameter expansion in the syntax of another shell",
	"a background command in the syntax of another shell",
	"an unsupported kind of command",
	"an unsupported kind of loop",
	"a function in the syntax of another shell",

	// A rule must name the subcommand of such a command.
	"npm config edit opens an editor",
}

// doubts holds lines with an unproven command, the reason, and a line without
// the doubt.
var doubts = []spot{
	{"A=1 ls", "the variable A may change what the program does", "ls", shell.Bash},
	{"frob $x", "an argument of frob is known only when it runs, and may be an option", `frob -- "a$x"`, shell.Bash},
	{"git log $x", "the argument … is known only when it runs, and may be an option", "git log", shell.Bash},
	{"history -w f", "option -w of history needs a rule that contains it", "history", shell.Bash},
	{"curl -T f http://h/", "option -T of curl sends a file to a host", "curl http://h/", shell.Bash},
	{"gh api -F a=@f x", "option -F of gh sends a file to a host", "gh api -F a=b x", shell.Bash},
	{`gh api -F "a=$x" x`, "option -F of gh may send a file to a host", "gh api -F a=b x", shell.Bash},
	{`curl -d "$x" http://h/`, "option -d of curl may send a file to a host", "curl -d a http://h/", shell.Bash},
	{"http :80 a=@x", "a=@x of http may send a file to a host", "http :80 a=x", shell.Bash},
	{"find -files0-from f", "-files0-from of find reads names from a file", "find .", shell.Bash},
	{"make -C /elsewhere", "make reads its configuration from a directory outside the workspace, or an unknown one", "make -C a", shell.Bash},
	{"make A$x=1", "the argument A…=1 is known only when it runs, and may be an option", "make A=1", shell.Bash},
	{`make "A$x=1"`, "the argument A…=1 of make may set any variable that begins with A", "make A=1", shell.Bash},
	{"make \"X='a;b'\"", "recipes that put the variable X in single quotes would run part of its value", "make X=a", shell.Bash},
	{`make "X=$y"`, "the value of the variable X is known only when it runs, and recipes may run it", "make X=a", shell.Bash},
	{"go build -gcflags=-cpuprofile=x", "option -gcflags of go may name a file that is written", "go build", shell.Bash},
	{"rustc -C frob=x a.rs", "option -C frob of rustc needs a rule that contains it", "rustc a.rs", shell.Bash},
	{"cmake /elsewhere", "cmake runs a project outside the workspace, or an unknown one", "cmake a", shell.Bash},
	{"mvn a:b:c", "the goal a:b:c fetches a plugin", "mvn test", shell.Bash},
	{"history -z", "an option of history changes the history file", "history", shell.Bash},
	{"docker-compose -f https://h/x", "option -f of docker-compose names a source on another machine", "docker-compose -f a", shell.Bash},
	{"deno npm:x", "deno runs code that it fetches", "deno a.ts", shell.Bash},
	{"yarn workspace a add x", "yarn does more than usual here", "yarn add x", shell.Bash},
	{`curl -w "$x" http://h/`, "option -w of curl is known only when it runs", "curl -w a http://h/", shell.Bash},
	{"tar f x", "the options of tar leave unclear what it does", "tar tf x", shell.Bash},
	{`jq ".a$x" f`, "the filter of jq is known only when it runs", "jq .a f", shell.Bash},
	{"jq env f", "the filter of jq reads more than its input", "jq .a f", shell.Bash},
	// A tool use with such a line is denied before it is read.
	{strings.Repeat("a", 1<<16+1), "the line is longer than 65536 bytes", "ls", shell.Bash},
	{"ls \x00", "the line contains a NUL byte", "ls", shell.Bash},
}

// causes returns the causes of the actions of a line.
func causes(line string, d shell.Dialect) []shell.Why {
	var found []shell.Why
	for _, a := range shell.Analyze(line, shell.Options{Dir: "/home/dev/proj", Home: "/home/dev", Dialect: d}).Actions {
		if a.Why.Cause != 0 {
			found = append(found, a.Why)
		}
	}
	return found
}

// TestDoubts checks that a doubt is explained, and absent without its cause.
func TestDoubts(t *testing.T) {
	for _, s := range doubts {
		said := func(why shell.Why) bool { return why.String() == s.reason }
		if found := causes(s.line, s.dialect); !slices.ContainsFunc(found, said) {
			t.Errorf("%.80q: %q, want %q", s.line, found, s.reason)
		}
		if after := causes(s.clear, s.dialect); slices.ContainsFunc(after, said) {
			t.Errorf("%q is still in doubt: %q", s.clear, after)
		}
	}
}

// opaque returns the reasons of the opaque spots of a line, with their
// rewrites.
func opaque(line string, d shell.Dialect) map[string]string {
	found := map[string]string{}
	for _, a := range shell.Analyze(line, shell.Options{Dir: "/home/dev/proj", Home: "/home/dev", Dialect: d}).Actions {
		if a.Kind == shell.Opaque {
			found[a.Why.String()] = a.Why.Rewrite()
		}
	}
	return found
}

// holding returns the reason that contains a text.
func holding(found map[string]string, text string) string {
	for reason := range found {
		if strings.Contains(reason, text) {
			return reason
		}
	}
	return ""
}

// TestSpots checks that a denial and an ask tell the model about every opaque
// spot and how to write it clearly, and that the advice is right.
func TestSpots(t *testing.T) {
	for _, s := range spots {
		found := opaque(s.line, s.dialect)
		reason := holding(found, s.reason)
		if reason == "" {
			t.Errorf("%.80q holds no spot %q: %q", s.line, s.reason, found)
			continue
		}
		if found[reason] == "" {
			t.Errorf("%.80q: %q has no rewrite", s.line, reason)
		}
		for name, p := range map[string]spec{
			"allow list":    {allow: "Bash(unheard:*); Edit(**)", noCatastrophic: true},
			"gate":          {allow: "Bash(unheard:*); Edit(**)", unlisted: UnlistedDeny, noCatastrophic: true},
			"nobody to ask": {allow: "Bash(unheard:*); Edit(**)", mode: "dontAsk", noCatastrophic: true},
			"may be denied": {allow: "Bash", deny: "Bash(unheard:*); Read(unheard); Edit(unheard)", noCatastrophic: true},
			"no rules":      {noCatastrophic: true},
		} {
			use := using("Bash", s.line)
			use.Dialect = s.dialect
			d := p.decideOn(t, use)
			if d.Behavior == Allow || !strings.Contains(d.Message, reason) || !strings.Contains(d.Message, found[reason]) {
				t.Errorf("%.80q, %s: %v, and the message does not hold %q and %q: %s", s.line, name, d.Behavior, reason, found[reason], d.Message)
			}
		}
		if after := opaque(s.clear, s.dialect); s.clear != "" && holding(after, s.reason) != "" {
			t.Errorf("%q still holds the spot that %q was rewritten for: %q", s.clear, s.line, after)
		}
	}
}

// TestCausesAreAll checks that every cause has a line above.
func TestCausesAreAll(t *testing.T) {
	// The evaluation itself gives some: TestLinkedConfig, TestMapped, TestRepository,
	// TestDoubt, TestAdvice, TestHosts.
	seen := map[shell.Cause]bool{
		shell.CauseConfigLinked: true, shell.CauseUnmappedField: true, shell.CauseRepositoryRuns: true, shell.CauseRepositoryUnread: true,
		shell.CauseAsksHost: true, shell.CauseSendsVariable: true, shell.CauseHostsUnread: true,
	}
	for c := shell.CauseMayDo; c <= shell.CauseSubstitution; c++ {
		seen[c] = true
	}
	for _, s := range slices.Concat(spots, doubts) {
		for _, why := range causes(s.line, s.dialect) {
			seen[why.Cause] = true
		}
	}
	for line := range leaving {
		for _, a := range shell.Analyze(line, shell.Options{Dir: "/home/dev/proj", Survives: true}).Actions {
			seen[a.Why.Cause] = true
		}
	}
	for c := shell.Cause(1); c.String() != ""; c++ {
		if nobody := slices.Contains(unreached, c.String()); seen[c] == nobody {
			t.Errorf("cause %d, %q: a line leads to it: %v, want %v", c, c, seen[c], !nobody)
		}
	}
}
