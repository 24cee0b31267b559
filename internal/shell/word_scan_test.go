package shell

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
)

// holed parses the notation of a word: $ is unknown text, * is a glob, and a word
// that begins with % may split.
func holed(notation string) Word {
	var w Word
	rest, split := strings.CutPrefix(notation, "%")
	w.Split = split
	for _, r := range rest {
		switch r {
		case '$':
			w.Holes = append(w.Holes, Hole{At: len(w.Text), Kind: AnyText})
		case '*':
			w.Holes = append(w.Holes, Hole{At: len(w.Text), Kind: Glob})
			w.Split = true
		default:
			w.Text += string(r)
		}
	}
	return w
}

func holedWords(line string) []Word {
	var words []Word
	for _, f := range strings.Fields(line) {
		words = append(words, holed(f))
	}
	return words
}

// sorted formats the scan of a line: NAME or NAME=value for an option, the word
// itself for an operand, sub(x), --, ?x for an unlisted word and ~x for an unsure
// one.
func sortedArgs(line string) string {
	words := holedWords(line)
	scan := ScanWords(program.Lookup(words[0].Text), words)
	var out []string
	for _, a := range scan.Args {
		text := show(&words[a.Word])
		switch a.Kind {
		case ArgOption:
			text = a.Option.Names[0]
			if a.ValueAt >= 0 {
				text += "=" + show(&a.Value)
			}
		case ArgSubcommand:
			text = "sub(" + text + ")"
		case ArgUnlisted:
			text = "?" + text
		case ArgUnsure:
			text = "~" + text
		}
		out = append(out, text)
	}
	if len(scan.Path) > 0 {
		out = append(out, "in "+strings.Join(scan.Path, "."))
	}
	return strings.Join(out, " ")
}

