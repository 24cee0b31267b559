package shell

import (
	"strings"
	"testing"
)

// TestWalk checks which of the files that may hold secrets a program is told to read by one
// that walks directories, and by patterns for files.
func TestWalk(t *testing.T) {
	const every, none, key = ".env .envrc id_rsa server.key", "", "id_rsa server.key"
	for line, want := range map[string]string{
		"find . -type f -exec cat {} +": every, "find . -type f | xargs cat": every, "find . -exec cat -name x {} +": every,
		"find . -type f | head -5 | sort | xargs cat": every, "find . -type f -exec true {} ';' -exec cat {} +": every,
		"find . -name '*' -exec cat {} +": every, "find . -name '*v' -exec cat {} +": ".env", "find . -iname '*V' | xargs cat": ".env",
		"find . -name '[!a]*' -exec cat {} +": every, "find . -name '[^.]*' -exec cat {} +": key, "find . -name '*.*' | xargs cat": ".env .envrc server.key",
		"find . -name '*.go' -exec cat {} +": none, "find . -name *.go -exec cat {} +": none, "find . -name 'a{b' -exec cat {} +": every,
		`find . \( -name '*.go' -o -name '*.md' \) -exec cat {} +`: none, `find . -type f \( -name '*.go' -o -type f \) -exec cat {} +`: every,
		`find . ! \( -name '*.go' -o -name a \) -exec cat {} +`: every, "find . ! ! -name .env -type f -exec cat {} +": every, "find . ! -name '*.go' -exec cat {} +": every,
		"find . -name '*.go' , -type f -exec cat {} +": every, "find . -name '*.go' -o ! -name '*.go' -exec cat {} +": every,
		"find . -type f ! -name '.*' -exec cat {} +": key, "find . -type f -not -path '*/.*' | xargs cat": key, "find . -type f -not -path './.*' | xargs cat": every, "find . -type f ! -name '.*' -o -type f | xargs cat": every,
		"find . -type f -exec cat {} + -name '*.go'": every, "find . -type f -print -name '*.go' | xargs cat": every, "find . -type f -exec cat {} + ! -name '.*'": every, `find . \( -type f -exec cat {} + \) -name '*.go'`: every, "find . -name '*.go' -print -type f | xargs cat": none,
		"find . -path './src/*' -exec cat {} +": every, "find . -path './src/*.go' -exec cat {} +": none, "find . -path './src?env' -exec cat {} +": ".env", "find . -path '*/.e*v' | xargs cat": ".env", "find . -wholename './src*v' | xargs cat": ".env",
		`find . -regex '.*\.go' | xargs cat`: none, `find . -regex '.*v' | xargs cat`: ".env", `find . -regex '.*\w' | xargs cat`: every, `find . -regex '.*?\.env' | xargs cat`: every,
		"find . -name .env -prune -o -type f -print | xargs cat": ".envrc id_rsa server.key", "find . -name .env -prune -o -type f | xargs cat": every,
		"find . -path './v/*' -prune -o -name '*.go' -print | xargs cat": none, "find . -type f -print -o -name .env -prune -o -print | xargs cat": every,
		`find . -type f | grep '\.go$' | xargs cat`: none, "find . -type f | grep src | xargs cat": every, "find . -type f | grep -F .go | xargs cat": every, `find . -type f | grep -E '\.(go|md)$' | xargs cat`: none, `find . | grep '\.e\?nv$' | xargs cat`: every, `find . | grep '[.[x]]env' | xargs cat`: every,
		`find . -type f | grep -v '/\.' | xargs cat`: key, `find . -type f | grep -v '\.env' | xargs cat`: key, `find . -type f | grep -v '\.env$' | xargs cat`: ".envrc id_rsa server.key", `find . -type f | grep -v 'x|/\.' | xargs cat`: every, `find . -type f | grep -vE 'x|/\.' | xargs cat`: key, `fd -H | grep -v '/\.' | xargs cat`: every, "find . | grep -v node_modules | xargs cat": every, "find . | grep -v '^' | xargs cat": every,
		"find . ! -name -name -type f -exec cat {} +": every, "find . ! -path -name ! -path a.go -exec cat {} +": every, "find . ! -regex ! -path '*/.*' -exec cat {} +": every, "find . -newer -name -name '*.go' -exec cat {} +": none, "find . -fstype -o -name '*.go' -exec cat {} +": none, "find . -unlisted -name '*.go' -exec cat {} +": every,
		"ls -A | xargs cat": every, "ls | xargs cat": key, "for f in $(ls -A); do cat $f; done": every,
		"fd -H | xargs cat": every, "fd | xargs cat": key, "fd -H -e go | xargs cat": none, "fd -H -e env | xargs cat": ".env", "fd -H . | xargs cat": every, `fd -H '\.go$' | xargs cat`: none, "fd -Hg '*v' | xargs cat": ".env", "fd -Hp src | xargs cat": every,
		"git ls-files | xargs cat": none, "git ls-files -o | xargs cat": every, "git diff --name-only | xargs cat": none, "grep -rl --exclude=.env x . | xargs cat": none,
		"find . -type f | xargs wc -l": none, "ls | xargs grep -r x": every, "find . -type d -exec grep -r x {} +": every,
		"rg -g '*.go' x": none, "rg --hidden -g '*v' x": ".env", "rg -g '*.go' -g '*v' x": ".env", "rg -g 'src/**' x": every, "rg -g '!*.go' x": every, "rg -g '{*.go,*v}' x": ".env",
		"rg -t go x": none, "rg -tgo -tpy x": none, "rg -t sh x": every, "rg -t all x": every, "rg -t go --type-add 'go:*v' x": every, "rg -t go -g '*v' x": ".env", "rg -T go x": every,
		"grep -r --include='*.go' x .": none, "grep -r --exclude-from=a --include='*.go' x .": every, "grep -r --include='*.go' --exclude-from=a x .": none, "grep -r --exclude=a --include='*.go' x .": every, "grep -r --include='*.go' --exclude=a x .": none, `ag -G '\.go$' x`: none, "ag -G '.*' x": every, "ag -G 'v$' x": ".env",
	} {
		var walk *Walk
		f := Analyze(line, Options{Dir: "/p"})
		for i := range f.Actions {
			if a := &f.Actions[i]; a.Kind == Read && a.Recursive && a.Path.Text == "/p" {
				w := a.Walk()
				walk = &w // the last one is that of the program that is given the names
			}
		}
		if walk == nil {
			t.Errorf("%s: no search", line)
			continue
		}
		var got []string
		for _, name := range strings.Fields(every) {
			if walk.Names(name) && !walk.Kept && !(walk.Visible && name[0] == '.') {
				got = append(got, name)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s reads %q, want %q", line, got, want)
		}
	}
}
