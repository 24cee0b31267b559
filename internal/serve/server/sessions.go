package server

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/approval"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/store"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/terminal"
	"github.com/agent-wrapper/agent-wrapper/internal/text/subpath"
	"github.com/agent-wrapper/agent-wrapper/internal/text/visible"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// The paths of terminal sessions, as the first document on them has them.
const (
	sessionsPath = "/api/agent-terminal/sessions"
	sessionPath  = sessionsPath + "/{id}"
)

// sessionRoutes are the routes of terminal sessions.
func sessionRoutes() []route {
	changed := []int{http.StatusNotFound, http.StatusConflict, http.StatusGone}
	return []route{
		{method: "POST", path: sessionsPath, access: agents, about: "start a terminal session", action: to((*Server).createSession), errors: []int{409, 429}},
		{method: "GET", path: sessionsPath, access: agents | people, about: "list this server's sessions; an agent sees only its own",
			query: []param{{"agent_id", "of the agent"}, {"conversation_id", "of the chat"}}, action: to((*Server).listSessions)},
		{method: "GET", path: sessionPath, access: agents | people, about: "get one session and its commands", action: to((*Server).getSession), errors: changed[:1]},
		{method: "DELETE", path: sessionPath, access: agents | people, about: "end a session and whatever runs in it; an agent cannot end one that a person has taken over", action: to((*Server).deleteSession), errors: changed},
		{method: "POST", path: sessionPath + "/execute", access: agents, about: "run a command if it is allowed or approved", action: to((*Server).execute), errors: changed},
		{method: "POST", path: sessionPath + "/approve", access: people, about: "answer the question about the pending command", action: to((*Server).approve), errors: changed},
		{method: "POST", path: sessionPath + "/interrupt", access: people, about: "take over the terminal; with signal, end what runs", action: to((*Server).interrupt), errors: changed},
		{method: "POST", path: sessionPath + "/release", access: people, about: "give the terminal back to the agent", action: to((*Server).release), errors: changed},
		{method: "GET", path: sessionPath + "/history", access: agents | people, about: "list a session's commands, oldest first",
			query: []param{{"limit", "how many of the newest to return (default and maximum 1000)"}}, action: to((*Server).history), errors: changed[:1]},
		{method: "GET", path: sessionPath + "/state", access: agents | people, about: "get who controls the terminal", action: to((*Server).sessionState), errors: changed[:1]},
		{method: "GET", path: sessionPath + "/pending", access: agents | people, about: "get the command that is waiting for an answer, if any", action: to((*Server).pending), errors: changed[:1]},
		{method: "GET", path: sessionPath + "/chat", access: agents | people, about: "list the conversation's entries: output of its terminals",
			query: []param{{"after", "only entries after this seq"}, {"limit", "the largest number to return (default and maximum 1000)"}}, action: to((*Server).chat), errors: changed[:1]},
		{method: "GET", path: "/api/agent-terminal/commands/{id}", access: agents | people, about: "get one command and its result", action: to((*Server).getCommand), errors: changed[:1]},
	}
}

// creation is the body of a new session.
type creation struct {
	AgentID        string          `json:"agent_id,omitempty"`   // the credential's name, or one below it: name/more
	AgentRole      string          `json:"agent_role,omitempty"` // chat, automation, system, admin: at most that of the credential
	ConversationID string          `json:"conversation_id,omitempty"`
	Host           string          `json:"host,omitempty"`
	Dir            string          `json:"dir,omitempty"` // absolute; absent means the workspace
	Metadata       json.RawMessage `json:"metadata,omitempty"`
}

// sessionInfo is a session as it is now.
type sessionInfo struct {
	Status          string            `json:"status"` // success; created
	SessionID       string            `json:"session_id"`
	AgentID         string            `json:"agent_id"`
	AgentRole       string            `json:"agent_role"`
	ConversationID  string            `json:"conversation_id"`
	Host            string            `json:"host"`
	State           string            `json:"state"` // agent_control, user_interrupt, user_control, agent_resume; closed, in events only
	PendingApproval *terminal.Pending `json:"pending_approval"`
	CommandHistory  []commandInfo     `json:"command_history,omitempty"`
	PTYSessionID    string            `json:"pty_session_id"`
	Dir             string            `json:"dir"`
	Running         string            `json:"running,omitempty"` // the id of the command that runs
	Person          string            `json:"person,omitempty"`  // who has the terminal
	Since           time.Time         `json:"since,omitzero"`    // when state was entered; absent: before a restart of the server
	Metadata        json.RawMessage   `json:"metadata,omitempty"`
	CreatedAt       time.Time         `json:"created_at"`
	LastActivity    time.Time         `json:"last_activity"`
}

