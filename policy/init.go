package policy

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
)

// Kit is a language or a build tool that a project uses.
type Kit struct {
	Name  string
	about string   // what its rules are for
	marks []string // patterns of files that show that it is used
	allow []string // allow rules, to which own adds
	ask   []string
	own   func(project fs.FS) []string // allow rules, in full, for what the project itself names
}

// kits holds the rules of a starting policy for each kit. What builds, tests or
// only prints is allowed; what downloads, publishes or installs is asked about.
var kits = []Kit{
	{
		Name: "Go", about: "building and testing, running and formatting; what changes go.mod or the machine is asked", marks: []string{"go.mod", "go.work"},
		allow: []string{
			"go build:*", "go test:*", "go vet:*", "go list:*", "go doc:*", "go version:*", "go env:*", "go run .", "go run ./*", "go generate:*", "go fmt:*", "go tool:*",
			"go mod graph", "go mod why:*", "go mod verify", "go mod download", "gofmt:*", "goimports:*", "gofumpt:*", "staticcheck:*", "golangci-lint run:*", "golangci-lint fmt:*",
			"mockgen:*",
		},
		ask: []string{"go get:*", "go install:*", "go mod tidy:*", "go mod edit:*", "go mod init:*", "go mod vendor:*"},
		own: goDocs,
	},
	{
		Name: "Buf", about: "checking and generating", marks: []string{"buf.yaml", "buf.gen.yaml", "buf.work.yaml"},
		allow: []string{"buf lint:*", "buf build:*", "buf breaking:*", "buf format:*", "buf generate:*"}, ask: []string{"buf push:*", "buf registry:*"},
	},
	{Name: "sqlc", about: "checking and generating", marks: []string{"sqlc.yaml", "sqlc.yml", "sqlc.json"}, allow: []string{"sqlc generate", "sqlc vet:*", "sqlc diff", "sqlc compile"}},
	{
		Name: "JavaScript", about: "scripts of package.json that stay on this machine, and tools that it depends on; installs are asked", marks: []string{"package.json"},
		ask: []string{"npm install:*", "npm ci:*", "npm publish:*", "pnpm install:*", "pnpm add:*", "pnpm up:*", "yarn install:*", "yarn add:*", "bun install:*", "bun add:*"},
		own: javaScript,
	},
	{
		Name: "Python", about: "the project's code, tests and checks; installs and migrations are asked", marks: []string{"pyproject.toml", "setup.py", "requirements*.txt", "uv.lock"},
		ask: []string{"pip install:*", "pip3 install:*", "python -m pip install:*", "python3 -m pip install:*", "uv add:*", "uv sync:*", "uv run --with:*", "uv publish:*", "poetry add:*", "poetry install:*", "poetry publish:*", "alembic upgrade:*", "alembic downgrade:*", "alembic stamp:*"},
		own: python,
	},
	{
		Name: "Rust", about: "building, testing and checks; what changes the dependencies is asked", marks: []string{"Cargo.toml"},
		allow: []string{"cargo build:*", "cargo check:*", "cargo test:*", "cargo clippy:*", "cargo fmt --check", "cargo tree:*"},
		ask:   []string{"cargo add:*", "cargo install:*", "cargo publish:*"},
	},
	{
		Name: "Maven", about: "compiling and testing", marks: []string{"pom.xml"},
		// These are exact rules, because further words would be further goals.
		allow: []string{"mvn test", "mvn -q test", "mvn compile", "mvn -q compile", "mvn verify", "mvn package"}, ask: []string{"mvn deploy:*", "mvn install:*"},
	},
	{
		Name: "Gradle", about: "building and testing", marks: []string{"build.gradle", "build.gradle.kts"},
		allow: []string{"./gradlew test", "./gradlew build", "./gradlew check", "gradle test", "gradle build", "gradle check"}, ask: []string{"./gradlew publish:*"},
	},
	{Name: "make", about: "the targets that stay on this machine", marks: []string{"Makefile", "makefile", "GNUmakefile"}, own: targets},
	{
		Name: "Docker", about: "looking; what starts or builds is asked", marks: []string{"Dockerfile", "compose.yaml", "compose.yml", "docker-compose.yml", "docker-compose.yaml"},
		allow: []string{"docker ps:*", "docker images:*", "docker logs:*", "docker compose ps:*", "docker compose logs:*", "docker compose config:*"},
		ask:   []string{"docker build:*", "docker run:*", "docker compose up:*", "docker compose down:*"},
	},
}

// Kits returns the kits that a project uses, judged by the files in its top
// directory.
func Kits(project fs.FS) []Kit {
	var found []Kit
	for _, k := range kits {
		if slices.ContainsFunc(k.marks, func(mark string) bool {
			names, err := fs.Glob(project, mark)
			return err == nil && len(names) > 0
		}) {
			found = append(found, k)
		}
	}
	return found
}

// maxProjectFile is the maximum number of bytes read from a file of the
// project.
const maxProjectFile = 1 << 20

