package shell

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// supposed returns what the commands of a line may run although nothing says so:
// commands by their words, "?" for what cannot be told.
func supposed(line string) []string {
	var out []string
	opt := Options{Dir: "/w", Home: "/h"}
	for _, a := range Analyze(line, opt).Actions {
		for _, p := range a.PossibleCommands(opt) {
			switch p.Kind {
			case Opaque:
				out = append(out, "?")
			case Command:
				text := ""
				for i := range p.Words {
					text += " " + p.Words[i].Filled("_")
				}
				if p.Words[0].MayBeOption() && p.Words[0].hasHole(AnyText) {
					text = " ?"
				}
				out = append(out, text[1:])
			}
		}
	}
	return out
}

// TestPossibleCommands checks that a command is found wherever a program may take it
// from, in many spellings.
func TestPossibleCommands(t *testing.T) {
	tests := []struct{ line, want string }{
		{"unheard rm x", "rm x"},
		{"unheard -- rm x", "rm x"},
		{"unheard a b sudo rm x", "rm x"},
		{"unheard env A=1 rm x", "rm x"},
		{"unheard sh -c 'git push'", "git push"},
		{"unheard 'rm x'", "rm x"},
		{"unheard 'cd /tmp && rm x'", "rm x"},
		{"unheard 'echo $(rm x)'", "rm x"},
		{`unheard "r'm' x"`, "rm x"},
		{`unheard r\\m x`, "rm x"},
		{"unheard --cmd='rm x'", "rm x"},
		{"unheard --cmd=rm x", "rm x"},
		{"unheard -c'rm x'", "rm x"},
		{"unheard -crm x", "rm x"},
		{"unheard a:b:'rm x'", "rm x"},
		{"unheard @rm x", "rm x"},
		{"unheard '!rm x'", "rm x"},
		{"unheard -e 'exec rm x'", "rm x"},
		{"unheard 'system(\"rm\", \"x\")'", "rm x"},
		{`unheard '["rm", "x"]'`, "rm x"},
		{`unheard '{"cmd": "\u0072m x"}'`, "rm x"},
		{"unheard 'foo \"rm x\"'", "rm x"},
		{"'rm x'", "rm x"},
		{"unheard $(cat f)", "?"},
		{"unheard \"$x\"", "?"},
		{"unheard \"rm $x\"", "rm _"},
		{"unheard <(echo rm x)", "?"},
		{"unheard -e 'exec r.m'", "?"},
		{"unheard 'exec \"r\"+\"m\"'", "?"},
		{"python3 x.py 'x=mr; ${x:1:1}${x:0:1} y'", "?"},
		{"python3 x.py 'a=r;b=m;$a$b x'", "?"},
		{"./x.sh 'f=rm && \"$f\" x'", "?"},
		{"node x.js 'f=rm\n$f x'", "?"},
		{"unheard '(shell (str r m))'", "?"},
		{"perl5.36 -e 'exec r.m'", "?"},
		{"bash-static -c 'rm x'", "rm x"},
		{"ruby-static -e 'exec(x)'", "?"},
		{"python3 unheard.py rm x", "rm x"},
		{"node unheard.js 'rm x'", "rm x"},
		{"node unheard.js 'r$@m x'", "?"},
		{"node unheard.js 'r?m x'", "r_m x"},
		{"bash unheard.sh rm x", "rm x"},
		{"npm run unheard -- rm x", "rm x"},
		{"make a V='rm x'", "rm x"},
		{"swipl -g \"shell('rm x')\"", "rm x"},
		{"swipl -g 'shell(rm)'", "rm"},
		{"aws-vault exec p -- rm x", "rm x"},
		{"puppet apply -e 'exec{\"/bin/rm x\":}'", "/bin/rm x"},
		{"nim --unheard:'exec \"rm x\"'", "rm x"},
		{"xdotool search a exec rm x", "rm x"},
		{"unheard '!x y:z a'", "x y:z a"},
		{"go tool unheard rm x", "rm x"},
		{"go tool link -- 'rm x'", "rm x"},
		{"git absorb rm x", "rm x"},
		{"yarn node a rm x", "rm x"},
		{"npm create a rm x", "rm x"},
		{"deno jupyter a rm x", "rm x"},
		{"docker compose alpha rm x", "rm x"},
		// standard input
		{"unheard <<< 'rm x'", "rm x"},
		{"unheard <<E\nrm x\nE", "rm x"},
		{"unheard <<'E'\nrm x\nE", "rm x"},
		{"unheard <<-E\n\trm x\nE", "rm x"},
		{"echo rm x | unheard", "rm x"},
		{"echo 'rm x' | unheard", "rm x"},
		{`printf 'rm x\n' | unheard`, "rm x"},
		{`printf '%s\n' 'rm x' | unheard`, "rm x"},
		{"printf '%s%s' r m | unheard", "?"},
		{`echo -e '\x72m' | unheard`, "?"},
		{"echo cm0geA== | base64 -d | unheard", "?"},
		{"echo rm x | cat | unheard", "rm x"},
		{"cat <<< 'rm x' | unheard", "rm x"},
		{"{ echo a; echo rm x; } | unheard", "rm x"},
		{"{ unheard; } <<< 'rm x'", "rm x"},
		{"(unheard) <<< 'rm x'", "rm x"},
		{"while a; do unheard; done <<< 'rm x'", "rm x"},
		{"timeout 5 unheard <<< 'rm x'", "rm x"},
		{"unheard < <(echo rm x)", "rm x"},
		{"echo rm x > f; unheard < f", "?"},
		{"poetry shell <<< 'rm x'", "?"},
		{"unheard <<< \"$x\"", "?"},
		{"unheard <<< \"r$x\"", "r_"},
		{"echo \"r$x\" | unheard", "r_"},
		{"x='rm y'; unheard <<< \"$x\"", "rm y"},
		{"f() { ssh h; }; f <<< 'rm x'", "rm x"},
		{"ssh h <<< 'rm x'", "rm x"},
		{"vim -es f <<< '!rm x'", "rm x"},
		{"ex -s f <<< '1!rm x'", "rm x"},
		{"dc <<< '!rm x'", "rm x"},
		{"npm exec <<< 'rm x'", "rm x"},
		{"nix develop <<< 'rm x'", "rm x"},
		{"vagrant ssh <<< 'rm x'", "rm x"},
		{"docker compose run s <<< 'rm x'", "rm x"},
	}
	for _, tt := range tests {
		if got := supposed(tt.line); !slices.Contains(got, tt.want) && !(tt.want == "?" && finds(tt.line, got)) {
			t.Errorf("%s: %q, want %q among them", tt.line, got, tt.want)
		}
	}
}

