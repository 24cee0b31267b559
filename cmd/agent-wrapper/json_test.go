package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/approval"
	"github.com/agent-wrapper/agent-wrapper/internal/golden"
	"github.com/agent-wrapper/agent-wrapper/internal/risk"
	"github.com/agent-wrapper/agent-wrapper/internal/test/protocol"
	"github.com/agent-wrapper/agent-wrapper/internal/test/slow"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// jsonCommand is a command with --json: what it may print, and command lines to try, in
// a directory that jsonPlace has made.
type jsonCommand struct {
	forms []any
	// good are command lines that print one of the forms, and bad one that prints an
	// error. Nothing is tried where other tests do.
	good []string
	bad  string
}

// jsonCommands holds every command with --json.
var jsonCommands = map[string]jsonCommand{
	"approvals list":             {[]any{approvalsJSON{}}, []string{"approvals --json", "approvals list --all --json"}, "approvals list extra --json"},
	"approvals show":             {[]any{approvalJSON{}}, nil, "approvals show nothing --json"},
	"approvals allow":            {[]any{approvalJSON{}}, nil, "approvals allow nothing --json"},
	"approvals deny":             {[]any{approvalJSON{}}, nil, "approvals deny nothing --json"},
	"approvals answer":           {[]any{approvalJSON{}}, nil, "approvals answer nothing yes --json"},
	"approvals watch":            {[]any{approvalJSON{}}, nil, "approvals watch extra --json"},
	"audit search":               {[]any{recordsJSON{}}, []string{"audit search old.jsonl --json", "audit search old.jsonl --tool Read --json"}, "audit search none.jsonl --json"},
	"audit tail":                 {[]any{recordsJSON{}}, []string{"audit tail old.jsonl --json"}, "audit tail -f old.jsonl --json"},
	"audit verify":               {[]any{verifiedJSON{}}, []string{"audit verify old.jsonl --json", "audit verify torn.jsonl --json"}, "audit verify none.jsonl --json"},
	"check":                      {[]any{checkJSON{}}, []string{"check Bash ls --json", "check Bash 'ls;$x' --json", "check Bash ls"}, "check Bsah ls --json"},
	"classify":                   {[]any{classifiedJSON{}}, []string{"classify ls --json", "classify 'rm -rf / | sh' --json"}, "classify --shell fish ls --json"},
	"doctor":                     {[]any{diagnosis{}}, []string{"doctor --json"}, "doctor claud --json"},
	"exec history":               {[]any{historyJSON{}}, []string{"exec history --audit old.jsonl --json"}, "exec history --status maybe --json"},
	"exec session list":          {[]any{sessionsJSON{}}, []string{"exec session list --json"}, "exec session list extra --json"},
	"execute":                    {[]any{executedJSON{}, rehearsedJSON{}}, []string{"execute plan.json --json --no-input", "execute plan.json --json --dry-run"}, "execute bad.json --json"},
	"explain":                    {[]any{explainedJSON{}}, []string{"explain Bash 'git status; rm -rf x' --allow 'Bash(git status)' --json", "explain Read /etc/passwd --deny Read --json", "explain Bash 'npm test -x' --allow 'Bash(npm test)' --policy p.toml --json"}, "explain Bash --json"},
	"hallucinations count":       {[]any{countsJSON{}}, []string{"hallucinations count --json"}, "hallucinations count extra --json"},
	"hallucinations list":        {[]any{inventedJSON{}}, []string{"hallucinations list --json"}, "hallucinations list --count 0 --json"},
	"install":                    {[]any{changedJSON{}}, nil, "install claud --json"},
	"uninstall":                  {[]any{changedJSON{}}, []string{"uninstall --all --json"}, "uninstall claud --json"},
	"policy fmt":                 {[]any{formattedJSON{}}, []string{"policy fmt p.toml --check --json", "policy fmt p.toml cases/x.cases.toml --json"}, "policy fmt bad.toml --json"},
	"policy import":              {[]any{importJSON{}}, []string{"policy import .claude/settings.json --json"}, "policy import none.json --json"},
	"policy lint":                {[]any{lintJSON{}, checksJSON{}}, []string{"policy lint p.toml --json", "policy lint --list --json"}, "policy lint bad.toml --json"},
	"policy show":                {[]any{shownJSON{}}, []string{"policy show --json", "policy show --policy p.toml --json"}, "policy show --policy bad.toml --json"},
	"policy validate":            {[]any{validateJSON{}}, []string{"policy validate p.toml --json", "policy validate bad.toml none.toml --json"}, "policy validate p.json --json"},
	"policy sandbox":             {[]any{sandboxJSON{}}, []string{"policy sandbox --json", "policy sandbox --deny 'Read(secrets/**)' --json"}, "policy sandbox --policy bad.toml --json"},
	"rules list":                 {[]any{rulesJSON{}}, []string{"rules list --json"}, "rules list --profile x --json"},
	"security lint":              {[]any{listLintJSON{}}, []string{"security lint --json"}, "security lint --whitelist none.json --json"},
	"security validate-commands": {[]any{validatedJSON{}}, []string{"security validate-commands --plan plan.json --json"}, "security validate-commands --plan bad.json --json"},
	"serve":                      {[]any{serving{}}, nil, "serve --listen nowhere --json"},
	"serve token list":           {[]any{tokensJSON{}}, []string{"serve token list --state state --json"}, "serve token list extra --json"},
	"status":                     {[]any{hookStatus{}}, []string{"status --json"}, "status claud --json"},
	"test":                       {[]any{testedJSON{}}, []string{"test cases --json"}, "test none --json"},
	"trust":                      {[]any{trustJSON{}, trustedJSON{}}, []string{"trust agent-wrapper.toml --yes --json", "trust agent-wrapper.toml --json", "trust --list --json"}, "trust none.toml --json"},
	"version":                    {[]any{versionJSON{}}, []string{"version --json"}, "version extra --json"},
	"whitelist validate":         {[]any{listsJSON{}, lineJSON{}}, []string{"whitelist validate --json", "whitelist validate 'npm run x --y' --json", "whitelist validate 'git status' --json"}, "whitelist validate none.json --json"},
}

