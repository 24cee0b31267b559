package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// compiledForm is the first line of a compiled policy. The next one is a number, the size
// of the head in bytes; then come the head, a compiledHead as JSON, and the packed lists.
const compiledForm = "agent-wrapper policy 1\n"

// compiledHead is what a compiled policy says about itself, and all of it but its lists.
type compiledHead struct {
	Program string         `json:"program"` // the build that has compiled it
	Place   patterns.Place `json:"place"`
	Spec    compiledSpec   `json:"spec"`
}

// bare is a Spec without the methods by which it is written.
type bare Spec

// compiledSpec is a Spec without its rule lists, with what no policy file says.
type compiledSpec struct {
	bare
	OwnMode   bool                       `json:"own_mode,omitempty"`
	Places    map[string]patterns.Source `json:"places,omitempty"`
	Overrides []compiledOverride         `json:"overrides,omitempty"`
	Programs  []compiledTable            `json:"program_tables,omitempty"`
	Tools     []compiledTable            `json:"tool_tables,omitempty"`
	Digest    string                     `json:"digest"`
	Packs     [numPacks]int              `json:"packs"` // sizes
	Further   []compiledSpec             `json:"further_policies,omitempty"`
}

type compiledOverride struct {
	OverrideSpec
	Places map[string]patterns.Source `json:"places,omitempty"`
	Narrow bool                       `json:"narrow,omitempty"`
	Kept   bool                       `json:"kept,omitempty"`
}

type compiledTable struct {
	Name    string                     `json:"name"`
	Source  patterns.Source            `json:"source"`
	Section string                     `json:"section"`
	Table   map[string]any             `json:"table"`
	Places  map[string]patterns.Source `json:"places,omitempty"`
}

// packed are the rule lists of a compiled policy, in their order in the file.
type packed struct {
	digest string
	lists  [numPacks][]byte
}

const (
	packAllow = iota
	packAsk
	packDeny
	packGate
	numPacks
)

// ErrCompiled is the error of a compiled policy of another build, for another place, or
// that is not as it was written. The policy is to be read from its sources.
var ErrCompiled = errors.New("policy: the compiled policy is not one of this build for this place")

// AppendCompiled appends the policy, as it was compiled for a place, in a form that
// ReadCompiled reads without parsing its rule lists. Program is the build of the program:
// only the same one reads what is written.
func (s *Spec) AppendCompiled(out []byte, p *permission.Policy, program string) ([]byte, error) {
	var packs []byte
	head := compiledHead{Program: program, Place: p.Place}
	if err := head.Spec.from(s, p, &packs); err != nil {
		return nil, err
	}
	text, err := json.Marshal(head)
	if err != nil {
		return nil, err
	}
	out = fmt.Appendf(append(out, compiledForm...), "%d\n", len(text))
	return append(append(out, text...), packs...), nil
}

// from sets the fields from a policy, and appends its lists.
func (c *compiledSpec) from(s *Spec, p *permission.Policy, packs *[]byte) error {
	if len(s.Further) != len(p.Further) {
		return fmt.Errorf("policy: %d further policies, of which %d are compiled", len(s.Further), len(p.Further))
	}
	*c = compiledSpec{bare: bare(*s), OwnMode: s.ownMode, Places: s.places, Digest: p.Version}
	c.Allow, c.Ask, c.Deny, c.Gate, c.RiskOverrides, c.bare.Programs, c.bare.Tools, c.bare.Further = nil, nil, nil, nil, nil, nil, nil, nil
	c.Rules = append([]RuleSpec(nil), s.Rules...)
	for i := range c.Rules {
		c.Rules[i].Match, c.Rules[i].NotMatch = nil, nil // they held when it was compiled
	}
	for _, o := range s.RiskOverrides {
		c.Overrides = append(c.Overrides, compiledOverride{o, o.places, o.narrow, o.kept})
	}
	c.Programs, c.Tools = compiledTables(s.Programs), compiledTables(s.Tools)
	for i, set := range [numPacks]*patterns.Set{p.Allow, p.Ask, p.Deny, p.Gate} {
		if set.Len() > 0 {
			pack := set.Pack()
			*packs, c.Packs[i] = append(*packs, pack...), len(pack)
		}
	}
	c.Further = make([]compiledSpec, len(s.Further))
	for i, more := range s.Further {
		if err := c.Further[i].from(more, p.Further[i], packs); err != nil {
			return err
		}
	}
	return nil
}

