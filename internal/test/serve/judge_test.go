//go:build linux && serve

package serve

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/approval"
)

// command is a command as the server tells it.
type command struct {
	ID         string `json:"command_id"`
	Command    string `json:"command"`
	Status     string `json:"status"`
	ApprovalID string `json:"approval_id"`
	Exit       *int   `json:"exit_code"`
	session    string
}

func (c command) String() string {
	text, _ := json.Marshal(c)
	return string(text)
}

// word returns what the command writes.
func (c *command) word() string { return strings.Fields(c.Command)[1] }

// waits reports whether the command goes on until it is ended.
func (c *command) waits() bool { return strings.Contains(c.Command, "read line") }

// began reports whether the command was started.
func (c *command) began() bool {
	return slices.Contains([]string{"executing", "completed", "failed", "unknown"}, c.Status)
}

// over reports whether the command has a state that never changes.
func (c *command) over() bool {
	return !slices.Contains([]string{"executing", "approved", "pending_approval"}, c.Status)
}

// scene is what the judge sees at once.
type scene struct {
	*world
	approvals map[string]*approval.Entry
	commands  map[*server][]*command
	pending   map[string]string // approval by session
}

// look reads everything.
func (w *world) look() *scene {
	w.t.Helper()
	sc := &scene{w, map[string]*approval.Entry{}, map[*server][]*command{}, map[string]string{}}
	for _, s := range w.servers {
		for _, session := range s.sessions {
			sc.session(s, session)
		}
	}
	c := w.servers[0].client(ann)
	defer c.Close()
	all, err := c.List(w.servers[0].alive, approval.Filter{})
	if err != nil {
		w.t.Fatal(err)
	}
	for i := range all {
		sc.approvals[all[i].ID] = &all[i]
	}
	return sc
}

// session reads a session.
func (sc *scene) session(s *server, session string) {
	sc.t.Helper()
	path := sessionsPath + "/" + session
	var history struct{ Commands []*command }
	text, err := json.Marshal(s.must(ann, "GET", path+"/history", nil).fields)
	if err == nil {
		err = json.Unmarshal(text, &history)
	}
	if err != nil {
		sc.t.Fatal(err)
	}
	for _, c := range history.Commands {
		if strings.HasPrefix(c.Command, "echo ") { // not one of a person
			c.session = session
			sc.commands[s] = append(sc.commands[s], c)
		}
	}
	pending, _ := s.must(ann, "GET", path+"/pending", nil).fields["pending_approval"].(map[string]any)
	sc.pending[session], _ = pending["approval_id"].(string)
}

// restless returns the commands that are about to change by themselves.
func (sc *scene) restless() (all []*command) {
	for _, commands := range sc.commands {
		for _, c := range commands {
			e := sc.approvals[c.ApprovalID]
			asked := e != nil && e.Status == approval.Pending && sc.pending[c.session] == e.ID
			if c.Status == "approved" || c.Status == "executing" && !c.waits() || c.Status == "pending_approval" && !asked {
				all = append(all, c)
			}
		}
	}
	return all
}

// judge waits until nothing changes by itself any more, and checks what there is
// against the book.
func (w *world) judge() {
	w.t.Helper()
	var sc *scene
	if !w.until(func() bool { sc = w.look(); return len(sc.restless()) == 0 }) {
		for _, c := range sc.restless() {
			w.wrong("%+v stays as it is; its question: %+v", *c, sc.approvals[c.ApprovalID])
		}
	}
	w.book.mu.Lock()
	defer w.book.mu.Unlock()
	for _, s := range w.servers {
		sc.judgeCommands(s)
		sc.judgeChat(s)
	}
	for _, v := range w.book.votes {
		sc.judgeVote(v)
	}
	for _, g := range w.book.guests {
		w.judgeGuest(g)
	}
	sc.judgeView()
}

// judgeGuest checks that a credential counts until it is revoked, and not again.
func (w *world) judgeGuest(g *guest) {
	status := 0
	in := func(want int) bool {
		r, err := w.servers[0].call(g.name, "GET", "/api/me", nil)
		if err == nil {
			status = r.status
		}
		return status == want
	}
	switch {
	case !g.revoke && !in(200):
		w.wrong("the credential of %s does not count: status %d", g.name, status)
	case g.revoked && !w.until(func() bool { return in(401) }):
		w.wrong("the credential of %s counts, and was revoked: status %d", g.name, status)
	}
}

// judgeCommands checks the commands of a server's sessions.
func (sc *scene) judgeCommands(s *server) {
	ran, allowed := s.ran(), s.allowed()
	for _, c := range sc.commands[s] {
		l := sc.book.lines[c.word()]
		if l == nil {
			sc.wrong("nobody has handed in %+v", *c)
			continue
		}
		n := ran[l.word]
		delete(ran, l.word)
		sc.judgeRun(c, l, n, allowed)
		sc.judgeEnd(c, l, n)
		if before := sc.ends[c.ID]; before != "" && before != c.Status {
			sc.wrong("%+v was %s before", *c, before)
		}
		if c.over() {
			sc.ends[c.ID], l.done = c.Status, true
		}
		l.command = c.ID
	}
	for word := range ran {
		sc.wrong("%s ran, and there is no such command: %+v", word, sc.book.lines[word])
	}
	for _, l := range sc.book.lines {
		known := slices.ContainsFunc(sc.commands[s], func(c *command) bool { return c.word() == l.word })
		if l.server == s && l.status == 200 && !known {
			sc.wrong("a command is lost: %+v", *l)
		}
		if l.server == s && (l.status == 409 || l.status == 403) && known {
			sc.wrong("a command that was refused is there: %+v", *l)
		}
	}
}

