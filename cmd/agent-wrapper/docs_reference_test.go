package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/agent-wrapper/agent-wrapper/internal/golden"
	"github.com/agent-wrapper/agent-wrapper/internal/policy"
	"github.com/agent-wrapper/agent-wrapper/internal/run/engine"
	"github.com/agent-wrapper/agent-wrapper/internal/run/gates"
	"github.com/agent-wrapper/agent-wrapper/internal/whitelist"
	"github.com/agent-wrapper/agent-wrapper/wrapper/claude"
)

const made = "<!-- made from the code: go test ./cmd/agent-wrapper -run TestReference -update -->\n"

// TestReferenceCommands: docs/reference/commands.md has the help of every command, as it
// is printed, and the exit codes.
func TestReferenceCommands(t *testing.T) {
	var all []*cobra.Command
	var collect func(cmd *cobra.Command)
	collect = func(cmd *cobra.Command) {
		if cmd.Hidden || cmd.Name() == "completion" || cmd.Name() == "help" {
			return
		}
		all = append(all, cmd)
		for _, sub := range cmd.Commands() {
			collect(sub)
		}
	}
	collect((&app{}).commands())
	var list, help strings.Builder
	for _, cmd := range all[1:] {
		name := cmd.CommandPath()
		fmt.Fprintf(&list, "| [`%s`](#%s) | %s |\n", strings.TrimPrefix(name, "agent-wrapper "), strings.ReplaceAll(name, " ", "-"), cmd.Short)
		fmt.Fprintf(&help, "## %s\n\n```text\n%s```\n\n", name, helpOf(t, cmd))
	}
	golden.Check(t, "../../docs/reference/commands.md", `# Commands

Every command of agent-wrapper with its flags and their defaults, as `+"`--help`"+` prints it.
Without a command, agent-wrapper is `+"[`agent-wrapper run`](#agent-wrapper-run)"+`.

`+made+`
## Exit codes

`+exitCodeTable(t)+`
A command that runs a program of yours ([exec](../exec.md#exit-codes)) ends with that program's code.
More on the codes of a run: [Running an agent](../agents.md#exit-codes).

## All commands

| | |
|---|---|
`+list.String()+`
`+strings.TrimRight(help.String(), "\n")+"\n")
}

// docs/reference/protocol.md documents the flags of run that help does not show.
func TestReferenceHidden(t *testing.T) {
	text, found := page(t, "docs/reference/protocol.md"), 0
	(&app{}).runCommand().Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			return
		}
		found++
		if !strings.Contains(text, "`--"+f.Name) {
			t.Errorf("docs/reference/protocol.md does not say what --%s does", f.Name)
		}
	})
	if found < 10 {
		t.Errorf("%d flags found", found)
	}
}

// helpOf returns the help of a command, as it is printed.
func helpOf(t *testing.T, cmd *cobra.Command) string {
	t.Helper()
	var out bytes.Buffer
	a := &app{in: strings.NewReader(""), out: &out, err: &out}
	if code := a.run(context.Background(), append(strings.Fields(cmd.CommandPath())[1:], "--help")); code != 0 {
		t.Fatalf("%s --help: exit code %d\n%s", cmd.CommandPath(), code, out.String())
	}
	return strings.TrimRight(out.String(), "\n") + "\n"
}

// exitCodeTable returns the exit codes, with the comments of their constants.
func exitCodeTable(t *testing.T) string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "main.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	out := "| code | |\n|---|---|\n"
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && strings.HasPrefix(spec.Names[0].Name, "code") {
			code := spec.Values[0].(*ast.BasicLit).Value
			if spec.Names[0].Name == "codeSignal" {
				code += " + n"
			}
			out += "| " + code + " | " + strings.TrimSpace(spec.Comment.Text()) + " |\n"
		}
		return true
	})
	return out
}

