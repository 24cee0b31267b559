package permission

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/internal/tools"
	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// linked is a file system with links to protected files.
var linked = fakeFS{links: map[string]string{
	workspace + "/gitlink": workspace + "/.git", workspace + "/rc": home + "/.bashrc", workspace + "/ci": workspace + "/.github/workflows",
}}

// unspelt holds rules that allow writes, none of which names a protected file.
const unspelt = "Bash; Edit; Edit(*); Edit(**); Edit(./**); Edit(src/**); Edit(//**); Edit(~/**); Write; Write(**/*.json); Edit(.g[i]t/**); Edit(.gi?/**); Edit(.*/**); " +
	"Edit(*.yml); Edit(.github/**); Edit({.git,src}/**); Bash(cp:*); Bash(cp * *); Bash(git:*); Bash(touch *); Bash(cp x .github/*); Read(.git/**); Edit(.gitignore); Edit(.github/workflow/**)"

// A rule that does not spell out what is protected permits no write to it,
// whichever tool writes, in any mode.
func TestProtectedIsHeld(t *testing.T) {
	uses := []string{
		"Edit: .git/config", "Write: .git/hooks/pre-commit", "MultiEdit: .git/info/attributes", "NotebookEdit: .git/x.ipynb", "Edit: sub/.git/config",
		"Edit: .gitattributes", "Write: sub/.gitattributes", "Edit: .gitmodules", "Edit: .envrc", "Edit: .vscode/tasks.json", "Edit: .idea/runConfigurations/x.xml",
		"Write: .claude/agents/x.md", "Edit: .mcp.json", "Edit: .npmrc", "Edit: .yarnrc", "Edit: .yarnrc.yml", "Write: .github/workflows/ci.yml", "Edit: .gitlab-ci.yml",
		"Write: .circleci/config.yml", "Edit: Jenkinsfile", "Edit: azure-pipelines.yml", "Edit: bitbucket-pipelines.yml", "Edit: .travis.yml", "Edit: ~/.bashrc",
		"Edit: /home/dev/.zshrc", "Edit: ~/.config/fish/config.fish", "Edit: /etc/profile.d/x.sh", "Edit: .husky/pre-commit", "Edit: .pre-commit-config.yaml",
		// other spellings
		"Edit: .GIT/config", "Edit: .Git/Config", "Edit: ./.git/config", "Edit: x/../.git/config", "Edit: /home/dev/proj/.git/config", "Edit: ~/proj/.git/config",
		"Edit: .git//config", "Edit: .git/./config", "Edit: .git ", "Edit:  .envrc", "Edit: .envrc ", "Edit: .git./config", "Edit: .git /config", "Edit: GIT~1/config",
		"Edit: .git::$INDEX_ALLOCATION/config", "Edit: .g\u200cit/config", "Edit: .gIt\u200d/config", "Edit: .ſvn/x", "Edit: gitlink/config", "Edit: rc", "Edit: ci/x.yml",
		"Edit: JENKINSFILE", "Edit: src/HEAD",
		// command lines
		"Bash: echo x > .git/hooks/pre-commit", "Bash: echo x >> .envrc", "Bash: cp x .git/hooks/y", "Bash: cp -r x .git", "Bash: cp -t .git/hooks x", "Bash: mv x .git/hooks/y",
		"Bash: mv x .github", "Bash: mv .git x", "Bash: rm -r .git", "Bash: rm -r .github", "Bash: rm .github/workflows/ci.yml", "Bash: ln -s x .git/hooks/y", "Bash: ln -sf x .envrc",
		"Bash: install -m 755 x .git/hooks/y", "Bash: tee .git/config", "Bash: sed -i s/a/b/ .git/config", "Bash: tar xf a.tar -C .git", "Bash: unzip a.zip -d .git/hooks",
		"Bash: dd if=x of=.git/config", "Bash: touch .vscode/x", "Bash: mkdir -p .git/hooks", "Bash: chmod +x .git/hooks/pre-commit", "Bash: truncate -s 0 .git/config",
		"Bash: curl -o .git/hooks/x https://x.example/", "Bash: go build -o .git/hooks/pre-commit .", "Bash: rsync -a x/ .git/", "Bash: git archive -o .git/hooks/x HEAD",
		"Bash: git checkout -- .gitattributes", "Bash: git mv a .envrc", "Bash: git config -f .git/config core.pager x", "Bash: git config core.pager x",
		"Bash: git config --local difftool.x.path ./x", "Bash: git config --global core.hooksPath x", "Bash: cd .git && touch hooks/x", "Bash: cd .git/hooks; cp ../../x pre-commit",
		"Bash: d=.git; touch $d/hooks/x", "Bash: for d in .git x; do touch $d/y; done", "Bash: touch {.git,x}/y", "Bash: touch .gi?/x", "Bash: touch .g*/x", "Bash: touch .[g]it/x",
		"Bash: touch .g''it/x", "Bash: touch Jenkinsfil?", "Bash: touch Jenkins*", "Bash: echo x > ~/.bashrc", "Bash: echo x > $HOME/.profile", "Bash: touch gitlink/x",
		"Bash: find . -exec cp x .git/config \\;", "Bash: find . -type f -exec sed -i s/a/b/ {} +", "Bash: find . -type f -exec gofmt -w {} \\;", "Bash: sudo tee .git/config", "Bash: bash -c 'cp x .git/config'", "Bash: npm config set registry x", "Monitor: touch .git/x",
	}
	for _, mode := range []string{"default", "acceptEdits", "plan", "dontAsk", "bypassPermissions"} {
		s := spec{mode: mode, allow: unspelt, sessionAllow: unspelt, env: linked, unlisted: UnlistedDeny}
		want := map[string]Behavior{"plan": Deny, "dontAsk": Deny}[mode]
		for _, use := range uses {
			tool, text, _ := strings.Cut(use, ": ")
			d := s.decideOn(t, using(tool, text))
			if d.Behavior != max(want, Ask) || want == 0 && (!d.Held || d.Layer != LayerGuard) {
				t.Errorf("%s in mode %s: %s (%s)", use, mode, outcome(d), d.Reason)
			}
		}
	}
}

