//go:build linux && serve

package serve

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/approval"
)

// book holds what was sent and what was acknowledged.
type book struct {
	mu     sync.Mutex
	lines  map[string]*line // by word
	votes  map[string]*vote // by approval
	taking map[string]int   // take-overs that are under way, by session
	guests []*guest
	n      int
}

// guest is a person whose credential is revoked at some time.
type guest struct {
	name, id        string
	revoke, revoked bool // was sent, was acknowledged
}

func newBook() book {
	return book{lines: map[string]*line{}, votes: map[string]*vote{}, taking: map[string]int{}}
}

// line is a command that was handed in.
type line struct {
	word, kind, session string
	server              *server
	force               bool
	status              int    // of the answer; 0: none came
	told                string // the status in it
	command             string
	taken               bool // a person may have taken the terminal over meanwhile
	done                bool // the judge has seen its end
}

// vote is what was said to a question.
type vote struct {
	approval, digest string
	owner            string  // decision, broker or line
	server           *server // of a decision
	asked            bool    // the question was acknowledged
	approve, deny    bool    // was sent
	approved, denied bool    // was acknowledged
	used             int     // how often it was consumed
	use              bool    // that was tried
	withdraw         bool    // was sent
	withdrawn        bool    // was acknowledged
	quorum           int
	said, counted    map[string]bool // whose approval was sent, and acknowledged
}

// begin notes a command before it is sent.
func (b *book) begin(s *server, session, kind string, force bool) *line {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.n++
	l := &line{word: kind + "-" + strconv.Itoa(b.n), kind: kind, session: session, server: s, force: force}
	l.taken = b.taking[session] > 0
	b.lines[l.word] = l
	return l
}

// vote returns what was said to a question.
func (b *book) vote(id string) *vote {
	v := b.votes[id]
	if v == nil {
		v = &vote{approval: id, owner: "line", said: map[string]bool{}, counted: map[string]bool{}}
		b.votes[id] = v
	}
	return v
}

// note changes the book.
func (b *book) note(id string, change func(*vote)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change(b.vote(id))
}

// takeover notes that a person may take a session over, until the returned function is
// called: what is not known to have ended may be cancelled.
func (b *book) takeover(session string) (done func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, l := range b.lines {
		if l.session == session && !l.done {
			l.taken = true
		}
	}
	b.taking[session]++
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.taking[session]--
	}
}

// actor does what agents and people do at one server.
type actor struct {
	*server
	rand *rand.Rand
	stop *atomic.Bool
}

// goes reports whether there is something to do.
func (a *actor) goes() bool { return !a.stop.Load() && a.up.Load() }

// person returns one of both.
func (a *actor) person() string {
	if chance(a.rand, 2) {
		return ann
	}
	return ben
}

// terminal works in one session: an agent hands in commands, and mostly there is
// somebody who answers.
func (a *actor) terminal(session string) {
	path := sessionsPath + "/" + session
	for a.goes() {
		if err := a.step(path, session); errors.Is(err, errCut) {
			return
		}
	}
}

func (a *actor) step(path, session string) error {
	switch status, err := a.execute(path, session); {
	case err != nil:
		return err
	case status == "approval_required" && chance(a.rand, 3):
		return nil // nobody has the time
	case status == "approval_required" || status == "busy":
		return a.attend(path, session)
	case status == "taken":
		_, err := a.call(a.person(), "POST", path+"/release", map[string]any{"signal": chance(a.rand, 2)})
		return err
	}
	return nil
}

// kinds are those of commands: what is allowed, what is asked about, and what is denied.
var kinds = []string{"safe", "safe", "ask", "ask", "ask", "never"}

// execute hands in a command, and returns what became of it.
func (a *actor) execute(path, session string) (string, error) {
	l := a.world.book.begin(a.server, session, kinds[a.rand.IntN(len(kinds))], chance(a.rand, 10))
	command := "echo " + l.word + " >>ran"
	if chance(a.rand, 6) {
		command += "; read line" // until it is ended
	}
	r, err := a.call(bot, "POST", path+"/execute", map[string]any{"command": command, "force_approval": l.force})
	if err != nil {
		return "", err
	}
	a.world.book.mu.Lock()
	l.status, l.told, l.command = r.status, r.text("status"), r.text("command_id")
	a.world.book.mu.Unlock()
	if id := r.text("approval_id"); id != "" {
		a.world.book.note(id, func(v *vote) { v.asked, v.digest = true, r.text("digest") })
	}
	switch r.status {
	case 409:
		return "busy", nil
	case 403:
		return "taken", nil
	}
	return l.told, nil
}

