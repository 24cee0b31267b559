package sandbox

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/agent-wrapper/agent-wrapper/internal/risk"
	"github.com/agent-wrapper/agent-wrapper/internal/text/subpath"
	"github.com/agent-wrapper/agent-wrapper/internal/text/visible"
	"github.com/agent-wrapper/agent-wrapper/internal/tools"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// End is what is known of a command that has failed inside the sandbox.
type End struct {
	Dir  string // in which it began
	Home string // of the user, "" if it is not known
	Line string // its command line
	// Output is the end of what it has written. It may be written to look like anything.
	Output []byte
	Unread bool // it cannot be read: what the line cannot do may be why it has failed, or not
	// Outward is why something in its line cannot be done inside the sandbox, by its words
	// (permission.Decision.SandboxWhy); "" if it can.
	Outward string
	Refused []Refusal // by the proxy
}

// Refusal is a connection that the proxy did not make.
type Refusal struct{ Host, Port string }

// Plain is the port of a connection for http, which the proxy never makes: no rule decides
// about it.
const Plain = "http"

// Refusals collects those of a command, each once and no more than are told. It is safe for
// concurrent use.
type Refusals struct {
	mu  sync.Mutex
	all []Refusal
}

// Note notes a connection to a host if it is refused, and returns the error.
func (r *Refusals) Note(host, port string, err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	one := Refusal{host, port}
	if err != nil && len(r.all) < maxMet && !slices.Contains(r.all, one) {
		r.all = append(r.all, one)
	}
	return err
}

// All returns them.
func (r *Refusals) All() []Refusal {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.all)
}

// Met is what the sandbox refused a command, or may have.
type Met struct {
	refusal refusal
	// what is a path that is there, outside the sandbox, or a host that was asked for or is
	// in the line; "" if it is not known.
	what string
	why  string // of the plan
}

// refusal is a kind of refusal.
type refusal uint8

const (
	none      refusal = iota
	outside           // what is not writable
	system            // what is not writable, and nothing to make a part of the workspace
	kept              // what stays as it is, in the middle of that
	withheld          // what cannot be read
	emptied           // what looks empty
	services          // sockets that are not there
	scratch           // temporary files that are not there
	host              // a host that the proxy refused
	plain             // http, which the proxy refuses
	network           // no host is reached
	memory            // the limit of it
	processes         // the limit of them
	outward           // something in the line
	perhaps           // the same, of which nothing says that it is why the command has failed
)

// phrases are the words about a refusal.
type phrases struct {
	deed          string // in the record
	cause         string // with the reason of the plan in place of %
	agent, person string // what to do
}

// again is how an agent has something run outside.
const again = "run only what needs it again, with " + tools.Unsandboxed + " set to true: a person is then asked"

// refusalPhrases has the words about each refusal.
var refusalPhrases = [...]phrases{
	none:      {},
	outside:   {"write", "it is read-only inside the sandbox", "write in the workspace or in $TMPDIR, or " + again, "make the directory part of the workspace (--workspace . --workspace DIR), or run it with --sandbox=off"},
	system:    {"write", "it is read-only inside the sandbox", "write in the workspace or in $TMPDIR, or " + again, "run it with --sandbox=off"},
	kept:      {"write", "it stays as it is inside the sandbox (%)", "leave it, or " + again, "change it yourself, or run this with --sandbox=off"},
	withheld:  {"read", "it is withheld inside the sandbox (%)", "do without it, or ask the person whether a rule may let it be read", "do without it, or let it be read by allow rules: Read(FILE), and Read(./**) unless others say what else may be read here"},
	emptied:   {"read", "it looks empty inside the sandbox (%)", "do without it, or " + again, "do without it, or run this with --sandbox=off"},
	services:  {"reach", "services of this machine are not there inside the sandbox", again, "run it with --sandbox=off"},
	scratch:   {"read", "it is not there inside the sandbox, where each command has temporary files of its own", "put it into $TMPDIR or the workspace", "put it into the workspace"},
	host:      {"fetch", "the policy does not let this host be reached from inside the sandbox", "do without it, ask the person for the rule WebFetch(HOST), or " + again, "let it be reached by an allow rule, WebFetch(HOST), or run it with --sandbox=off"},
	plain:     {"fetch", "from inside the sandbox hosts are reached by https only", "use https, or " + again, "use https, or run it with --sandbox=off"},
	network:   {"fetch", "inside the sandbox no host is reached but those that rules allow, and these by the proxy in HTTPS_PROXY", "do without it, ask the person for the rule WebFetch(HOST), or " + again, "let the host be reached by an allow rule, WebFetch(HOST), or run it with --sandbox=off"},
	memory:    {"exceed", "the policy limits the memory of a process inside the sandbox (%)", "do it with less, or ask the person for more", "raise limits.sandbox.memory_mb in the policy, or run it with --sandbox=off"},
	processes: {"exceed", "the policy limits how many processes and threads there are at the same time inside the sandbox (%)", "do it with fewer, such as -j 2, or ask the person for more", "raise limits.sandbox.processes in the policy, or run it with --sandbox=off"},
	outward:   {"", "%", again, "run it with --sandbox=off"},
	perhaps:   {"", "%", "if it failed because of that, " + again, "if it failed because of that, run it with --sandbox=off"},
}

