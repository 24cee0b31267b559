package shell

import (
	"strings"
	"testing"
)

// TestEffectsFound lists effects of real programs that the effects test
// (internal/test/effects) found to be missing.
func TestEffectsFound(t *testing.T) {
	tests := []struct{ line, want string }{ // "want" is one of the actions
		{"find -O2 /x -delete", "write /x"},
		{"find -D exec /x -delete", "write /x"},
		{"find -- /x -delete", "write /x"},
		{"find -L sub -delete", "write …"},
		{"find -files0-from f -delete", "write …"},
		{"find -files0-from f -exec rm {} +", "write …"},
		{"find -files0-from f", "unproven"},
		{"find sub -follow -exec rm {} +", "write …"},
		{"gzip sub/a.txt", "write /p/sub/a.txt.gz"},
		{"gunzip a.gz", "write /p/a"},
		{"gunzip a", "write /p/a.gz"},
		{"gunzip sub/a.tgz", "write /p/sub/a.tar"},
		{"gunzip -N a.gz", "write /p/…"},
		{"gzip -d -S .x a.x", "write /p/…"},
		{"xz -dS x a.bx", "write /p/…"},
		{"xz --unlisted a.xz", "write /p/…"},
		{"gunzip -- *.tgz", "write /p/….tar"},
		{"gunzip -- a*z", "write /p/a…"},
		{"gunzip -- a*", "write /p/a…"},
		{"gunzip -- *", "write /p/…"},
		{"gunzip $x", "write …"},
		{"find sub -type f -exec gunzip {} +", "write ……"},
		{"bunzip2 a.tbz2", "write /p/a.tar"},
		{"xz -k ../a", "write /p/../a.xz"},
		{"lzma a", "write /p/a.lzma"},
		{"brotli a", "write /p/a.br"},
		{"lzop a", "write /p/a.lzo"},
		{"pigz -K a", "write /p/…"},
		{"zstd -d sub/x.zst", "write /p/sub/x"},
		{"zstd -- \"$x/a\"", "write …/a.zst"},
		{"zstd --trace t a", "write /p/t"},
		{"unzip -d out a.zip", "write /p/out/…"},
		{"unzip -d out a.zip", "write /p/out/…/…"},
		{"mktemp -p /x", "write /x/…"},
		{"mktemp --tmpdir=/x", "write /x/…"},
		{"mktemp -t x.XXX", "write /tmp/…"},
		{"mktemp out/x.XXX", "write /p/out/…"},
		{"zstd --filelist=l", "write …"},
		{"xz --files=l", "write …"},
		{"tar -C sub -cf ../x .", "write /p/../x"},
		{"tar -C sub -g ../x -cf y .", "write /p/../x"},
		{"make -C sub", "run make -C sub"},
		{"sed -i.bak s/a/b/ x", "write /p/x.bak"},
		{"sed --in-place='<*' s/a/b/ d/x", "write /p/d/…"},
		{"uniq -- sub/*", "write /p/sub/…"},
		{"chmod -- sub/*", "write /p/sub/…"},
		{"mv -- sub/*", "write /p/sub/…/…"},
		{"cp sub/*", "write /p/sub/…/…"},
		{"rsync sub/*", "write /p/sub/…"},
		{"rsync -e 'c1 x' a h:b", "run c1 x ./…"},
		{"rsync -e 'c1 \"x y\"' a h:b", "opaque"},
		{"tar -I 'c1 -9' -cf x y", "run c1 -9 ./…"},
		{"git difftool -x rm HEAD", "write /p/./…"},
		{"git mv a /x/b", "write /x/b"},
		{"git diagnose -o /x", "write /x/…"},
		{"git format-patch -o /x HEAD~1", "write /x/…"},
		{"git mailinfo /x/m y", "write /x/m"},
		{"git merge-file a b c", "write /p/a"},
		{"git unpack-file HEAD:a", "write /p/…"},
		{"git pack-objects /x/p", "write /x/…"},
		{"git index-pack /x/p.pack", "write /x/…"},
		{`cd "$x/.git" && touch y`, "write …/.git/y"},
		{`cd "$x/a/../.git/$z" && touch y`, "write …/.git/…/y"},
		{"cd .g* && touch y", "write …/.g…/y"},
		{"pushd .git && touch y", "write …/.git/y"},
		{"pushd .git && touch y", "write /p/.git/y"},
		{"pushd a/../.git && touch y", "write …/.git/y"},
		{"pushd +1 && touch y", "write …/y"},
		{"cd - && touch y", "write …/y"},
		{"echo x > a{b,c}", "write /p/ab"},
		{"echo x > a{b,c}", "write …"},
		{"patch ../x y.diff", "write /p/../x"},
		{"git bundle create ../x HEAD", "write /p/../x"},
		{"git config --global a.b c", "write /h/.gitconfig"},
		{"git config --system --unset a.b", "write /etc/gitconfig"},
		{"flock /x/l true", "write /x/l"},
		{"flock 9 true", "write /p/9"},
		{"flock /x/l -c true", "write /x/l"},
		{"sed 'v 4.2;w /x/o' a", "write /x/o"},
		{"env -iu A c1", "run c1"},
		{"env - c1", "run c1"},
		{"env -uA -C /x ./c1", "run ./c1"},
		{"env --split='c1 x'", "opaque"},
		{"env -iS 'c1 x'", "opaque"},
		{"env --none c1", "opaque"},
		{"tree -R -L 1 -H .", "unproven"},
		{"git rev-list -O -* HEAD", "unproven"},
		{"xxd a -o", "write /p/-o"},
		{"git fetch 'u@[2001:db8::1]:x'", "fetch ssh://[2001:db8::1]/"},
	}
	for _, tt := range tests {
		f := Analyze(tt.line, Options{Dir: "/p", Home: "/h"})
		var got []string
		found := false
		for i := range f.Actions {
			text := summary(&f.Actions[i])
			got = append(got, text)
			found = found || text == tt.want || tt.want == "unproven" && f.Actions[i].Unproven()
		}
		if !found {
			t.Errorf("%s: no %q among %s", tt.line, tt.want, strings.Join(got, ", "))
		}
	}
}

