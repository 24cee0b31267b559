package whitelist

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// head begins a valid list; the rest of the object follows.
const head = `{"version":"1.0.0","mode":"strict"`

// TestParseErrors: errors have a position.
func TestParseErrors(t *testing.T) {
	for text, want := range map[string]string{
		``:                                    "l.json:1:1: the text ends where a value is expected",
		`[]`:                                  "l.json:1:1: must be an object, not an array",
		`{}`:                                  "l.json:1:1: mode is missing: use \"strict\" or \"permissive\"\nl.json:1:1: version is missing: use \"1.0.0\"",
		`{"version":"1.0.0"}`:                 `l.json:1:1: mode is missing: use "strict" or "permissive"`,
		`{"version":"2.0.0","mode":"strict"}`: `l.json:1:12: version: "2.0.0" is not a known version: use "1.0.0"`,
		`{"version":"1.0.0","mode":"lax"}`:    `l.json:1:27: mode: "lax" is not a mode: use "strict" or "permissive"`,
		`{"version":"1.0.0","mode":""}`:       `l.json:1:27: mode: "" is not a mode: use "strict" or "permissive"`,
		`{"version":1,"mode":"strict"}`:       "l.json:1:12: version: must be a string, not a number",
		head + `,"$schema":1}`:                "l.json:1:46: $schema: must be a string, not a number",
		head + `,"polcy":{}}`:                 "l.json:1:36: unknown key polcy (did you mean policy?)",
		head + `,"Policy":{}}`:                "l.json:1:36: unknown key Policy (did you mean policy?)",
		head + `,"mode":"strict"}`:            "l.json:1:36: key mode appears twice in one object",
		head + `} {}`:                         "l.json:1:37: text after the end of the value",
		head + `,"$Comment":1}`:               "l.json:1:36: unknown key $Comment (did you mean $comment?)",
		head + `,"defaults":{"npm":{}}}`:      "l.json:1:54: defaults.npm: commands is missing or empty: list the subcommands, or move the program to custom",
		head + `,"defaults":{"npm":{"commands":[]}}}`:                                "l.json:1:54: defaults.npm: commands is missing or empty: list the subcommands, or move the program to custom",
		head + `,"defaults":{"npm":{"commands":[""]}}}`:                              "l.json:1:67: defaults.npm.commands[0]: empty: give the words after the program, such as run build",
		head + `,"defaults":{"npm":{"commands":[" "]}}}`:                             "l.json:1:67: defaults.npm.commands[0]: empty: give the words after the program, such as run build",
		head + `,"defaults":{"npm":{"commands":["a","run  x","run x"]}}}`:            `l.json:1:80: defaults.npm.commands[2]: "run x" appears twice`,
		head + `,"defaults":{"npm":{"commands":["run *"]}}}`:                         `l.json:1:67: defaults.npm.commands[0]: "run *": commands are compared word by word, and * has no special meaning`,
		head + `,"defaults":{"npm":{"commands":["a\nb"]}}}`:                          `l.json:1:67: defaults.npm.commands[0]: "a\nb" contains a control character`,
		head + `,"defaults":{"npm":{"commands":[1]}}}`:                               "l.json:1:67: defaults.npm.commands[0]: must be a string, not a number",
		head + `,"defaults":{"npm":{"commands":["a"],"allow_arg":[]}}}`:              "l.json:1:72: defaults.npm: unknown key allow_arg (did you mean allow_args?)",
		head + `,"defaults":{"npm":{"commands":["a"],"binary":"x"}}}`:                "l.json:1:72: defaults.npm: unknown key binary (the keys are allow_args, allow_bare, allow_positionals, commands, deny_args)",
		head + `,"defaults":{"":{"commands":["a"]}}}`:                                `l.json:1:51: defaults."": "" is not a program name: use the first word of the command, as it is typed`,
		head + `,"defaults":{"npm test":{"commands":["a"]}}}`:                        `l.json:1:59: defaults.npm test: "npm test" is not a program name: use the first word of the command, as it is typed`,
		head + `,"defaults":{"-x":{"commands":["a"]}}}`:                              `l.json:1:53: defaults.-x: "-x" is not a program name: use the first word of the command, as it is typed`,
		head + `,"defaults":{"bin/":{"commands":["a"]}}}`:                            `l.json:1:55: defaults.bin/: "bin/" is not a program name: use the first word of the command, as it is typed`,
		head + `,"defaults":{"x":{"commands":["a"],"allow_args":[""]}}}`:             `l.json:1:84: defaults.x.allow_args[0]: "" is empty`,
		head + `,"defaults":{"x":{"commands":["a"],"allow_args":[" -x"]}}}`:          `l.json:1:84: defaults.x.allow_args[0]: " -x" begins or ends with a space`,
		head + `,"defaults":{"x":{"commands":["a"],"allow_args":["-x "]}}}`:          `l.json:1:84: defaults.x.allow_args[0]: "-x " begins or ends with a space`,
		head + `,"defaults":{"x":{"commands":["a"],"allow_args":["run x"]}}}`:        `l.json:1:84: defaults.x.allow_args[0]: "run x" contains a space: write an option and its value, or one word`,
		head + `,"defaults":{"x":{"commands":["a"],"allow_args":["a\tb"]}}}`:         `l.json:1:84: defaults.x.allow_args[0]: "a\tb" contains a control character`,
		head + `,"defaults":{"x":{"commands":["a"],"allow_args":["-*"]}}}`:           `l.json:1:84: defaults.x.allow_args[0]: "-*" would allow every option: list the ones to allow`,
		head + `,"defaults":{"x":{"commands":["a"],"allow_args":["--* x"]}}}`:        `l.json:1:84: defaults.x.allow_args[0]: "--* x" would allow every option: list the ones to allow`,
		head + `,"defaults":{"x":{"commands":["a"],"deny_args":[""]}}}`:              `l.json:1:83: defaults.x.deny_args[0]: "" is empty`,
		head + `,"defaults":{"x":{"commands":["a"],"allow_positionals":"y"}}}`:       "l.json:1:90: defaults.x.allow_positionals: must be a boolean, not a string",
		head + `,"custom":{"x":{}}}`:                                                 "l.json:1:50: custom.x: binary is missing: give the path of the program, or its name on PATH",
		head + `,"custom":{"x":{"binary":""}}}`:                                      `l.json:1:60: custom.x.binary: "" is not the path of a program`,
		head + `,"custom":{"x":{"binary":"bin/"}}}`:                                  `l.json:1:60: custom.x.binary: "bin/" is not the path of a program`,
		head + `,"custom":{"x":{"binary":"a\u0000b"}}}`:                              `l.json:1:60: custom.x.binary: "a\x00b" is not the path of a program`,
		head + `,"custom":{"x":{"binary":"y","commands":[]}}}`:                       "l.json:1:64: custom.x: unknown key commands (the keys are allow_args, allow_positionals, binary, deny_args)",
		head + `,"custom":{"a/x":{"binary":"y"}}}`:                                   "l.json:1:52: custom.a/x: a name cannot contain /: put the path in binary",
		head + `,"custom":{"x":{"binary":"y"},"z":{"binary":"y"}}}`:                  "", // checked below: the order of a map is random
		head + `,"defaults":{"x":{"commands":["a"]}},"custom":{"x":{"binary":"y"}}}`: "l.json:1:86: custom.x: is also in defaults: remove one of them",
		head + `,"policy":{"max_command_length":0}}`:                                 "l.json:1:67: policy.max_command_length: must be 1 to 65536 bytes",
		head + `,"policy":{"max_command_length":65537}}`:                             "l.json:1:67: policy.max_command_length: must be 1 to 65536 bytes",
		head + `,"policy":{"max_command_length":1.5}}`:                               "l.json:1:70: policy.max_command_length: number 1.5 is not a whole number",
		head + `,"policy":{"hallucination_threshold":0}}`:                            "l.json:1:72: policy.hallucination_threshold: must be at least 1",
		head + `,"policy":{"allow_env_vars":["A","B=C"]}}`:                           `l.json:1:68: policy.allow_env_vars[1]: "B=C" is not a variable name`,
		head + `,"policy":{"allow_env_vars":["1A"]}}`:                                `l.json:1:64: policy.allow_env_vars[0]: "1A" is not a variable name`,
		head + `,"policy":{"allow_env_vars":[""]}}`:                                  `l.json:1:64: policy.allow_env_vars[0]: "" is not a variable name`,
		head + `,"policy":{"dry_run_mode":1}}`:                                       "l.json:1:61: policy.dry_run_mode: must be a boolean, not a number",
		head + `,"policy":{"allow_env_vars":null}}`:                                  "l.json:1:63: policy.allow_env_vars: must be an array, not null",
	} {
		l, err := Parse([]byte(text), "l.json")
		switch {
		case err == nil:
			t.Errorf("%s is read", text)
		case l != nil:
			t.Errorf("%s: an error and a list", text)
		case want != "" && err.Error() != want:
			t.Errorf("%s:\n%v, want\n%s", text, err, want)
		}
	}
	_, err := Parse([]byte(head+`,"custom":{"x":{"binary":"y"},"z":{"binary":"y"}}}`), "l.json")
	if err == nil || !strings.Contains(err.Error(), `"y" is also the binary of "x": use one name for each`) && !strings.Contains(err.Error(), `"y" is the binary of "z" as well`) {
		t.Error(err)
	}
	if _, err := Parse([]byte(`{"x":`+strings.Repeat(" ", maxFile)+`1}`), "l"); err == nil || !strings.Contains(err.Error(), "longer than") {
		t.Error(err)
	}
}

