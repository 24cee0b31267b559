// Package store is what an approval service keeps: approvals, terminal sessions
// with their commands and chat, credentials, remembered approvals, and the audit
// lines of several servers.
//
// [Store] is the interface; packages internal/serve/store/sqlite and internal/serve/store/postgres open one, and
// package internal/serve/store/storetest holds what every Store guarantees:
//
//   - When a method returns without an error, what it changed is on disk.
//   - A change happens as a whole or not at all. A change of a session, a command or
//     an approval counts only if the record is still as its caller has read it; of
//     several callers that change the same version, one succeeds.
//   - An approval is consumed at most once, whoever asks and however often the
//     process ends in between.
//   - What was acknowledged is there after a restart, in the order of its numbers.
//
// A Store decides nothing: approval.Step says what becomes of an approval.
package store

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/approval"
)

// Store is an open store. It is safe for concurrent use, by several processes too.
// An error is one of approval's or of those below, or says what failed.
type Store interface {
	// Submit of an id that another asker has is approval.ErrBegun.
	approval.Broker
	// Apply applies an event that no person causes to an approval: approval.Die,
	// approval.Policy or approval.Tick.
	Apply(ctx context.Context, id string, e approval.Event) (approval.Entry, error)

	// Heard notes that the askers of approvals were heard of. That changes only
	// Entry.Heard, and not of those without a Lease.
	Heard(ctx context.Context, at time.Time, ids []string) error
	// Lapse abandons the approvals whose asker was not heard of for its Lease until now,
	// and returns them. Before since nobody could have heard of them.
	Lapse(ctx context.Context, since, now time.Time) ([]approval.Entry, error)

	// CreateToken adds a credential. The secret itself is never stored.
	CreateToken(ctx context.Context, t Token) error
	// Token returns the credential with the SHA-256 of its secret, also if it is
	// revoked or expired.
	Token(ctx context.Context, hash [32]byte) (Token, error)
	// Tokens returns all credentials, the oldest first.
	Tokens(ctx context.Context) ([]Token, error)
	// RevokeToken ends a credential, unless it is revoked already.
	RevokeToken(ctx context.Context, id string, at time.Time) error

	// CreateSession adds a session and returns it with its version.
	CreateSession(ctx context.Context, s Session) (Session, error)
	Session(ctx context.Context, id string) (Session, error)
	// Sessions returns the sessions that f selects, the oldest first.
	Sessions(ctx context.Context, f SessionFilter) ([]Session, error)
	// UpdateSession replaces the session of s.ID if its version is s.Version, and
	// returns it with the next one. Otherwise the error is ErrChanged.
	UpdateSession(ctx context.Context, s Session) (Session, error)
	// DeleteSession removes the session of s.ID if its version is s.Version. Its
	// commands and chat stay.
	DeleteSession(ctx context.Context, s Session) error

	// CreateCommand adds a command. The error is ErrBusy if the session has one that is
	// pending, approved or executing.
	CreateCommand(ctx context.Context, c Command) error
	Command(ctx context.Context, id string) (Command, error)
	// Commands returns the commands that f selects, the oldest first.
	Commands(ctx context.Context, f CommandFilter) ([]Command, error)
	// UpdateCommand replaces the command of c.ID if its state is from. Otherwise the
	// error is ErrChanged.
	UpdateCommand(ctx context.Context, from CommandState, c Command) error
	// Recover makes the commands unknown that a server before this one with the same
	// name left executing, and returns them. They may have run, and never run again.
	Recover(ctx context.Context, server string, at time.Time) ([]Command, error)

	// AppendChat adds entries in one transaction and returns them with their numbers,
	// which count from 1 in each conversation, without gaps.
	AppendChat(ctx context.Context, entries ...Chat) ([]Chat, error)
	// Chat returns up to limit entries of a conversation with numbers after after, of one
	// session if session is not "".
	Chat(ctx context.Context, conversation, session string, after int64, limit int) ([]Chat, error)
	// LastChat returns the number of a conversation's last entry, 0 if there is none.
	LastChat(ctx context.Context, conversation string) (int64, error)
	// Converse returns the name of the agent whose conversation it is: that of the first
	// caller, for ever.
	Converse(ctx context.Context, conversation, agent string) (string, error)

	// CreateGrant adds a remembered approval.
	CreateGrant(ctx context.Context, g Grant) error
	// Grants returns those of a person and a project, the oldest first; "" selects all.
	Grants(ctx context.Context, person, project string) ([]Grant, error)
	// RevokeGrant ends a remembered approval, unless it is revoked already.
	RevokeGrant(ctx context.Context, id string, at time.Time) error

	// AppendAudit adds lines of a server's record, without line feeds, that follow the
	// first after ones; the error is ErrChanged if there are not after of them.
	AppendAudit(ctx context.Context, server string, after int64, lines ...[]byte) error
	// Audit returns up to limit lines with numbers after after, of one server if
	// server is not "".
	Audit(ctx context.Context, server string, after int64, limit int) ([]AuditLine, error)
	// AuditServers returns how many lines there are of each server.
	AuditServers(ctx context.Context) (map[string]int64, error)

	// Check reports whether the store can be written to.
	Check(ctx context.Context) error
	Close() error
}

