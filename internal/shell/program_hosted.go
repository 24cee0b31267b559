package shell

import (
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
)

// hosted records the fetches of operands and values of options that begin with a host,
// though they are no URL: program.Hosted.
func (e *effector) hosted() {
	if e.prog == nil {
		return
	}
	e.hostedBy(e.prog)
	if sub := e.sub(); sub != e.prog {
		e.hostedBy(sub)
	}
}

func (e *effector) hostedBy(p *program.Program) {
	for _, row := range p.Hosted {
		form, option, _ := strings.Cut(row, " ")
		valued := false
		for _, a := range e.scan.Args {
			if a.Kind == ArgOption && a.ValueAt >= 0 && slices.Contains(a.Option.Names, option) {
				valued = true
				e.fetchHosted(form, a.Value, "option "+option+" of "+e.prog.Name)
			}
		}
		if !valued && (option == "" || e.has(option)) {
			for _, w := range e.hostedOperands(p) {
				e.fetchHosted(form, w, "operand of "+e.prog.Name)
			}
		}
	}
}

// hostedOperands returns the operands of a command that may begin with a host. Those
// behind the image or the package that is run are its arguments.
func (e *effector) hostedOperands(p *program.Program) []Word {
	rest := e.operandWords(0)
	switch p.Operands {
	case program.Script:
		return rest[:min(1, len(rest))]
	case program.RunsArgs:
		return rest[:min(max(p.Skip, 1), len(rest))]
	}
	return rest
}

func (e *effector) fetchHosted(form string, w Word, what string) {
	if url, ok := hostedURL(form, w); ok && !e.fetches(&url) {
		e.w.add(Action{Kind: Fetch, Need: NeedNone, Path: url, Hosted: true, Reason: what, Parent: e.index, From: -1, Pos: url.Pos, End: url.End})
	}
}

// hostedURL returns the URL of a word of a form that may begin with a host.
func hostedURL(form string, w Word) (Word, bool) {
	text := w.Text
	if strings.Contains(text, "://") || text != "" && strings.ContainsRune("./~-", rune(text[0])) {
		return Word{}, false
	}
	if form == "package" {
		return packageURL(w)
	}
	end := strings.IndexAny(text, hostEnds[form])
	if end < 0 {
		end = len(text)
	}
	if len(w.Holes) > 0 && w.Holes[0].At <= end && form != "version" {
		out := joinText(Word{Text: "https://"}, w)
		out.Pos, out.End = w.Pos, w.End
		return out, true
	}
	host := text[:end]
	// Resolvers read other dots than that of ASCII, too.
	named := strings.ContainsFunc(host, func(r rune) bool { return r == '.' || r == ':' || r > 0x7f })
	switch form {
	case "image":
		named = end < len(text) && (named || host == "localhost")
	case "repository":
		named = named && strings.Count(text, "/") == 2
	case "module":
		named = named && end < len(text)
	case "version":
		named = named && strings.Contains(text, "@")
	}
	if !named {
		return Word{}, false
	}
	return Word{Text: "https://" + host + "/", Pos: w.Pos, End: w.End}, true
}

// hostEnds are the characters that end the host in a word of each form.
var hostEnds = map[string]string{"host": "/", "image": "/", "repository": "/", "module": "/@", "version": "/@"}

// packageURL returns the URL of a package that npm fetches from a repository: OWNER/REPO
// and github:OWNER/REPO, or USER@HOST:PATH, possibly behind NAME@ (npm help package-spec).
func packageURL(w Word) (Word, bool) {
	text := w.Text
	if len(w.Holes) > 0 {
		text = text[:w.Holes[0].At]
	}
	spec := text
	if _, rest, ok := strings.Cut(strings.TrimPrefix(text, "@"), "@"); ok {
		scheme, _, prefixed := strings.Cut(rest, ":")
		switch {
		case scheme == "npm":
			return Word{}, false
		case !prefixed || text[0] == '@' || packageHosts[scheme] != "" || strings.Contains(scheme, "@"):
			spec = rest
		}
	}
	host := ""
	scheme, _, prefixed := strings.Cut(spec, ":")
	switch {
	case prefixed && packageHosts[scheme] != "":
		host = packageHosts[scheme]
	case prefixed && strings.Contains(scheme, "@"):
		host = hostBeforePath(&Word{Text: spec})
	case !prefixed && spec != "" && !strings.ContainsRune("@./~", rune(spec[0])) && strings.Count(spec, "/") == 1:
		host = packageHosts["github"]
	}
	if host == "" {
		return Word{}, false
	}
	return Word{Text: "https://" + host + "/", Pos: w.Pos, End: w.End}, true
}

// packageHosts are the hosts of the prefixes that npm knows.
var packageHosts = map[string]string{"github": "github.com", "gist": "gist.github.com", "gitlab": "gitlab.com", "bitbucket": "bitbucket.org", "sourcehut": "git.sr.ht"}
