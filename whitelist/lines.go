package whitelist

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Line is shell text that a project runs: one command line, or several.
type Line struct {
	Text, Source string
}

// Lines are the command lines in a file, by its name: those of CI files (YAML),
// of the scripts of package.json, of the targets and recipes of a Makefile, of a
// plan's gates, of a shell script, and the lines of .txt and .jsonl files, where
// an object has one in command, run or cmd. What is not read as one of these is
// an error.
func Lines(name string, data []byte) ([]Line, error) {
	if len(data) > maxFile {
		return nil, fmt.Errorf("%s: longer than %d bytes", name, maxFile)
	}
	read := reader(path.Base(name))
	if read == nil {
		return nil, fmt.Errorf("%s: no file that commands are known to stand in: CI files (.yml), package.json, a Makefile, plan.json, .sh, .txt, .jsonl", name)
	}
	texts, err := read(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	var lines []Line
	for _, text := range texts {
		if strings.TrimSpace(text) != "" {
			lines = append(lines, Line{text, name})
		}
	}
	return lines, nil
}

func reader(base string) func([]byte) ([]string, error) {
	switch {
	case base == "package.json":
		return packageScripts
	case slices.Contains(makefiles, base) || path.Ext(base) == ".mk":
		return makeLines
	}
	switch path.Ext(base) {
	case ".yml", ".yaml":
		return ciLines
	case ".json":
		return planLines
	case ".jsonl":
		return objectLines
	case ".txt":
		return func(data []byte) ([]string, error) { return strings.Split(string(data), "\n"), nil }
	case ".sh", ".bash":
		return func(data []byte) ([]string, error) { return []string{string(data)}, nil }
	}
	return nil
}

// makefiles are the names that make looks for.
var makefiles = []string{"GNUmakefile", "makefile", "Makefile"}

func packageScripts(data []byte) ([]string, error) {
	names, scripts, err := scriptsOf(data)
	var texts []string
	for _, name := range names {
		texts = append(texts, "npm run "+name, scripts[name])
		if name == "test" {
			texts = append(texts, "npm test")
		}
	}
	return texts, err
}

// scriptsOf are the scripts of a package.json, sorted by name. Names that are no
// plain words are left out.
func scriptsOf(data []byte) ([]string, map[string]string, error) {
	var pkg struct {
		Scripts map[string]string `json:"scripts"`
	}
	if err := json.Unmarshal(data, &pkg); err != nil {
		return nil, nil, err
	}
	var names []string
	for name := range pkg.Scripts {
		if plainName.MatchString(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, pkg.Scripts, nil
}

var plainName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_:./@+-]*$`)

var makeTarget = regexp.MustCompile(`(?m)^([A-Za-z0-9_][A-Za-z0-9_./-]*)[ \t]*::?([^=:]|$)`)

// targetsOf are the targets of a Makefile, sorted.
func targetsOf(data []byte) []string {
	var names []string
	for _, m := range makeTarget.FindAllSubmatch(data, -1) {
		names = append(names, string(m[1]))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func makeLines(data []byte) ([]string, error) {
	var texts []string
	for _, name := range targetsOf(data) {
		texts = append(texts, "make "+name)
	}
	whole := strings.ReplaceAll(string(data), "\\\n", " ")
	for line := range strings.Lines(whole) {
		if recipe, ok := strings.CutPrefix(line, "\t"); ok {
			texts = append(texts, strings.TrimLeft(strings.TrimRight(recipe, "\n"), "@-+ \t"))
		}
	}
	return texts, nil
}

// planLines are the commands of a plan's gates.
func planLines(data []byte) ([]string, error) {
	var plan struct {
		Items []struct {
			Gates []struct {
				Run string `json:"run"`
			} `json:"gates"`
		} `json:"items"`
	}
	if err := json.Unmarshal(data, &plan); err != nil {
		return nil, err
	}
	var texts []string
	for _, item := range plan.Items {
		for _, gate := range item.Gates {
			texts = append(texts, gate.Run)
		}
	}
	return texts, nil
}

func objectLines(data []byte) ([]string, error) {
	var texts []string
	for i, line := range bytes.Split(data, []byte("\n")) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var o struct{ Command, Run, Cmd string }
		if err := json.Unmarshal(line, &o); err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		texts = append(texts, o.Command, o.Run, o.Cmd)
	}
	return texts, nil
}

// ciLines are the commands of CI files: of GitHub, GitLab, CircleCI, Azure and
// Travis. What a workflow puts in with ${{ }} is a variable here.
func ciLines(data []byte) ([]string, error) {
	var texts []string
	d := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var doc yaml.Node
		if err := d.Decode(&doc); err != nil {
			if errors.Is(err, io.EOF) {
				return texts, nil
			}
			return nil, err
		}
		texts = append(texts, commandsIn(&doc, "")...)
	}
}

// commandKeys are the keys under which CI files have shell text.
var commandKeys = []string{
	"run", "command", "script", "before_script", "after_script", "install", "before_install", "before_deploy", "after_success", "bash",
}

var expression = regexp.MustCompile(`\$\{\{.*?\}\}`)

// commandsIn goes through a document. Aliases are not followed: what they stand
// for is read where it stands.
func commandsIn(n *yaml.Node, key string) []string {
	var texts []string
	switch n.Kind {
	case yaml.ScalarNode:
		if slices.Contains(commandKeys, key) {
			texts = append(texts, expression.ReplaceAllString(n.Value, "$${EXPRESSION}"))
		}
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			name := n.Content[i].Value
			// What a GitHub action is given is no shell text, nor what another shell
			// or an interpreter runs.
			if name != "with" && !(name == "run" && foreignShell(n)) {
				texts = append(texts, commandsIn(n.Content[i+1], name)...)
			}
		}
	default:
		for _, c := range n.Content {
			texts = append(texts, commandsIn(c, key)...)
		}
	}
	return texts
}

// foreignShell reports whether a step names a shell that is not read here.
func foreignShell(step *yaml.Node) bool {
	for i := 0; i+1 < len(step.Content); i += 2 {
		if name, _, _ := strings.Cut(step.Content[i+1].Value, " "); step.Content[i].Value == "shell" {
			return !slices.Contains([]string{"bash", "sh", "zsh", "dash", "/bin/bash", "/bin/sh"}, name)
		}
	}
	return false
}