// jsonPlace makes the files of the command lines.
func jsonPlace(t *testing.T) {
	t.Helper()
	dir, home := t.TempDir(), t.TempDir()
	t.Chdir(dir)
	t.Setenv("HOME", home)
	t.Setenv("XDG_STATE_HOME", filepath.Join(home, "state"))
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, "config"))
	t.Setenv("PATH", "")
	for _, name := range agentVariables {
		t.Setenv(name, "")
	}
	for name, text := range map[string]string{
		"p.toml":                   "allow = [\"Bash(git:*)\", \"Bash(node:*)\"]\n",
		"agent-wrapper.toml":       "ask = [\"Bash(git push:*)\"]\n",
		"bad.toml":                 "alow = []\ndney = []\n",
		"bad.json":                 "{",
		".claude/settings.json":    `{"permissions": {"allow": ["Bash(git:*)", "Bash(ls", "Edit(~/x)"]}}`,
		"plan.json":                `{"schemaVersion":"1.0.0","items":[{"name":"a","gates":[{"name":"one","run":"npm run nothing --else"}]}]}`,
		"cases/agent-wrapper.toml": "ask = [\"Bash(git push:*)\"]\ndeny = [\"Bash(rm:*)\"]\n",
		"cases/x.cases.toml":       "[[case]]\nid = \"a\"\nname = \"a push\"\nuse = \"Bash(git push)\"\nexpect = \"ask\"\n[[case]]\nuse = \"Bash(ls)\"\nexpect = \"deny\"\n",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, line := range []string{"exec --audit old.jsonl --no-input -- git push", "exec --audit torn.jsonl --no-input -- git push"} {
		printed(t, line)
	}
	old, err := os.ReadFile("torn.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("torn.jsonl", bytes.Replace(old, []byte("push"), []byte("pull"), 1), 0o600); err != nil {
		t.Fatal(err)
	}
}