func newSessionInfo(i *terminal.Info) sessionInfo {
	return sessionInfo{
		Status: "success", SessionID: i.ID, AgentID: i.AgentID, AgentRole: i.AgentRole, ConversationID: i.ConversationID, Host: i.Host,
		State: i.State, PendingApproval: i.Pending, PTYSessionID: i.PTYID, Dir: i.Dir, Running: i.Running, Person: i.Person, Since: i.Since.UTC(),
		Metadata: i.Metadata, CreatedAt: i.Created.UTC(), LastActivity: i.Active.UTC(),
	}
}

// commandInfo is a command, and what became of it.
type commandInfo struct {
	CommandID      string    `json:"command_id"`
	SessionID      string    `json:"session_id"`
	ConversationID string    `json:"conversation_id"`
	Command        string    `json:"command"`
	Description    string    `json:"description,omitempty"` // by the agent
	By             string    `json:"by"`                    // agent, or the name of the person who typed it
	Dir            string    `json:"dir"`
	Status         string    `json:"status"` // pending_approval, approved, executing, denied, forbidden, completed, failed, cancelled, unknown
	Risk           string    `json:"risk,omitempty"`
	Reasons        []string  `json:"reasons,omitempty"`
	ApprovalID     string    `json:"approval_id,omitempty"`
	Comment        string    `json:"comment,omitempty"`
	ExitCode       *int      `json:"exit_code,omitempty"`
	Timestamp      time.Time `json:"timestamp"`
	Changed        time.Time `json:"changed"`
}

func newCommandInfo(c *store.Command) commandInfo {
	return commandInfo{
		CommandID: c.ID, SessionID: c.SessionID, ConversationID: c.ConversationID, Command: c.Command, Description: c.Description, By: c.By, Dir: c.Dir,
		Status: string(c.State), Risk: c.Risk, Reasons: c.Reasons, ApprovalID: c.ApprovalID, Comment: c.Comment, ExitCode: c.Exit,
		Timestamp: c.Created.UTC(), Changed: c.Changed.UTC(),
	}
}

// createSession begins a session for the owner of the credential.
func (s *Server) createSession(c *call, b *creation) (sessionInfo, error) {
	if b.AgentID == "" {
		b.AgentID = c.who.Name
	}
	name, _, _ := strings.Cut(b.AgentID, "/")
	role, ok := lowered(c.who.AgentRole, roleOf(b.AgentRole))
	switch {
	case name != c.who.Name:
		return sessionInfo{}, fail(http.StatusForbidden, "other_agent", "agent_id: this credential allows only %s, or %s/ and a name", c.who.Name, c.who.Name)
	case !ok && !validRole(roleOf(b.AgentRole)):
		return sessionInfo{}, fail(http.StatusBadRequest, "invalid_agent_role", "agent_role: use one of %s", strings.Join(agentRoles, ", "))
	case !ok:
		return sessionInfo{}, fail(http.StatusForbidden, "insufficient_permissions", "agent_role: this credential has the role %s", c.who.AgentRole)
	case len(b.AgentID) > maxText || len(b.ConversationID) > maxText || len(b.Host) > maxText:
		return sessionInfo{}, fail(http.StatusBadRequest, "bad_request", "the body: agent_id, conversation_id and host: use at most %d bytes each", maxText)
	case visible.Line(b.AgentID+b.ConversationID+b.Host) != b.AgentID+b.ConversationID+b.Host: // a NUL, PostgreSQL does not store
		return sessionInfo{}, fail(http.StatusBadRequest, "bad_request", "the body: agent_id, conversation_id and host: remove the control characters")
	}
	dir := s.options.Workspace
	if b.Dir != "" {
		if !subpath.Inside(b.Dir, dir) || !filepath.IsAbs(b.Dir) {
			return sessionInfo{}, fail(http.StatusBadRequest, "bad_request", "dir: give an absolute path in the workspace %s", dir)
		}
		dir = b.Dir
	}
	i, err := s.terminals.Create(c.Context(), store.Session{
		AgentID: b.AgentID, AgentRole: role, ConversationID: b.ConversationID, Host: b.Host, Owner: c.who.ID, Dir: dir,
		Project: s.options.Workspace, Metadata: b.Metadata,
	})
	if err != nil {
		return sessionInfo{}, terminalError(err)
	}
	if err := s.converses(c, &i); err != nil {
		return sessionInfo{}, err
	}
	out := newSessionInfo(&i)
	out.Status = "created"
	return out, nil
}