// Everyday work is not held.
func TestProtectedStaysQuiet(t *testing.T) {
	s := spec{allow: "Bash; Edit; Edit(.gitignore)", env: linked, unlisted: UnlistedDeny}
	for _, use := range []string{
		"Edit: .gitignore", "Edit: .github/ISSUE_TEMPLATE/x.md", "Edit: .github/CODEOWNERS", "Edit: src/.gitkeep", "Edit: gitattributes", "Edit: .gitattributesx", "Edit: x.envrc",
		"Edit: src/git/config", "Edit: docs/.gitbook", "Edit: head", "Edit: src/HEADER", "Edit: .config/x.json", "Edit: .local/share/x", "Edit: .yarn/cache/x", "Edit: library/x",
		"Edit: build/x", "Edit: .env", "Edit: package.json", "Edit: Makefile", "Edit: .claude/worktrees/agent-1/src/a.go", "Edit: .claude/worktrees/a/.claude/worktrees/b/x",
		"Edit: .eslintrc.json", "Edit: .prettierrc", "Edit: CLAUDE.md",
		"Bash: git init", "Bash: git init sub", "Bash: git clone https://x.example/y.git", "Bash: git commit -m x", "Bash: git remote add origin https://x.example/y.git",
		"Bash: git config user.name x", "Bash: git config --global user.email x", "Bash: git config --unset core.pager", "Bash: git worktree add ../wt", "Bash: git checkout main",
		"Bash: git checkout HEAD", "Bash: git checkout HEAD~1 a", "Bash: git stash pop", "Bash: git rm -r --cached .idea",
		"Bash: git bundle create x.bundle HEAD", "Bash: git add .gitattributes .github", "Bash: git diff .git", "Bash: cat .git/config", "Bash: ls .git/hooks", "Bash: cp .git/hooks/x /tmp/y",
		"Bash: gofmt -w .", "Bash: prettier --write .",
		"Bash: rm -rf build*", "Bash: sed -i s/a/b/ *.yml", "Bash: sed -i s/a/b/ c*.yaml", "Bash: touch \"$d/config\"", "Bash: cp x \"$f\"", "Bash: echo x > \"$OUT\"",
		"Bash: mkdir -p .config .github .local", "Bash: touch \"$DESTDIR/bin\"", "Bash: npm config set fund false", "Bash: rm -rf node_modules", "Bash: mkdir -p library/x", "Bash: mv x library",
		"Bash: echo x > /dev/null", "Bash: git config core.autocrlf input",
	} {
		tool, text, _ := strings.Cut(use, ": ")
		if d := s.decideOn(t, using(tool, text)); d.Behavior != Allow {
			t.Errorf("%s: %s (%s)", use, outcome(d), d.Reason)
		}
	}
}