// TestNoPossibleCommands checks that what the catalogue knows to be text is none, and
// that the words of people are clear.
// TestComputes checks which texts look like code.
func TestComputes(t *testing.T) {
	for text, want := range map[string]bool{"don't": false, "it's a": false, "'a": true, "a'": true, "a 'b": true, "a(b c)": true, "a (b c)": false, "$x": true, "$1": false} {
		if got := computes(text); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

func TestNoPossibleCommands(t *testing.T) {
	for _, line := range []string{
		"git commit -m 'rm x (y)'", "grep 'rm x' f", "rg 'system(\"rm' src", "echo 'rm x' | grep rm", "cat <<< 'rm x'", "awk '/rm/ {print $1}' f",
		"bash -c 'rm x'", "python3 -c 'rm(x)'", "gh pr create --title 'rm (x)' --body '$(x)'", "jq '.a | (.b)' f", "sed 's/rm x/y/' f",
		"git commit -F - <<E\nrm x\nE", "tee f <<< 'rm x'", "find . -name '*.go' -exec cat {} ;", "timeout 5 cat <<< 'rm x'", "unheard",
		"curl -d '{\"a\":\"rm x\"}' http://localhost", "f() { cat; }; f 'rm x'", "unheard < f", "cat f | unheard", "unheard *.txt",
		"find . -path '*a*' -exec grep -l 'a\\|b.*c' {} ;", "gcc --unheard 'a\\|b.*c'",
	} {
		if got := supposed(line); slices.ContainsFunc(got, func(s string) bool { return s == "?" || strings.HasPrefix(s, "rm") }) {
			t.Errorf("%s: %q", line, got)
		}
	}
	for _, line := range []string{
		"unheard 'Fix the login'", "unheard \"Don't crash (again)\"", "unheard --out=a/b.json -v ./...", "unheard '{\"a\":[1,\"b c\"]}'", "unheard a@b.c 5%",
		"unheard '^A(b|c)$'", "unheard 'src/**/*.ts'", "unheard \"a/$x.txt\"", "unheard -- git commit -m 'a (b)'", "find . -name 'a*' | xargs unheard",
		"unheard source a", "unheard python", "for f in *; do unheard \"$f\"; done",
	} {
		if got := supposed(line); slices.Contains(got, "?") {
			t.Errorf("%s: %q", line, got)
		}
	}
}

// TestPossibleCommandsGenerated puts a command into all that an unknown program may
// take one from, inside one another, and looks for it.
func TestPossibleCommandsGenerated(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 1))
	quote := func(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
	double := func(text string) string {
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`").Replace(text) + `"`
	}
	outside := []string{
		"%s", "sudo -n %s", "env A=1 %s", "nohup %s &", "x=1; %s | cat", "if true; then %s; fi", "(%s)", "{ %s; }", "bash -c %q", "! %s", "time %s", "timeout 9 %s",
	}
	programs := []string{"unheard", "./unheard", "unheard run", "unheard -x --y=z", "unheard exec p --", "python3 unheard.py", "bash ./unheard.sh", "node unheard.js"}
	words := []string{"%w", "-- %w", "a %w", "-q %q", "--cmd=%q", "-c%q", "%q a", "sh -c %q", "env A=1 %w", "timeout 9 %w", "/usr/bin/env %w"}
	inputs := []string{"<<< %q", "<<'E'\n%w\nE\n", "<<E\n%w\nE\n"}
	pipes := []string{"echo %q | ", "echo %w | ", "printf '%%s\\n' %q | ", "cat <<< %q | ", "echo %q | tee f | "}
	give := func(form, command string) string {
		q := quote
		if r.IntN(2) == 0 {
			q = double
		}
		return strings.NewReplacer("%w", command, "%q", q(command), "%%", "%").Replace(form)
	}
	for range 4000 {
		denied := []string{"rm x", "/bin/rm -rf x", "rm", `r\m x`, `"rm" x`}[r.IntN(5)]
		line := denied
		for range 1 + r.IntN(2) {
			program := programs[r.IntN(len(programs)-3*min(1, r.IntN(2)))]
			switch r.IntN(4) {
			case 0:
				if strings.Contains(line, "\n") || strings.HasPrefix(program, "python") || strings.HasPrefix(program, "bash") || strings.HasPrefix(program, "node") {
					continue // what a script reads is not what it is told
				}
				line = program + " " + give(inputs[r.IntN(len(inputs))], line)
			case 1:
				if strings.ContainsAny(line, "\n|&;<") || strings.Contains(program, ".") && !strings.HasPrefix(program, "./") {
					continue
				}
				line = give(pipes[r.IntN(len(pipes))], line) + program
			default:
				if strings.ContainsAny(line, "\n|<") {
					continue
				}
				line = program + " " + give(words[r.IntN(len(words))], line)
			}
		}
		if line == denied {
			continue
		}
		if !strings.ContainsAny(line, "\n") {
			form := outside[r.IntN(len(outside))]
			line = strings.NewReplacer("%s", line, "%q", quote(line)).Replace(form)
		}
		if got := supposed(line); !finds(line, got) {
			t.Errorf("%q: %q", line, got)
		}
	}
}

// finds reports whether rm is among commands, or what cannot be told.
func finds(line string, found []string) bool {
	for _, a := range Analyze(line, Options{Dir: "/w", Home: "/h"}).Actions {
		if a.Kind == Opaque && a.May&MayRun != 0 {
			return true
		}
	}
	return slices.ContainsFunc(found, func(s string) bool {
		name, _, _ := strings.Cut(s, " ")
		return s == "?" || base(name) == "rm"
	})
}

// TestPossibleCommandsEnd checks that the work has a limit, beyond which nothing can
// be told.
func TestPossibleCommandsEnd(t *testing.T) {
	nested := "rm x"
	for range 8 {
		nested = fmt.Sprintf("unheard %q", nested)
	}
	for _, line := range []string{
		"unheard " + strings.Repeat("a ", MaxLine/2-8), "unheard " + strings.Repeat("timeout 5 ", MaxLine/10-8), "unheard '" + strings.Repeat("a ", MaxLine/2-8) + "'",
		"unheard " + strings.Repeat("'a b' ", MaxLine/6-8), "unheard " + strings.Repeat("sh -c ", MaxLine/6-8), nested,
		"node unheard.js '(" + strings.Repeat("a ", MaxLine/2-16) + "'",
		"unheard '" + strings.Repeat("(", 30000) + "'", "unheard '" + strings.Repeat("{\"a\":", 5000) + "1" + strings.Repeat("}", 5000) + "'",
		"unheard <<E\n" + strings.Repeat("env sh a;", MaxLine/9-8) + "\nE",
	} {
		from := time.Now()
		if got := supposed(line); !finds(line, got) {
			t.Errorf("%.60q…: %d commands, and no end", line, len(got))
		}
		if took := time.Since(from); took > hang {
			t.Errorf("%.60q… took %v", line, took)
		}
	}
}

func BenchmarkPossibleCommands(b *testing.B) {
	for _, line := range []string{"git status", "unheard run -v ./...", "unheard sh -c 'rm x; ls | wc'", "unheard <<E\n" + strings.Repeat("some text, and more of it\n", 20) + "E"} {
		opt := Options{Dir: "/w", Home: "/h"}
		a := &Analyze(line, opt).Actions[0]
		b.Run(fmt.Sprintf("%.20s", line), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				a.PossibleCommands(opt)
			}
		})
	}
}
