package shell

import (
	"path"
	"slices"
	"strings"
	"testing"
)

// reads returns the paths that a line reads, with * for what is not known of them.
func reads(line string) []string {
	var out []string
	for _, a := range Analyze(line, Options{Dir: "/p", Home: "/h"}).Actions {
		if a.Kind == Read {
			out = append(out, a.Path.Filled("*"))
		}
	}
	return out
}

// TestPatternsName checks that a pattern that makes a program read files names them.
func TestPatternsName(t *testing.T) {
	for line, want := range map[string]string{
		"rg x -g .env":                                      "/p/./.env",
		"rg x -g '.e*'":                                     "/p/./.e*",
		"rg x --iglob=.ENV sub":                             "/p/sub/.ENV",
		"rg x --iglob .ENV":                                 "/p/./.env",
		"rg x -g '**/conf/.env'":                            "/p/./conf/.env",
		"rg x -g '*.{ts,env}'":                              "/p/./.env",
		"rg x -g '{a,{b,.env}}'":                            "/p/./.env",
		"rg x -g '/.env'":                                   "/p/./.env",
		"rg x -g '.aws/**'":                                 "/p/./.aws",
		"rg x -g '.a*/c'":                                   "/p/./.a*/c",
		"rg x -g '*a/b/c.go'":                               "/p/./b/c.go",
		`rg x -g '\.env'`:                                   "/p/./.env",
		"rg x -g '*env.local'":                              "/p/./.env.local",
		"rg x -g '*rsa'":                                    "/p/./*rsa",
		"rg x -g '*.ts'":                                    "/p/./.ts",
		"rg x -g '[.]env'":                                  "/p/./.env",
		"rg x -g '[.-9]env'":                                "/p/./*env",
		"rg x -g '[[:punct:]]env'":                          "/p/./*env",
		"rg x -g '[[.period.]]env'":                         "/p/./*env",
		"rg x -g '[[=.=]]env'":                              "/p/./*env",
		"git grep x -- '[[:punct:]]env'":                    "/p/*env",
		"git grep x -- *env":                                "/p/*env",
		"git diff -- 'a*env'":                               "/p/*env",
		`ag --hidden -G '\.env$' x`:                         "/p/./*.env",
		"ag --hidden -G 'b|nv' x sub":                       "/p/sub/*nv*",
		"ag -G _rsa x":                                      "/p/./*_rsa*",
		"fd -H -g '*env' | xargs cat":                       "/p/./*env",
		"fd -H env conf | xargs cat":                        "/p/conf/*env*",
		`fd -u '^\.env$' | xargs cat`:                       "/p/./.env",
		"fd -HF .env | xargs cat":                           "/p/./*.env*",
		"fd -H -e env | xargs cat":                          "/p/./*.env",
		"git ls-files '*env' | xargs cat":                   "/p/*env",
		"cat $(git ls-files .env)":                          "/p/.env",
		"rg x --type-add 'e:.env' -t e":                     "/p/./.env",
		"grep -r x --include=.env .":                        "/p/./.env",
		"grep -rn x --include '*.pem' a b":                  "/p/b/.pem",
		"git grep x -- .env":                                "/p/.env",
		"git grep -e x -- '*.env'":                          "/p/.env",
		"git grep x HEAD -- ':(icase).ENV'":                 "/p/.ENV",
		"git grep x -- ':(glob)**/.env'":                    "/p/.env",
		"git grep x -- ':/.env'":                            "/p/.env",
		"git archive HEAD .env":                             "/p/.env",
		"git diff-tree -p HEAD -- .env":                     "/p/.env",
		"git reflog -p -- .env":                             "/p/.env",
		"git diff HEAD -- ':(top).env'":                     "/p/.env",
		"git show HEAD:.env":                                "/p/.env",
		"rg x -g '{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}.env'": "/p/./aaaaaaa.env",
	} {
		if got := reads(line); !slices.Contains(got, want) {
			t.Errorf("%s reads %q, not %q", line, got, want)
		}
	}
	for line, none := range map[string]string{
		"rg x -g '!.env'": "/p/./.env", "git grep x -- ':!.env'": "/p/.env", "git grep x -- ':(exclude).env'": "/p/.env", "git diff -- ':^.env'": "/p/.env",
		"git grep .env": "/p/.env", "git grep -e x -- .": "/p/x", "rg .env": "/p/.env", "rg x -g '*'": "/p/./*", "git log -- .env": "/p/.env", "ag -G '[.]env' x": "/p/./.env", `fd '^\.env$' | xargs cat`: "/p/./.env",
	} {
		if got := reads(line); slices.Contains(got, none) {
			t.Errorf("%s reads %q", line, none)
		}
	}
}

// TestPatternsOfSecrets checks every way in which a pattern can name each of some files
// with secrets.
func TestPatternsOfSecrets(t *testing.T) {
	ways := []string{
		"rg x -g '%s'", "rg --glob='%s' x", "rg x --iglob '%s'", "rg x --type-add='q:%s' -tq", "rg x -g '{a,%s}'", "rg x -g '**/%s'", "rg x -g '!a' -g '%s' src",
		"grep -r x --include='%s' .", "grep -R --include '%s' x", "egrep -rl x --include='%s' src", "git grep x -- '%s'", "git grep -e x HEAD -- '%s'", "git archive HEAD '%s'",
		"git diff HEAD~1 -- '%s'", "git log -p -- '%s'", "git show HEAD -- '%s'", "git grep x -- ':(glob)**/%s'", "git diff-index -p HEAD '%s'",
	}
	for _, file := range []string{".env", ".env.local", "id_rsa", "server.pem", ".npmrc", ".aws/credentials", "secrets.yml"} {
		patterns := []string{file, file[:len(file)-1] + "?", file[:len(file)-2] + "*", file[:1] + "[" + file[1:2] + "]" + file[2:]}
		for _, pattern := range patterns {
			for _, way := range ways {
				line := strings.ReplaceAll(way, "%s", pattern)
				named := func(read string) bool {
					same, _ := path.Match(path.Base(read), path.Base(file))
					return same
				}
				if !slices.ContainsFunc(reads(line), named) {
					t.Errorf("%s: %q", line, reads(line))
				}
			}
		}
	}
}