// A rule in any layer that spells out what is protected permits a write to it,
// and nothing else.
func TestProtectedBySpelling(t *testing.T) {
	for _, tt := range []struct {
		rule, use string
		want      bool
	}{
		{"Edit(.git/config)", "Edit: .git/config", true},
		{"Edit(.git/config)", "Write: .git/config", true},
		{"Edit(.git/config)", "Edit: .git/hooks/x", false},
		{"Edit(.git/config)", "Edit: gitlink/config", false},
		{"Edit(gitlink/config)", "Edit: gitlink/config", false},
		{"Edit(.git/**)", "Edit: .git/hooks/x", true},
		{"Edit(**/.git/hooks/**)", "Edit: sub/.git/hooks/x", true},
		{"Write(.github/workflows/**)", "Write: .github/workflows/ci.yml", true},
		{"Write(.github/workflows/**)", "Edit: .github/workflows/ci.yml", false},
		{"Edit(.github/workflows/**)", "Edit: .github/workflows/.git/x", false},
		{"Edit(~/.bashrc)", "Edit: ~/.bashrc", true},
		{"Edit(//etc/profile.d/**)", "Edit: /etc/profile.d/x.sh", true},
		{"Edit(//etc/**)", "Edit: /etc/profile.d/x.sh", false},
		{"Edit(.envrc)", "Bash: echo x > .envrc", true},
		{"Edit(.git/**)", "Bash: cp x .git/hooks/y", true},
		{"Edit(src/HEAD)", "Edit: src/HEAD", true},
		{"Edit(.github/**)", "Bash: rm -r .github", false},
		{"Edit(.github)", "Bash: rm -r .github", true},
		{"Bash(rm -r .github)", "Bash: rm -r .github", true},
		{"Bash(mv x .github)", "Bash: mv x .github", true},
		{"Bash(cp x .git/hooks/y)", "Bash: cp x .git/hooks/y", true},
		{"Bash(cp x .git/hooks/y)", "Bash: cp x .git/hooks/z", false},
		{"Bash(cp * .git/hooks/*)", "Bash: cp x .git/hooks/y", true},
		{"Bash(cp * .git/hooks/*)", "Bash: cp x .git/config", false},
		{"Bash(cp .git/config:*)", "Bash: cp .git/config .git/hooks/x", false},
		{"Bash(cp x gitlink/y)", "Bash: cp x gitlink/y", false},
		{"Bash(tee .git/config)", "Bash: tee .git/config", true},
		{"Bash(echo x > .envrc)", "Bash: echo x > .envrc", true},
		{"Bash(echo x > .envrc)", "Bash: echo y > .envrc", false},
		{"Bash(git config core.pager less)", "Bash: git config core.pager less", true},
		{"Bash(git config core.pager less)", "Bash: git config core.pager x", false},
		{"Bash(git config:*)", "Bash: git config core.pager less", false},
		{"Edit(.git/config)", "Bash: git config core.pager less", true},
		{"Bash(git checkout -- .gitattributes)", "Bash: git checkout -- .gitattributes", true},
	} {
		tool, text, _ := strings.Cut(tt.use, ": ")
		for _, s := range []spec{
			{allow: "Bash; Edit; " + tt.rule}, {allow: "Bash; Edit", sessionAllow: tt.rule}, {allow: "Bash; Edit; " + tt.rule, mode: "bypassPermissions"},
			{sessionAllow: "Bash; Edit; " + tt.rule, mode: "acceptEdits"},
		} {
			s.env = linked
			if d := s.decideOn(t, using(tool, text)); (d.Behavior == Allow) != tt.want || !tt.want && !d.Held {
				t.Errorf("%s under %s in %q: %s (%s)", tt.use, tt.rule, s.mode, outcome(d), d.Reason)
			}
		}
		deny := spec{allow: "Bash; Edit; " + tt.rule, deny: "Edit; Bash", env: linked}
		if d := deny.decideOn(t, using(tool, text)); d.Behavior != Deny {
			t.Errorf("%s under a deny: %s", tt.use, outcome(d))
		}
	}
}

// Granular rules spell out by their paths, not by regular expressions or
// commands.
func TestProtectedByGranular(t *testing.T) {
	with := func(g patterns.GranularSpec) spec {
		g.Action = patterns.Allow
		return spec{allow: "Bash; Edit", rules: []patterns.GranularSpec{g}}
	}
	for _, s := range []spec{
		with(patterns.GranularSpec{Tools: []string{"Edit"}}),
		with(patterns.GranularSpec{Tools: []string{"Edit"}, Paths: []string{"**"}}),
		with(patterns.GranularSpec{Tools: []string{"Read"}, Paths: []string{".git/**"}}),
		with(patterns.GranularSpec{Tools: []string{"Bash"}, Patterns: []string{`^touch \.git/x$`}}),
		with(patterns.GranularSpec{Tools: []string{"Bash"}, Commands: []string{"touch .git/x"}}),
	} {
		check(t, s, row{"Edit: .git/x", "ask guard held"}, row{"Bash: touch .git/x", "ask guard held"})
	}
	s := with(patterns.GranularSpec{Tools: []string{"Edit", "Bash"}, Paths: []string{"src/**", ".git/**"}})
	check(t, s, row{"Edit: .git/x", "allow rules " + granularName(t, s.rules[0])}, row{"Edit: .envrc", "ask guard held"})
}

