package whitelist

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/agent-wrapper/agent-wrapper/internal/lazyregexp"
)

// Line is text that a project runs: one command line, or several.
type Line struct {
	Text, Source string
	// Shell is what runs the text if that is another shell or language than is
	// read here (pwsh, python), else "".
	Shell string
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
	f := formOf(name)
	if f == nil {
		return nil, fmt.Errorf("%s: no file that commands are known to stand in: CI files (.yml), package.json, a Makefile, plan.json, .sh, .txt, .jsonl", name)
	}
	texts, err := f.read(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	var lines []Line
	for _, line := range texts {
		if strings.TrimSpace(line.Text) != "" {
			line.Source = name
			lines = append(lines, line)
		}
	}
	return lines, nil
}

// NoLines is the error that a file has no command line where one is looked for.
func NoLines(name string) error {
	f := formOf(name)
	if f == nil {
		f = &form{place: "nothing in a file of this name"}
	}
	return fmt.Errorf("%s: no command found in it: looked for %s", name, f.place)
}

// form is a kind of file that commands stand in.
type form struct {
	read  func(data []byte) ([]Line, error) // without their Source
	place string                            // where in it they are looked for
}

// plain makes lines of what reads texts for a shell that is read here.
func plain(read func(data []byte) ([]string, error)) func(data []byte) ([]Line, error) {
	return func(data []byte) ([]Line, error) {
		texts, err := read(data)
		var lines []Line
		for _, text := range texts {
			lines = append(lines, Line{Text: text})
		}
		return lines, err
	}
}

func textLines(data []byte) ([]string, error) { return strings.Split(string(data), "\n"), nil }

func wholeText(data []byte) ([]string, error) { return []string{string(data)}, nil }

// formOf is the form of a file, by its name; nil if it is not known.
func formOf(name string) *form {
	base := path.Base(name)
	switch {
	case base == "package.json":
		return &form{plain(packageScripts), "scripts under the key scripts"}
	case slices.Contains(makefiles, base) || path.Ext(base) == ".mk":
		return &form{plain(makeLines), "targets, and recipes behind a tab"}
	}
	switch path.Ext(base) {
	case ".yml", ".yaml":
		return &form{ciLines, "steps for sh, bash or zsh under the keys " + strings.Join(commandKeys, ", ")}
	case ".json":
		return &form{plain(planLines), "the gates of a plan: items, gates, run"}
	case ".jsonl":
		return &form{plain(objectLines), "an object a line with command, run or cmd"}
	case ".txt":
		return &form{plain(textLines), "a command a line"}
	case ".sh", ".bash":
		return &form{plain(wholeText), "commands, beside comments"}
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

var plainName = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9_:./@+-]*$`)

var makeTarget = lazyregexp.New(`(?m)^([A-Za-z0-9_][A-Za-z0-9_./-]*)[ \t]*::?([^=:]|$)`)

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
func ciLines(data []byte) ([]Line, error) {
	var lines []Line
	d := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var doc yaml.Node
		if err := d.Decode(&doc); err != nil {
			if errors.Is(err, io.EOF) {
				return lines, nil
			}
			return nil, err
		}
		lines = append(lines, commandsIn(&doc, "", "")...)
	}
}

// commandKeys are the keys under which CI files have shell text.
var commandKeys = []string{
	"run", "command", "script", "before_script", "after_script", "install", "before_install", "before_deploy", "after_success", "bash",
}

var expression = lazyregexp.New(`\$\{\{.*?\}\}`)

// foreignKeys are the keys under which a step has text for the shell that they
// are named after.
var foreignKeys = []string{"pwsh", "powershell"}

// commandsIn goes through a document: key is that of n, shell what the step that
// it stands in names. Aliases are not followed: what they stand for is read where
// it stands.
func commandsIn(n *yaml.Node, key, shell string) []Line {
	var lines []Line
	switch {
	case n.Kind == yaml.ScalarNode && slices.Contains(foreignKeys, key):
		lines = append(lines, Line{Text: n.Value, Shell: key})
	case n.Kind == yaml.ScalarNode && slices.Contains(commandKeys, key):
		lines = append(lines, Line{Text: expression.ReplaceAllString(n.Value, "$${EXPRESSION}"), Shell: shell})
	case n.Kind == yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			if name := n.Content[i].Value; name != "with" { // what a GitHub action is given is no shell text
				lines = append(lines, commandsIn(n.Content[i+1], name, foreignShell(n))...)
			}
		}
	default:
		for _, c := range n.Content {
			lines = append(lines, commandsIn(c, key, shell)...)
		}
	}
	return lines
}

// foreignShell is the shell that a step names if it is not read here, else "".
func foreignShell(step *yaml.Node) string {
	for i := 0; i+1 < len(step.Content); i += 2 {
		name, _, _ := strings.Cut(step.Content[i+1].Value, " ")
		if step.Content[i].Value == "shell" && !slices.Contains([]string{"bash", "sh", "zsh", "dash", "/bin/bash", "/bin/sh"}, name) {
			return name
		}
	}
	return ""
}
