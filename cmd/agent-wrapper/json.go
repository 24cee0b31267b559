package main

import (
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agent-wrapper/agent-wrapper/internal/text/plain"
)

// jsonVersion is the version of what --json prints; docs/json.md says what changes it.
const jsonVersion = 1

// envelope begins every object of --json.
type envelope struct {
	SchemaVersion int    `json:"schema_version"`
	Command       string `json:"command"`
}

// seal fills the envelope of a command's object.
func (e *envelope) seal(command string) { *e = envelope{jsonVersion, command} }

type enveloped interface{ seal(command string) }

// jsonError is what --json prints of a command that has nothing else to print. Its fields
// mean what they do in the result of a run.
type jsonError struct {
	envelope
	ExitCode int    `json:"exit_code"`
	Error    string `json:"error"`
}

// jsonForm is the flag --json of a command, as a pflag.Value.
type jsonForm struct {
	on   bool
	said bool // an object was printed
	a    *app
	cmd  *cobra.Command
}

// The help of --json: for commands that end, and for those that show what happens.
const (
	jsonOnce   = "print one JSON object, also of an error"
	jsonEvents = "print one JSON object per line, also of an error"
)

// addJSON adds --json to a command.
func (a *app) addJSON(cmd *cobra.Command, help string) *jsonForm {
	f := &jsonForm{a: a, cmd: cmd}
	cmd.Flags().VarPF(f, "json", "", help).NoOptDefVal = "true"
	return f
}

func (f *jsonForm) Set(text string) (err error) {
	f.on, err = strconv.ParseBool(text)
	return err
}

func (f *jsonForm) String() string { return strconv.FormatBool(f.on) }

// Type has help and messages treat it as the switch that it is.
func (f *jsonForm) Type() string { return "bool" }

// put prints an object. Each has a line of its own.
func (f *jsonForm) put(v enveloped) error {
	v.seal(commandName(f.cmd))
	f.said = true
	return writeJSON(f.a.out, v)
}

// commandName returns the name of a command in its objects: "audit verify".
func commandName(cmd *cobra.Command) string {
	_, name, _ := strings.Cut(cmd.CommandPath(), " ")
	if name == "" || name == "approvals" {
		return map[string]string{"": "run", "approvals": "approvals list"}[name]
	}
	return name
}

// failJSON prints the object of a command that ended with err before it printed one, if
// --json was given, also to one that does not take it. It returns err, or that of writing.
func (a *app) failJSON(cmd *cobra.Command, args []string, err error) error {
	if err == nil || runs(cmd) || cmd.Name() == "demo" {
		return err // these have a result
	}
	f := &jsonForm{a: a, cmd: cmd} // of a command without --json, which is the error then
	if flag := cmd.Flags().Lookup("json"); flag != nil {
		f = flag.Value.(*jsonForm)
	}
	if f.said || !f.on && !wantsJSON(args) {
		return err
	}
	if lost := f.put(&jsonError{ExitCode: exitCode(err), Error: plain.Text(err)}); lost != nil {
		return lost
	}
	return err
}

// wantsJSON reports whether a command line asks for JSON. It is for one that cannot be
// read otherwise.
func wantsJSON(args []string) bool {
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	return slices.Contains(args, "--json") || slices.Contains(args, "--json=true")
}

// orNone returns a list as JSON has it: an empty one is [], not null.
func orNone[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// addJSONOutput adds --json to a command whose output has other forms too.
func addJSONOutput(cmd *cobra.Command, output *string) {
	cmd.Flags().BoolFunc("json", "the same as --output json", func(text string) error {
		on, err := strconv.ParseBool(text)
		if on {
			*output = outputJSON
		}
		return err
	})
}