// A policy protects paths in addition to the table.
func TestPolicyProtects(t *testing.T) {
	s := spec{allow: "Bash; Edit; Edit(deploy.sh); Edit(infra/dev/**)", protect: []string{"Makefile", "infra/prod", "/srv/keys", "~/notes", "Deploy.sh/"}, env: fakeFS{links: map[string]string{workspace + "/m": workspace + "/Makefile", "/srv/keys": "/mnt/k"}}}
	for _, use := range []string{
		"Edit: Makefile", "Edit: sub/makefile", "Edit: infra/prod/x.tf", "Edit: a/infra/prod", "Bash: rm -r infra/prod", "Edit: /srv/keys/a", "Bash: echo x > /srv/keys", "Edit: ~/notes",
		"Edit: /mnt/k/a", "Edit: m", "Bash: mv x sub/infra/prod", "Bash: rm -r infra/prod/x", "Bash: touch Make*", "Edit: /home/dev/notes/x",
	} {
		check(t, s, row{use, "ask guard held"})
	}
	for _, use := range []string{"Edit: infra/dev/x.tf", "Edit: Makefile.am", "Edit: prod/x", "Edit: /srv/x", "Edit: notes", "Bash: mkdir infra", "Edit: infra/x"} {
		if d := s.decideOn(t, useOf(use)); d.Behavior != Allow {
			t.Errorf("%s: %s (%s)", use, outcome(d), d.Reason)
		}
	}
	check(t, s, row{"Edit: deploy.sh", "allow default Edit"})
	s.allow += "; Edit(Makefile); Edit(infra/prod/**); Edit(//srv/keys/**); Edit(//mnt/k/**)"
	check(t, s, row{"Edit: Makefile", "allow default Edit"}, row{"Edit: infra/prod/x", "allow default Edit"})
}

