// Package sandbox says how the kernel is to hold a command to a policy, so that what was
// allowed can do no more: a [Plan] of what may be written, what may not be read, which
// hosts may be reached, and the limits.
//
// A [Planner] makes plans. It reads the policy by permission.Bounds, which has the rules and
// the tables by which tool uses are decided, and looks at files by an interface only. Package
// internal/sandbox/kernel builds the sandbox.
//
// A plan is a snapshot: it names the files that were there when it was made. What cannot
// be held by it is in Plan.Gaps.
package sandbox

import (
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf8"
)

// Plan is what a command may do inside.
type Plan struct {
	Workspace []string `json:"workspace"`
	// Writable are directories; everything else is read-only.
	Writable []Path `json:"writable"`
	// Temp are directories that are empty when the command begins, are written in
	// memory, and are gone when it ends.
	Temp []Path `json:"temp"`
	// Shown lies in Temp and is there all the same, read-only: a home below /tmp.
	Shown []Path `json:"shown"`
	// Services are directories with sockets of services: they are empty, but for links
	// that lead out of them.
	Services []Path `json:"services"`
	// ReadOnly lies in what is writable.
	ReadOnly []Path `json:"read_only"`
	// Denied cannot be read. Empty can, but nothing is there: programs go on as if
	// nobody had logged in.
	Denied []Path `json:"denied"`
	Empty  []Path `json:"empty"`
	// Found says what was at the paths of Denied and Empty. Nobody is shown that.
	Found []Found `json:"-"`
	// Absent are protected paths that are not there, and that a command may therefore
	// make: whoever runs it looks for them afterwards.
	Absent []Path `json:"absent"`
	// Never are those of them that no command needs, and that count for others as soon as
	// they are there: one that makes one is ended.
	Never []string `json:"never,omitempty"`
	// Hosts are the rules that let hosts be reached through the proxy; nothing but
	// loopback is reached otherwise.
	Hosts  []string `json:"hosts"`
	Limits Limits   `json:"limits"`
	// Gaps are the parts of the policy that the sandbox does not enforce.
	Gaps []Path `json:"gaps"`
	// Held are the rules with paths of which nothing is in Gaps or Absent, and that no
	// file that a command makes can be one for.
	Held []string `json:"held"`
}

// Found is what was at a path when the plan was made: a command that runs meanwhile can
// exchange directories, and the process that builds the sandbox compares.
type Found struct {
	Path []byte `json:"path"`
	Is   Inode  `json:"is,omitzero"`
	In   Inode  `json:"in,omitzero"` // the directory in which it was found
}

// Inode tells one file or directory from all others; the zero one tells nothing.
type Inode struct {
	Dev uint64 `json:"dev"`
	Ino uint64 `json:"ino"`
}

// Path is a path of a plan, and why it is there.
type Path struct {
	Path string `json:"path"`
	Why  string `json:"why"`
}

// written is a path as JSON has it. The bytes of one that is not UTF-8 stand beside what is
// shown of it.
type written struct {
	Path  string `json:"path"`
	Bytes []byte `json:"bytes,omitempty"`
	Why   string `json:"why"`
}

// MarshalJSON writes a path so that it can be read back, whatever its bytes are.
func (p Path) MarshalJSON() ([]byte, error) {
	w := written{Path: p.Path, Why: p.Why}
	if !utf8.ValidString(p.Path) {
		w.Bytes = []byte(p.Path)
	}
	return json.Marshal(w)
}

// UnmarshalJSON reads one.
func (p *Path) UnmarshalJSON(data []byte) error {
	var w written
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	p.Path, p.Why = w.Path, w.Why
	if len(w.Bytes) > 0 {
		p.Path = string(w.Bytes)
	}
	return nil
}

// Made says that a command has made a path that is protected and was not there.
func (p *Path) Made() string {
	return fmt.Sprintf("the command made %s: %s. Look at it before you run anything there", p.Path, p.Why)
}

// TimeLimit says who limits the time of a command inside the sandbox.
const TimeLimit = "limits.sandbox.timeout_seconds of the policy"

// Limits are those of one command. 0 is no limit.
type Limits struct {
	Memory    uint64 `json:"memory_bytes,omitempty"`    // of data, of each process
	Processes uint64 `json:"processes,omitempty"`       // and threads, of the user, in the sandbox; the kernel does not hold root to it
	Seconds   uint64 `json:"timeout_seconds,omitempty"` // after which all of it is ended
}

// Time returns the time after which a command is ended that would be ended after another
// time anyway; 0 is none.
func (l *Limits) Time(anyway time.Duration) time.Duration {
	own := time.Duration(l.Seconds) * time.Second
	if own == 0 || anyway > 0 && anyway < own {
		return anyway
	}
	return own
}

// Paths returns the paths without the reasons.
func Paths(list []Path) []string {
	var paths []string
	for _, p := range list {
		paths = append(paths, p.Path)
	}
	return paths
}