// judgeRun checks a command that ran n times: at most once, and with leave.
func (sc *scene) judgeRun(c *command, l *line, n int, allowed map[string]bool) {
	e, v := sc.approvals[c.ApprovalID], sc.book.votes[c.ApprovalID]
	switch {
	case n > 1:
		sc.wrong("it ran %d times: %+v", n, *c)
	case n == 0:
		return
	case l.kind == "never":
		sc.wrong("it ran, and is forbidden: %+v", *c)
	case !c.began():
		sc.wrong("it ran, and is %s: %+v", c.Status, *c)
	case !allowed[c.ID]:
		sc.wrong("it ran, and the record does not say why: %+v", *c)
	case (l.kind == "ask" || l.force) && e == nil:
		sc.wrong("it ran, and nobody was asked: %+v", *c)
	case e != nil && (e.Status != approval.Consumed || v == nil || !v.approve):
		sc.wrong("it ran without approval: %+v, %s, %+v", *c, e.Status, v)
	}
}

// judgeEnd checks what became of a command that ran n times.
func (sc *scene) judgeEnd(c *command, l *line, n int) {
	e, v := sc.approvals[c.ApprovalID], sc.book.votes[c.ApprovalID]
	used := e != nil && e.Status == approval.Consumed
	switch {
	case l.told == "executed" && !c.began():
		sc.wrong("it was told that it runs, and it is %s: %+v", c.Status, *c)
	case l.told == "forbidden" && c.Status != "forbidden":
		sc.wrong("it was told that it is forbidden: %+v", *c)
	case l.told == "approval_required" && e == nil:
		sc.wrong("a question is lost: %+v, %+v", *c, *l)
	case c.Status == "completed" && n == 0 && *c.Exit == 0:
		sc.wrong("it completed, and did nothing: %+v", *c)
	case c.Status == "failed" && c.Exit == nil:
		sc.wrong("it was not run: %+v", *c)
	case c.Status == "cancelled" && l.told == "approval_required" && !l.taken:
		sc.wrong("it was cancelled by nobody: %+v, %+v", *c, *l)
	case c.Status == "denied" && !l.taken && (v == nil || !v.deny) && !used:
		sc.wrong("it was denied by nobody: %+v, %+v", *c, *l)
	case c.Status == "forbidden" && l.kind != "never":
		sc.wrong("it was forbidden by nothing: %+v", *c)
	}
}

// judgeVote checks what became of a question.
func (sc *scene) judgeVote(v *vote) {
	e := sc.approvals[v.approval]
	if e == nil {
		if v.asked {
			sc.wrong("a question is lost: %+v", *v)
		}
		return
	}
	status := e.Status
	if status == approval.Cancelled && (sc.taken(v) || v.withdraw && !v.denied && v.used == 0) {
		return
	}
	for who := range v.counted {
		if !v.withdraw && !slices.ContainsFunc(e.Votes, func(one approval.Vote) bool { return one.By.Name == who }) && status != approval.Denied {
			sc.wrong("the approval of %s is lost: %+v", who, *v)
		}
	}
	switch {
	case v.withdrawn:
		sc.wrong("it is %s, and was withdrawn: %+v", status, *v)
	case (status == approval.Approved || status == approval.Consumed) && len(v.said) < v.quorum:
		sc.wrong("too few have approved it: %+v, it is %s", *v, status)
	case v.approved && v.denied:
		sc.wrong("two answers count: %+v", *v)
	case v.approved && status != approval.Approved && status != approval.Consumed,
		v.denied && status != approval.Denied:
		sc.wrong("an answer is lost: %+v, it is %s", *v, status)
	case status == approval.Approved && !v.approve, status == approval.Denied && !v.deny:
		sc.wrong("nobody has said so: %+v, it is %s", *v, status)
	case status == approval.Consumed && (!v.approve || v.owner == "broker" && !v.use):
		sc.wrong("it was used by nobody: %+v", *v)
	case v.used > 1:
		sc.wrong("it was used %d times: %+v", v.used, *v)
	case status != approval.Pending && status != approval.Approved && status != approval.Denied && status != approval.Consumed:
		sc.wrong("nobody has ended it: %+v, it is %s: %s", *v, status, e.Reason)
	}
}

// taken reports whether a question is about a command whose terminal a person may have
// taken over.
func (sc *scene) taken(v *vote) bool {
	for _, commands := range sc.commands {
		for _, c := range commands {
			if c.ApprovalID == v.approval {
				return sc.book.lines[c.word()].taken
			}
		}
	}
	return false
}