// The error for a meaningless entry says what to write.
func TestParseProtected(t *testing.T) {
	for text, want := range map[string]string{
		"": "names nothing", " ": "names nothing", "/": "names nothing", "~": "names nothing", "~/": "names nothing", "//": "names nothing",
		"*.pem": "patterns are not supported", "src/**": "patterns are not supported", "a?b": "patterns are not supported", "[a]": "patterns are not supported", "{a,b}": "patterns are not supported", `a\b`: "patterns are not supported",
		"../x": `"."`, "./x": `"."`, "a/../b": `"."`, "a//b": `"."`, "~/../x": `"."`, "~bob/x": "another user", "a\tb": "control character",
	} {
		if _, err := ParseProtected(text, place); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	for _, text := range []string{"Makefile", "deploy/prod", "deploy/", "/srv/x", "~/x", ".env", "a b", "x$y"} {
		if _, err := ParseProtected(text, place); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
	// Without a home it matches at any depth.
	p, err := ParseProtected("~/notes/x", patterns.Place{Workspace: workspace})
	if err != nil || p.path != "" || !named(shell.Word{Text: "/home/who/notes/x/y"}, p.names, false) {
		t.Errorf("%+v %v", p, err)
	}
}

// The reason names the file, why it is held, and the rule that would permit the
// write. Only an answer for this one use is offered.
func TestProtectedSays(t *testing.T) {
	s := spec{allow: "Bash; Edit", env: linked, protect: []string{".env"}}
	for use, want := range map[string]string{
		"Edit: .git/config":                 "it changes .git/config, which can change what other commands do (Edit(./.git/config) would allow it)",
		"Bash: touch .git/hooks/x":          "it changes .git/hooks/x, which can change what other commands do (Bash(touch .git/hooks/x) would allow it)",
		"Bash: echo x > ~/.bashrc":          "it changes /home/dev/.bashrc, which can change what other commands do (Edit(//home/dev/.bashrc) would allow it)",
		"Bash: git config core.pager less":  "it changes .git/config, which can change what other commands do (Bash(git config core.pager less) would allow it)",
		"Write: .aws/credentials":           "it changes .aws/credentials, which other programs read secrets or settings from (Edit(./.aws/credentials) would allow it)",
		"Edit: sub/.env":                    "it changes sub/.env, which other programs read secrets or settings from (Edit(./sub/.env) would allow it)",
		"Edit: gitlink/config":              "it changes .git/config, which can change what other commands do (only a rule that names it can allow it)",
		"Bash: touch .gi?/x":                "it may change .gi…/x, which can change what other commands do (only a rule that names it can allow it)",
		"Bash: touch .github/workflows/a*b": "it may change .github/workflows/a…b, which can change what other commands do (only a rule that names it can allow it)",
	} {
		d := s.decideOn(t, useOf(use))
		if !strings.HasPrefix(d.Reason, want) || !strings.Contains(d.Message, want) || !d.Held {
			t.Errorf("%s: %q", use, d.Reason)
		}
		for _, p := range d.Parts {
			if p.Sealed != heldPart || p.Exact != "" {
				t.Errorf("%s: a rule may be kept for %s", use, p.Action)
			}
		}
	}
	// The rule that it names permits the write.
	for _, use := range []string{"Edit: .git/config", "Edit: sub/.vscode/a b.json", "Write: .github/workflows/c[i]*.yml", "Edit: /etc/crontab", "Bash: cp x .envrc", "Bash: git config core.pager less"} {
		d := s.decideOn(t, useOf(use))
		_, rest, _ := strings.Cut(d.Reason, " (")
		rule, _, found := strings.Cut(rest, " would allow it")
		if then := (spec{allow: "Bash; Edit; " + rule}).decideOn(t, useOf(use)); !found || then.Behavior != Allow {
			t.Errorf("%s: %q, and with it %s", use, d.Reason, outcome(then))
		}
	}
}

// TestGuardSaysWhatIsTrue: a line is held for the policy file if it may change it, and not
// if it writes or removes files of other names beside it.
func TestGuardSaysWhatIsTrue(t *testing.T) {
	s := spec{mode: "acceptEdits", allow: "Bash; Edit", guarded: []string{workspace + "/agent-wrapper.toml", "/home/dev/state", "/home/dev/u.toml"}, risk: true}
	for _, tt := range []struct{ want, lines string }{
		{"", "gzip a.log | gzip -k src/a | gunzip a.log.gz | xz a | unxz a.xz | bzip2 a | zstd -d a.zst | zstd a | lz4 a b | pigz a.log | gunzip a.tgz | gzip -r logs | gzip -- *.log | gunzip -- *.log.gz"},
		{"", "find . -name '*.log' -delete | find . -type f -iname '*.LOG' -mtime +3 -delete | find . -name x -o -name '*.log' -delete | find . -name '*.log' -delete -o -print | find -name '*.log' -exec rm -f {} + | find . -name '*.orig' -exec unlink {} \\; | find . -maxdepth 1 -name 'tmp[0-9]*' -exec rm -rf {} \\;"},
		{"it changes", "gunzip agent-wrapper.toml.gz | gzip agent-wrapper.toml | unxz agent-wrapper.toml.xz | gzip -d ./agent-wrapper.toml.gz"},
		{"it may change", "gunzip -N a.gz | gunzip -S x agent-wrapper.tomlx | gzip -S .toml agent-wrapper | gunzip -- *.gz | gunzip -- *"},
		{"it may change", "find . -delete | find . -name '*.toml' -delete | find . -name 'agent*' -delete | find . -name '?gent-wrapper.*' -delete | find . -iname 'AGENT-WRAPPER.TOML' -delete | find . -delete -name '*.log' | find . -name '*.log' -o -delete | find . ! -name '*.log' -delete | find . -not -name '*.log' -delete"},
		{"it may change", "find . \\( -name '*.log' \\) -delete | find . -name '*.log' , -delete | find . -name \"$x\" -delete | find . -newer -name -o -delete | find . -name '*' -delete | find . -exec echo -name '*.log' \\; -delete | find . -samefile -name -delete"},
		{"it may change", "find . -type f -name '*.gz' -exec gunzip {} + | find . -type f -exec gzip {} + | find . -name '*.log' -exec truncate -s 0 {} + | find . -name '*.gz' -exec rm {}.toml \\; | find . -fprint -name '*.log' -delete"},
		{"it may change", "find /home/dev -name '*.log' -delete | git clean -fdx | gzip -r ."},
		{"it changes", "gzip -d agent-wrapper.toml.GZ | gzip -d agent-wrapper.toml-gZ | pigz -d agent-wrapper.toml.zz | pigz -d agent-wrapper.toml.ZIP"},
		{"it may change", "find . -name '[[=a=]]gent-wrapper.toml' -delete | find . -name '[[.a.]]*' -delete | find -L . -delete | find . -follow -name '*.toml' -delete"},
		{"it may change", "find . -name settings.json -delete | find sub -name 'settings.*' -exec rm {} + | find . -iname SETTINGS.local.json -delete"},
	} {
		for line := range strings.SplitSeq(tt.lines, " | ") {
			d := s.decideOn(t, using("Bash", line))
			guards := strings.Contains(d.Reason, "which decides what the agent may do")
			if guards != (tt.want != "") || !strings.HasPrefix(d.Reason, tt.want) {
				t.Errorf("%s: %v %s", line, d.Behavior, d.Reason)
			}
		}
	}
}

// TestSearchesFindProtected: a search that changes what it finds names no directory, so that
// only the names tell whether something protected is among it.
func TestSearchesFindProtected(t *testing.T) {
	for line, held := range map[string]bool{
		"find . -name config -delete": true, "find . -name 'pre-*' -delete": true, "find sub -name .npmrc -exec rm {} +": true,
		"find . -iname Post-Checkout -exec unlink {} \\;": true, "find . -name launch.json -delete": true,
		"find . -name '*.log' -delete": false, "find . -name '*.pyc' -delete": false, "find . -name .DS_Store -delete": false, "find . -name 'x.*' -exec rm {} +": false,
	} {
		d := spec{allow: "Bash", risk: true}.decideOn(t, using("Bash", line))
		if held != (d.Behavior == Ask) || held && !strings.Contains(d.Reason, "which can change what other commands do") {
			t.Errorf("%s: %v %s", line, d.Behavior, d.Reason)
		}
	}
}

// TestSaysHere: a reason says of a request to this machine that it is one, and of no other.
func TestSaysHere(t *testing.T) {
	for lines, want := range map[string]string{
		"curl -X DELETE localhost:9200/_all | wget --method=DELETE http://127.0.0.1:9200/x":                                                                                                "sends a request to this machine (DELETE)",
		"curl -d x http://127.0.0.1:3000/x | curl -d x 'http://[::1]/' | curl -d x LOCALHOST":                                                                                              "sends a request to this machine (POST)",
		"curl -X DELETE localhost.example.com | curl -X DELETE localhost@example.com | curl -X DELETE localhost example.com | curl -X DELETE \"localhost:80$x\" | curl -X DELETE 10.0.0.1": "reaches another host",
	} {
		for line := range strings.SplitSeq(lines, " | ") {
			d := spec{risk: true}.decideOn(t, using("Bash", line))
			if d.Behavior != Ask || !strings.Contains(d.Reason, want+": run ") {
				t.Errorf("%s: %v %s", line, d.Behavior, d.Reason)
			}
		}
	}
}

// An attack that ran code without any rule for a command: an edit of the
// repository's settings, then a subagent in a worktree.
func TestWorktreeOverEditedSettings(t *testing.T) {
	s := spec{allow: "Read; Edit; Write", unlisted: UnlistedDeny}
	check(t, s,
		row{"Edit: .git/config", "ask guard held"},
		row{"Write: .git/hooks/post-checkout", "ask guard held"},
		row{"Edit: .gitattributes", "ask guard held"},
		row{`Agent: {"prompt":"p","isolation":"worktree"}`, "deny allow-list"},
	)
}

// Under rules that spell out no protected file, in every mode and with session
// rules, no write to one is allowed, whatever the tool and the spelling of the
// path.
func TestProtectedProperty(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := spec{
			mode:         rapid.SampledFrom([]string{"default", "acceptEdits", "dontAsk", "plan", "bypassPermissions"}).Draw(rt, "mode"),
			allow:        strings.Join(pick(rt, "allow", strings.Split(unspelt, "; "), 6), "; "),
			sessionAllow: strings.Join(pick(rt, "session", strings.Split(unspelt, "; "), 3), "; "),
			rules:        rapid.SliceOfN(rapid.SampledFrom(looseGranulars), 0, 2).Draw(rt, "rules"),
			unlisted:     Unlisted(rapid.IntRange(0, 3).Draw(rt, "unlisted")),
			risk:         rapid.Bool().Draw(rt, "risk"),
			protect:      []string{"Makefile", "infra/prod"},
			env:          linked,
		}
		target := rapid.SampledFrom(protectedTargets).Draw(rt, "target")
		use := drawWrite(rt, target)
		if d := s.decideOn(t, use); d.Behavior == Allow {
			rt.Fatalf("%s %s is allowed: %s", use.Tool, use.Input, d.Reason)
		}
	})
}