// TestReferenceFiles: docs/reference/files.md has the keys of policies and whitelists,
// where files lie, and the variables of the environment.
func TestReferenceFiles(t *testing.T) {
	t.Setenv("HOME", "/home/you")
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("XDG_STATE_HOME", "")
	policySchema, err := policy.Schema()
	if err != nil {
		t.Fatal(err)
	}
	listSchema, err := whitelist.Schema()
	if err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "../../docs/reference/files.md", `# Files, keys and variables

Where agent-wrapper reads and writes, every key of its files, and the environment
variables that it heeds.

`+made+`
## Where files lie

`+fileTable(t)+`
`+"`~/.config` is `$XDG_CONFIG_HOME` where that is set, and `~/.local/state` is `$XDG_STATE_HOME`."+`
The directory `+"`~/.local/state/agent-wrapper`"+` is called the state directory in these pages. Each of its
files is readable by its owner only.

## Keys of a policy

In `+"`"+policy.FileName+"`"+`. What they mean together: [The policy file](../policy.md). `+"`agent-wrapper policy schema`"+`
prints the JSON Schema that this table is made from.

`+keyTable(t, policySchema)+`
`+"`NAME` is a name of yours, and `[]` stands for each element of a list of tables (`[[rules]]`)."+`
What is bold is the default.

## Keys of a whitelist

In `+"`"+whitelist.FileName+"`"+`. What they mean together: [the whitelist file](../whitelist.md#the-file).
`+"`agent-wrapper whitelist schema`"+` prints the schema.

`+keyTable(t, listSchema)+`
## Keys of a plan

A plan is JSON; [its keys](../plans.md#the-plan) stand with an example.

## Environment variables

`+variableTable(t)+`
What the environment of an agent is cleaned of: [isolation](../agents.md#what-isolation-switches-off-and-how-to-get-it-back).
What that of a command is cleaned of: [exec](../exec.md#what-it-gets).
`)
}

// files are the files and directories at their default places.
func files() [][2]string {
	dirs := engine.UserDirs()
	state := func(name string) string { return filepath.Join(dirs.State, name) }
	return [][2]string{
		{policy.FileName, "the project's policy, in the workspace and above it, up to the root of the repository"},
		{policy.LocalName, "beside it: your own policy for the project, where \"always\" writes rules; keep it out of the repository"},
		{filepath.Join(dirs.User, policy.FileName), "your policy for all projects"},
		{filepath.Join(dirs.Managed, policy.FileName), "the administrator's policy"},
		{"NAME.cases.toml", "tests of the policy `NAME.toml` beside it"},
		{whitelist.FileName, "the whitelist of commands, in the workspace and above it"},
		{whitelist.LogFile, "what the whitelist refused, for people; it counts nothing"},
		{state("audit.jsonl"), "the audit log"},
		{state("audit-heads") + "/", "where each audit log ended when it was last written"},
		{state("trust.json"), "which policies you trust"},
		{state("installed") + "/", "what `install` wrote, and the texts from before"},
		{state("sessions") + "/", "your answers for a session, for when it goes on"},
		{state("conversations") + "/", "for each workspace the last session, and what you typed in [conversations](../agents.md#a-conversation)"},
		{state("within") + "/", "command lines that an agent's own shell may run inside the sandbox, once each"},
		{state("exec-sessions") + "/", "your answers for the sessions of `exec`"},
		{state("exec-runs") + "/", "private copies of kubeconfigs, while `exec` runs"},
		{state("approvals") + "/", "questions of `--approvals local`"},
		{dirs.Credentials(), "the tokens with which you answer at servers"},
		{state("hallucinations/journal.jsonl"), "commands that a whitelist refused, and pauses"},
		{state("serve/serve.db"), "what `serve` keeps, without `--store`"},
		{state("serve/audit.jsonl"), "the audit log of `serve`"},
		{state("serve/recordings") + "/", "recordings of terminal sessions"},
		{state("serve/instance"), "the name of the latest start of `serve`, which is in the IDs of browsers"},
	}
}

