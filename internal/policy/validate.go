package policy

import (
	"errors"
	"io/fs"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/frontmatter"
	"github.com/agent-wrapper/agent-wrapper/internal/text/stricttoml"
	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// Problem is an error in a policy file, which prevents it from loading, or a
// warning about something that loads but should be reviewed.
type Problem struct {
	Source  patterns.Source
	Warning bool
	Text    string
}

// String returns the problem on one line: "file:line:col: error: text".
func (p *Problem) String() string {
	level := "error: "
	if p.Warning {
		level = "warning: "
	}
	return at(p.Source, errors.New(level+p.Text)).Error()
}

// Validate parses the text of a policy file as strictly as loading does, and
// returns everything wrong with it, the errors first. Relative paths are taken
// in an arbitrary workspace: whether they exist is not checked.
func Validate(data []byte, name string) []Problem {
	var t table
	lines, err := stricttoml.Decode(data, name, &t)
	found := problems(err)
	if unknown := (*stricttoml.UnknownKeys)(nil); errors.As(err, &unknown) {
		lines = unknown.Lines // the rest is not loaded, and may have errors too
	} else if err != nil {
		return found
	}
	return append(found, t.placed(lines, name).validate()...)
}

// Validate is like the function Validate, for a file; for kind FrontMatter, for
// the head of a chat. The error is that the file cannot be read.
func (f File) Validate() ([]Problem, error) {
	if f.Kind != FrontMatter {
		data, err := readFile(f.Path)
		if err != nil {
			return nil, err
		}
		return Validate(data, f.Path), nil
	}
	spec, err := ReadHead(f.Path)
	var path *fs.PathError
	switch {
	case errors.As(err, &path):
		return nil, err
	case err != nil:
		return problems(err), nil
	}
	return spec.validate(), nil
}

func (s *Spec) validate() []Problem {
	_, _, _, err := s.Compile(lintPlace)
	found := problems(err)
	for _, key := range listNames() {
		for _, item := range *s.listed(key) {
			_, warnings, _ := s.ParseRule(item.Text, listKeys[key], item.Source) // Compile has reported the error
			for _, w := range warnings {
				place := column(w.Source, w.Col)
				found = append(found, Problem{place, true, shortened(w.String(), place)})
			}
		}
	}
	return found
}

// problems splits an error that joins several.
func problems(err error) []Problem {
	if err == nil {
		return nil
	}
	if unknown, ok := err.(*stricttoml.UnknownKeys); ok {
		return problems(unknown.Unwrap())
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []Problem
		for _, e := range joined.Unwrap() {
			all = append(all, problems(e)...)
		}
		return all
	}
	place := placeOf(err)
	return []Problem{{Source: place, Text: shortened(err.Error(), place)}}
}

// placeOf returns the place that an error states.
func placeOf(err error) patterns.Source {
	var file *stricttoml.Error
	var head *frontmatter.Error
	var rule *patterns.Error
	var placed *placedError
	switch {
	case errors.As(err, &file):
		return patterns.Source{Name: file.Name, Line: file.Line, Col: file.Col}
	case errors.As(err, &head):
		return patterns.Source{Name: head.At.Name, Line: head.At.Line, Col: head.At.Col}
	case errors.As(err, &rule):
		return column(rule.Source, rule.Col)
	case errors.As(err, &placed):
		return placed.place
	}
	return patterns.Source{}
}

// column returns the place of a column of a rule.
func column(s patterns.Source, col int) patterns.Source {
	if s.Col > 0 {
		col += s.Col - 1
	}
	s.Col = col
	return s
}

// shortened returns the text of an error without its leading place.
func shortened(text string, place patterns.Source) string {
	return strings.TrimPrefix(text, at(place, errors.New("")).Error())
}