var looseGranulars = []patterns.GranularSpec{
	{Tools: []string{"Edit"}, Action: patterns.Allow},
	{Tools: []string{"Bash"}, Action: patterns.Allow},
	{Tools: []string{"Edit", "Bash"}, Paths: []string{"**"}, Action: patterns.Allow},
	{Tools: []string{"Bash"}, Commands: []string{"cp", "touch", "git"}, Action: patterns.Allow},
	{Tools: []string{"Bash"}, Patterns: []string{".*"}, Action: patterns.Allow},
}

// protectedTargets holds protected directories, each with a file below it.
var protectedTargets = [][2]string{
	{".git", "config"}, {".git", "hooks/pre-commit"}, {".git/hooks", "x"}, {".git/info", "attributes"}, {".vscode", "tasks.json"}, {".idea", "x.xml"},
	{".claude", "agents/x.md"}, {".github/workflows", "ci.yml"}, {".circleci", "config.yml"}, {".husky", "pre-commit"}, {"sub/.git", "config"},
	{".config/fish", "config.fish"}, {"infra/prod", "x.tf"}, {"a/infra/prod", "x"},
}

// drawWrite draws a tool use that writes a target.
func drawWrite(t *rapid.T, target [2]string) ToolUse {
	tool := rapid.SampledFrom([]string{"Bash", "Bash", "Bash", "Monitor", "Edit", "Write", "MultiEdit", "NotebookEdit"}).Draw(t, "tool")
	name, commands := target[0]+"/"+target[1], fileWriters
	if tools.Builtin(tool).Does != tools.Command {
		return using(tool, rapid.SampledFrom(append(paths(name), name+" ", " "+name, name+".")).Draw(t, "path"))
	}
	around, words := places, spellings(name)
	switch rapid.IntRange(0, 2).Draw(t, "kind") {
	case 1:
		name, commands = target[0], dirWriters
		words = spellings(name)
	case 2: // a path of one word, in this shell, with a known directory
		name, commands, around = target[0], movers, places[:5]
		words = spellings(name)[5:]
	}
	line := strings.ReplaceAll(rapid.SampledFrom(commands).Draw(t, "command"), "%", rapid.SampledFrom(words).Draw(t, "name"))
	return using(tool, strings.ReplaceAll(rapid.SampledFrom(around).Draw(t, "place"), "%", line))
}