func TestScan(t *testing.T) {
	for _, test := range []struct{ line, want string }{
		// GNU: clusters, attached values, long options and their abbreviations.
		{"sort -rn a.txt", "-r -n a.txt"},
		{"sort -uopwned a.txt", "-u -o=pwned a.txt"},
		{"sort -uo pwned a.txt", "-u -o=pwned a.txt"},
		{"sort a.txt -opwned", "a.txt -o=pwned"},
		{"sort --output=pwned a", "-o=pwned a"},
		{"sort --output pwned a", "-o=pwned a"},
		{"sort --out=pwned a", "-o=pwned a"},
		{"sort --re a", "-r a"},
		{"sort -t, -k1,1 a", "-t=, -k=1,1 a"},
		{"sort --nonsense a", "?--nonsense a"},
		{"sort -k", "-k"},
		{"sort - a", "- a"},
		{"head -5 f", "-# f"},
		{"head -n5 f", "-n=5 f"},
		{"head -qn 5 f", "-q -n=5 f"},
		{"grep -rn foo src", "-r -n foo src"},
		{"grep -A3 -e foo f", "-A=3 -e=foo f"},
		{"grep --color=auto x", "--color=auto x"},
		{"grep --color x", "--color x"},
		{"sed -i.bak s/a/b/ f", "-i=.bak s/a/b/ f"},
		{"sed -ni s/a/b/p f", "-n -i s/a/b/p f"},
		{"sed -Ei s/a/b/ f", "-E -i s/a/b/ f"},
		{"sed --in-p s/a/b/ f", "-i s/a/b/ f"},
		{"curl -so x http://h", "-s -o=x http://h"},
		{"wget -nc -qO- http://h", "-nc -q -O=- http://h"},
		{"cp -vaf a b", "-v -a -f a b"},
		// An ambiguous abbreviation is the option that matters.
		{"tar xf a --to=x", "-x -f=a --to-command=x"},
		{"git ls-remote --upload-pa=x .", "sub(ls-remote) --upload-pack=x . in ls-remote"},
		{"git log --out=x", "sub(log) --output=x in log"},
		// The end of the options.
		{"rm -- -rf", "-- -rf"},
		{"rm build -rf", "build -r -f"},
		{"echo -- -n x", "-- -n x"},
		{"timeout 5 rm -rf x", "5 rm -rf x"},
		{"timeout -k 3 -s KILL 5 rm -f", "-k=3 -s=KILL 5 rm -f"},
		{"timeout --signal=TERM 10 git status", "-s=TERM 10 git status"},
		{"nice -5 make -j4", "-# make -j4"},
		{"env -u A -i B=1 cmd -x", "-u=A -i B=1 cmd -x"},
		{"xargs -I{} rm -rf {}", "-I={} rm -rf {}"},
		{"python3 -mpytest -k a", "-m=pytest -k a"},
		{"python3 -c x -c y", "-c=x -c y"},
		{"flock /tmp/l -c x", "/tmp/l -c=x"},
		// What is taken for a value may be an option that matters where one
		// entry stands for several programs.
		{"webpack -m --config=x", "-m=--config=x ~--config=x"},
		{"webpack -m --watch", "-m=--watch"},
		{"sort -k -opwned a", "-k=-opwned a"},
		// Bundles without a dash.
		{"tar xf a.tar", "-x -f=a.tar"},
		{"tar xfC a.tar dir f", "-x -f=a.tar -C=dir f"},
		{"tar -xf a.tar", "-x -f=a.tar"},
		{"tar cf - a", "-c -f=- a"},
		{"ps aux", "-a -u -x"},
		// One dash for long names.
		{"find . -name x -maxdepth 1 -print", ". -name=x -maxdepth=1 -print"},
		{"go test -run=X -count 1 ./...", "sub(test) -run=X -count=1 ./... in test"},
		{"go test --run X ./...", "sub(test) -run=X ./... in test"},
		{"go run . -o x", "sub(run) . -o x in run"},
		{"terraform -chdir=d plan -out=x", "-chdir=d sub(plan) -out=x in plan"},
		{"kill -9 12", "-# 12"},
		{"kill -TERM 12", "-TERM 12"},
		{"gcc -O2 -Iinc -fplugin=./e.so -o a a.c", "-O=2 -I=inc -fplugin=./e.so -o=a a.c"},
		{"gcc -Wall -Wl,-x a.c", "-W=all -Wl,=-x a.c"},
		// Two words for one option, and plus signs.
		{"jq --arg a b .x f", "--arg=b .x f"},
		{"jq --slurpfile a f.json .x", "--slurpfile=f.json .x"},
		{"less +G f", "+=G f"},
		{"set +e", "+=e"},
		{"cargo +nightly build -r", "+=nightly sub(build) -r in build"},
		{"date +%s", "+%s"},
		// Subcommands.
		{"git -C d status -sb", "-C=d sub(status) -s -b in status"},
		{"git -c a=b push -f", "-c=a=b sub(push) -f in push"},
		{"git push origin +main", "sub(push) origin -f=main in push"},
		{"git frobnicate -x", "?frobnicate ?-x"},
		{"docker compose -f x logs -f web", "sub(compose) -f=x sub(logs) -f web in compose.logs"},
		{"docker ps -H tcp://h", "sub(ps) -H=tcp://h in ps"},
		{"docker run --rm -it img rm -rf x", "sub(run) --rm -i -t img rm -rf x in run"},
		{"kubectl config view --raw", "sub(config) sub(view) --raw in config.view"},
		{"kubectl get pods -oyaml -n=x", "sub(get) pods -o=yaml -n=x in get"},
		{"kubectl exec p -it -- ls -l", "sub(exec) p -i -t -- ls -l in exec"},
		{"gh pr view 1 --json a,b", "sub(pr) sub(view) 1 --json=a,b in pr.view"},
		{"npm i --save-dev x", "sub(i) -D x in install"},
		{"npm --script-shell=./e run t", "--script-shell=./e sub(run) t in run"},
		{"bun run x -e y", "sub(run) x -e y in run"},
		// Long names are not abbreviated by cobra and clap.
		{"rg --col x", "?--col x"},
		{"rg -j=4 x", "-j=4 x"},
		// Words with holes.
		{"sort $ a", "~… a"},
		{"sort -o$ a", "-o=… a"},
		{"sort -o $ a", "-o=… a"},
		{"sort --output=$ a", "-o=… a"},
		{"sort --o$ a", "~--o… a"},
		{"sort -$ a", "~-… a"},
		{"sort -r$ a", "-r ~-r… a"},
		{"sort -- $", "-- …"},
		{"sort a$ b", "a… b"},
		{"sort %a$ b", "~a… b"},
		{"sort -k %$ b", "-k=… ~… b"},
		{"sort %--output=$ b", "-o=… ~--output=… b"},
		{"sort src/*.txt", "src/….txt"},
		{"sort *.txt", "~….txt"},
		{"sort -k src/*", "-k=src/… src/…"},
		{"git $ log", "~… sub(log) in log"},
		{"git log $", "sub(log) ~… in log"},
		{"find . -name $", ". -name=…"},
		{"echo $", "…"},
	} {
		if diff := cmp.Diff(test.want, sortedArgs(test.line)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.line, diff)
		}
	}
}