// attend answers what waits in a session, or ends what does not end.
func (a *actor) attend(path, session string) error {
	r, err := a.call(a.person(), "GET", path+"/pending", nil)
	if err != nil {
		return err
	}
	pending, _ := r.fields["pending_approval"].(map[string]any)
	q := &reply{fields: pending}
	switch {
	case pending == nil && chance(a.rand, 4), chance(a.rand, 15):
		err = a.interrupt(session)
	case pending == nil || q.text("approval_id") == "":
	case chance(a.rand, 3):
		err = a.elsewhere(q.text("approval_id"), q.text("digest"), !chance(a.rand, 4))
	default:
		err = a.answer(path, q.text("approval_id"), q.text("digest"), !chance(a.rand, 4))
	}
	return err
}

// interrupt takes a session over.
func (a *actor) interrupt(session string) error {
	defer a.world.book.takeover(session)()
	_, err := a.call(a.person(), "POST", sessionsPath+"/"+session+"/interrupt", map[string]any{"signal": chance(a.rand, 2)})
	return err
}

// answer answers the question of a session.
func (a *actor) answer(path, id, digest string, approve bool) error {
	b := &a.world.book
	b.note(id, func(v *vote) { v.approve, v.deny = v.approve || approve, v.deny || !approve })
	r, err := a.call(a.person(), "POST", path+"/approve", map[string]any{"approved": approve, "approval_id": id, "digest": digest})
	if err != nil {
		return err
	}
	b.note(id, func(v *vote) {
		v.approved = v.approved || r.text("status") == "approved"
		v.denied = v.denied || !approve && r.text("status") == "denied"
	})
	return nil
}

// elsewhere answers a question as a broker, at any server.
func (a *actor) elsewhere(id, digest string, approve bool) error {
	return a.answerAs(a.person(), id, digest, approve)
}

func (a *actor) answerAs(who, id, digest string, approve bool) error {
	at := a.server
	if other := a.world.servers[a.rand.IntN(len(a.world.servers))]; other.up.Load() {
		at = other
	}
	e, choice := approval.Event{Kind: approval.Deny, ID: id, Digest: digest}, "deny"
	if approve {
		e.Kind, choice = approval.Approve, "once"
	}
	said := fmt.Appendf(nil, `{"id":%q,"digest":%q,"choice":%q}`, id, digest, choice)
	a.world.book.note(id, func(v *vote) {
		v.approve, v.deny, v.said[who] = v.approve || approve, v.deny || !approve, v.said[who] || approve
	})
	c := at.client(who)
	defer c.Close()
	a.world.tick()
	got, err := c.Answer(at.alive, e, said)
	a.world.tick()
	if err == nil {
		a.world.book.note(id, func(v *vote) {
			v.approved, v.denied = v.approved || approve && got.Status != approval.Pending, v.denied || !approve
			v.counted[who] = v.counted[who] || approve
		})
	}
	return at.cut(err)
}

// cut returns errCut if an error may be that of the server's end, and otherwise nil: a
// refusal is an answer.
func (s *server) cut(err error) error {
	if err != nil && s.alive.Err() != nil {
		return fmt.Errorf("%w: %w", errCut, err)
	}
	return nil
}

// people answer questions of anybody, and take terminals over.
func (a *actor) people() {
	for a.goes() {
		c := a.client(a.person())
		all, err := c.List(a.alive, approval.Filter{Status: []approval.Status{approval.Pending}})
		a.world.tick()
		c.Close()
		if err != nil {
			return
		}
		session := a.sessions[a.rand.IntN(len(a.sessions))]
		path := sessionsPath + "/" + session
		switch {
		case chance(a.rand, 12):
			err = a.interrupt(session)
		case chance(a.rand, 6):
			_, err = a.call(a.person(), "POST", path+"/release", map[string]any{})
		case chance(a.rand, 40):
			err = a.revoke()
		case len(all) > 0:
			e := &all[a.rand.IntN(len(all))]
			err = a.elsewhere(e.ID, e.Digest, !chance(a.rand, 4))
		}
		if errors.Is(err, errCut) {
			return
		}
	}
}

