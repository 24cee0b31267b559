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

	"github.com/agent-wrapper/agent-wrapper/internal/text/lazyregexp"
)

// Line is shell text that a project runs: one command line or several.
type Line struct {
	Text, Source string
	// Shell is what runs the text if it is a shell or language that this
	// package does not parse (pwsh, python), else "".
	Shell string
	// Outward means that the step, job, script or target that the text belongs to
	// publishes or deploys by its name.
	Outward bool
}

// Lines extracts the command lines of a file, whose kind it tells by the name:
// CI files (YAML), the scripts of package.json, the targets and recipes of a
// Makefile, the gates of a plan, a shell script, and the lines of .txt and
// .jsonl files, where an object has its command under command, run or cmd. Any
// other kind is an error.
func Lines(name string, data []byte) ([]Line, error) {
	if len(data) > maxFile {
		return nil, fmt.Errorf("%s: longer than %d bytes", name, maxFile)
	}
	f := formOf(name)
	if f == nil {
		return nil, fmt.Errorf("%s: not a kind of file that commands are read from: CI files (.yml), package.json, a Makefile, plan.json, .sh, .txt, .jsonl", name)
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

// NoLines is the error for a file without a command line in the places that are
// searched.
func NoLines(name string) error {
	f := formOf(name)
	if f == nil {
		f = &form{place: "nothing, for a file of this name"}
	}
	return fmt.Errorf("%s: no command found in it: looked for %s", name, f.place)
}

// form describes a kind of file that contains commands.
type form struct {
	read  func(data []byte) ([]Line, error) // without Source
	place string                            // where commands are searched for, for the error message
}

// plain adapts a reader that returns texts for a known shell.
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

// formOf returns the form of the named file, or nil if it is unknown.
func formOf(name string) *form {
	base := path.Base(name)
	switch {
	case base == "package.json":
		return &form{packageScripts, "scripts under the key scripts"}
	case slices.Contains(makefiles, base) || path.Ext(base) == ".mk":
		return &form{plain(makeLines), "targets, and recipes after a tab"}
	}
	switch path.Ext(base) {
	case ".yml", ".yaml":
		return &form{ciLines, "steps for sh, bash or zsh under the keys " + strings.Join(commandKeys, ", ")}
	case ".json":
		return &form{plain(planLines), "the gates of a plan: items, gates, run"}
	case ".jsonl":
		return &form{plain(objectLines), "one object per line, with command, run or cmd"}
	case ".txt":
		return &form{plain(textLines), "one command per line"}
	case ".sh", ".bash":
		return &form{plain(wholeText), "commands (comments are skipped)"}
	}
	return nil
}

// makefiles are the names that make looks for, in its order.
var makefiles = []string{"GNUmakefile", "makefile", "Makefile"}

func packageScripts(data []byte) ([]Line, error) {
	names, scripts, err := scriptsOf(data)
	var lines []Line
	for _, name := range names {
		outward := isOutward(name)
		lines = append(lines, Line{Text: "npm run " + name, Outward: outward}, Line{Text: scripts[name], Outward: outward})
		if name == "test" {
			lines = append(lines, Line{Text: "npm test"})
		}
	}
	return lines, err
}

// scriptsOf returns the scripts of a package.json, names sorted. It leaves out
// names that a shell would not read as one literal word.
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

// targetsOf returns the targets of a Makefile, sorted.
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

// planLines returns the commands of a plan's gates.
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

// ciLines returns the commands of CI files of GitHub, GitLab, CircleCI, Azure
// and Travis. A ${{ }} of a workflow is replaced by a variable.
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
		lines = append(lines, commandsIn(&doc, "", Line{})...)
	}
}

// commandKeys are the keys whose values are shell text in CI files.
var commandKeys = []string{
	"run", "command", "script", "before_script", "after_script", "install", "before_install", "before_deploy", "after_success", "bash",
}

var expression = lazyregexp.New(`\$\{\{.*?\}\}`)

// foreignKeys are the keys that name the shell of their value.
var foreignKeys = []string{"pwsh", "powershell"}

// commandsIn walks a document: key is the key of n, in what the enclosing step
// says of its lines. It does not follow aliases, since it visits the anchors.
func commandsIn(n *yaml.Node, key string, in Line) []Line {
	var lines []Line
	switch {
	case n.Kind == yaml.ScalarNode && slices.Contains(foreignKeys, key):
		lines = append(lines, Line{Text: n.Value, Shell: key, Outward: in.Outward})
	case n.Kind == yaml.ScalarNode && slices.Contains(commandKeys, key):
		in.Text = expression.ReplaceAllString(n.Value, "$${EXPRESSION}")
		lines = append(lines, in)
	case n.Kind == yaml.MappingNode:
		in = Line{Shell: foreignShell(n), Outward: in.Outward || isOutwardStep(n)}
		for i := 0; i+1 < len(n.Content); i += 2 {
			name, below := n.Content[i].Value, in
			if name == "with" { // the inputs of a GitHub action are not shell text
				continue
			}
			below.Outward = in.Outward || n.Content[i+1].Kind != yaml.ScalarNode && isOutward(name) && name != "before_deploy"
			lines = append(lines, commandsIn(n.Content[i+1], name, below)...)
		}
	default:
		for _, c := range n.Content {
			lines = append(lines, commandsIn(c, key, in)...)
		}
	}
	return lines
}

// isOutwardStep reports whether a job or step publishes or deploys by what it says
// of itself.
func isOutwardStep(n *yaml.Node) bool {
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i].Value, n.Content[i+1]
		if slices.Contains([]string{"name", "stage", "displayName", "deployment"}, key) && value.Kind == yaml.ScalarNode && isOutward(value.Value) {
			return true
		}
	}
	return false
}

// foreignShell returns the shell that a step names if this package does not
// parse it, else "".
func foreignShell(step *yaml.Node) string {
	for i := 0; i+1 < len(step.Content); i += 2 {
		name, _, _ := strings.Cut(step.Content[i+1].Value, " ")
		if step.Content[i].Value == "shell" && !slices.Contains([]string{"bash", "sh", "zsh", "dash", "/bin/bash", "/bin/sh"}, name) {
			return name
		}
	}
	return ""
}