func compiledTables(tables []TableSpec) []compiledTable {
	var list []compiledTable
	for _, t := range tables {
		list = append(list, compiledTable{t.Name, t.Source, t.section, t.table, t.places})
	}
	return list
}

// ReadCompiled reads a compiled policy. Data, which is not copied, must be as
// AppendCompiled has written it: the caller checks that by a digest. The error wraps
// ErrCompiled if it is of another build or for another place. Compile of what it returns,
// for the same place, returns the same policy as before.
func ReadCompiled(data []byte, place patterns.Place, program string) (*Spec, error) {
	rest, is := bytes.CutPrefix(data, []byte(compiledForm))
	line, rest, cut := bytes.Cut(rest, []byte("\n"))
	var size int
	if n, err := fmt.Sscanf(string(line[:min(len(line), 20)]), "%d", &size); !is || !cut || n != 1 || err != nil || size < 0 || size > len(rest) {
		return nil, ErrCompiled
	}
	var head compiledHead
	if err := json.Unmarshal(rest[:size], &head); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCompiled, err)
	}
	if head.Program != program || !head.Place.Equal(&place) {
		return nil, ErrCompiled
	}
	packs := rest[size:]
	s, err := head.Spec.spec(&packs)
	if err == nil && len(packs) > 0 {
		err = ErrCompiled
	}
	return s, err
}

// spec returns the policy, whose lists it takes from packs.
func (c *compiledSpec) spec(packs *[]byte) (*Spec, error) {
	s := Spec(c.bare)
	s.ownMode, s.places, s.packed = c.OwnMode, c.Places, &packed{digest: c.Digest}
	for _, o := range c.Overrides {
		o.OverrideSpec.places, o.OverrideSpec.narrow, o.OverrideSpec.kept = o.Places, o.Narrow, o.Kept
		s.RiskOverrides = append(s.RiskOverrides, o.OverrideSpec)
	}
	s.Programs, s.Tools = tablesOf(c.Programs), tablesOf(c.Tools)
	for i, n := range c.Packs {
		if n < 0 || n > len(*packs) {
			return nil, ErrCompiled
		}
		s.packed.lists[i], *packs = (*packs)[:n:n], (*packs)[n:]
	}
	for i := range c.Further {
		more, err := c.Further[i].spec(packs)
		if err != nil {
			return nil, err
		}
		s.Further = append(s.Further, more)
	}
	return &s, nil
}

func tablesOf(tables []compiledTable) []TableSpec {
	var list []TableSpec
	for _, t := range tables {
		list = append(list, TableSpec{t.Name, t.Source, t.Section, whole(t.Table).(map[string]any), t.Places})
	}
	return list
}

// whole turns the numbers of JSON that are whole into those of TOML.
func whole(value any) any {
	switch v := value.(type) {
	case float64:
		if v == float64(int64(v)) {
			return int64(v)
		}
	case map[string]any:
		for key, value := range v {
			v[key] = whole(value)
		}
	case []any:
		for i, value := range v {
			v[i] = whole(value)
		}
	}
	return value
}

// set returns a list of a compiled policy.
func (p *packed) set(which int, list patterns.List, c *compiler) *patterns.Set {
	if len(p.lists[which]) == 0 {
		return patterns.NewSet(c.place)
	}
	set, err := patterns.Unpack(p.lists[which], c.place, list, c.tools)
	c.fail(err)
	return set
}