// String names the refusal as the record does: "write /etc".
func (m Met) String() string {
	return strings.TrimSpace(refusalPhrases[m.refusal].deed + " " + cmp.Or(m.what, m.why))
}

// Advice says what was met and what to do about it, to an agent or to a person.
func (m Met) Advice(person bool) permission.Advice {
	p := &refusalPhrases[m.refusal]
	a := permission.Advice{Cause: strings.Replace(p.cause, "%", m.why, 1), Program: m.what, Text: p.agent}
	if person {
		a.Text = p.person
	}
	if m.refusal == host {
		name, _, _ := strings.Cut(m.what, ":")
		a.Text = strings.Replace(a.Text, "HOST", name, 1)
	}
	return a
}

// Names returns the names of the refusals, without those that only may have happened.
func Names(all []Met) []string {
	var names []string
	for _, m := range all {
		if m.refusal != perhaps {
			names = append(names, m.String())
		}
	}
	return names
}

// maxMet is how many refusals are told of one command.
const maxMet = 4

// Meets returns what the sandbox refused a command, the clearest first: what the command says
// itself that fits the plan, with the words that programs have for such an error, and what the
// proxy has refused. Nothing is decided by it: the command may say what it likes. An error that
// is not known to come from the sandbox is left out.
func Meets(p *Plan, e *End, files Files) []Met {
	r := &reader{plan: p, end: e, files: files, looks: maxLooks}
	r.read()
	for _, one := range e.Refused {
		switch {
		case !isHost(one.Host):
		case one.Port == Plain:
			r.add(Met{refusal: plain, what: "http://" + one.Host})
		default:
			r.add(Met{refusal: host, what: one.Host + ":" + one.Port})
		}
	}
	if r.unreached && len(e.Refused) == 0 {
		r.add(Met{refusal: network, what: r.host})
	}
	switch may := (Met{refusal: outward, why: visible.Line(e.Outward)}); {
	case len(r.found) > 0 || e.Outward == "":
	case r.unproven:
		r.add(may)
	case e.Unread:
		may.refusal = perhaps
		r.add(may)
	}
	return r.found
}

// reader looks for refusals in the end of an output.
type reader struct {
	plan  *Plan
	end   *End
	files Files
	looks int // how many more names may be looked up

	found     []Met
	unreached bool   // no host was reached
	host      string // that is in the line
	unproven  bool   // something failed as if the sandbox had refused it, but is not known to be refused
}

// What is looked at: bytes of the output and lines, bytes of a line, names in all and in a
// line.
const (
	maxOutput = 8 << 10
	maxLines  = 64
	maxLine   = 512
	maxLooks  = 64
	maxNamed  = 8
)

func (r *reader) add(m Met) {
	if len(r.found) < maxMet && !slices.Contains(r.found, m) {
		r.found = append(r.found, m)
	}
}

// failure is a class of errors.
type failure uint8

const (
	readOnly    failure = iota // EROFS
	refused                    // EACCES
	missing                    // ENOENT
	unconnected                // to a service of this machine
	unreachable                // a host, or the name of one
	unpermitted                // EPERM, ESRCH
	busy                       // EBUSY
	exhausted                  // ENOMEM
	crowded                    // EAGAIN, of a process or thread that is to start
)

