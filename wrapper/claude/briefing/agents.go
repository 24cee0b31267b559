package briefing

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/frontmatter"
	"github.com/agent-wrapper/agent-wrapper/internal/text/lazyregexp"
)

// Agent is a custom agent, in the form of the agent CLI. It has no permissions of its
// own: what it may have of tools is narrowed by Tools and Disallowed, and each tool use
// is decided.
type Agent struct {
	Description string   `json:"description"`
	Prompt      string   `json:"prompt"`
	Tools       []string `json:"tools,omitempty"`
	Disallowed  []string `json:"disallowedTools,omitempty"`
	Model       string   `json:"model,omitempty"`
}

// The fields of heads that count, or that do nothing. All others are dropped, and told
// of: a permission mode, rules, hooks, servers, and what is not known.
var (
	agentFields = []string{"name", "description", "tools", "disallowedTools", "model", "color"}
	skillFields = []string{
		"name", "description", "when_to_use", "argument-hint", "arguments", "disable-model-invocation", "user-invocable",
		"version", "license", "metadata", "author", "tags", "category", "compatibility", "color",
	}
)

var (
	agentName = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9_.:-]{0,63}$`)
	toolName  = lazyregexp.New(`^(\*|[A-Za-z][A-Za-z0-9_-]*\*?)$`)
	modelName = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9_.:/@\[\]-]{0,127}$`)
)

// maxDescription is the length of the longest description of an agent or a skill, in
// bytes. A longer one of a skill is cut.
const maxDescription = 8 << 10

// head is the head of an agent or a skill.
type head map[string]frontmatter.Field

// document reads a file with a head, and notes which of its fields do not count.
func (s *start) document(p place, name string, known []string) (h head, text string, ok bool) {
	data, ok := s.take(p, name)
	if !ok {
		return nil, "", false
	}
	fields, below, err := frontmatter.Document(data, s.short(name))
	if err != nil {
		s.leave(name, err)
		return nil, "", false
	}
	h = head{}
	for _, f := range fields {
		h[f.Name] = f
		if !slices.Contains(known, f.Name) {
			s.drop(f.Name, name)
		}
	}
	return h, strings.TrimSpace(string(below)), true
}

// text returns a field in one line.
func (h head) text(name string) string { return strings.TrimSpace(h[name].Text) }

// names returns the names of tools in a field, a list or a text with commas. What stands
// in parentheses is a rule, which is the policy's affair.
func (h head) names(name string) []string {
	list := h[name].List
	if list == nil {
		list = outside(h[name].Text)
	}
	var all []string
	for _, item := range list {
		tool, _, _ := strings.Cut(strings.TrimSpace(item), "(")
		if toolName.MatchString(tool) {
			all = append(all, tool)
		}
	}
	return all
}

// outside splits a text at the commas that do not stand in parentheses.
func outside(text string) []string {
	depth := 0
	return strings.FieldsFunc(text, func(r rune) bool {
		switch r {
		case '(':
			depth++
		case ')':
			depth--
		}
		return r == ',' && depth <= 0
	})
}

// agents reads the custom agents. Of several with the same name, the nearest counts.
func (s *start) agents() {
	for _, p := range s.places {
		for _, name := range s.markdown(filepath.Join(p.dir, "agents")) {
			if h, text, ok := s.document(p, name, agentFields); ok {
				s.agent(name, h, text)
			}
		}
	}
}

// agent adds a custom agent.
func (s *start) agent(file string, h head, text string) {
	name := h.text("name")
	if name == "" {
		name = strings.TrimSuffix(filepath.Base(file), ".md")
	}
	a := Agent{Description: h.text("description"), Prompt: text, Tools: h.names("tools"), Disallowed: h.names("disallowedTools"), Model: h.text("model")}
	_, narrowed := h["tools"]
	_, denies := h["disallowedTools"]
	var why error
	switch {
	case !agentName.MatchString(name):
		why = fmt.Errorf("the agent's name %.60q is not of letters, digits and - _ . : in at most 64 characters", name)
	case a.Description == "" || a.Prompt == "":
		why = errors.New("an agent needs a description in its head, and a text below")
	case len(a.Description) > maxDescription:
		why = fmt.Errorf("its description has more than %d bytes", maxDescription)
	case narrowed && len(a.Tools) == 0:
		why = errors.New("its tools cannot be read: write tools: Read, Grep")
	case denies && len(a.Disallowed) == 0:
		why = errors.New("its disallowedTools cannot be read: write disallowedTools: Write, Edit")
	case a.Model != "" && !modelName.MatchString(a.Model):
		why = fmt.Errorf("its model %.60q is not the name of one", a.Model)
	}
	if why != nil {
		s.leave(file, why)
		return
	}
	if s.given == nil {
		s.given = map[string]Agent{}
	}
	s.given[name] = a
}

// markdown returns the Markdown files below a directory, sorted, at most as many as are
// read. Links to directories are not followed.
func (s *start) markdown(dir string) []string {
	var all []string
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case !d.IsDir() && filepath.Ext(name) == ".md":
			all = append(all, name)
		}
		if len(all) > maxFiles {
			return fs.SkipAll
		}
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.leave(dir, err)
	}
	return all
}

// skillsHead introduces the skills.
const skillsHead = "\n# Skills\n\nThe files below each say how to do one kind of task. When a task is of that kind, read the file with the Read tool before you begin, and follow it. Paths in it are relative to its directory. A line of the form !`command` in it is a command that you run yourself if you need what it shows.\n\n"

// skillFile is the name of the file of a skill in its directory.
const skillFile = "SKILL.md"

// maxSkills is the size of the list of skills, and cutDescription that of a description in
// it, in bytes.
const (
	maxSkills      = 32 << 10
	cutDescription = 1 << 10
)

// skills lists the skills that the agent may choose by itself. Their text is for the
// Read tool, whose use is decided.
func (s *start) skills() {
	list := map[string]string{}
	var order []string
	for _, p := range s.places {
		entries, err := os.ReadDir(filepath.Join(p.dir, "skills"))
		if err != nil {
			continue // none
		}
		for _, entry := range entries {
			file := filepath.Join(p.dir, "skills", entry.Name(), skillFile)
			h, _, ok := s.document(p, file, skillFields)
			if !ok || h.text("disable-model-invocation") == "true" || h.text("description") == "" {
				continue
			}
			if list[entry.Name()] == "" {
				order = append(order, entry.Name())
			}
			list[entry.Name()] = fmt.Sprintf("- %s: %s (%s)\n", entry.Name(), cut(strings.Join(strings.Fields(h.text("description")+" "+h.text("when_to_use")), " ")), file)
		}
	}
	if len(order) == 0 {
		return
	}
	s.text.WriteString(skillsHead)
	size := 0
	for i, name := range order {
		if size += len(list[name]); size > maxSkills {
			s.Warn(fmt.Sprintf("%d skills are not named to the agent: their list has more than %d bytes; make their descriptions shorter", len(order)-i, maxSkills))
			return
		}
		s.text.WriteString(list[name])
	}
}

// cut returns a description of a limited length.
func cut(text string) string {
	if len(text) <= cutDescription {
		return text
	}
	return strings.ToValidUTF8(text[:cutDescription], "") + " …"
}
