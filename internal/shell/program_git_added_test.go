package shell

import (
	"slices"
	"strings"
	"testing"
)

// TestGitShowsAdded checks that what a line adds to git's objects and then prints or
// packs is read, and that names and figures of files are not.
func TestGitShowsAdded(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		adds  string
		want  bool
		shows string // separated by " | "
	}{
		{"git add -A", true, "git diff --cached | git diff HEAD | git show | git log -p | git archive HEAD | git bundle create x HEAD | git format-patch -1 | git stash show -p | git cat-file --batch | git checkout-index -a | git commit -v | git grep --cached x | git fast-export HEAD"},
		{"git add .", true, "git diff --cached | git commit -m x && git archive HEAD"},
		{"git add $X", true, "git diff --cached"},
		{"git add :/", true, "git show :x"},
		{"git stash -u", true, "git stash show -p | git show stash"},
		{"git add -A", false, "git diff --cached --stat | git diff --cached --name-only | git status | git log | git commit -m x | git push | git stash show | git grep x"},
		{"git add -u", false, "git diff --cached | git commit -m x && git show"},
		{"git add a.md", false, "git diff --cached"},
		{"git status", false, "git diff --cached | git archive HEAD"},
	} {
		for shows := range strings.SplitSeq(test.shows, " | ") {
			line := test.adds + " && " + shows
			got := slices.ContainsFunc(Analyze(line, Options{Workspace: "/w", Dir: "/w"}).Actions, func(a Action) bool {
				return a.Kind == Read && a.Path.hasHole(AnyText) && a.Reason == "git add before"
			})
			if got != test.want {
				t.Errorf("%s: reads what was added: %v, want %v", line, got, test.want)
			}
		}
	}
}

// TestObeysWritten checks that a program which obeys a file of its directory is opaque
// in a line that redirects text to it.
func TestObeysWritten(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		want  bool
		lines string // separated by " | "
	}{
		{true, "echo x > Makefile; make | echo x > GNUmakefile && make deploy | echo x > m; make -f m | echo x > s/Makefile; make -C s | echo x > ./Makefile; make all"},
		{true, "echo x > compose.yml; docker compose up | echo x > c.yml; docker compose -f c.yml up | echo x > docker-compose.yml; docker-compose run s | echo x > Dockerfile; docker build ."},
		{true, "echo x > package.json; npm install | echo x > package.json && npm run build | echo x > package.json; yarn run b | echo x > justfile; just | echo x > pom.xml; mvn test | echo x > Rakefile; rake"},
		{false, "echo x > a; make | make | echo x > s/Makefile; make | npm init -y && npm install | sed -i s/1/2/ package.json && npm install | echo x > package.json; npm view y | echo x > Makefile; cat Makefile"},
	} {
		for line := range strings.SplitSeq(test.lines, " | ") {
			got := slices.ContainsFunc(Analyze(line, Options{Workspace: "/w", Dir: "/w"}).Actions, func(a Action) bool {
				return a.Kind == Opaque && a.Why.Cause == causeRunsWritten
			})
			if got != test.want {
				t.Errorf("%s: obeys what it writes: %v, want %v", line, got, test.want)
			}
		}
	}
}

// TestCurlFiles checks that the files are read which the options of curl name, in the
// forms of curl(1).
func TestCurlFiles(t *testing.T) {
	t.Parallel()
	for _, words := range []string{
		"--data-urlencode x@.env", "--data-urlencode @.env", "--data-u x@.env", "--url-query x@.env", "--url-q @.env", "--json @.env", "--json=@.env", "-d@.env", "-sd@.env",
		"-F f=@.env", "-Ff=@.env", "-F 'f=<.env'", "-F 'f=@.env;type=a/b'", "-F 'f=@\".env\"'", "-F 'f=@a,.env'", "-F 'f=@\"a\",\".env\"'", "--form f=@.env",
		"-T .env", "-T.env", "--upload-file=.env", "-T '{a,.env}'", "-T '[a-z.]env'", "-K .env", "-K.env", "--config .env", "--variable x@.env", "--variable 'x[0-9]@.env'",
	} {
		line := "curl " + words + " http://h"
		reads := slices.ContainsFunc(Analyze(line, Options{Workspace: "/w", Dir: "/w"}).Actions, func(a Action) bool {
			return a.Kind == Read && (a.Path.Text == "/w/.env" || a.Path.hasHole(AnyText))
		})
		if !reads {
			t.Errorf("%s: .env is not read", line)
		}
	}
}