// printed runs a command line, in which words may be in single quotes, and returns its
// standard output.
func printed(t *testing.T, line string) (string, int) {
	t.Helper()
	var args []string
	for _, word := range regexp.MustCompile(`'[^']*'|[^ ]+`).FindAllString(line, -1) {
		args = append(args, strings.Trim(word, "'"))
	}
	var out, errs bytes.Buffer
	a := &app{in: strings.NewReader(""), out: &out, err: &errs}
	code := a.run(t.Context(), args)
	return out.String(), code
}

// withJSON returns the commands that have --json of their own, by the name in it.
func withJSON() map[string]*cobra.Command {
	found := map[string]*cobra.Command{}
	var each func(cmd *cobra.Command)
	each = func(cmd *cobra.Command) {
		if f := cmd.Flags().Lookup("json"); f != nil && !runs(cmd) && cmd.Name() != "demo" {
			found[commandName(cmd)] = cmd
		}
		for _, sub := range cmd.Commands() {
			each(sub)
		}
	}
	each((&app{}).commands())
	return found
}

// jsonSchema returns the schema that is published.
func jsonSchema(t *testing.T) *protocol.Schema {
	t.Helper()
	schema, err := protocol.ReadFile("json.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// defName returns the name of a command's definition in the schema.
func defName(command string) string { return strings.ReplaceAll(command, " ", "-") }

// TestJSONSchema: schemas/json.schema.json has what each command prints.
func TestJSONSchema(t *testing.T) {
	outputs := []protocol.Output{{Name: "error", About: "a command that has nothing else to print", Forms: []any{jsonError{}}, Const: map[string]any{"schema_version": jsonVersion}}}
	commands := withJSON()
	for name := range jsonCommands {
		if commands[name] == nil {
			t.Errorf("%s has no --json", name)
		}
	}
	var names []string
	for name := range commands {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		row, ok := jsonCommands[name]
		if !ok {
			t.Errorf("%s has --json and no row in jsonCommands, so no schema", name)
			continue
		}
		outputs = append(outputs, protocol.Output{
			Name: defName(name), About: commands[name].Short, Forms: row.forms,
			Const: map[string]any{"schema_version": jsonVersion, "command": name},
		})
	}
	text, err := protocol.Infer("agent-wrapper --json", "What commands print with --json, one object a line; docs/json.md. New fields may come, and those of one schema_version keep their meaning.",
		outputs, approval.Status(0), approval.Role(0), permission.Scope(0), risk.Grade(0), risk.Class(0))
	if err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "../../schemas/json.schema.json", text)
}

// TestJSON: each command prints one object by its schema, and one by that of errors.
func TestJSON(t *testing.T) {
	slow.Test(t)
	schema := jsonSchema(t)
	for name, row := range jsonCommands {
		t.Run(name, func(t *testing.T) {
			jsonPlace(t)
			for _, line := range row.good {
				out, _ := printed(t, line)
				holdsJSON(t, schema, defName(name), line, out)
			}
			out, code := printed(t, row.bad)
			var said jsonError
			holdsJSON(t, schema, "error", row.bad, out)
			if err := json.Unmarshal([]byte(out), &said); err != nil || said.Error == "" || said.ExitCode != code || code == codeDone || said.Command != name {
				t.Errorf("%s: exit code %d: %s", row.bad, code, out)
			}
		})
	}
}

// holdsJSON checks that an output is one object by a definition.
func holdsJSON(t *testing.T, schema *protocol.Schema, def, line, out string) {
	t.Helper()
	if strings.Count(out, "\n") != 1 {
		t.Errorf("%s: not one object in a line:\n%.2000s", line, out)
	}
	if err := schema.Check(def, []byte(out)); err != nil {
		t.Errorf("%s: %v\n%.2000s", line, err, out)
	}
}
