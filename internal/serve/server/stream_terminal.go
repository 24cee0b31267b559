package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/serve/calm"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/terminal"
	"github.com/agent-wrapper/agent-wrapper/internal/text/strictjson"
)

// keys is a message of a client of a terminal's stream.
type keys struct {
	Type string `json:"type"`
	// Of input and terminal_stdin: what is typed, at most 4 KiB. A password is typed like
	// anything else; nothing that is typed is logged.
	Content    string `json:"content"`
	Text       string `json:"text"` // another name for Content
	IsPassword bool   `json:"is_password"`
	CommandID  string `json:"command_id"` // only to this command
	// Of resize, signal and workflow_control.
	Columns uint16 `json:"cols"`
	Rows    uint16 `json:"rows"`
	Signal  string `json:"signal"`
	Action  string `json:"action"` // pause: take over; resume: give back
}

// The messages to a client of a terminal's stream.
type (
	connected struct {
		Type         string `json:"type"`
		SessionID    string `json:"session_id"`
		PTYSessionID string `json:"pty_session_id"`
		Stream       string `json:"stream"` // a cursor counts in the stream of this name only: after a restart of the server it is another one
		holder
	}
	// holder is who has the terminal, and how large it is.
	holder struct {
		State   string    `json:"state"`
		Person  string    `json:"person,omitempty"`
		Since   time.Time `json:"since,omitzero"` // absent: before a restart of the server
		Columns uint16    `json:"cols"`
		Rows    uint16    `json:"rows"`
	}
	stateChange struct {
		Type string `json:"type"` // state
		holder
	}
	// viewersMessage names the people who watch, oneself too. An agent is not told: it is
	// not to know when nobody looks.
	viewersMessage struct {
		Type   string   `json:"type"` // viewers
		People []string `json:"people"`
	}
	outputMessage struct {
		Type    string `json:"type"` // output
		Content string `json:"content"`
		Cursor  int64  `json:"cursor"` // behind Content
	}
	lostMessage struct {
		Type   string `json:"type"` // lost
		Bytes  int64  `json:"bytes"`
		Cursor int64  `json:"cursor"`
	}
	errorMessage struct {
		Type    string `json:"type"` // error, security_warning
		Code    string `json:"code"`
		Message string `json:"message"`
	}
	doneMessage struct {
		Type   string `json:"type"` // pong, signal_sent, workflow_control_ack, terminal_closed
		Signal string `json:"signal,omitempty"`
		Action string `json:"action,omitempty"`
	}
)

// watched is the stream of a terminal to one client.
type watched struct {
	server *Server
	call   *call
	id     string // of the session
	calm   calm.Filter
	buf    bytes.Buffer
}

// showTerminal sends the output of a session, and types for the person who has it.
func (s *Server) showTerminal(w http.ResponseWriter, c *call) {
	i, err := s.sessionOf(c, c.PathValue("pty_session_id"))
	if err != nil {
		s.refuse(w, c.Request, err)
		return
	}
	from, err := number(c, "cursor", 0, 1<<62, 0)
	if err != nil {
		s.refuse(w, c.Request, err)
		return
	}
	view, err := s.terminals.Subscribe(i.ID, from)
	if err != nil {
		s.refuse(w, c.Request, terminalError(err))
		return
	}
	t := &watched{server: s, call: c, id: i.ID}
	s.upgrade(w, c, t.hear, func(o *socket) error {
		now := holderOf(i)
		if err := o.send(connected{"connected", i.ID, i.PTYID, i.Stream, now}); err != nil {
			return err
		}
		ctx, stop := context.WithCancel(o.ctx)
		var telling sync.WaitGroup
		telling.Go(func() { t.tell(ctx, o, now) })
		defer telling.Wait()
		defer stop()
		return t.show(o, view)
	})
}

func holderOf(i *terminal.Info) holder {
	return holder{i.State, i.Person, i.Since.UTC(), i.Columns, i.Rows}
}

