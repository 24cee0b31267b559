package shell

import (
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
)

// jq handles filters, which can read the environment and load modules. The filter of
// yq may follow eval.
func (e *effector) jq() {
	filters := e.filters()
	for _, filter := range filters {
		switch {
		case !filter.Known():
			e.unprovenLate(causeJqUnknown)
		case wordIn(filter.Text, "env", "ENV", "input_filename", "import", "include", "get_search_list"):
			e.unprovenLate(causeJqReads)
		}
	}
	if e.prog.Name == "yq" {
		filters = append(filters, e.operandWords(0)...)
		if slices.ContainsFunc(filters, yqLoads) {
			e.w.opaque(e.index, MayRead, causeYqLoads)
		}
	}
	if slices.ContainsFunc(filters, func(w Word) bool { return w.Known() && jqEnviron(w.Text) }) {
		e.shows()
	}
}

// yqLoads reports whether an expression of yq loads a file.
func yqLoads(w Word) bool {
	return wordIn(w.Text, "load", "load_str", "load_xml", "load_props", "load_base64") && strings.Contains(w.Text, "(")
}

// filters returns the filters of jq and yq on the command line.
func (e *effector) filters() []Word {
	if !e.pattern && len(e.operands) > 0 {
		return []Word{e.words[e.operands[0]]}
	}
	var list []Word
	for _, a := range e.scan.Args {
		if a.Kind == ArgOption && a.Option.Effect == program.EffPattern && a.ValueAt >= 0 {
			list = append(list, a.Value)
		}
	}
	return list
}

// jqEnviron reports whether a filter of jq or yq reads variables: $ENV, env, env(X)
// and strenv(X), but not the field .env or the key env:.
func jqEnviron(filter string) bool {
	for _, name := range [...]string{"$ENV", "env", "strenv", "envsubst"} {
		for from := 0; ; {
			at := strings.Index(filter[from:], name)
			if at < 0 {
				break
			}
			at, from = at+from, at+from+len(name)
			if jqName(filter, at, from) && jqTells(filter[from:]) {
				return true
			}
		}
	}
	return false
}

// jqName reports whether a name in a filter is a whole word, and neither a field nor
// a key.
func jqName(filter string, from, to int) bool {
	letter := func(i int) bool { return 0 <= i && i < len(filter) && awkLetter(filter[i]) }
	field := from > 0 && strings.IndexByte(`."$`, filter[from-1]) >= 0
	key := strings.HasPrefix(strings.TrimLeft(filter[to:], " \""), ":")
	return !letter(from-1) && !letter(to) && !field && !key
}

// jqTells reports whether the text behind $ENV is anything but a variable that holds
// no secret (.HOME).
func jqTells(rest string) bool {
	name, isField := strings.CutPrefix(rest, ".")
	return !isField || tells(nameAt(name))
}
