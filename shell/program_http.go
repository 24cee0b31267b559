package shell

import (
	"strings"

	"github.com/agent-wrapper/agent-wrapper/program"
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
	for _, arg := range ScanWords(a.Program, a.Words).Args {
		switch arg.Kind {
		case ArgOption:
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
			if name == "http" {
				method, implied = itemMethod(&a.Words[arg.Word], method, implied)
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

// itemMethod returns the method that httpie takes from an operand, which is a method, an
// address or an item of the request: a=b and a:=1 are data, a==b and a:b are not.
func itemMethod(w *Word, method, implied string) (named, otherwise string) {
	text := w.Text
	at := strings.IndexAny(text, "=@")
	switch {
	case method == "" && text != "" && strings.Trim(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == "":
		return text, implied
	case at > 0 && !strings.Contains(text[:at], "/") && !strings.HasPrefix(text[at:], "=="), !w.Known() && at < 0:
		return method, "POST"
	}
	return method, implied
}