// projectFile returns the beginning of the first of the named files that can be
// read. Only regular files are read: others may have no end, or block until
// there is a writer.
func projectFile(project fs.FS, names ...string) []byte {
	for _, name := range names {
		if info, err := fs.Stat(project, name); err != nil || !info.Mode().IsRegular() {
			continue
		}
		if data, err := readUpTo(project, name, maxProjectFile+1); err == nil && len(data) <= maxProjectFile {
			return data
		}
	}
	return nil
}

func readUpTo(project fs.FS, name string, n int64) ([]byte, error) {
	f, err := project.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, n))
}

// The rules common to all starting policies.
var (
	lookRules = []string{
		"ls:*", "cat:*", "head:*", "tail:*", "wc:*", "grep:*", "rg:*", "find:*", "sort:*", "uniq:*", "cut:*", "tr:*", "diff:*", "stat:*", "file:*", "du:*", "tree:*",
		"jq:*", "sed:*", "awk:*", "echo:*", "printf:*", "pwd", "cd:*", "which:*", "date:*", "basename:*", "dirname:*", "test:*", "mkdir -p:*",
	}
	gitRules = []string{
		"git status:*", "git diff:*", "git log:*", "git show:*", "git blame:*", "git ls-files:*", "git rev-parse:*", "git merge-base:*", "git branch --list:*", "git remote -v",
		"git fetch:*", "git add:*", "git mv:*", "git commit:*", "git revert:*", "git stash", "git stash push:*", "git stash pop:*", "git stash apply:*", "git stash show:*", "git switch:*", "git checkout -b:*", "git checkout main", "git checkout master",
		"git merge --continue", "git init",
	}
	gitAsks = []string{
		"git push:*", "git pull:*", "git reset:*", "git rebase:*", "git restore:*", "git clean:*", "git checkout --:*", "git checkout -f:*", "git checkout .:*",
		"git switch -f:*", "git switch -C:*", "git stash drop:*", "git stash clear", "git branch -D:*",
	}
	secretRules = []string{
		"Read(.env)", "Read(.env.local)", "Read(.env.development)", "Read(.env.staging)", "Read(.env.test)", "Read(.env.production)", "Read(.envrc)",
		"Read(*.pem)", "Read(*.key)", "Read(*.p12)", "Read(*.pfx)", "Read(id_rsa)", "Read(id_ed25519)", "Read(credentials.json)", "Read(.npmrc)", "Read(.pypirc)", "Read(.netrc)",
		"Read(~/.ssh/**)", "Read(~/.aws/**)", "Read(~/.gnupg/**)", "Read(~/.kube/**)", "Read(~/.docker/**)", "Read(~/.config/gh/**)", "Read(~/.config/gcloud/**)",
		"Read(~/.git-credentials)", "Read(~/.netrc)", "Read(~/.npmrc)", "Read(~/.pypirc)", "Read(~/.bash_history)", "Read(~/.zsh_history)", "Read(//etc/shadow)",
	}
	neverRules = []string{"Bash(sudo:*)", "Bash(rm -rf:*)"}
)

// Starting returns a first policy for a project, with comments that explain its
// rules.
func Starting(project fs.FS) []byte {
	var b bytes.Buffer
	found := Kits(project)
	b.WriteString("# What the agent may do in this project. Made by agent-wrapper init; change it as\n" +
		"# you like, then trust it: agent-wrapper trust " + FileName + "\n" +
		"# All keys: docs/policy.md. What a rule really lets run: agent-wrapper policy lint\n\n" +
		"mode = \"default\"   # acceptEdits: edits in the project are not asked\n" +
		"# Harmless commands run by themselves and read only here; the rest is asked.\n\n" +
		"# Let through without a question, unless a rule below asks or denies.\nallow = [\n")
	section(&b, "looking around", bash(lookRules))
	section(&b, "git: looking and committing", bash(gitRules))
	for _, k := range found {
		rules := bash(k.allow)
		if k.own != nil {
			rules = append(rules, k.own(project)...)
		}
		section(&b, k.Name+": "+k.about, rules)
	}
	b.WriteString("]\n\n# A person is asked, also where a rule above lets it through.\nask = [\n")
	section(&b, "git: what others see, or what loses work", bash(gitAsks))
	for _, k := range found {
		section(&b, k.Name, bash(k.ask))
	}
	b.WriteString("]\n\n# A person is also asked before files are changed that make other commands do something else\n" +
		"# (.git, CI files, settings of editors and shells); add yours, by name:\n# protect = [\"Makefile\", \"deploy\"]\n")
	b.WriteString("\n# Never.\ndeny = [\n")
	section(&b, "secrets, also through cat, grep and their like", secretRules)
	section(&b, "another user's rights, and removals that nobody sees", neverRules)
	b.WriteString("]\n")
	return b.Bytes()
}

func bash(specs []string) []string {
	var rules []string
	for _, spec := range specs {
		rules = append(rules, "Bash("+spec+")")
	}
	return rules
}

// section writes a group of rules under a comment.
func section(b *bytes.Buffer, about string, rules []string) {
	if len(rules) == 0 {
		return
	}
	fmt.Fprintf(b, "  # %s\n", about)
	for line := range slices.Chunk(rules, 5) {
		var quoted []string
		for _, rule := range line {
			quoted = append(quoted, quote(rule))
		}
		fmt.Fprintf(b, "  %s,\n", strings.Join(quoted, ", "))
	}
}