// TestNoEffect checks that no write is derived from words that only look like one.
func TestNoEffect(t *testing.T) {
	for _, line := range []string{
		"git bundle create - HEAD", "gzip -c a.txt", "xz -t a.xz", "unzip -l a.zip", "zstd -l a", "flock -u 9", "git config --global user.name",
		"git config --global --get user.name", "git config get --global user.name", "git merge-file -p a b c", "git pack-objects --stdout", "find -L . -name a", "mktemp -d", "mktemp -u x.XXX", "xz -t --files=l", "env - A=1",
	} {
		f := Analyze(line, Options{Dir: "/p", Home: "/h"})
		for i := range f.Actions {
			if a := &f.Actions[i]; a.Kind == Write || a.Kind == Opaque {
				t.Errorf("%s: %s", line, summary(a))
			}
		}
	}
}

func summary(a *Action) string {
	switch a.Kind {
	case Command:
		text := "run"
		for i := range a.Words {
			text += " " + show(&a.Words[i])
		}
		return text
	case Read:
		return "read " + show(&a.Path)
	case Write:
		return "write " + show(&a.Path)
	case Opaque:
		return "opaque"
	}
	return "fetch " + show(&a.Path)
}

// TestSweep checks that recursive writes are sweeps, except those of formatters.
func TestSweep(t *testing.T) {
	for line, want := range map[string]bool{"find . -delete": true, "gzip -r .": true, "chown -R x .": true, "rm -r .": true, "gofmt -w .": false, "prettier --write .": false} {
		f := Analyze(line, Options{Dir: "/p"})
		got := false
		for i := range f.Actions {
			got = got || f.Actions[i].Sweep
		}
		if got != want {
			t.Errorf("%s: Sweep is %v", line, got)
		}
	}
}

// TestNoFollow checks that rm removes a link itself whereas chmod follows it.
func TestNoFollow(t *testing.T) {
	for line, want := range map[string]bool{"rm *": true, "rm e/*": true, "rm -r */": false, "rmdir *": true, "unlink a*": true, "mv * d": true, "chmod 644 *": false, "touch *": false, "mv x *": false, "cp x *": false} {
		f := Analyze(line, Options{Dir: "/p"})
		got := false
		for i := range f.Actions {
			if a := &f.Actions[i]; a.Kind == Write && a.Path.hasHole(Glob) && strings.HasPrefix(a.Path.Text, "/p/") && !strings.HasPrefix(a.Path.Text, "/p/d") {
				got = got || a.NoFollow
			}
		}
		if got != want {
			t.Errorf("%s: NoFollow is %v", line, got)
		}
	}
}

// TestFoldersOnTheWay checks that mkdir -p creates directories that it only passes
// through.
func TestFoldersOnTheWay(t *testing.T) {
	for line, want := range map[string]string{
		"mkdir -p out/../n ./-o":   "run mkdir; write /w/out; write /w/out/../n; write /w/./-o",
		"mkdir --par a/../b/../c":  "run mkdir; write /w/a; write /w/a/../b; write /w/a/../b/../c",
		"mkdir out/../n":           "run mkdir; write /w/out/../n",
		"install -d a/../b":        "run install; write /w/a; write /w/a/../b",
		"install -D x a/../b":      "run install; write /w/a; read /w/x; write /w/a/../b; write /w/a/../b/x",
		"install x a/../b":         "run install; read /w/x; write /w/a/../b; write /w/a/../b/x",
		"mkdir -p .git/hooks/../x": "run mkdir; write /w/.git/hooks; write /w/.git/hooks/../x",
	} {
		if got := effectsOf(line, nil); got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}