// TestScanBuffer checks that a large enough buffer is the only memory needed.
func TestScanBuffer(t *testing.T) {
	words := holedWords("git log --oneline -5 --format=%h -- a b")
	git := program.Lookup("git")
	buf := make([]Arg, 0, 16)
	if n := testing.AllocsPerRun(100, func() { ScanInto(git, words, buf) }); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

func FuzzScan(f *testing.F) {
	for _, seed := range []string{
		"sort -uopwned %--output=$x -- -k", "git -C d $x push --force=$y %-$z", "tar xfC a $x *.tar", "gcc -Wl,$x -fplugin=*",
		"docker compose -f $x logs --tail=%$n web", "jq --arg a", "less +$x", "find . -exec rm {} ;", "kill -$x -9", "ps aux",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, line string) {
		words := holedWords(line)
		if len(words) == 0 {
			return
		}
		p := program.Lookup(words[0].Text)
		if p == nil {
			return
		}
		checkScan(t, words, ScanWords(p, words))
	})
}

// checkScan checks what holds for every scan: indexes are in range and in order,
// every word but the program's name is read, and every option has an entry.
func checkScan(t *testing.T, words []Word, scan Scan) {
	t.Helper()
	seen := make([]bool, len(words))
	for _, a := range scan.Args {
		if a.Word < 1 || a.Word >= len(words) || a.ValueAt >= len(words) || a.ValueAt < -1 {
			t.Fatalf("%+v points outside of %d words", a, len(words))
		}
		if (a.Kind == ArgOption) != (a.Option != nil) || a.Kind == 0 {
			t.Fatalf("%+v is not consistent", a)
		}
		seen[a.Word] = true
		if a.Option != nil && a.Option.Value == program.Pair && a.ValueAt > 0 {
			seen[a.ValueAt-1] = true
		}
		if a.ValueAt > 0 {
			seen[a.ValueAt] = true
		}
	}
	for i := 1; i < len(words); i++ {
		if !seen[i] && !valueMissing(words, scan) {
			t.Fatalf("word %d of %q is lost: %+v", i, words[0].Text, scan.Args)
		}
	}
}

// valueMissing reports whether an option at the end takes two words and has only one.
func valueMissing(words []Word, scan Scan) bool {
	for _, a := range scan.Args {
		if a.Option != nil && a.Option.Value == program.Pair && a.ValueAt < 0 && a.Word >= len(words)-2 {
			return true
		}
	}
	return false
}

func BenchmarkScan(b *testing.B) {
	for _, line := range []string{"git status", "git log --oneline -5 --format=%h", "grep -rn foo src", "curl -s http://localhost:3000/health"} {
		words := holedWords(line)
		buf := make([]Arg, 0, 16)
		b.Run(strings.ReplaceAll(line, " ", "_"), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				ScanInto(program.Lookup(words[0].Text), words, buf)
			}
		})
	}
}

func BenchmarkLookup(b *testing.B) {
	for _, name := range []string{"git", "ls", "frobnicate", "curl"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				program.Lookup(name)
			}
		})
	}
}
