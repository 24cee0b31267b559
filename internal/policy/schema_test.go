package policy

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/BurntSushi/toml"
	"github.com/agent-wrapper/agent-wrapper/internal/golden"
	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/permission"
	"github.com/google/jsonschema-go/jsonschema"
)

const schemaFile = "../../schemas/agent-wrapper.schema.json"

// TestSchemaUpToDate checks that the file agrees with the Go types.
func TestSchemaUpToDate(t *testing.T) {
	text, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	golden.Check(t, schemaFile, string(text))
}

// TestSchema checks that what loads is valid by the schema, and that the schema
// rejects what it can of the rest.
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
		var v map[string]any
		if _, err := toml.Decode(text, &v); err != nil {
			t.Fatal(err)
		}
		plain, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var any any
		if err := json.Unmarshal(plain, &any); err != nil {
			t.Fatal(err)
		}
		return resolved.Validate(any)
	}
	good := []string{"", full, string(Starting(allKits, true)), "[programs.x]\nskip = 1\nsafe = true\noperands = \"reads\"\noptions = [\"-a\"]\nnames = [\"y\"]\n[programs.x.sub.z.sub.w]\nplain = true"}
	good = append(good, append(settingLines, settingTables...)...)
	files, _ := filepath.Glob("testdata/lint/*.toml")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		good = append(good, string(text))
	}
	for _, text := range good {
		if _, err := Parse([]byte(text), "p"); err != nil {
			t.Fatal(err)
		}
		if err := valid(text); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, text := range []string{
		`mod = "plan"`, `Mode = "plan"`, `mode = "auto"`, `mode = 1`, `unlisted = "allow"`, `risk = true`, `catastrophic = "no"`, `allow = "Bash"`, `allow = [1]`,
		"[[rules]]\ntool = [\"Bash\"]", "[[rules]]\naction = \"log\"", "[rules]\naction = \"ask\"", `programs = []`, "[programs.x]\nsaef = true", "[programs.x]\nsafe = 1",
		"[programs.x]\nspecial = \"git\"", "[programs.x]\nuse = [\"gnu\"]", "[programs.x]\noperands = \"read\"", "[programs.x.sub.y]\nsaef = true", "[[programs]]",
	} {
		if err := valid(text); err == nil {
			t.Errorf("%q is valid", text)
		}
		spec, err := Parse([]byte(text), "p")
		if err == nil {
			_, _, _, err = spec.Compile(mergePlace)
		}
		if err == nil {
			t.Errorf("%q loads", text)
		}
	}
}

// TestDefaults checks that the settings of a policy which says a default are those of
// one that says nothing.
func TestDefaults(t *testing.T) {
	settings := func(text string) permission.Policy {
		t.Helper()
		spec, err := Parse([]byte(text), "p")
		if err != nil {
			t.Fatal(err)
		}
		p, _, _, err := spec.Compile(patterns.Place{Workspace: "/w", Home: "/home/x"})
		if err != nil {
			t.Fatal(err)
		}
		return permission.Policy{Mode: p.Mode, Unlisted: p.Unlisted, RiskOff: p.RiskOff, NoCatastrophic: p.NoCatastrophic, Profile: p.Profile, SensitiveAsks: p.SensitiveAsks, InlineAsFiles: p.InlineAsFiles}
	}
	for key, value := range defaults {
		if said, want := settings(key+" = \""+value+"\""), settings(""); !reflect.DeepEqual(said, want) {
			t.Errorf("%s = %q is not the default: %+v, want %+v", key, value, said, want)
		}
	}
}