func fileTable(t *testing.T) string {
	t.Helper()
	literals, _ := sourceStrings(t)
	out := "| file | |\n|---|---|\n"
	for _, f := range files() {
		name := path.Base(f[0])
		if !slices.ContainsFunc(literals, func(s string) bool { return strings.HasSuffix(s, strings.TrimPrefix(name, "NAME")) }) {
			t.Errorf("no source file has the name %q", name)
		}
		out += "| `" + strings.ReplaceAll(f[0], "/home/you", "~") + "` | " + f[1] + " |\n"
	}
	return out
}

// variables are the environment variables that the program reads.
var variables = [][2]string{
	{"XDG_CONFIG_HOME, XDG_STATE_HOME", "where your policy and the state directory lie, if absolute"},
	{"XDG_CACHE_HOME", "where tools keep their caches, which commands inside the sandbox may write; so do their own variables (`GOCACHE`, `PIP_CACHE_DIR` and the like)"},
	{tokenVariable, "the token with which a program asks at a server (`--approvals URL`); it is not passed on"},
	{claude.BelowRun, "set for all that an agent starts; what has it does not answer approvals"},
	{gates.Bypass, "`1` lifts the whitelist for one `agent-wrapper execute`"},
	{"CLAUDE_CONFIG_DIR, CODEX_HOME, GEMINI_CLI_HOME, COPILOT_HOME, CRUSH_GLOBAL_CONFIG", "where agents have their configuration, for `install`; XDG_CONFIG_HOME too"},
	{"CLAUDECODE, CODEX_SANDBOX, CODEX_SANDBOX_NETWORK_DISABLED, GEMINI_CLI, QWEN_CODE, COPILOT_CLI, OPENCODE, CRUSH", "set by agents for what they start, which must not use `install` and `uninstall`"},
	{"VISUAL, EDITOR", "the editor of a question's `e`"},
	{"NO_COLOR", "not empty: no colours"},
	{"SSH_CONNECTION", "not empty: `notify.desktop` is shown by the terminal"},
	{"TERM", "`dumb`: no colours, and no questions that are drawn"},
	{"XDG_RUNTIME_DIR", "sockets of services, which commands inside the sandbox do not see"},
	{"COLUMNS", "the width of the output, where it is no terminal"},
	{"USER", "the name by which you answer, and that `serve` proposes"},
	{"SUDO_UID", "whose files count as yours under sudo"},
	{"SOURCE_DATE_EPOCH", "the date of manual pages (`agent-wrapper man`), in seconds since 1970"},
	{"PATH", "where the agent CLI and programs are found; relative directories in it never count for commands that are run"},
	{"GIT_CONFIG_GLOBAL, GIT_CONFIG_NOSYSTEM", "which of git's settings are yours, as git reads them"},
}

func variableTable(t *testing.T) string {
	t.Helper()
	literals, read := sourceStrings(t)
	out, listed := "| variable | |\n|---|---|\n", map[string]bool{}
	for _, v := range variables {
		names := strings.Split(v[0], ", ")
		for _, name := range names {
			listed[name] = true
			if !slices.Contains(literals, name) {
				t.Errorf("no source file has the name %s", name)
			}
		}
		out += "| `" + strings.Join(names, "`, `") + "` | " + v[1] + " |\n"
	}
	for _, name := range read {
		if !listed[name] {
			t.Errorf("%s is read and not listed", name)
		}
	}
	return out
}

// sourceStrings returns the texts of the program's sources, and those that are names of
// variables which are read.
func sourceStrings(t *testing.T) (all, read []string) {
	t.Helper()
	text := func(e ast.Expr) string {
		lit, ok := e.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return ""
		}
		s, err := strconv.Unquote(lit.Value)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	keep := func(name string) bool {
		return strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") &&
			!strings.HasPrefix(name, "internal/test/") && name != "internal/program/catalog_gen.go"
	}
	for name, source := range sources(t, keep) {
		file, err := parser.ParseFile(token.NewFileSet(), name, source, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if e, ok := n.(ast.Expr); ok {
				if s := text(e); s != "" {
					all = append(all, s)
				}
			}
			if call, ok := n.(*ast.CallExpr); ok && len(call.Args) == 1 {
				if f, ok := call.Fun.(*ast.SelectorExpr); ok && (f.Sel.Name == "Getenv" || f.Sel.Name == "LookupEnv") {
					if s := text(call.Args[0]); s != "" {
						read = append(read, s)
					}
				}
			}
			return true
		})
	}
	return all, read
}