// revoke ends the credential of the next guest, who does so.
func (a *actor) revoke() error {
	b := &a.world.book
	b.mu.Lock()
	var g *guest
	for _, one := range b.guests {
		if g == nil && !one.revoke {
			g = one
			g.revoke = true
		}
	}
	b.mu.Unlock()
	if g == nil {
		return nil
	}
	r, err := a.call(g.name, "POST", "/api/tokens/"+g.id+"/revoke", map[string]any{})
	if err == nil && r.status == 200 {
		b.mu.Lock()
		defer b.mu.Unlock()
		g.revoked = true
	}
	return err
}

// decisions has tool uses decided without a terminal.
func (a *actor) decisions() {
	b := &a.world.book
	for a.goes() {
		word := []string{"safe-0", "ask-0", "never-0"}[a.rand.IntN(3)]
		r, err := a.call(batch, "POST", "/api/decisions", map[string]any{"tool": "Bash", "input": map[string]any{"command": "echo " + word}})
		if err != nil {
			return
		}
		id := r.text("approval_id")
		if id == "" {
			continue
		}
		b.note(id, func(v *vote) { v.asked, v.owner, v.server = true, "decision", a.server })
		e, err := a.get(id)
		if err == nil && !chance(a.rand, 3) {
			err = a.elsewhere(id, e.Digest, !chance(a.rand, 4))
		}
		if err == nil {
			_, err = a.call(batch, "GET", "/api/decisions/"+id, nil)
		}
		if errors.Is(err, errCut) {
			return
		}
	}
}

func (a *actor) get(id string) (approval.Entry, error) {
	c := a.client(ann)
	defer c.Close()
	e, err := c.Get(a.alive, id)
	return e, a.cut(err)
}

// broker puts questions of its own, and uses their approvals up.
func (a *actor) broker() {
	b := &a.world.book
	c := a.client(batch)
	defer c.Close()
	for a.goes() {
		id := "own-" + strconv.FormatUint(a.rand.Uint64(), 36)
		question := fmt.Sprintf(`{"id":%q,"digest":%q,"tool":"Bash","input":{"command":"make"},"choices":[{"name":"once"},{"name":"deny"}]}`, id, "1:aa")
		quorum := a.rand.IntN(3) // 2: both people
		b.note(id, func(v *vote) { v.owner, v.digest, v.quorum = "broker", "1:aa", quorum })
		a.world.tick()
		_, err := c.Submit(a.alive, approval.Entry{
			State: approval.State{Terms: approval.Terms{ID: id, Digest: "1:aa", Version: "v", Quorum: quorum}}, Question: json.RawMessage(question),
		})
		a.world.tick()
		if err != nil {
			return
		}
		b.note(id, func(v *vote) { v.asked = true })
		if chance(a.rand, 3) {
			continue
		}
		if chance(a.rand, 4) {
			err = a.consume(id) // before anybody has approved it
		}
		for n := 0; err == nil && n < max(quorum, 1); n++ {
			err = a.elsewhere(id, "1:aa", !chance(a.rand, 4))
		}
		if err == nil && chance(a.rand, 4) {
			err = a.withdraw(id) // also what is approved
		}
		if err == nil && !chance(a.rand, 3) {
			err = a.consume(id)
		}
		if errors.Is(err, errCut) {
			return
		}
	}
}

// consume uses an approval up.
func (a *actor) consume(id string) error {
	c := a.client(batch)
	defer c.Close()
	a.world.book.note(id, func(v *vote) { v.use = true })
	a.world.tick()
	_, err := c.Consume(a.alive, id, "1:aa")
	a.world.tick()
	if err == nil {
		a.world.book.note(id, func(v *vote) { v.used++ })
	}
	return a.cut(err)
}

// withdraw ends a question of its own.
func (a *actor) withdraw(id string) error {
	c := a.client(batch)
	defer c.Close()
	a.world.book.note(id, func(v *vote) { v.withdraw = true })
	a.world.tick()
	_, err := c.Withdraw(a.alive, id, approval.Principal{}, "not needed")
	a.world.tick()
	if err == nil {
		a.world.book.note(id, func(v *vote) { v.withdrawn = true })
	}
	return a.cut(err)
}

// load has everybody work until stop is set or the servers are gone.
func (w *world) load(seed uint64, stop *atomic.Bool) *sync.WaitGroup {
	var all sync.WaitGroup
	for _, s := range w.servers {
		act := func(work func(*actor)) {
			seed++
			a := &actor{s, rand.New(rand.NewPCG(seed, seed)), stop}
			all.Go(func() { work(a) })
		}
		for _, session := range s.sessions {
			act(func(a *actor) { a.terminal(session) })
		}
		act((*actor).people)
		act((*actor).decisions)
		act((*actor).broker)
	}
	return &all
}
