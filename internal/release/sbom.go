package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// bill is a bill of materials in CycloneDX 1.6. It has what the programs say that they
// were built from: their own build information, not the module graph, which holds more.
type bill struct {
	Format       string       `json:"bomFormat"`
	Spec         string       `json:"specVersion"`
	Version      int          `json:"version"`
	Metadata     metadata     `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

type metadata struct {
	Timestamp string    `json:"timestamp"`
	Component component `json:"component"`
}

type component struct {
	Type       string      `json:"type"`
	Ref        string      `json:"bom-ref"`
	Name       string      `json:"name"`
	Version    string      `json:"version,omitempty"`
	PURL       string      `json:"purl,omitempty"`
	Hashes     []hash      `json:"hashes,omitempty"`
	Properties []property  `json:"properties,omitempty"`
	Components []component `json:"components,omitempty"`
}

type hash struct {
	Alg     string `json:"alg"`
	Content string `json:"content"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type dependency struct {
	Ref string   `json:"ref"`
	On  []string `json:"dependsOn"`
}

// sbom returns the bill of the programs for a platform, which lie in the files built.
func sbom(r *release, platform string, built []string) ([]byte, error) {
	self := component{Type: "application", Ref: purl(module, r.version), Name: "agent-wrapper", Version: r.version, PURL: purl(module, r.version)}
	self.Properties = []property{{"agent-wrapper:commit", r.commit}, {"agent-wrapper:platform", platform}}
	modules := map[string]component{}
	for _, name := range built {
		info, err := buildinfo.ReadFile(name)
		if err != nil {
			return nil, err
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		program := filepath.Base(name)
		self.Components = append(self.Components, component{
			Type: "file", Ref: "file:" + program, Name: program,
			Hashes: []hash{{"SHA-256", fmt.Sprintf("%x", sha256.Sum256(data))}},
		})
		modules["std"] = component{Type: "library", Ref: purl("std", info.GoVersion), Name: "std", Version: info.GoVersion, PURL: purl("std", strings.TrimPrefix(info.GoVersion, "go"))}
		for _, dep := range info.Deps {
			if dep.Replace != nil {
				return nil, fmt.Errorf("%s is replaced by %s: a release is built from what go.mod names", dep.Path, dep.Replace.Path)
			}
			modules[dep.Path] = library(dep)
		}
	}
	out := bill{Format: "CycloneDX", Spec: "1.6", Version: 1, Metadata: metadata{r.at.Format(time.RFC3339), self}, Components: []component{}}
	on := dependency{Ref: self.Ref, On: []string{}}
	for _, c := range modules {
		out.Components = append(out.Components, c)
	}
	slices.SortFunc(out.Components, func(a, b component) int { return strings.Compare(a.Ref, b.Ref) })
	for _, c := range out.Components {
		on.On = append(on.On, c.Ref)
	}
	out.Dependencies = []dependency{on}
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(out)
	return text.Bytes(), err
}

// library returns a module that is linked. Its sum is that of go.sum, which is of the
// module's files, and so no hash of a file.
func library(m *debug.Module) component {
	return component{
		Type: "library", Ref: purl(m.Path, m.Version), Name: m.Path, Version: m.Version, PURL: purl(m.Path, m.Version),
		Properties: []property{{"agent-wrapper:go.sum", m.Sum}},
	}
}

// purl returns the package URL of a module.
func purl(path, version string) string {
	return "pkg:golang/" + strings.ReplaceAll(path, "+", "%2B") + "@" + strings.ReplaceAll(version, "+", "%2B")
}