// TestParse: the seed's file, and a file with only the required keys.
func TestParse(t *testing.T) {
	l := seedList(t)
	want := Policy{AllowEnvVars: []string{"NODE_ENV", "CI"}, MaxCommandLength: 500, HallucinationThreshold: 3}
	if diff := cmp.Diff(want, l.Policy()); diff != "" || !l.strict || l.Programs() != 5 || l.Name() != "testdata/seed-default.json" {
		t.Error(diff, l.strict, l.Programs(), l.Name())
	}
	if diff := cmp.Diff(want, parse(t, head+"}").Policy()); diff != "" {
		t.Error(diff)
	}
	if l.Policy().AllowEnvVars[0] = "PATH"; l.Policy().AllowEnvVars[0] != "NODE_ENV" {
		t.Error("the policy can be changed")
	}
	l = parse(t, `{"$schema":"s","$comment":["x"],"version":"1.0.0","mode":"permissive","defaults":{"$comment":"c","$schema":"d","npm":{"$comment":1,"commands":["test"]}},
 "custom":{"$comment":"c"},"policy":{"$comment":{},"allow_shell_operators":true,"allow_env_vars":[],"max_command_length":7,"hallucination_threshold":9,"dry_run_mode":true}}`)
	want = Policy{AllowShellOperators: true, AllowEnvVars: []string{}, MaxCommandLength: 7, HallucinationThreshold: 9, DryRunMode: true}
	if diff := cmp.Diff(want, l.Policy()); diff != "" || l.strict || l.Programs() != 1 {
		t.Error(diff, l.strict, l.Programs())
	}
}

