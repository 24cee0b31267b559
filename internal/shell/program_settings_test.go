package shell

import (
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
)

// TestSettings checks that a setting of a program is opaque unless the catalogue
// says that it is harmless, in every form in which it can be told.
func TestSettings(t *testing.T) {
	for _, line := range []string{
		"npm config set unheard x", "npm config set unheard=x", "npm config set save-exact=true script-shell=./x", "npm c set unheard x", "npm set unheard x",
		"npm -g config set --location user unheard x", "npm config set @scope:registry https://x", "npm config set $k x", "npm --config.x=y test",
		"pnpm --config.unheard=y test", "pnpm config set unheard x", "yarn config set yarnPath ./x", "yarn config set 'plugins[0]' ./x", "yarnpkg config set unheard x",
		"pip config set global.index-url https://x", "pip3 config set global.unheard x", "pip config --user set install.no-index x",
		"go env -w GOFLAGS=-toolexec=./x", "go env -w GOOS=linux GOPROXY=direct", "go env -w GOSUMDB=off", "go env -w $x",
		"kubectl config set users.x.exec.command ./x", "kubectl config set-credentials x --exec-command=./x", "kubectl --context a config set-cluster x --server=y",
		"gcloud config set auth/credential_file_override ./x", "gcloud config set proxy/address x", "gcloud config set api_endpoint_overrides/storage http://x",
		"az config set extension.use_dynamic_install=yes_without_prompt", "az config set core.output=json cloud.name=x",
		"aws configure set credential_process ./x", "aws configure set profile.x.credential_process ./x", "aws configure set endpoint_url http://x",
		"gh config set editor ./x", "gh config set -h x.example pager ./x", "gh config set unheard x", "gh alias import f", "glab config set browser ./x",
		"docker context create x --docker host=ssh://x", "docker context update x", "docker context import x f",
		"composer config scripts.test ./x", "composer config repositories.x vcs https://x", "composer config allow-plugins true", "composer config -g bin-dir x",
		"bundle config set path x", "bundle config set --local path x", "bundle config build.x --with=y z", "bundle config mirror.https://x http://y", "bundler config set unheard x",
		"poetry config repositories.x http://x", "poetry config cache-dir x", "conda config --add channels x", "conda config --set unheard x", "mamba config set x y",
		"hg --config alias.x='!rm x' x", "hg --conf=ui.editor=./x commit", "hg status --config hooks.pre-status=./x", "svn diff --diff-cmd ./x", "svn --config-option config:helpers:diff-cmd=./x diff",
		"jj config set --user ui.editor ./x", "mise settings set unheard x", "mise settings unheard x", "rustup toolchain link x ./d", "nix --option post-build-hook ./x build",
		"systemctl --user set-environment X=y", "gsettings set org.x y ./z", "dconf write /x y", "xdg-settings set default-web-browser x", "defaults write com.x y z",
		"pytest -o addopts='-p x'", "pytest -oaddopts=x", "pytest --override-ini=pythonpath=/x", "pytest --override-ini python_files=x -o unheard=x",
	} {
		if !mayRun(line) {
			t.Errorf("%s: not opaque", line)
		}
	}
	for _, line := range []string{
		"npm config set save-exact true", "npm config set fund=false audit=false", "npm config set //registry.example/:_authToken x", "npm config get registry", "npm config delete editor",
		"npm config list", "npm ls --depth 0", "pnpm config set hoist false", "pnpm --config.node-linker=hoisted install", "yarn config set nodeLinker node-modules", "yarn config get yarnPath",
		"pip config set global.timeout 60", "pip config list", "go env -w GOOS=linux GOARCH=arm64", "go env -w GO111MODULE=on", "go env GOFLAGS", "go env -u GOFLAGS",
		"kubectl config use-context x", "kubectl config set-context --current --namespace=x", "kubectl config view", "gcloud config set project x", "gcloud config list", "gcloud config get project",
		"az config set defaults.group=x", "az configure --defaults group=x", "aws configure set region x", "aws configure get credential_process", "gh config set git_protocol ssh", "gh config get editor",
		"docker context use x", "docker context ls", "composer config sort-packages true", "composer config bin-dir", "composer config --list", "bundle config set --local without x", "bundle config path",
		"bundle config get path", "poetry config virtualenvs.create false", "poetry config cache-dir", "poetry config --list", "conda config --set always_yes true", "conda config --show channels",
		"hg --config ui.verbose=true status", "jj config set --user user.name x", "mise settings set jobs 4", "rustup default stable", "rustup override set nightly", "pytest -o log_cli=true",
		"gsettings get org.x y", "xdg-mime query default x", "defaults read com.x",
	} {
		if mayRun(line) {
			t.Errorf("%s: opaque", line)
		}
	}
}

// TestEverySetting checks each form of the catalogue with a setting that nobody
// knows.
func TestEverySetting(t *testing.T) {
	forms := 0
	for p := range program.Builtin {
		for _, f := range p.Settings {
			words := []string{p.Name}
			for _, name := range f.Subs {
				name, _, _ = strings.Cut(name, "|")
				words = append(words, name)
			}
			if f.Option != "" {
				words = append(words, f.Option)
			}
			at := len(words)
			words = append(words, f.Prefix+"unheard.of")
			if !f.Each {
				words = append(words, "x")
			}
			if line := strings.Join(words, " "); !mayRun(line) {
				t.Errorf("%s: not opaque", line)
			}
			if forms++; len(p.Harmless) == 0 || strings.Contains(p.Harmless[len(p.Harmless)-1], "*") {
				continue
			}
			words[at] = f.Prefix + p.Harmless[len(p.Harmless)-1]
			if line := strings.Join(words, " "); mayRun(line) {
				t.Errorf("%s: opaque", line)
			}
		}
	}
	if forms < 50 {
		t.Errorf("only %d forms", forms)
	}
}

// TestGitAliases checks that an alias of git is read as the command that it stands
// for.
func TestGitAliases(t *testing.T) {
	for line, want := range map[string]string{
		"git config alias.p push":                          "git push",
		"git config --global alias.p 'push --force'":       "git push --force",
		"git config set alias.x 'commit -n' && ls":         "git commit -n",
		"git config --get alias.p push":                    "",
		"git config user.name push":                        "",
		"/usr/bin/git config alias.p 'subtree push' && ls": "/usr/bin/git subtree push",
	} {
		found := ""
		for _, a := range Analyze(line, Options{Dir: "/p", Home: "/h", Workspace: "/p"}).Actions {
			if a.Kind == Command && a.Parent >= 0 {
				found = joinWords(a.Words).Text
			}
		}
		if found != want {
			t.Errorf("%s: runs %q, want %q", line, found, want)
		}
	}
}
