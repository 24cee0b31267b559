package whitelist

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/agent-wrapper/agent-wrapper/internal/golden"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

const schemaFile = "../../schemas/allowed-commands.schema.json"

// TestSchemaUpToDate: the schema file matches the Go types.
func TestSchemaUpToDate(t *testing.T) {
	text, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	golden.Check(t, schemaFile, string(text))
}

// TestSchema: what loads is valid by the schema, which rejects the errors that
// it can express.
func TestSchema(t *testing.T) {
	data, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(data, &schema); err != nil {
		t.Fatal(err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	valid := func(text string) error {
		var v any
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		return resolved.Validate(v)
	}
	seed, err := os.ReadFile("testdata/seed-default.json")
	if err != nil {
		t.Fatal(err)
	}
	_, start := starting(t, true, "npm test", "make", "ls x")
	for _, text := range []string{string(seed), string(Default), builtIn, strictTools, head + "}", string(start.Text), head + `,"$comment":[1],"$schema":"x","defaults":{"$comment":{},"$schema":1},"custom":{"$comment":1},"policy":{"$comment":1,"max_command_length":1}}`} {
		if _, err := Parse([]byte(text), "l"); err != nil {
			t.Error(err)
		}
		if err := valid(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{
		`[]`, `{}`, `{"version":"1.0.0"}`, `{"mode":"strict"}`, `{"version":"1","mode":"strict"}`, `{"version":"1.0.0","mode":"lax"}`, head + `,"polcy":{}}`, head + `,"$schema":1}`, head + `,"defaults":{"npm":{}}}`, head + `,"defaults":{"npm":{"commands":[]}}}`,
		head + `,"defaults":{"npm":{"commands":"x"}}}`, head + `,"defaults":{"npm":{"commands":[""]}}}`, head + `,"defaults":{"npm":{"commands":["a"],"binary":"x"}}}`, head + `,"defaults":{"npm":{"commands":["a"],"allow_args":[""]}}}`, head + `,"custom":{"x":{}}}`, head + `,"custom":{"x":{"binary":""}}}`, head + `,"custom":{"x":{"binary":null}}}`,
		head + `,"policy":{"max_command_length":0}}`, head + `,"policy":{"max_command_length":70000}}`, head + `,"policy":{"max_command_length":1.5}}`, head + `,"policy":{"hallucination_threshold":0}}`, head + `,"policy":{"dry_run_mode":"x"}}`, head + `,"policy":{"allow_env_vars":null}}`, head + `,"policy":{"allow_env_vars":[1]}}`,
	} {
		if valid(text) == nil {
			t.Errorf("%s is valid", text)
		}
		if _, err := Parse([]byte(text), "l"); err == nil {
			t.Errorf("%s loads", text)
		}
	}
	// Every key has a description.
	for key := range described {
		if !strings.Contains(string(data), `"`+key+`": {`) {
			t.Errorf("%s is described and no key", key)
		}
	}
}

// TestWarnings: what a list allows although its reader may not expect so.
func TestWarnings(t *testing.T) {
	for _, tt := range []struct {
		text string
		want []string
	}{
		{string(Default), []string{
			"node -e runs whatever code or program it is given: this allows everything", "node --eval runs whatever code or program it is given: this allows everything",
			"npm run build runs what package.json says: anyone who can edit that file decides what runs", "npm run lint runs what package.json says: anyone who can edit that file decides what runs",
			"npm run typecheck runs what package.json says: anyone who can edit that file decides what runs", "npm test runs what package.json says: anyone who can edit that file decides what runs",
		}},
		{head + `,"defaults":{"node":{"commands":["-e","--check"],"deny_args":["--check"]}}}`, []string{"node -e runs whatever code or program it is given: this allows everything"}},
		{head + `,"defaults":{"npm":{"commands":["test","run build","start","ci"]}}}`, []string{"npm run build runs what package.json says: anyone who can edit that file decides what runs", "npm test runs what package.json says: anyone who can edit that file decides what runs", "npm start runs what package.json says: anyone who can edit that file decides what runs"}},
		{head + `,"custom":{"py":{"binary":"python","allow_args":["-c *","-q"]}}}`, []string{"py -c: this option makes it run, read or follow what it is given"}},
		{head + `,"custom":{"x":{"binary":"x","allow_args":["--a","--b"],"deny_args":["--b"]}}}`, []string{`x: "--b" in allow_args has no effect: deny_args also lists it`}},
		{strings.Replace(head, "strict", "permissive", 1) + `,"policy":{"allow_env_vars":["CI","PATH"],"allow_shell_operators":true,"dry_run_mode":true}}`, []string{
			"policy.allow_env_vars: PATH can make a listed program run another one", "policy.allow_shell_operators: a gate with operators is run by a shell", "policy.dry_run_mode: nothing is refused", "mode: unlisted commands are asked about, not refused",
		}},
		{head + `,"custom":{"unknown-tool":{"binary":"./unknown","allow_args":["-x"]}}}`, nil},
	} {
		got := parse(t, tt.text).Warnings()
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Error(tt.text, diff)
		}
	}
	if names := seedList(t).names; !slices.IsSorted(names) {
		t.Error(names)
	}
}

func TestUnusable(t *testing.T) {
	o := Unusable{Err: os.ErrNotExist}.Forbid("ls", analyze("ls"))
	if o.Behavior != permission.Deny || o.Kind == "" || !strings.Contains(o.Reason, "not exist") {
		t.Error(o)
	}
}
