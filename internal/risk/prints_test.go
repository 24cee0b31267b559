package risk

import (
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
	"github.com/agent-wrapper/agent-wrapper/internal/shell"
)

// TestPrints checks that a query for the version or the help is safe and does nothing else,
// and that another word, another program of that name or a program that obeys its project
// first is not taken for one.
func TestPrints(t *testing.T) {
	t.Parallel()
	for line, safe := range map[string]bool{
		"node -v": true, "java -version": true, "perl -v": true, "deno --version": true, "tmux -V": true, "vim --version": true, "elixir --version": true,
		"gcc -v": true, "gh version": true, "wget -h": true, "7z l a.7z": true, "ffprobe x.mp4": true, "javac --version": true, "swift --version": true,
		"javac -version A.java": false, "node -v x.js": false, "perl -v -e 1": false, "perl -ve 1": false, "./node -v": false, "tsc -v -p .": false,
		"yarn -v": false, "pnpm -v": false, "poetry --version": false, "mvn -v": false, "pytest --version": false, "7z x a.7z": false, "7z a a.7z b": false,
		"unar l": false, "ffprobe https://example.org/x.mp4": false, "vim -v": false, "gcc -v a.c": false, "node $V": false,
		"cargo --version": true, "go version": true, "python3 --version": true, "git --version": true, "cargo -V": true, "cargo build --help": true,
		"mix --version": true, "vagrant --version": true, "screen -v": true, "rr --version": true, "npm help": true, "npm install --help": true,
		// These run, load or install something before they print, or do not print.
		"mix --help": false, "vagrant --help": false, "vagrant up --help": false, "hg --version": false, "fish --help": false, "erl --version": false,
		"cargo +nightly-2020-01-01 --version": false, "cargo +nightly -V": false, "cargo +nightly help": false, "npm help install": false,
		"dtach -v": false, "zellij -v": false, "pwndbg -v": false, "rr -v": false, "runghc -V": false, "gdb -v": false, "apt-cache gencaches": false, "ffprobe tcp:h.example:80": false, "duckdb -version": false, "ip -h": false,
	} {
		facts := shell.Analyze(line, shell.Options{Dir: "/w", Workspace: "/w", Home: "/home/dev"})
		worst := Safe
		for _, f := range Each(facts, Default) {
			worst = max(worst, f.Class)
		}
		if (worst == Safe) != safe {
			t.Errorf("%s: %v", line, worst)
		}
		if safe && facts.Actions[0].Prints && len(facts.Actions) != 1 {
			t.Errorf("%s does more: %v", line, facts.Actions[1:])
		}
	}
	for p := range program.Builtin {
		if len(p.Prints) > 0 && p.Facts&program.ObeysProject != 0 {
			t.Errorf("%s obeys its project before it prints", p.Name)
		}
	}
}
