package shell

import (
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/text/lazyregexp"
)

// urls records the fetches of words that are URLs, or end in one behind =, + or @
// (--registry=https://h, git+https://h, x@https://h), whatever the catalogue says
// about their position. A program that is safe only prints or searches such words.
func (e *effector) urls() {
	if e.prog != nil && e.sub().Safe {
		return
	}
	for i := range e.words[1:] {
		if url, ok := urlIn(e.words[i+1]); ok && !e.fetches(&url) {
			e.fetch(url, "an argument of "+show(&e.words[0]))
		}
	}
	e.through()
	e.hosted()
	e.client()
	e.redirected()
}

// ways lists the options whose value is a host that requests go through.
var ways = []string{
	"--proxy", "--preproxy", "--proxy1.0", "--http-proxy", "--https-proxy", "--all-proxy", "--ftp-proxy", "--doh-url",
	"--socks4", "--socks4a", "--socks5", "--socks5-hostname", "--connect-to",
}

// through records the hosts that requests go through.
func (e *effector) through() {
	for _, a := range e.scan.Args {
		if a.Kind != ArgOption || a.ValueAt < 0 || !slices.ContainsFunc(a.Option.Names, func(n string) bool { return slices.Contains(ways, n) }) {
			continue
		}
		host := a.Value
		if a.Option.Names[0] == "--connect-to" { // HOST:PORT:HOST:PORT
			parts := strings.SplitN(host.Text, ":", 3)
			host = cutWord(host, len(host.Text)-len(parts[len(parts)-1]))
		}
		if !e.fetches(&host) {
			e.fetch(host, "option "+a.Option.Names[0]+" of "+e.prog.Name)
		}
	}
}

// client fetches the URL of httpie and the like: the first operand, or the second if
// the first is a method. A port alone is one of this machine.
func (e *effector) client() {
	if e.prog == nil || len(e.operands) == 0 || !slices.Contains([]string{"http", "https", "xh", "xhs", "httpie"}, e.prog.Name) {
		return
	}
	_, at := request(e.words, e.operands)
	url := e.words[e.operands[at]]
	e.items(e.operands[at+1:])
	if strings.HasPrefix(url.Text, ":") && !url.holeAt(0) {
		url = joinText(Word{Text: "localhost"}, url)
	}
	if !e.fetches(&url) {
		e.fetch(url, "operand of "+e.prog.Name)
	}
}

// fetches reports whether the command is known to fetch this URL.
func (e *effector) fetches(url *Word) bool {
	return slices.ContainsFunc(e.derived(), func(a Action) bool {
		return a.Kind == Fetch && a.Parent == e.index && a.Path.Pos <= url.Pos && sameWord(&a.Path, url)
	})
}

// urlIn returns the URL of another machine at the end of a word.
func urlIn(w Word) (Word, bool) {
	w = withoutBreaks(w)
	at := strings.Index(w.Text, "://")
	if at <= 0 {
		at = webScheme(w.Text)
	}
	if at <= 0 || strings.ContainsAny(w.Text, " \t\n") {
		return Word{}, false
	}
	from := at
	for from > 0 && (isLetter(w.Text[from-1]) || from < at && w.Text[from-1] >= '0' && w.Text[from-1] <= '9') {
		from--
	}
	scheme := w.Text[from:at]
	if from == at || strings.EqualFold(scheme, "file") || from > 0 && strings.IndexByte("=+@", w.Text[from-1]) < 0 {
		return Word{}, false
	}
	if slices.ContainsFunc(w.Holes, func(h Hole) bool { return h.At <= at }) {
		return Word{}, false
	}
	return cutWord(w, from), true
}

// spacedURL matches a URL with spaces around it, possibly the value of an option.
var spacedURL = lazyregexp.New(`^ *(-[\w.-]+=)? *((?i:https?):[^ ]+) *$`)

// withoutBreaks returns a word without what parsers of URLs skip, if it then is a URL:
// spaces around it, tabs and ends of lines.
func withoutBreaks(w Word) Word {
	if len(w.Holes) > 0 || !strings.ContainsAny(w.Text, " \t\n\r") {
		return w
	}
	text := strings.NewReplacer("\t", "", "\n", "", "\r", "").Replace(w.Text)
	if m := spacedURL.FindStringSubmatch(text); m != nil && strings.Count(text, "://") <= 1 {
		w.Text = m[1] + m[2]
	}
	return w
}