// words finds what commands write. A shell that is ended while it writes leaves out the
// line feed.
var words = regexp.MustCompile(`[a-z]+-[0-9]+`)

// ran counts how often each word was written.
func (s *server) ran() map[string]int {
	s.world.t.Helper()
	data, err := os.ReadFile(filepath.Join(s.space, "ran"))
	if err != nil && !os.IsNotExist(err) {
		s.world.t.Fatal(err)
	}
	all := map[string]int{}
	for _, word := range words.FindAllString(string(data), -1) {
		all[word]++
	}
	return all
}

// allowed verifies the record, and returns the commands that were allowed by it.
func (s *server) allowed() map[string]bool {
	s.world.t.Helper()
	file := filepath.Join(s.dir, "audit.jsonl")
	all := map[string]bool{}
	data, err := os.ReadFile(file)
	if os.IsNotExist(err) || err == nil && !bytes.Contains(data, []byte("\n")) {
		return all // it was killed before the first line was written
	}
	if err != nil {
		s.world.t.Fatal(err)
	}
	verify := s.command("audit", "verify", file)
	verify.Args = verify.Args[:4]
	if out, err := verify.CombinedOutput(); err != nil {
		s.world.wrong("the record of %s: %v: %s", s.name(), err, out)
	}
	for text := range bytes.Lines(data) {
		var r struct{ Kind, Use, Behavior string }
		if json.Unmarshal(text, &r) == nil && r.Kind == "decision" && r.Behavior == "allow" {
			all[r.Use] = true
		}
	}
	return all
}

// judgeChat checks that the entries of each conversation follow one another.
func (sc *scene) judgeChat(s *server) {
	for _, session := range s.sessions {
		for more := true; more; {
			r := s.must(ann, "GET", sessionsPath+"/"+session+"/chat?limit=1000&after="+strconv.FormatInt(s.chat[session], 10), nil)
			messages, _ := r.fields["messages"].([]any)
			for _, m := range messages {
				seq := int64(m.(map[string]any)["seq"].(float64))
				if seq != s.chat[session]+1 {
					sc.wrong("the chat of %s goes from %d to %d", session, s.chat[session], seq)
				}
				s.chat[session] = seq
			}
			more = len(messages) == 1000
		}
	}
}

// drain answers and ends everything that is left, as people would.
func (w *world) drain() {
	w.t.Helper()
	for _, s := range w.servers {
		for _, session := range s.sessions {
			s.finish(session)
		}
	}
	sc := w.look()
	for _, v := range w.book.votes {
		if e := sc.approvals[v.approval]; e != nil && e.Status == approval.Pending {
			w.settle(v, e)
		}
	}
}

// finish approves what waits in a session, and ends what runs.
func (s *server) finish(session string) {
	s.world.t.Helper()
	path := sessionsPath + "/" + session
	done := s.world.until(func() bool {
		state := s.must(ann, "GET", path+"/state", nil)
		switch {
		case state.text("state") != "agent_control":
			s.call(state.text("person"), "POST", path+"/release", map[string]any{"signal": true})
			s.call(ann, "POST", path+"/release", map[string]any{"signal": true})
			return false
		case state.text("running") != "":
			defer s.world.book.takeover(session)()
			s.call(ann, "POST", path+"/interrupt", map[string]any{"signal": true})
			return false
		}
		pending, _ := s.must(ann, "GET", path+"/pending", nil).fields["pending_approval"].(map[string]any)
		if pending == nil {
			return true
		}
		id, digest := pending["approval_id"].(string), pending["digest"].(string)
		s.world.book.note(id, func(v *vote) { v.approve = true })
		r := s.must(ben, "POST", path+"/approve", map[string]any{"approved": true, "approval_id": id, "digest": digest})
		if r.text("status") != "approved" || r.fields["executed"] != true {
			s.world.wrong("what waited does not run when it is approved: %v", r.fields)
		}
		return false
	})
	if !done {
		s.world.wrong("%s does not end", session)
	}
}

// settle approves a question that is left, and checks that this has its effect.
func (w *world) settle(v *vote, e *approval.Entry) {
	w.t.Helper()
	a := &actor{server: w.servers[len(w.servers)-1], rand: newRand(1)}
	err := a.answerAs(ann, e.ID, e.Digest, true)
	if err == nil && v.quorum > 1 {
		err = a.answerAs(ben, e.ID, e.Digest, true)
	}
	if err != nil || !v.approved {
		w.wrong("a question cannot be answered any more: %+v: %v", *v, err)
		return
	}
	switch v.owner {
	case "decision":
		if r, err := v.server.call(batch, "GET", "/api/decisions/"+e.ID+"?wait=25", nil); err != nil || r.text("behavior") != "allow" {
			w.wrong("a decision is lost: %+v: %v %v", *v, r, err)
		}
	case "broker":
		a.consume(e.ID)
		a.consume(e.ID)
		if v.used != 1 {
			w.wrong("an approval can be used %d times: %+v", v.used, *v)
		}
	}
}