// converses makes the conversation of a new session that of the agent. If it is another
// agent's, whose chat its output would go to, the session ends.
func (s *Server) converses(c *call, i *terminal.Info) error {
	if i.ConversationID == "" {
		return nil
	}
	agent, err := s.options.Store.Converse(c.Context(), i.ConversationID, c.who.Name)
	if err == nil && agent != c.who.Name {
		err = fail(http.StatusForbidden, "other_agent", "conversation_id: this conversation belongs to another agent")
	}
	if err != nil {
		err = errors.Join(err, s.terminals.CloseSession(context.WithoutCancel(c.Context()), i.ID, "its conversation belongs to another agent"))
	}
	return err
}

// roleOf returns the role that a text names, which may be CHAT_AGENT for chat.
func roleOf(text string) string { return strings.TrimSuffix(strings.ToLower(text), "_agent") }

func validRole(role string) bool { _, ok := lowered("admin", role); return ok }

// sessionList is a list of sessions.
type sessionList struct {
	Status   string        `json:"status"`
	Total    int           `json:"total"`
	Sessions []sessionInfo `json:"sessions"`
}

// listSessions lists the sessions that the credential may see.
func (s *Server) listSessions(c *call, _ *none) (sessionList, error) {
	q := c.URL.Query()
	out := sessionList{Status: "success", Sessions: []sessionInfo{}}
	for _, i := range s.terminals.List() {
		if s.owns(c, &i.Session) && (q.Get("agent_id") == "" || q.Get("agent_id") == i.AgentID) &&
			(q.Get("conversation_id") == "" || q.Get("conversation_id") == i.ConversationID) {
			out.Sessions = append(out.Sessions, newSessionInfo(&i))
		}
	}
	out.Total = len(out.Sessions)
	return out, nil
}

// owns reports whether the owner of the credential may see a session: its agent, also
// by a newer credential of the same name, and people.
func (s *Server) owns(c *call, of *store.Session) bool {
	return c.person() || of.Owner == c.who.ID || s.credentials.agent(of.Owner) == c.who.Name
}

// session returns the session that a path names, if the credential may see it.
func (s *Server) session(c *call) (*terminal.Info, error) {
	i, err := s.terminals.Get(c.PathValue("id"))
	if err != nil {
		return nil, terminalError(err)
	}
	if !s.owns(c, &i.Session) {
		return nil, sessionUnknown(c.PathValue("id"))
	}
	return &i, nil
}

// getSession returns a session with its commands.
func (s *Server) getSession(c *call, _ *none) (sessionInfo, error) {
	i, err := s.session(c)
	if err != nil {
		return sessionInfo{}, err
	}
	out := newSessionInfo(i)
	out.CommandHistory, err = s.commands(c, i.ID, maxList)
	return out, err
}

func (s *Server) commands(c *call, session string, limit int) ([]commandInfo, error) {
	all, err := s.options.Store.Commands(c.Context(), store.CommandFilter{SessionID: session, Limit: limit})
	out := []commandInfo{}
	for i := range all {
		out = append(out, newCommandInfo(&all[i]))
	}
	return out, err
}

// deletion is the answer to the end of a session.
type deletion struct {
	Status    string `json:"status"`
	SessionID string `json:"session_id"`
}

// deleteSession ends a session. An agent does so while the terminal is its own.
func (s *Server) deleteSession(c *call, _ *none) (deletion, error) {
	i, err := s.session(c)
	if err == nil && !c.person() && i.State != "agent_control" { // it would end what the person runs
		err = fail(http.StatusForbidden, "user_has_control", "Agent does not have control")
	}
	if err == nil {
		err = terminalError(s.terminals.CloseSession(c.Context(), i.ID, "by "+c.who.Name))
	}
	return deletion{"deleted", c.PathValue("id")}, err
}

// execute runs a command of the agent. What is decided is an answer with 200, also
// forbidden; only what could not be done is an error.
func (s *Server) execute(c *call, r *terminal.Request) (terminal.Result, error) {
	i, err := s.session(c)
	if err != nil {
		return terminal.Result{}, err
	}
	r.Credential = c.who.ID
	out, err := s.terminals.Execute(c.Context(), i.ID, *r)
	return executed(out, err)
}

