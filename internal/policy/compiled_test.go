package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// recompiled returns a policy after it was compiled, written and read.
func recompiled(t testing.TB, spec *Spec, place patterns.Place) *Spec {
	t.Helper()
	p, _, _, err := spec.Compile(place)
	if err != nil {
		t.Fatal(err)
	}
	data, err := spec.AppendCompiled(nil, p, "test")
	if err != nil {
		t.Fatal(err)
	}
	got, err := ReadCompiled(data, place, "test")
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestCompiledDecidesTheSame checks that a policy that was compiled, written and read makes
// the same decision as before, in all its parts, for any sources.
func TestCompiledDecidesTheSame(t *testing.T) {
	lines := everyLine(t)
	rapid.Check(t, func(rt *rapid.T) {
		merged, _ := Merge(drawSources(t, rt))
		if _, _, _, err := merged.Compile(mergePlace); err != nil {
			return
		}
		got := recompiled(t, merged, mergePlace)
		for range 6 {
			use := rapid.SampledFrom(lines).Draw(rt, "use")
			if was, is := decided(t, merged, use), decided(t, got, use); !reflect.DeepEqual(was, is) {
				rt.Fatalf("%s: %+v, compiled %+v", use, was, is)
			}
		}
	})
}

// TestCompiledKeepsEverything checks that no field of a policy is left out, whatever is
// added to it.
func TestCompiledKeepsEverything(t *testing.T) {
	var s Spec
	n := 0
	fill(reflect.ValueOf(&s).Elem(), &n)
	s.Further = []*Spec{{Mode: "plan", ownMode: true}}
	s.packed = nil
	for i := range s.Rules {
		s.Rules[i].Match, s.Rules[i].NotMatch = nil, nil
	}
	s.places, s.ownMode = map[string]patterns.Source{"mode": {Name: "f", Line: 7}}, true
	for _, tables := range [][]TableSpec{s.Programs, s.Tools} {
		for i := range tables {
			tables[i].section, tables[i].table = "x", map[string]any{"a": []any{"b", int64(1)}, "t": map[string]any{"c": true}}
			tables[i].places = map[string]patterns.Source{"y": {Name: "f", Line: 3}}
		}
	}
	for i := range s.RiskOverrides {
		s.RiskOverrides[i].places, s.RiskOverrides[i].narrow, s.RiskOverrides[i].kept = map[string]patterns.Source{"risk": {Line: 2}}, true, true
	}
	p := &permission.Policy{Place: mergePlace, Version: "v", Further: []*permission.Policy{{Version: "w"}}}
	data, err := s.AppendCompiled(nil, p, "test")
	if err != nil {
		t.Fatal(err)
	}
	got, err := ReadCompiled(data, mergePlace, "test")
	if err != nil {
		t.Fatal(err)
	}
	if got.Digest() != "v" || got.Further[0].Digest() != "w" {
		t.Errorf("%s, %s", got.Digest(), got.Further[0].Digest())
	}
	want := s
	want.Allow, want.Ask, want.Deny, want.Gate = nil, nil, nil, nil
	got.packed, got.Further[0].packed = nil, nil
	if a, b := fmt.Sprintf("%+v", *got.Further[0]), fmt.Sprintf("%+v", *want.Further[0]); a != b {
		t.Errorf("further\n%s\nwant\n%s", a, b)
	}
	got.Further, want.Further = nil, nil
	if !reflect.DeepEqual(*got, want) {
		t.Errorf("got\n%+v\nwant\n%+v", *got, want)
	}
}

// fill gives every exported field a value of its own.
func fill(v reflect.Value, n *int) {
	*n++
	switch v.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprint("s", *n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(*n))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), n)
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, n)
		fill(value, n)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i), n)
			}
		}
	}
}

// TestCompiledElsewhere checks that a compiled policy is not read for another place or by
// another build, nor one that was cut short or has bytes more.
func TestCompiledElsewhere(t *testing.T) {
	spec, err := Parse([]byte(`deny = ["Bash(rm:*)"]`), "p")
	if err != nil {
		t.Fatal(err)
	}
	p, _, _, err := spec.Compile(mergePlace)
	if err != nil {
		t.Fatal(err)
	}
	data, err := spec.AppendCompiled(nil, p, "one")
	if err != nil {
		t.Fatal(err)
	}
	other := mergePlace
	other.Workspace = "/elsewhere"
	_, byAnother := ReadCompiled(data, mergePlace, "two")
	_, there := ReadCompiled(data, other, "one")
	_, more := ReadCompiled(append(bytes.Clone(data), 0), mergePlace, "one")
	if !errors.Is(byAnother, ErrCompiled) || !errors.Is(there, ErrCompiled) || !errors.Is(more, ErrCompiled) {
		t.Errorf("another build: %v; another place: %v; a byte more: %v", byAnother, there, more)
	}
	for i := range data {
		if s, err := ReadCompiled(data[:i], mergePlace, "one"); err == nil {
			if _, _, _, err = s.Compile(mergePlace); err == nil {
				t.Fatalf("cut at %d of %d it loads", i, len(data))
			}
		}
	}
}

// FuzzReadCompiled checks that a damaged file is an error, and none of the machine.
func FuzzReadCompiled(f *testing.F) {
	spec, _ := Merge([]Source{sourceOf(f, Project, true, "mode = \"plan\"\ndeny = [\"Bash(rm:*)\", \"Read(x)\"]\n[[rules]]\ntools = [\"Bash\"]\naction = \"ask\"\n"), sourceOf(f, Local, false, `allow = ["Bash(ls)"]`)})
	p, _, _, err := spec.Compile(mergePlace)
	if err != nil {
		f.Fatal(err)
	}
	data, err := spec.AppendCompiled(nil, p, "test")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := ReadCompiled(data, mergePlace, "test")
		if (s == nil) != (err != nil) {
			t.Fatal(s, err)
		}
		if err != nil {
			return
		}
		if _, err := json.Marshal(s); err != nil {
			t.Fatal(err)
		}
		_, _, _, _ = s.Compile(mergePlace)
	})
}