// TestShipped: the shipped file is equivalent to the seed's.
func TestShipped(t *testing.T) {
	shipped, err := Parse(Default, "default.json")
	if err != nil {
		t.Fatal(err)
	}
	seed := seedList(t)
	if diff := cmp.Diff(seed.policy, shipped.policy); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(seed.items, shipped.items, cmp.AllowUnexported(item{}, argument{})); diff != "" {
		t.Error(diff)
	}
}

func TestBuiltIn(t *testing.T) {
	l := BuiltIn()
	if l == nil || !l.strict {
		t.Fatal("no strict list")
	}
	want := Policy{AllowEnvVars: []string{"NODE_ENV", "CI"}, MaxCommandLength: 500, HallucinationThreshold: 3}
	if diff := cmp.Diff(want, l.Policy()); diff != "" {
		t.Error(diff)
	}
	for line, want := range map[string]string{
		"npm test": "allowed", "npm run build": "allowed", "npm run lint": "allowed", "git status": "allowed", "git diff": "allowed",
		"npm ci": "not_whitelisted", "git log": "not_whitelisted", "node -e 1": "not_whitelisted", "npm test --coverage": "dangerous_args", "git diff | cat": "shell_operators",
	} {
		if got := l.result(line); got != want {
			t.Errorf("%q: %s, want %s", line, got, want)
		}
	}
}

func TestRead(t *testing.T) {
	dir := t.TempDir()
	if _, err := Read(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if _, err := Read(dir); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	file := filepath.Join(dir, "l.json")
	if err := os.WriteFile(file, []byte(head+"}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if l, err := Read(file); err != nil || l.Name() != file {
		t.Error(err)
	}
	if err := os.WriteFile(file, slices.Repeat([]byte(" "), maxFile+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(file); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Error(err)
	}
}
