package shell

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
)

// requests says for programs that fetch which options make another request than GET: the
// method, or "=" where the value is the method. "" makes it unknown unless that is given, and
// "?" always, since other requests follow. See curl(1), wget(1)
// and httpie.io/docs/cli; aria2c(1) only gets.
var requests = map[string]map[string]string{
	"curl": {
		"-X": "=", "-T": "PUT", "-:": "?", "-d": "POST", "--data-binary": "POST", "--data-urlencode": "POST", "--data-raw": "POST", "--json": "POST",
		"-F": "POST", "--form-string": "POST",
	},
	"wget":   {"--method": "=", "--post-data": "POST", "--post-file": "POST", "--body-data": "", "--body-file": ""},
	"http":   {"--raw": "POST", "--multipart": "POST"},
	"aria2c": {},
}

// requester is the name under which requests has a program.
func requester(p *program.Program) string {
	switch p.Name {
	case "https", "xh", "xhs", "httpie":
		return "http"
	}
	return p.Name
}

// Method returns the HTTP method of the requests that the words of the action make, "" if
// it is not known.
func (a *Action) Method() string {
	if a.Kind != Command || a.Program == nil || a.Unproven() {
		return ""
	}
	name := requester(a.Program)
	if requests[name] == nil {
		return ""
	}
	method, implied, unknown := "", "GET", false
	var operands []int
	ignored := false
	for _, arg := range ScanWords(a.Program, a.Words).Args {
		switch arg.Kind {
		case ArgOption:
			ignored = ignored || slices.Contains(arg.Option.Names, "--ignore-stdin")
			option, listed := requests[name][arg.Option.Names[0]]
			switch {
			case !listed:
			case option == "?":
				unknown = true
			case option == "=":
				unknown = unknown || !arg.Value.Known()
				method = strings.ToUpper(arg.Value.Text)
			case implied != "PUT":
				implied, unknown = option, unknown || option == "" && method == ""
			}
		case ArgOperand:
			operands = append(operands, arg.Word)
		}
	}
	if name == "http" && a.fed && !ignored {
		implied = "POST" // standard input is the body
	}
	if name == "http" && len(operands) > 0 {
		at := 0
		method, at = request(a.Words, operands)
		for _, i := range operands[at+1:] {
			if data, _, _ := requestItem(&a.Words[i]); data {
				implied = "POST"
			}
		}
	}
	switch {
	case unknown:
		return ""
	case method != "":
		return method
	}
	return implied
}

// request is what the operands of httpie ask for: METHOD URL ITEM... The method is there if
// the first of several operands is only letters; url is the index of the operand.
func request(words []Word, operands []int) (method string, url int) {
	if len(operands) < 2 {
		return "", 0
	}
	first := &words[operands[0]]
	if !first.Known() || first.Text == "" || strings.TrimFunc(first.Text, isASCIILetter) != "" {
		return "", 0
	}
	return strings.ToUpper(first.Text), 1
}

func isASCIILetter(r rune) bool { return r < utf8.RuneSelf && isLetter(byte(r)) }

// itemSeparators part the name of an item from its value, the longer ones first: with @ the
// value is the name of a file. See httpie.io/docs/cli/request-items.
var itemSeparators = []struct {
	text       string
	data, file bool
}{
	{":=@", true, true}, {"==@", false, true}, {"=@", true, true}, {":@", false, true}, {"@", true, true},
	{":=", true, false}, {"==", false, false}, {"=", true, false}, {":", false, false}, {";", false, false},
}

// requestItem reports whether an item makes the request one with data, and whether its
// value, from byte at on, is the name of a file. What a hole may hold may be both.
func requestItem(w *Word) (data, file bool, at int) {
	for i := 0; i < len(w.Text); i++ {
		if w.holeAt(i) {
			return true, true, i
		}
		if w.Text[i] == '\\' {
			i++
			continue
		}
		for _, s := range itemSeparators {
			if !strings.HasPrefix(w.Text[i:], s.text) {
				continue
			}
			at = i + len(s.text)
			maybe := !s.file && w.holeAt(at)
			for k := i + 1; k < at; k++ {
				maybe = maybe || w.holeAt(k)
			}
			return s.data || maybe, s.file || maybe, at
		}
	}
	return !w.Known(), !w.Known(), len(w.Text)
}

// items reads the files that items of a request of httpie name and sends them.
func (e *effector) items(items []int) {
	for _, i := range items {
		w := &e.words[i]
		_, file, at := requestItem(w)
		if !file {
			continue
		}
		e.unprovenLate(causeItemSends, show(w), e.prog.Name)
		name := cutWord(*w, at)
		e.read(name, NeedOutside, "operand of "+e.prog.Name)
		if end := strings.Index(name.Text, ";"); end >= 0 { // NAME@FILE;type=x
			name.Text = name.Text[:end]
			name.Holes = slices.DeleteFunc(slices.Clone(name.Holes), func(h Hole) bool { return h.At > end })
			e.read(name, NeedOutside, "operand of "+e.prog.Name)
		}
	}
}