// The reasons why a change does not count. approval.ErrUnknown is that of an
// approval that is not there.
var (
	ErrUnknown = errors.New("the store has no such record")
	ErrExists  = errors.New("the store has such a record already")
	ErrChanged = errors.New("the record has changed since it was read")
	ErrBusy    = errors.New("another command of the session has not ended")
)

// Token is a credential.
type Token struct {
	ID, Name  string
	Role      string   // agent, person or admin
	AgentRole string   // of an agent
	Hash      [32]byte // the public half of its key; of before requests were signed: the SHA-256 of the secret
	Created   time.Time
	Expires   time.Time // zero: never
	Revoked   time.Time // zero: not
}

// Session is a terminal session of an agent.
type Session struct {
	ID, AgentID, AgentRole, ConversationID, Host string
	State                                        string // agent_control, …
	PTYID                                        string
	Owner                                        string // ID of the agent's Token
	Dir, Project                                 string
	Metadata                                     json.RawMessage
	Created, Active                              time.Time
	Version                                      int64  // changes with every update
	Server                                       string // that holds the PTY
	Person                                       string // who has the terminal in place of the agent; "" nobody
}

// SessionFilter selects sessions. A zero field selects all.
type SessionFilter struct{ AgentID, ConversationID, Owner, Server string }

// CommandState is the state of a Command.
type CommandState string

// The states of commands. The first three keep others of the session waiting.
const (
	CommandPending   CommandState = "pending_approval"
	CommandApproved  CommandState = "approved"
	CommandExecuting CommandState = "executing"
	CommandDenied    CommandState = "denied"
	CommandForbidden CommandState = "forbidden"
	CommandCompleted CommandState = "completed"
	CommandFailed    CommandState = "failed"
	CommandCancelled CommandState = "cancelled"
	CommandUnknown   CommandState = "unknown" // its end was lost in a restart
)

// Command is a command line of a session, and what became of it.
type Command struct {
	ID, SessionID, ConversationID string
	Command, Description, Dir     string
	By                            string // "agent", or a person's name
	Force                         bool   // to be asked about in any case
	Risk                          string
	Reasons                       []string
	State                         CommandState
	ApprovalID                    string
	Comment                       string // of the person who answered
	Exit                          *int
	Created, Changed              time.Time
}

// CommandFilter selects commands. A zero field selects all.
type CommandFilter struct {
	SessionID, ConversationID string
	States                    []CommandState
	Limit                     int // of the newest; 0: none
}

// Chat is an entry of a conversation.
type Chat struct {
	Seq                                           int64 // in the conversation, from 1
	ConversationID, SessionID, Sender, Type, Text string
	Time                                          time.Time
}

// Grant is a remembered approval: a rule that a person keeps for a project.
type Grant struct {
	ID, Person, Project, Rule, Risk string
	Created, Expires, Revoked       time.Time // zero: never, not
}

// AuditLine is a line of a server's record.
type AuditLine struct {
	Seq    int64 // over all servers
	Server string
	Number int64 // of the line in that server's record, from 1
	Line   []byte
}