// tell tells who has the terminal and who watches, whenever that changes, until ctx ends.
func (t *watched) tell(ctx context.Context, o *socket, had holder) {
	person := ""
	if t.call.person() {
		person = t.call.who.Name
	}
	defer t.server.audience.enter(t.id, person)()
	var told []string
	for {
		people, changed := t.server.audience.look(t.id)
		i, err := t.server.terminals.Get(t.id)
		if err != nil {
			return // it is closed, which the output's end tells
		}
		if now := holderOf(&i); now != had {
			had, err = now, o.send(stateChange{"state", now})
		}
		if err == nil && person != "" && !slices.Equal(people, told) {
			told, err = people, o.send(viewersMessage{"viewers", people})
		}
		if err != nil {
			o.end(err)
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// sessionOf returns the session whose terminal has an id, if the credential may see it.
func (s *Server) sessionOf(c *call, pty string) (*terminal.Info, error) {
	for _, i := range s.terminals.List() {
		if i.PTYID == pty && s.owns(c, &i.Session) {
			return &i, nil
		}
	}
	return nil, fail(http.StatusNotFound, "session_not_found", "no terminal with this id exists")
}

// show sends the output until the session is closed.
func (t *watched) show(o *socket, view *terminal.View) error {
	stop := o.pinging()
	defer stop()
	for {
		out, err := view.Next(o.ctx)
		switch {
		case errors.Is(err, io.EOF):
			return o.send(doneMessage{Type: "terminal_closed"})
		case err != nil:
			return nil // the socket has ended
		}
		if out.Lost > 0 {
			t.calm = calm.Filter{}
			if err := o.send(lostMessage{"lost", out.Lost, out.At}); err != nil {
				return err
			}
		}
		if err := t.output(o, &out); err != nil {
			return err
		}
	}
}

// output sends a piece of output. The cursor is that of what was sent: a sequence or a
// character that has only begun comes again for a client that comes back with it.
func (t *watched) output(o *socket, out *terminal.Output) error {
	text, held := t.calm.Text(out.Data)
	if len(text) == 0 {
		return nil
	}
	cursor := out.At + int64(len(out.Data)-held)
	t.buf.Reset()
	e := json.NewEncoder(&t.buf)
	e.SetEscapeHTML(false)
	if err := e.Encode(outputMessage{"output", string(text), max(cursor, 0)}); err != nil {
		return err
	}
	return o.write(t.buf.Bytes())
}

// hear obeys a message. What cannot be obeyed is told, and the stream goes on; what a
// credential is never allowed ends it.
func (t *watched) hear(o *socket, text []byte) error {
	if !t.server.rates.take(t.call.who.ID, time.Now()) {
		return tooMany
	}
	var k keys
	if err := strictjson.Decode(text, &k, strictjson.NullAbsent, strictjson.MaxSize(maxMessage)); err != nil {
		return o.send(errorMessage{"error", "bad_request", "the message: " + err.Error()})
	}
	if k.Type == "ping" {
		return o.send(doneMessage{Type: "pong"})
	}
	if !t.call.person() {
		t.server.log.Warn("SECURITY: a credential was used for what it may not do", "credential", t.call.who.ID, "role", t.call.who.Role, "session", t.id)
		return errors.Join(o.send(errorMessage{"security_warning", "insufficient_permissions", "an agent cannot type into the terminal"}), errForbidden)
	}
	done, err := t.obey(o, &k)
	if err != nil {
		f := told(terminalError(err))
		return o.send(errorMessage{"error", f.fault.Code, f.fault.Message})
	}
	if done.Type == "" {
		return nil
	}
	return o.send(done)
}

// obey does what a person wants of a terminal.
func (t *watched) obey(o *socket, k *keys) (doneMessage, error) {
	who, m := t.call.who.Name, t.server.terminals
	switch k.Type {
	case "input", "terminal_stdin":
		return doneMessage{}, t.typed(o, k)
	case "resize":
		defer t.server.audience.touch(t.id)
		return doneMessage{}, m.Resize(t.id, who, k.Columns, k.Rows)
	case "signal":
		return doneMessage{Type: "signal_sent", Signal: k.Signal}, m.Signal(o.ctx, t.id, who, k.Signal)
	case "workflow_control":
		return doneMessage{Type: "workflow_control_ack", Action: k.Action}, t.control(o, k.Action)
	}
	return doneMessage{}, fail(http.StatusBadRequest, "bad_request",
		"type %q: use input, terminal_stdin, resize, signal, workflow_control or ping", k.Type)
}

// typed types. A Tab is typed like any other key: the program in front completes.
func (t *watched) typed(o *socket, k *keys) error {
	if k.Content != "" && k.Text != "" {
		return fail(http.StatusBadRequest, "bad_request", "content and text: give only one of them")
	}
	if k.CommandID != "" {
		i, err := t.server.terminals.Get(t.id)
		if err != nil {
			return err
		}
		if i.Running != k.CommandID {
			return fail(http.StatusConflict, "conflict", "the command is not running in this session: nothing was typed")
		}
	}
	return t.server.terminals.Input(o.ctx, t.id, t.call.who.Name, []byte(k.Content+k.Text), k.IsPassword)
}

// control takes the terminal over, or gives it back.
func (t *watched) control(o *socket, action string) (err error) {
	defer t.server.audience.touch(t.id)
	switch action {
	case "pause":
		_, err = t.server.terminals.Interrupt(o.ctx, t.id, t.call.who.Name, false)
	case "resume":
		_, err = t.server.terminals.Release(o.ctx, t.id, t.call.who.Name, false)
	default:
		err = fail(http.StatusBadRequest, "bad_request", "action %q: use pause or resume", action)
	}
	return err
}