// paths returns ways to name a file.
func paths(file string) []string {
	return []string{
		file, "./" + file, "x/../" + file, workspace + "/" + file, "~/proj/" + file, "/home/dev/x/../proj/" + file, strings.ToUpper(file), strings.ReplaceAll(file, "/", "//"),
		strings.ReplaceAll(file, "/", "/./"), behindLink(file), strings.Replace(file, ".git/", ".git./", 1),
	}
}

// behindLink returns a name of a file in the repository that leads through a
// link to it.
func behindLink(file string) string {
	if rest, ok := strings.CutPrefix(file+"/", ".git/"); ok {
		return strings.TrimSuffix("gitlink/"+rest, "/")
	}
	return file
}

// Commands that write a file, commands that write into a directory or remove
// it, and places of a command in a line. "%" is their target.
var (
	fileWriters = []string{
		"echo x > %", "echo x >> %", "cat x >| %", "echo x | tee %", "tee -a %", "cp x %", "cp -f -- x %", "mv x %", "install -m 755 x %", "ln -sf x %", "ln x %", "touch %", "truncate -s 0 %",
		"sed -i s/a/b/ %", "sed --in-place=.bak s/a/b/ %", "dd if=x of=%", "sort -o % x", "curl -o % https://x.example/", "wget -O % https://x.example/", "go build -o % .",
		"gcc -o % x.c", "rm %", "rm -f %", "unlink %", "chmod +x %", "git checkout -- %", "git mv x %", "git config -f % core.pager x", "patch %", "sponge %", "git archive -o % HEAD",
	}
	dirWriters = []string{"cp x %/", "cp -t % x", "cp -r x %", "mv x y %", "mv -t % x", "rm -r %", "mv % x", "tar xf a.tar -C %", "unzip a.zip -d %", "rsync -a x/ %/"}
	movers     = []string{"cd % && touch x", "cd % && echo x > y", "cd -- % && cp z .", "cd %; tee x", "pushd % && touch x", "git -C % mv a x"}
	places     = []string{"%", "ls; %", "ls && % || true", "(%)", "if true; then %; fi", "for i in a; do %; done", "sudo -n bash -c \"%\"", "timeout 5 nice %", "echo $(%)"}
)