// executed returns the answer about a command, or the error that it could not be run.
func executed(out terminal.Result, err error) (terminal.Result, error) {
	switch {
	case err != nil:
		return terminal.Result{}, terminalError(err)
	case out.Error != "":
		return terminal.Result{}, fail(http.StatusInternalServerError, "execution_error", "the command was not run: %s", out.Error)
	}
	return out, nil
}

// verdict is the body of an answer to the question about a command.
type verdict struct {
	Approved bool   `json:"approved"`
	UserID   string `json:"user_id,omitempty"` // is compared with the credential's name
	Comment  string `json:"comment,omitempty"`
	// ApprovalID and Digest say which question is meant; without them the answer counts
	// if there was one only.
	ApprovalID string `json:"approval_id,omitempty"`
	Digest     string `json:"digest,omitempty"`
	// AutoApproveFuture keeps a rule for commands like this one.
	AutoApproveFuture bool `json:"auto_approve_future,omitempty"`
}

// approve answers the question about the command that waits.
func (s *Server) approve(c *call, v *verdict) (terminal.Result, error) {
	i, err := s.session(c)
	if err == nil {
		err = c.is(v.UserID)
	}
	if err != nil {
		return terminal.Result{}, err
	}
	kind := approval.Deny
	if v.Approved {
		kind = approval.Approve
	}
	var future []approval.Grant
	if v.AutoApproveFuture && v.Approved {
		if future, err = s.remember(i.ID, v, c.who.Name); err != nil {
			return terminal.Result{}, err
		}
	}
	out, err := s.terminals.Approve(c.Context(), i.ID, approval.Event{
		Kind: kind, At: time.Now(), ID: v.ApprovalID, Digest: v.Digest, By: c.principal(), Credential: c.who.ID, Message: v.Comment,
	}, nil)
	if err == nil {
		s.log.Info("a command was answered", "session", i.ID, "command", out.CommandID, "approved", v.Approved, "by", c.who.Name, "credential", c.who.ID)
	}
	if err == nil && out.Executed {
		if failed := s.keep(c.Context(), future); failed != nil {
			s.log.Error("an approval is not remembered", "session", i.ID, "error", failed.Error())
			out.Message = "the command was approved, but the approval could not be remembered"
		}
	}
	return executed(out, err)
}

// is checks a name in a body against the credential's. Seed 4's own page sends a
// constant; it is no proof of anything.
func (c *call) is(name string) error {
	if name == "" || name == c.who.Name || name == c.who.ID {
		return nil
	}
	return fail(http.StatusForbidden, "other_user", "user_id: this credential belongs to %s", c.who.Name)
}

// handing is the body of interrupt and release.
type handing struct {
	UserID string `json:"user_id,omitempty"` // is compared with the credential's name
	// Signal ends what runs first: the agent's command, or the person's job.
	Signal bool `json:"signal,omitempty"`
}

// interrupt gives the terminal to a person.
func (s *Server) interrupt(c *call, h *handing) (terminal.Handover, error) {
	return s.hand(c, h, s.terminals.Interrupt)
}

// release gives it back.
func (s *Server) release(c *call, h *handing) (terminal.Handover, error) {
	return s.hand(c, h, s.terminals.Release)
}

func (s *Server) hand(c *call, h *handing, do handover) (terminal.Handover, error) {
	i, err := s.session(c)
	if err == nil {
		err = c.is(h.UserID)
	}
	if err != nil {
		return terminal.Handover{}, err
	}
	out, err := do(c.Context(), i.ID, c.who.Name, h.Signal)
	s.audience.touch(i.ID) // also what could not be stored, or is half done
	if err == nil {
		s.log.Info("a terminal was handed over", "session", i.ID, "state", out.NewState, "by", c.who.Name, "credential", c.who.ID)
	}
	return out, terminalError(err)
}

// commandList is a list of commands.
type commandList struct {
	Status   string        `json:"status"`
	Session  string        `json:"session_id"`
	Commands []commandInfo `json:"commands"`
}

// history lists the commands of a session.
func (s *Server) history(c *call, _ *none) (commandList, error) {
	i, err := s.session(c)
	if err != nil {
		return commandList{}, err
	}
	limit, err := number(c, "limit", 1, maxList, maxList)
	if err != nil {
		return commandList{}, err
	}
	all, err := s.commands(c, i.ID, int(limit))
	return commandList{"success", i.ID, all}, err
}

// stateInfo says who has a terminal.
type stateInfo struct {
	Status    string `json:"status"`
	SessionID string `json:"session_id"`
	State     string `json:"state"`
	Running   string `json:"running,omitempty"`
	Person    string `json:"person,omitempty"`
}

