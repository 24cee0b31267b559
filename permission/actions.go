package permission

import (
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
	"github.com/agent-wrapper/agent-wrapper/internal/risk"
	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/internal/text/lazyregexp"
	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// act is one action of a tool use as judged under one policy.
type act struct {
	*action
	// free is set if the action needs no answer; only ask and deny rules apply to
	// it.
	free bool
	// protected is set if the mode does not apply to the path, which may be held.
	protected bool
	class     risk.Class
	why       string // the reason for the class
	reworded  bool   // the reason is not that of the tables
	factors   []string
	// override is the policy's override of the class, nil if the class is that of
	// the tables.
	override *Override
	// lifted is set if the class is higher than that of the tables, looks if the
	// action only reads something all the same.
	lifted, looks bool
	// secret is set if only rules that name what the action shows count for it:
	// secrets holds the names in the path that is read.
	secret  bool
	secrets []patterns.Named
	// calm is set if the action only writes temporary files of the session.
	calm bool
	// unkept is what a write removes first, or the file that it empties or replaces and that git cannot bring back,
	// "" if there is none.
	unkept string
	// remade is set for a removal of tier 3 that a person may permit.
	remade bool
	// quiet is why a command of tier 2 is harmless all the same, "" if it is not.
	quiet string
	// names is set for a command that git runs in a repository of the user's own outside
	// the workspace, and that shows no contents of its files.
	names bool
	// public is set for a read that policy.Public names.
	public bool
	// strays is why a read that seems to stay in the workspace may leave it, "" if it
	// does not.
	strays string
	// listed is the result of the allow lists, valid if looked is set.
	listed listing
	looked bool
}

// weigh converts the actions of the reading to acts.
func (e *evaluation) weigh() {
	found := e.risks(e.policy.Profile)
	e.acts = slices.Grow(e.acts, len(e.actions))
	for i := range e.actions {
		e.acts = append(e.acts, act{action: &e.actions[i]})
		a := &e.acts[i]
		switch {
		case a.does != nil && i < len(found):
			a.class, a.why, a.factors = found[i].Class, found[i].Reason, found[i].Factors
		case a.does != nil: // its risk is unknown
		case a.chore || a.beside:
			a.class = risk.Safe
		default:
			a.class = risk.Moderate
		}
		if a.class < risk.Safe || a.class > risk.Forbidden {
			a.class = risk.Forbidden // invalid class
		}
		a.protected = a.sub.Kind == patterns.WritePath && e.protects(a)
		a.free = a.beside || a.does != nil && (a.does.Need == shell.NeedNone || a.does.Need == shell.NeedOutside && a.inside && !a.protected)
	}
	if e.policy.InlineAsFiles {
		e.inline()
	}
	if e.does() {
		e.sayHere(found)
		e.calm()
		e.overlay()
		e.findUnkept()
		for i := range e.acts {
			e.acts[i].remade = e.removesRemade(i)
		}
		e.quiet()
		e.confine()
	}
}

// sayHere says of commands that only connect to this machine, and of their fetches, that
// they do, since no other host is reached.
func (e *evaluation) sayHere(found []risk.Finding) {
	here := map[int]bool{}
	for i := range e.acts {
		a := &e.acts[i]
		if a.sub.Kind != patterns.FetchURL || a.does == nil || a.does.Followed {
			continue
		}
		host := a.does.Path
		if _, rest, found := strings.Cut(host.Text, "://"); found {
			host.Text = rest
		}
		host.Text = "http://" + host.Text
		here[i] = len(host.Holes) == 0 && loopback(patterns.NewURL(host).Host())
		all, seen := here[a.parent]
		here[a.parent] = here[i] && (all || !seen)
	}
	for i, only := range here {
		if !only || i < 0 || i >= len(found) || !found[i].Remote() {
			continue
		}
		a := &e.acts[i]
		a.why, a.reworded = "connects to this machine", true
		if method := a.does.Method(); method != "" && len(method) <= longestMethod {
			a.why = "sends a request to this machine (" + method + ")"
		}
	}
}

// longestMethod is the length up to which a reason shows the method of a request.
const longestMethod = 16

// confine holds the reads of commands that only their tier lets through to what
// the Read tool may read without a rule, and keeps such commands from telling other
// hosts anything.
func (e *evaluation) confine() {
	if e.policy.Profile == risk.Terminal {
		return
	}
	found := e.risks(e.policy.Profile)
	last, lastConfined := -1, false // a command may have many reads
	confined := func(reader int) bool {
		if reader != last {
			last, lastConfined = reader, e.confined(reader)
		}
		return lastConfined
	}
	for i := range e.acts {
		a := &e.acts[i]
		if (a.class == risk.Safe || a.quiet != "") && (tellsHost(a.does) || i < len(found) && found[i].Asks && (asksOther(a.does) || e.fetchesOther(i)) || obeysRemote(a.does)) {
			a.quiet, a.class, a.why, a.reworded, a.looks = "", risk.Moderate, "sends its arguments to another host", true, true
			a.lift(e.policy.RiskOff)
		}
		if a.sub.Kind != patterns.ReadPath || a.does != nil && a.does.ByPattern {
			continue
		}
		a.public = !a.inside && e.isPublic(&a.sub)
		if reader := e.reader(i); !a.free || a.public || reader >= 0 && (e.acts[reader].names || !confined(reader)) {
			continue
		}
		if a.inside {
			a.strays = e.strays(a)
		}
		a.free = a.inside && a.strays == "" && !e.bounded(i)
	}
}

// confined reports whether act i is allowed only by its tier, or by the sandbox around it.
func (e *evaluation) confined(i int) bool {
	why := e.first(i).reason
	return why == isHarmless || why == isContained
}

// tellsHost reports whether a command asks a host that its words name, other than
// this machine.
func tellsHost(does *shell.Action) bool {
	if does == nil || does.Kind != shell.Command || !does.Words[0].Known() || !program.Is(path.Base(does.Words[0].Text), program.NamesHosts) {
		return false
	}
	numbers := numbersOf(does)
	for i := 1; i < len(does.Words); i++ {
		if namesHost(&does.Words[i], slices.Contains(numbers, i)) {
			return true
		}
	}
	return false
}

// numbersOf returns the indexes of the words that are numbers to options of a command.
func numbersOf(does *shell.Action) (numbers []int) {
	if does.Program == nil {
		return nil
	}
	for _, a := range shell.ScanWords(does.Program, does.Words).Args {
		if a.Kind == shell.ArgOption && a.Option.Effect == program.EffNumber {
			numbers = append(numbers, a.ValueAt)
		}
	}
	return numbers
}

// obeysRemote reports whether a command obeys a file that its words name on another
// machine (kubectl get -f URL), so that a rule has to name its subcommand.
func obeysRemote(does *shell.Action) bool {
	return does != nil && does.Kind == shell.Command && does.Reach > 0 && slices.ContainsFunc(does.Words[1:], func(w shell.Word) bool {
		text, _ := patterns.FoldHost(w.Text)
		if rest, ok := afterScheme(text); ok && !localURL.MatchString(rest) {
			return true
		}
		urls := strings.Split(w.Text, "://")[1:]
		return len(urls) > 0 && len(w.Holes) > 0 || slices.ContainsFunc(urls, func(rest string) bool { return !localURL.MatchString(rest) })
	})
}

// asksOther reports whether a command that gets what it shows from a host may tell it
// what the line does not show, or asks a host that its words name rather than the one
// that it always asks.
func asksOther(does *shell.Action) bool {
	return slices.ContainsFunc(does.Words[1:], func(w shell.Word) bool { return mayCarry(&w) || startsWithHost(does, &w) })
}

// fetchesOther reports whether command i fetches from a host other than this machine and
// those that its program asks anyway.
func (e *evaluation) fetchesOther(i int) bool {
	for k := i + 1; k < len(e.acts); k++ {
		f := &e.acts[k]
		if f.parent == i && f.sub.Kind == patterns.FetchURL && !isLocal(f.does.Path) && !sshHere(f.does.Path) && !asksAnyway(e.acts[i].does, f.sub.URL.Host()) {
			return true
		}
	}
	return false
}

// sshHere reports whether a repository is reached by ssh on this machine.
func sshHere(url shell.Word) bool {
	rest, ok := strings.CutPrefix(url.Text, "ssh://")
	return ok && len(url.Holes) == 0 && localURL.MatchString(rest)
}

// asksAnyway reports whether a program asks a host whatever its words say.
func asksAnyway(does *shell.Action, host string) bool {
	return does.Program != nil && slices.Contains(strings.Fields(does.Program.Hosts), host)
}

// mayCarry reports whether a word has unknown text other than a number.
func mayCarry(w *shell.Word) bool {
	return slices.ContainsFunc(w.Holes, func(h shell.Hole) bool {
		return h.Kind == shell.AnyText || h.Kind == shell.Glob || h.Kind == shell.Pattern
	})
}

// inOption matches what stands before the value of an option in the same word.
var inOption = lazyregexp.New(`^(?:-[a-z]=?|--?[a-z0-9_.-]+=)? *`)

// hostFirst matches a folded reference that begins with a host: host.tld/path,
// host:5000/path, [::1]:5000/path or user@host:path, possibly the value of an option.
var hostFirst = lazyregexp.New(`^(?:-[a-z]=?|--?[a-z0-9_.-]+=)? *(?:[\pL\pM\pN_-]+(?:(?:\.[\pL\pM\pN_-]+)+\.?(?::[0-9]+)?|:[0-9]+)/|\[[0-9a-f.]*:[0-9a-f:.%]*\](?::[0-9]+)?/|[\pL\pM\pN._-]+@[\pL\pM\pN._-]+:)`)

// urlFirst matches a folded URL, possibly the value of an option; the groups are the
// scheme and what follows it. Parsers of URLs take https:host for https://host.
var urlFirst = lazyregexp.New(`^(?:-[a-z]=?|--?[a-z0-9_.-]+=)? *(?:[a-z0-9]+\+)?(?:((?:http|ws|ftp)s?):[/\\]*([^/\\\s].*)|([a-z][a-z0-9.-]*)://(.*))$`)

// noHosts lists the schemes that no host follows: names of buckets, and files.
var noHosts = []string{"s3", "s3a", "s3n", "gs", "az", "abfs", "abfss", "wasb", "wasbs", "oss", "b2", "file", "unix", "dir"}

// afterScheme returns what follows the scheme of a folded URL, where a host stands.
func afterScheme(text string) (rest string, ok bool) {
	switch m := urlFirst.FindStringSubmatch(text); {
	case m == nil || slices.Contains(noHosts, m[3]):
		return "", false
	case m[1] != "":
		return m[2], true
	default:
		return m[4], true
	}
}

// startsWithHost reports whether a word is a reference that begins with a host other
// than this machine and those that the program asks anyway.
func startsWithHost(does *shell.Action, w *shell.Word) bool {
	text, _ := patterns.FoldHost(w.Text)
	if rest, ok := afterScheme(text); ok {
		return !localURL.MatchString(rest) && !asksAnyway(does, patterns.NewURL(shell.Word{Text: "https://" + rest}).Host())
	}
	scp := does.Program != nil && does.Program.Special == "git" && hostAndPath.MatchString(text)
	return (scp || hostFirst.MatchString(text)) && !localURL.MatchString(text)
}

// hostAndPath matches HOST:PATH, with which git names a repository: git-fetch(1).
var hostAndPath = lazyregexp.New(`^(?:\[[^]/]*\]|[\pL\pM\pN._-]+):`)

// namesHost reports whether a word may name a host outside the own network, which has
// a dot or a colon in its name or address. A number that an option takes does not.
func namesHost(w *shell.Word, number bool) bool {
	text, folded := patterns.FoldHost(strings.TrimLeft(w.Text, "@"))
	address, isAddress := addressNumber(text)
	if !isAddress {
		host, _, _ := strings.Cut(inOption.ReplaceAllString(text, ""), "/")
		address, isAddress = addressNumber(host)
	}
	switch {
	case len(w.Holes) > 0 || !folded:
		return true
	case text == "localhost", text == "::1", text == "0.0.0.0", strings.HasSuffix(text, ".localhost"):
		return false
	case text != "" && text[0] == ':' && strings.Trim(text[1:], "0123456789") == "":
		return false // a port of this machine: ss sport = :8080
	case strings.HasPrefix(text, "127."):
		ip, err := netip.ParseAddr(text)
		return err != nil || !ip.IsLoopback()
	case isAddress:
		return address>>24 != 127
	}
	if _, err := strconv.ParseFloat(w.Text, 64); err == nil && number {
		return false // ping -i 0.2
	}
	return strings.ContainsAny(text, ".:")
}

// addressNumber returns the address of a host that is written as one number, as
// inet_aton(3) reads it: 16843009, 0x01010101, 0100200401. Lower numbers count things.
func addressNumber(text string) (uint64, bool) {
	if len(text) > 1 && text[0] == '0' && strings.Trim(text, "01234567") == "" {
		text = "0o" + text[1:]
	}
	n, err := strconv.ParseUint(text, 0, 32)
	return n, err == nil && n >= 1<<24 && !strings.Contains(text, "_")
}

// reader returns the command that reads what act i reads: its parent or, for a
// redirection, the next command; -1 if there is none.
func (e *evaluation) reader(i int) int {
	if parent := e.acts[i].parent; parent >= 0 || !e.acts[i].does.Redirect {
		return parent
	}
	for j := i + 1; j < len(e.acts); j++ {
		if kind := e.acts[j].sub.Kind; kind == patterns.RunCommand || kind == patterns.Hidden {
			return j
		}
	}
	return -1
}

// isPublic reports whether everybody may read the path.
func (e *evaluation) isPublic(sub *patterns.Subject) bool {
	return e.policy.Public != nil && yes(e.policy.Public(), sub, patterns.Query{}) != nil
}

// does reports whether the tool use has effects of its own, beside the use of
// the tool as such.
func (e *evaluation) does() bool { return e.actions[0].does != nil }

// risks returns the risks of the actions by the tables of a profile, in their
// order. It omits actions that are beside, which are the last ones, and is nil
// for a tool that is used as a whole.
func (r *reading) risks(profile risk.Profile) []risk.Finding {
	if r.weighed && r.profile == profile {
		return r.found
	}
	r.weighed, r.profile, r.found = true, profile, r.found[:0]
	switch {
	case r.facts != nil:
		r.found = risk.AppendEach(r.found, r.facts, profile, r.riskPlace())
	case r.actions[0].does != nil:
		for i := range r.actions {
			does := r.actions[i].does
			if does == nil || i > 0 && !does.ByPattern {
				break
			}
			r.found = append(r.found, risk.Action(does, profile, r.riskPlace()))
		}
	}
	return r.found
}