// schemaNode is what the tables need of a JSON Schema.
type schemaNode struct {
	Description          string
	Type                 string
	Enum                 []string
	Const                any
	Default              string
	Minimum, Maximum     *int
	Properties           map[string]*schemaNode
	Items                *schemaNode
	AdditionalProperties json.RawMessage
	Ref                  string                 `json:"$ref"`
	Defs                 map[string]*schemaNode `json:"$defs"`
}

// keyTable returns a table of the keys of a schema that have a description.
func keyTable(t *testing.T, schema []byte) string {
	t.Helper()
	var whole schemaNode
	if err := json.Unmarshal(schema, &whole); err != nil {
		t.Fatal(err)
	}
	out := "| key | values | |\n|---|---|---|\n"
	seen := map[string]bool{} // schemas that refer to themselves
	var walk func(key string, n *schemaNode)
	walk = func(key string, n *schemaNode) {
		if key != "" && n.Description != "" {
			out += "| `" + key + "` | " + n.values() + " | " + strings.ReplaceAll(n.Description, "|", `\|`) + " |\n"
		}
		if n.Ref != "" {
			if seen[n.Ref] {
				return
			}
			seen[n.Ref] = true
			n = whole.Defs[path.Base(n.Ref)]
		}
		for _, name := range slices.Sorted(maps.Keys(n.Properties)) {
			walk(strings.TrimPrefix(key+"."+name, "."), n.Properties[name])
		}
		if n.Items != nil && len(n.Items.Properties) > 0 {
			walk(key+"[]", n.Items)
		}
		var further schemaNode
		if json.Unmarshal(n.AdditionalProperties, &further) == nil {
			walk(key+".NAME", &further)
		}
	}
	walk("", &whole)
	return out
}

// values returns the values that a key may have.
func (n *schemaNode) values() string {
	switch {
	case len(n.Enum) > 0:
		list := "`" + strings.Join(n.Enum, "`, `") + "`"
		if n.Default != "" {
			list = strings.Replace(list, "`"+n.Default+"`", "**`"+n.Default+"`**", 1)
		}
		return list
	case n.Const != nil:
		return fmt.Sprintf("`%v`", n.Const)
	case n.Type == "array" && n.Items != nil && n.Items.Type == "string":
		return "list of texts"
	case n.Type == "array":
		return "list of tables"
	case n.Type == "object" || n.Ref != "":
		return "table"
	case n.Type == "integer" && n.Minimum != nil && n.Maximum != nil:
		return fmt.Sprintf("%d to %d", *n.Minimum, *n.Maximum)
	case n.Type == "integer" && n.Minimum != nil:
		return fmt.Sprintf("number from %d", *n.Minimum)
	case n.Type == "boolean":
		return "`true`, `false`"
	case n.Type == "string":
		return "text"
	}
	return "text, or list of texts"
}

// TestReferencePlan: docs/plans.md has each key of a plan.
func TestReferencePlan(t *testing.T) {
	text := page(t, "docs/plans.md")
	file, err := parser.ParseFile(token.NewFileSet(), "../../internal/run/gates/plan.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var missing []string
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok || !slices.Contains([]string{"Gate", "Item", "Container", "file"}, spec.Name.Name) {
			return true
		}
		ast.Inspect(spec, func(n ast.Node) bool {
			if f, ok := n.(*ast.Field); ok && f.Tag != nil {
				_, rest, _ := strings.Cut(f.Tag.Value, `json:"`)
				name, _, _ := strings.Cut(rest, `"`)
				if !strings.Contains(text, "`"+name+"`") && !strings.Contains(text, "."+name+"`") && !strings.Contains(text, name+"[].") {
					missing = append(missing, name)
				}
			}
			return true
		})
		return false
	})
	if diff := cmp.Diff([]string(nil), missing); diff != "" {
		t.Error(diff)
	}
}