func (s *Server) sessionState(c *call, _ *none) (stateInfo, error) {
	i, err := s.session(c)
	if err != nil {
		return stateInfo{}, err
	}
	return stateInfo{"success", i.ID, i.State, i.Running, i.Person}, nil
}

// pendingInfo is the command that waits for an answer.
type pendingInfo struct {
	Status          string            `json:"status"`
	SessionID       string            `json:"session_id"`
	PendingApproval *terminal.Pending `json:"pending_approval"`
}

func (s *Server) pending(c *call, _ *none) (pendingInfo, error) {
	i, err := s.session(c)
	if err != nil {
		return pendingInfo{}, err
	}
	return pendingInfo{"success", i.ID, i.Pending}, nil
}

// chatList is a part of a conversation.
type chatList struct {
	Status         string `json:"status"`
	ConversationID string `json:"conversation_id"`
	// Last is the seq of the conversation's last entry. The seqs have no gaps, so that it
	// is what to count back from. An agent is not told how much others wrote.
	Last     int64       `json:"last,omitzero"`
	Messages []chatEntry `json:"messages"`
}

// chatEntry is an entry of a conversation.
type chatEntry struct {
	Seq         int64     `json:"seq"`
	SessionID   string    `json:"session_id"`
	Sender      string    `json:"sender"`
	MessageType string    `json:"message_type"`
	Text        string    `json:"text"`
	Timestamp   time.Time `json:"timestamp"`
}

// chat lists the entries of a session's conversation. An agent sees those of that
// session.
func (s *Server) chat(c *call, _ *none) (chatList, error) {
	i, err := s.session(c)
	if err != nil {
		return chatList{}, err
	}
	after, err := number(c, "after", 0, 1<<62, 0)
	if err != nil {
		return chatList{}, err
	}
	limit, err := number(c, "limit", 1, maxList, maxList)
	if err != nil {
		return chatList{}, err
	}
	only, out := i.ID, chatList{"success", i.ConversationID, 0, []chatEntry{}}
	if c.person() {
		only = ""
		if out.Last, err = s.options.Store.LastChat(c.Context(), i.ConversationID); err != nil {
			return chatList{}, err
		}
	}
	all, err := s.options.Store.Chat(c.Context(), i.ConversationID, only, after, int(limit))
	for _, e := range all {
		out.Messages = append(out.Messages, chatEntry{e.Seq, e.SessionID, e.Sender, e.Type, e.Text, e.Time.UTC()})
	}
	return out, err
}

// getCommand returns a command, if the credential may see its session. Of a session
// that has ended, only people see the commands.
func (s *Server) getCommand(c *call, _ *none) (commandInfo, error) {
	id := c.PathValue("id")
	unknown := fail(http.StatusNotFound, "command_not_found", "Command not found: %s", id)
	cmd, err := s.options.Store.Command(c.Context(), id)
	if errors.Is(err, store.ErrUnknown) {
		return commandInfo{}, unknown
	}
	if err != nil {
		return commandInfo{}, err
	}
	if !c.person() {
		if i, err := s.terminals.Get(cmd.SessionID); err != nil || !s.owns(c, &i.Session) {
			return commandInfo{}, unknown
		}
	}
	return newCommandInfo(&cmd), nil
}

// terminalError returns an error of package terminal with its HTTP status.
func terminalError(err error) error {
	var t *terminal.Error
	if !errors.As(err, &t) {
		return err
	}
	for _, known := range []struct {
		kind   terminal.Kind
		status int
		code   string
	}{
		{terminal.NotFound, http.StatusNotFound, "session_not_found"},
		{terminal.NoControl, http.StatusForbidden, "user_has_control"},
		{terminal.Conflict, http.StatusConflict, "conflict"},
		{terminal.Gone, http.StatusGone, "session_gone"},
		{terminal.Limit, http.StatusTooManyRequests, "too_many_sessions"},
		{terminal.Invalid, http.StatusBadRequest, "bad_request"},
	} {
		if known.kind == t.Kind {
			return fail(known.status, known.code, "%v", t.Err)
		}
	}
	return err
}

// questionID returns the ID of the question about a command of a session. It is the
// same after a restart, so that the question is the one that is there.
func questionID(ask *permission.Request) string {
	digest, err := approval.Digest(ask)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256([]byte(ask.Use.Session + "\x00" + ask.Use.ID + "\x00" + digest))
	return lettering.EncodeToString(sum[:5])
}