// signs are the words, in lower case, that programs have for a failure.
var signs = []struct {
	failure failure
	words   []string
}{
	{readOnly, []string{"read-only file system", "erofs", "errno 30]", "os error 30"}},
	{refused, []string{"permission denied", "eacces", "errno 13]", "os error 13"}},
	{missing, []string{"no such file or directory", "enoent", "errno 2]", "os error 2)", "cannot find the file", "can't open file"}},
	{unconnected, []string{"cannot connect to", "can't connect to", "could not connect to", "failed to connect to", "unable to connect to"}},
	{unreachable, []string{"could not resolve", "temporary failure in name resolution", "temporary failure resolving", "failed to resolve", "eai_again", "network is unreachable", "enetunreach", "unable to resolve", "name or service not known"}},
	{unpermitted, []string{"operation not permitted", "eperm", "no such process", "no new privileges"}},
	{busy, []string{"device or resource busy", "ebusy", "errno 16]", "os error 16"}},
	{crowded, []string{"fork: resource temporarily unavailable", "fork: retry", "cannot fork", "can't fork", "unable to fork", "fork failed", "can't start new thread", "unable to create native thread", "failed to create new os thread", "pthread_create", "failed to spawn thread", "spawn eagain", "exec: resource temporarily unavailable"}},
	{exhausted, []string{"cannot allocate memory", "can't allocate memory", "memoryerror", "enomem", "errno 12]", "os error 12", "bad_alloc", "memory exhausted", "virtual memory exhausted", "memory allocation of", "out of memory"}},
}

// read looks at the lines, the last first.
func (r *reader) read() {
	output := r.end.Output[max(len(r.end.Output)-maxOutput, 0):]
	lines := strings.FieldsFunc(string(output), func(c rune) bool { return c == '\n' || c == '\r' })
	for i := len(lines) - 1; i >= max(len(lines)-maxLines, 0); i-- {
		line := lines[i][:min(len(lines[i]), maxLine)]
		low := strings.ToLower(line)
		for _, s := range signs {
			for _, words := range s.words {
				if at := strings.Index(low, words); at >= 0 {
					r.failed(s.failure, line, min(at, len(line))) // lower case may be longer
					break
				}
			}
		}
	}
}

// failed takes a line that says that something has failed; the words for it are at a place
// in it.
func (r *reader) failed(how failure, line string, at int) {
	switch how {
	case exhausted, crowded:
		r.limited(how, line)
		return
	case unreachable:
		r.unreached = true
		r.host = cmp.Or(r.host, r.hostIn(line))
		return
	}
	for _, name := range names(line, at) {
		if m := r.refusalAt(how, name); m.refusal != none {
			r.add(m)
			return
		}
	}
	if how == unconnected && r.remote(line) {
		r.unreached = true
		r.host = cmp.Or(r.host, r.hostIn(line))
		return
	}
	r.unproven = r.unproven || how != missing && how != busy
}

// limited takes a line that says that there is no more memory, or that nothing more can be
// started. The sandbox refused it if the plan limits that. An engine for JavaScript limits its
// heap itself.
func (r *reader) limited(how failure, line string) {
	most := &r.plan.Limits
	switch {
	case how == crowded && most.Processes > 0:
		r.add(Met{refusal: processes, why: fmt.Sprintf("limits.sandbox.processes = %d", most.Processes)})
	case how == exhausted && most.Memory > 0 && !strings.Contains(line, "heap out of memory"):
		r.add(Met{refusal: memory, why: fmt.Sprintf("limits.sandbox.memory_mb = %d", most.Memory>>20)})
	}
}

// remote reports whether a line names a port of another host.
func (r *reader) remote(line string) bool {
	return strings.Contains(line, " port ") && slices.ContainsFunc(strings.FieldsFunc(line, apart), func(word string) bool {
		return isHost(word) && strings.Contains(strings.Trim(word, "."), ".") && !strings.HasPrefix(word, "127.")
	})
}