// followers lists the programs that follow redirects: with one of these options, or
// always.
var followers = map[string][]string{
	"curl": {"--location", "--location-trusted", "--follow"},
	"http": {"--follow"}, "https": {"--follow"}, "xh": {"--follow"}, "xhs": {"--follow"},
	"wget": nil, "aria2c": nil, "lynx": nil, "w3m": nil, "links": nil,
}

// redirected records the fetch from an unknown host by a program that follows
// redirects.
func (e *effector) redirected() {
	if e.prog == nil {
		return
	}
	with, follows := followers[e.prog.Name]
	if !follows || !slices.ContainsFunc(e.derived(), func(a Action) bool { return a.Kind == Fetch }) {
		return
	}
	asked := with == nil
	for _, a := range e.scan.Args {
		if a.Kind != ArgOption {
			continue
		}
		asked = asked || slices.ContainsFunc(a.Option.Names, func(n string) bool { return slices.Contains(with, n) })
		if slices.Contains(a.Option.Names, "--max-redirect") && a.Value.Known() && a.Value.Text == "0" {
			return
		}
	}
	if asked {
		e.w.add(Action{
			Kind: Fetch, Need: NeedNone, Path: unknown(), Followed: true, Parent: e.index, From: -1,
			Reason: "a redirect that " + e.prog.Name + " follows",
		})
	}
}

// hereNames returns the names of the files that a program creates in its directory.
func (e *effector) hereNames(rest []Word) []Word {
	if e.prog.Name == "wget" && !e.renames() {
		if names := savedAs(rest); len(names) > 0 {
			return names
		}
	}
	return []Word{{Holes: []Hole{{Kind: Glob}}}}
}

// renames reports whether an option makes wget save under names other than the last
// part of each URL.
func (e *effector) renames() bool {
	for _, a := range e.scan.Args {
		switch {
		case a.Kind == ArgUnsure || a.Kind == ArgUnlisted:
			return true
		case a.Kind == ArgOption && slices.ContainsFunc(a.Option.Names, func(n string) bool { return slices.Contains(renaming, n) }):
			return true
		}
	}
	return false
}

var renaming = []string{
	"--content-disposition", "--trust-server-names", "--recursive", "--mirror", "--page-requisites", "--force-directories",
	"--input-file", "--input-metalink", "--adjust-extension", "--default-page", "--restrict-file-names", "--protocol-directories",
	"--directory-prefix", "--execute", "--config", "--convert-links", "--backup-converted", "--metalink-over-http",
}

// savedAs returns the names under which wget saves URLs: the last part of each, also
// with a number in case the name is taken. It returns nil if a name is unknown.
func savedAs(urls []Word) []Word {
	var names []Word
	for _, u := range urls {
		_, path, ok := strings.Cut(u.Text, "://")
		if !ok {
			path = u.Text
		}
		_, path, _ = strings.Cut(path, "/")
		name := path[strings.LastIndexByte(path, '/')+1:]
		if !u.Known() || strings.ContainsAny(u.Text, "%?#[]{}*\\") {
			return nil
		}
		if name == "" {
			name = "index.html"
		}
		names = append(names, Word{Text: name}, Word{Text: name + ".", Holes: []Hole{{At: len(name) + 1, Kind: Digits}}})
	}
	return names
}

// eachHost calls add with a URL of each host that a text may name: in a URL of any
// scheme, or as a name or an address alone. What begins with a slash behind the scheme
// is a path, except to programs that read http:///host as http://host.
func eachHost(text string, add func(string)) {
	for _, part := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\n,;='\"()|", r) }) {
		scheme, authority, url := strings.Cut(part, "://")
		if at := webScheme(part); !url && at >= 0 {
			authority, url = strings.TrimLeft(part[at+1:], `/\`), true
		} else if !url {
			authority = part
		} else if strings.HasPrefix(strings.ToLower(scheme), "http") {
			authority = strings.TrimLeft(authority, `/\`)
		}
		if name, _, _ := strings.Cut(authority, "/"); name != "" && (url || strings.ContainsAny(name, ".:\u3002\uff0e\uff61")) && strings.Trim(name, ".") != "" {
			add("http://" + authority)
		}
	}
}
