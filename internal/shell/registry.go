package shell

import (
	"path"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
	"github.com/agent-wrapper/agent-wrapper/internal/text/lazyregexp"
)

// Asking is what a Command asks hosts that files of the project may name.
type Asking struct {
	Registries []*program.Registry
	Files      []Word // that its words name, beside those that it finds itself
	Places     []Word // where its words name projects, for registries with Inward
	// Seldom reports that it only asks now and then for a newer version of the program, so
	// that only credentials count.
	Seldom bool
}

// Asks returns the registries that the Command asks, and whether there are any.
func (a *Action) Asks() (asks Asking, ok bool) {
	if a.Kind != Command || a.Prints || len(a.Words) == 0 {
		return asks, false
	}
	p := a.Program
	if p == nil {
		p = program.Spellings(nil, path.Base(a.Words[0].Text)) // of which only the risk is known
	}
	if p == nil || p.Registry == "" {
		return asks, false
	}
	asks.Registries = p.Registries(func(word string) bool {
		return slices.ContainsFunc(a.Words, func(w Word) bool { return !w.Known() || w.Text == word })
	})
	if p.Wordless {
		return asks, true
	}
	scan := ScanWords(p, a.Words)
	if offline(p, &scan, a.Words) {
		asks.Seldom = true
		return asks, p.Updates
	}
	for _, r := range asks.Registries {
		if found := filesOf(r, &scan, a.Words); Inward(r) {
			asks.Places = append(asks.Places, found...)
		} else {
			asks.Files = append(asks.Files, found...)
		}
	}
	return asks, true
}

// offline reports whether a row of the program's says that a use asks no registry.
func offline(p *program.Program, scan *Scan, words []Word) bool {
	var verbs []string
	first := "."
	for i := range scan.Args {
		arg, w := &scan.Args[i], &words[scan.Args[i].Word]
		switch {
		case arg.Kind == ArgSubcommand:
			verbs = append(verbs, w.Text)
		case len(verbs) > 0 || arg.Kind == ArgOption || arg.Kind == ArgDashes:
		case first == ".":
			first = "_"
			if !w.Known() || strings.HasPrefix(w.Text, "-") {
				first = ""
			}
		}
	}
	use := first
	if len(verbs) > 0 {
		use = strings.Join(verbs, " ")
	}
	return slices.ContainsFunc(p.Offline, func(row string) bool {
		row, unless, _ := strings.Cut(row, " !")
		return row == use && (unless == "" || !given(scan, words, strings.Split(unless, "|")))
	})
}

// given reports whether one of some options may be among the words.
func given(scan *Scan, words []Word, names []string) bool {
	return slices.ContainsFunc(scan.Args, func(arg Arg) bool {
		w := &words[arg.Word]
		switch arg.Kind {
		case ArgSubcommand, ArgDashes:
			return false
		case ArgOption:
			return slices.ContainsFunc(names, func(name string) bool { return slices.Contains(arg.Option.Names, name) })
		}
		return !w.Known() || strings.HasPrefix(w.Text, "-")
	})
}

// Inward reports whether the files of a registry are also looked for in projects that words
// name (dotnet build src/x).
func Inward(r *program.Registry) bool { return slices.Contains(r.Options, "PATH") }

// filesOf returns the files, or the projects, that the words name for a registry.
func filesOf(r *program.Registry, scan *Scan, words []Word) []Word {
	var files []Word
	for i := range scan.Args {
		arg := &scan.Args[i]
		switch w := words[arg.Word]; {
		case len(r.Options) == 0:
		case arg.Kind == ArgOption && arg.ValueAt >= 0 && slices.ContainsFunc(arg.Option.Names, func(name string) bool { return slices.Contains(r.Options, name) }):
			files = append(files, arg.Value)
		case arg.Kind != ArgOption && Inward(r):
			if arg.Kind != ArgSubcommand && w.Known() && !strings.HasPrefix(w.Text, "-") {
				files = append(files, w)
			}
		case arg.Kind == ArgOperand && (strings.HasSuffix(w.Text, ".txt") || strings.HasSuffix(w.Text, ".in")):
			files = append(files, w)
		}
	}
	return files
}

// Named is a host that a setting of a file names, or a variable whose value it has sent.
type Named struct {
	File, Key string
	Host      string // "" if Variable is sent to whatever host is asked
	Variable  string
}

// UnknownHost is the host where a setting names one that cannot be told.
const UnknownHost = "an unknown host"

// Line returns what people trust.
func (n Named) Line() string {
	line := n.Key + " " + n.Host
	if n.Variable != "" {
		line += " " + n.Variable
	}
	return strings.TrimSpace(line)
}

// NamedHosts returns the hosts that settings of a registry's file name, but for those that
// the program asks anyway. If there are keys, only such settings count.
func NamedHosts(r *program.Registry, file string, keys []string, settings []Setting) []Named {
	var all []Named
	for _, s := range settings {
		if len(keys) > 0 && !meetsAny(keys, s.Key) {
			continue
		}
		for _, n := range namedBy(r, s) {
			n.File, n.Key = file, s.Key
			if !slices.Contains(all, n) {
				all = append(all, n)
			}
		}
	}
	return all
}

func meetsAny(patterns []string, key string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return program.Meets(p, key) })
}