// refusalAt returns the refusal behind an error about a name.
func (r *reader) refusalAt(how failure, name string) Met {
	if r.looks--; r.looks < 0 {
		return Met{}
	}
	abs := name
	if !path.IsAbs(name) {
		abs = path.Join(r.end.Dir, name)
	}
	real, ok := r.files.Resolve(path.Clean(abs))
	if !ok || !path.IsAbs(real) {
		return Met{}
	}
	m := r.plan.refusalOf(real)
	switch how {
	case readOnly:
		if m.refusal == outside {
			m = r.notWritable(real)
		}
		if m.refusal == outside || m.refusal == system || m.refusal == kept || m.refusal == withheld || m.refusal == emptied {
			return m
		}
	case refused:
		if m.refusal == withheld {
			return m
		}
	case busy: // a name that is a mount of its own
		if m.refusal == kept || m.refusal == withheld || m.refusal == emptied {
			return m
		}
	case missing, unconnected:
		if m.refusal == emptied || m.refusal == services || m.refusal == withheld && how == unconnected {
			return m
		}
		if m.refusal == scratch && how == missing && path.IsAbs(name) && strings.Contains(r.end.Line, name) && r.files.Kind(real) != Nothing {
			return Met{refusal: scratch, what: visible.Line(real)}
		}
	}
	return Met{}
}

// notWritable returns the refusal to write a path.
func (r *reader) notWritable(name string) Met {
	there := r.there(name)
	m := Met{refusal: outside, what: visible.Line(there)}
	if (risk.Place{Home: r.end.Home, Roots: r.plan.Workspace}).Apart(there) {
		m.refusal = system
	}
	return m
}

// there returns a path, or the nearest one above it that is there.
func (r *reader) there(name string) string {
	for range maxLine {
		if kind := r.files.Kind(name); name == "/" || kind != Nothing && kind != Unknown {
			break
		}
		name = path.Dir(name)
	}
	return name
}

// refusalOf returns the refusal for a path: that of the deepest path of the plan above it. Only
// what the plan names of the path is told.
func (p *Plan) refusalOf(name string) Met {
	found, depth := Met{refusal: outside}, 0
	for _, part := range []struct {
		refusal refusal
		paths   []Path
	}{{none, p.Writable}, {scratch, p.Temp}, {outside, p.Shown}, {services, p.Services}, {kept, p.ReadOnly}, {emptied, p.Empty}, {withheld, p.Denied}} {
		for _, one := range part.paths {
			if subpath.Within(name, one.Path) && len(one.Path) >= depth {
				depth = len(one.Path)
				found = Met{refusal: part.refusal, what: visible.Line(one.Path), why: visible.Line(one.Why)}
			}
		}
	}
	return found
}

// hostIn returns a host in a line of the output that the command line has too, and that is
// no file.
func (r *reader) hostIn(line string) string {
	for _, word := range strings.FieldsFunc(line, apart) {
		word, _, _ = strings.Cut(word, "/")
		if isHost(word) && strings.Contains(word, ".") && strings.Contains(r.end.Line, word) {
			if r.looks--; r.looks < 0 || r.files.Kind(path.Join(r.end.Dir, word)) != Nothing {
				continue
			}
			return word
		}
	}
	return ""
}

// isHost reports whether a text is like the name or number of a host, and nothing else.
func isHost(text string) bool {
	return text != "" && len(text) <= 253 && !strings.ContainsRune(".-", rune(text[0])) && strings.Trim(strings.ToLower(text), "abcdefghijklmnopqrstuvwxyz0123456789.-") == ""
}

// names returns what in a line may be the name of a file, the likeliest first: what is in
// quotes, of two names the second, which is mostly the one that is made; what has a slash;
// and what stands right before the words for the error.
func names(line string, at int) []string {
	var all []string
	add := func(name string) {
		if name != "" && len(all) < maxNamed && !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	for _, quote := range [][2]string{{"'", "'"}, {`"`, `"`}, {"`", "'"}, {"‘", "’"}, {"“", "”"}} {
		rest := line
		for range maxNamed {
			_, after, opened := strings.Cut(rest, quote[0])
			name, behind, closed := strings.Cut(after, quote[1])
			if !opened || !closed {
				break
			}
			add(name)
			rest = behind
		}
	}
	slices.Reverse(all)
	before := strings.FieldsFunc(line[:at], apart)
	slices.Reverse(before)
	for _, word := range append(slices.Clone(before), strings.FieldsFunc(line[at:], apart)...) {
		if strings.Contains(word, "/") {
			add(word)
		}
	}
	if len(before) > 0 {
		add(before[0])
	}
	return all
}

// apart reports whether a character stands between words rather than in a name.
func apart(c rune) bool { return strings.ContainsRune(" \t'\"`‘’“”:,;()[]<>{}=|", c) }