// spellings returns ways to write a file's path in a line. The first ones may
// give several words, or a path that is only known at run time.
func spellings(file string) []string {
	n := len(file) - 1
	return append([]string{
		file[:n] + "{" + file[n:] + "," + file[n:] + "}", file[:n] + "?" + file[n+1:], file[:n] + "[" + file[n:n+1] + "]" + file[n+1:], "$PWD/" + file, `"${PWD}/` + file + `"`,
		"'" + file + "'", `"` + file + `"`, file[:2] + "''" + file[2:], file[:n] + `\` + file[n:], "$'" + file + "'",
	}, paths(file)...)
}

// The lines of the property write their targets; otherwise it would prove
// nothing.
func TestPropertyLines(t *testing.T) {
	for _, command := range append(slices.Clone(fileWriters), dirWriters...) {
		line := strings.ReplaceAll(command, "%", "a/b")
		f := shell.Analyze(line, shell.Options{Dir: workspace, Home: home, Workspace: workspace})
		if !slices.ContainsFunc(f.Actions, func(a shell.Action) bool { return a.Kind == shell.Write && strings.Contains(a.Path.Text, "a/b") }) {
			t.Errorf("%q writes nothing there", line)
		}
	}
}

// No rule of the property spells out what is protected.
func TestUnspelt(t *testing.T) {
	for _, target := range protectedTargets {
		names := strings.Split(target[0], "/")
		for _, rule := range parseRules(t, patterns.Allow, unspelt, "") {
			set := patterns.NewSet(place, rule)
			sub := patterns.Subject{Kind: patterns.WritePath, Tool: "Write", Path: patterns.NewPath(shell.Word{Text: target[0] + "/" + target[1]}, workspace, place, linked.Resolve)}
			if _, m := set.Match(&sub, patterns.Query{Named: []patterns.Named{{Names: names[len(names)-1:], Least: 1}}}); m == patterns.Yes {
				t.Errorf("%s spells %s", rule, target[0])
			}
		}
	}
}

// useOf returns the tool use of a row: "Edit: a.go".
func useOf(text string) ToolUse {
	tool, text, _ := strings.Cut(text, ": ")
	return using(tool, text)
}

// TestWorktreeIsFree: in a copy of the workspace the mode says what it says in the
// workspace, and no more: not about what is protected there, not about what only may be a
// copy, and not about what lies beside it.
func TestWorktreeIsFree(t *testing.T) {
	check(t, spec{mode: "acceptEdits"},
		row{"Edit: .claude/worktrees/a/src/x.go", "allow mode"},
		row{"Bash: mkdir .claude/worktrees/a/src", "allow mode"},
		row{"Bash: d=.claude; touch $d/worktrees/a/x", "allow mode"},
		row{"Edit: .claude/worktrees/a/.claude/worktrees/b/x", "allow mode"},
		row{"Edit: .claude/worktrees/a/.git", "ask guard held"},
		row{"Edit: .claude/worktrees/a/.git/hooks/x", "ask guard held"},
		row{"Edit: .claude/worktrees/a/.envrc", "ask guard held"},
		row{"Edit: .claude/worktrees/a/.claude/settings.json", "ask guard held"},
		row{"Edit: .claude/worktrees/a/.claude/agents/x.md", "ask guard held"},
		row{"Edit: .claude/worktrees/a/agent-wrapper.toml", "ask guard held"},
		row{"Edit: .claude/worktrees/../agents/x.md", "ask guard held"},
		row{"Edit: .claude/agents/x.md", "ask guard held"},
		row{"Edit: .git/worktrees/a/gitdir", "ask guard held"},
		row{"Edit: /other/.claude/worktrees/a/x", "ask default"},
	)
	for _, line := range []string{"touch $d/worktrees/a/x", "touch .claude/worktrees/$d/x", "touch .claude/*/a/x", "touch .c*/worktrees/a/agents"} {
		if d := (spec{mode: "acceptEdits"}).decideOn(t, using("Bash", line)); d.Behavior == Allow {
			t.Errorf("%s: %s (%s)", line, outcome(d), d.Reason)
		}
	}
}

// TestNoWorktreeInProtected: what lies in a protected directory is no copy of the workspace,
// whatever its name, and neither mode nor a rule that does not spell the directory out is
// about it. Nor are they about the name of a copy itself.
func TestNoWorktreeInProtected(t *testing.T) {
	places := []string{".claude", ".claude/agents", ".claude/commands", ".claude/worktrees/a/.claude/agents"}
	for _, paths := range protectedNames() {
		for _, names := range paths {
			places = append(places, strings.Join(names, "/"))
		}
	}
	for _, place := range places {
		if strings.Contains(place, "*") {
			continue
		}
		for _, s := range []spec{{mode: "acceptEdits"}, {allow: "Edit(**)"}} {
			for _, use := range []ToolUse{using("Edit", place+"/.claude/worktrees/x/y.md"), using("Bash", "touch '"+place+"/.claude/worktrees/x/y.md'"), using("Edit", ".claude/worktrees/x")} {
				if d := s.decideOn(t, use); d.Behavior == Allow {
					t.Errorf("%s %s: %s (%s)", use.Tool, use.Input, outcome(d), d.Reason)
				}
			}
		}
	}
}

// TestRulesInWorktrees: a rule that asks or denies is about the copy of what it names, and
// one that allows is not.
func TestRulesInWorktrees(t *testing.T) {
	s := spec{mode: "acceptEdits", deny: "Edit(src/secret/**); Read(./.env)", ask: "Edit(docs/*.md)", allow: "Edit(.github/workflows/*)", unlisted: UnlistedRisk}
	check(t, s,
		row{"Edit: .claude/worktrees/a/src/x.go", "allow mode"},
		row{"Edit: .claude/worktrees/a/src/secret/x.go", "deny deny-list Edit(src/secret/**)"},
		row{"Edit: .claude/worktrees/a/.claude/worktrees/b/src/secret/x.go", "deny deny-list Edit(src/secret/**)"},
		row{"Bash: cat .claude/worktrees/a/.env", "deny deny-list Read(./.env)"},
		row{"Read: .claude/worktrees/a/.env", "deny deny-list Read(./.env)"},
		row{"Edit: .claude/worktrees/a/docs/x.md", "ask ask-list Edit(docs/*.md)"},
		row{"Edit: .claude/worktrees/a/.github/workflows/x.yml", "ask guard held"},
		row{"Edit: .claude/worktree/a/src/secret/x.go", "ask guard held"},
		row{"Read: src/.env", "allow default"},
	)
}

// TestSessionWorktrees: a copy of the session's own counts as the workspace, wherever it
// is, until the session says otherwise; deny rules hold there.
func TestSessionWorktrees(t *testing.T) {
	s := spec{mode: "acceptEdits", deny: "Edit(//repo/*.key)"}
	p, session := s.policy(t), NewSession(place)
	v := &Evaluator{Policy: p, Session: session, Env: linked}
	of := func(use string) string {
		tool, text, _ := strings.Cut(use, ": ")
		d := v.Explain(using(tool, text), nil)
		return d.Behavior.String()
	}
	for _, tt := range []struct {
		dirs []string
		want string
	}{
		{nil, "ask ask ask ask deny"}, {[]string{"/repo/.claude/worktrees/a"}, "allow ask allow ask deny"}, {nil, "ask ask ask ask deny"},
	} {
		session.Worktrees(tt.dirs...)
		session.Scratch("/run/scratch")
		var got []string
		for _, use := range []string{
			"Edit: /repo/.claude/worktrees/a/x.go", "Edit: /repo/.claude/worktrees/b/x.go", "Bash: mkdir /repo/.claude/worktrees/a/d", "Edit: /repo/x.go", "Edit: /repo/.claude/worktrees/a/x.key",
		} {
			got = append(got, of(use))
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%q: %q, want %q", tt.dirs, got, tt.want)
		}
	}
}