// namedBy returns what a setting names.
func namedBy(r *program.Registry, s Setting) []Named {
	variable := variableOf(s.Value)
	switch {
	case meetsAny(r.Secrets, s.Key):
		if variable == "" {
			return nil
		}
		if at := strings.Index(s.Key, "//"); at >= 0 {
			return notPublic(r, []Named{hostOf(s.Key[at+2:], variable)}, s.Key[at+2:])
		}
		return []Named{{Variable: variable}}
	case meetsAny(r.Quiet, s.Key):
		return nil
	case meetsAny(r.Elsewhere, s.Key), variableOf(s.Key) != "":
		return []Named{{Host: UnknownHost, Variable: variable}}
	}
	found := urlsIn(r, s.Value, variable)
	switch {
	case !meetsAny(r.Hosts, s.Key):
		return append(urlsIn(r, s.Key, ""), found...)
	case len(found) > 0 || urlStart.MatchString(s.Value):
		return found
	}
	value := strings.TrimSpace(s.Value)
	switch {
	case variable != "":
		return []Named{{Host: UnknownHost, Variable: variable}}
	case value == "" || strings.HasPrefix(value, "/") || strings.HasPrefix(value, ".") || strings.HasPrefix(value, "~"):
		return nil
	case strings.ContainsAny(value, `.:@\`) || strings.HasSuffix(strings.ToLower(s.Key), "proxy") && !gitBool.has(strings.ToLower(value)):
		return notPublic(r, []Named{hostOf(value, "")}, value)
	}
	return nil
}

var (
	// variableIn finds a variable in a setting, as ${NAME}, $NAME or %NAME%.
	variableIn = lazyregexp.New(`\$\{[^}]*\}?|\$[A-Za-z_][A-Za-z0-9_]*|%[A-Za-z_][A-Za-z0-9_]*%`)
	// urlStart finds where the host of a URL begins. Programs take a backslash for a slash,
	// and http:x for http://x.
	urlStart = lazyregexp.New(`(?i)[a-z][a-z0-9+.-]*:[/\\]{2}|^[/\\]{2}|\bhttps?:[/\\]*|\b[a-z0-9._-]+@[a-z0-9._-]+:`)
)

// variableOf returns the first variable in a text, "" if there is none.
func variableOf(text string) string {
	if !strings.ContainsAny(text, "$%") {
		return "" // most have none
	}
	return variableIn.FindString(text)
}

// urlsIn returns the hosts of the URLs in a text.
func urlsIn(r *program.Registry, text, variable string) []Named {
	if !strings.ContainsAny(text, `:/\`) {
		return nil
	}
	var all []Named
	text = strings.TrimSpace(text)
	for _, at := range urlStart.FindAllStringIndex(text, -1) {
		start, rest := text[at[0]:at[1]], text[at[1]:]
		switch {
		case strings.Contains(start, "@"): // user@host:path
			_, rest, _ = strings.Cut(strings.TrimSuffix(start, ":"), "@")
		case strings.EqualFold(start, "file://") && strings.HasPrefix(rest, "/"), variable == "" && rest == "":
			continue
		}
		all = append(all, notPublic(r, []Named{hostOf(rest, variable)}, rest)...)
	}
	return all
}

// notPublic removes the hosts that the program asks without configuration; rest begins with
// the host.
func notPublic(r *program.Registry, named []Named, rest string) []Named {
	_, place, _ := strings.Cut(rest, "@")
	if place == "" {
		place = rest
	}
	place = strings.ToLower(place)
	return slices.DeleteFunc(named, func(n Named) bool {
		return slices.ContainsFunc(r.Public, func(public string) bool {
			host, _, below := strings.Cut(public, "/")
			return n.Host == host && (!below || place == public || strings.HasPrefix(place, public+"/") || place == public+".git")
		})
	})
}

// hostOf returns the host with which the rest of a URL begins.
func hostOf(rest, variable string) Named {
	end := strings.IndexAny(rest, "/?#\"'<> \t\r\n,;)")
	if end < 0 {
		end = len(rest)
	}
	host := strings.ToLower(rest[:end])
	user, behind, has := strings.Cut(host, "@")
	if has {
		host = behind
	}
	if found := plainHost.FindStringSubmatch(host); found != nil && !strings.ContainsAny(user, `\`) {
		return Named{Host: found[1], Variable: variable}
	}
	return Named{Host: UnknownHost, Variable: variable}
}

// plainHost matches a host, with its port, that every program reads in the same way.
var plainHost = lazyregexp.New(`^([a-z0-9](?:[a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:.]+\])(?::[0-9]*)?$`)

// Worst returns of what was named the one to tell: a variable that is sent, or else a host,
// unless only variables count. There is none if nothing is sent anywhere.
func Worst(named []Named, seldom bool) (Named, bool) {
	at := slices.IndexFunc(named, func(n Named) bool { return n.Host != "" })
	if at < 0 {
		return Named{}, false
	}
	host := named[at]
	for _, n := range named {
		if n.Variable != "" {
			if n.Host == "" {
				n.Host = host.Host
			}
			return n, true
		}
	}
	return host, !seldom
}

// Why returns why the Command is unproven that would ask the host.
func (n Named) Why(name string) Why {
	if n.Variable != "" {
		return because(CauseSendsVariable, name, n.Variable+" to "+n.by())
	}
	return because(CauseAsksHost, name, n.by())
}

func (n Named) by() string {
	return n.Host + ", which " + n.File + " names (agent-wrapper trust " + n.File + " accepts it)"
}
