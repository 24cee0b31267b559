package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/test/client"
	"github.com/agent-wrapper/agent-wrapper/internal/text/visible"
)

// recordedUse is a use of real-sessions.jsonl: work that real agents did, and what the
// person of then refused.
type recordedUse struct {
	Session string          `json:"session"`
	Tool    string          `json:"tool"`
	Input   json.RawMessage `json:"input"`
	Cwd     string          `json:"cwd"`
	Refused bool            `json:"refused"`
}

// realKind is one of the kinds of projects in which real sessions were recorded.
type realKind struct{ name, recorded, dir string }

// realKinds tells the kinds, each by the project's directory as it was recorded, and as
// it is below the home of the owner here.
var realKinds = []realKind{
	{"go", "/home/dev/src/acme/app", "src/acme/app"},
	{"py", "/testbed", "testbed"},
	{"ts", "/home/dev/proj", "proj"},
}

// kindOf returns the kind of the project of a session.
func kindOf(session string) string {
	switch {
	case strings.HasPrefix(session, "ss-"):
		return "go"
	case strings.HasPrefix(session, "ts-"):
		return "ts"
	}
	return "py"
}

// real drives the recorded sessions of real agents through a build of agent-wrapper, and
// counts how often a person is interrupted.
type real struct {
	program  string
	projects string   // the directory of the archives
	flags    []string // of decide
	runs     bool     // make the files that are written, and run what is answered with a line for the sandbox

	asked, total map[string]int
	perSession   map[string][]bool // whether each use interrupted
	causes       map[string]*realCause
	letGo        []string // what the person refused, and is allowed unasked
	ran          int      // lines inside the sandbox
}

// realCause is what several questions have in common: the kind, and how their reasons begin.
type realCause struct {
	kind, reason, example string
	count                 int
}

// measure drives all uses, each kind in a project below dir.
func (r *real) measure(uses []recordedUse, dir string) error {
	r.asked, r.total, r.perSession, r.causes = map[string]int{}, map[string]int{}, map[string][]bool{}, map[string]*realCause{}
	for _, kind := range realKinds {
		of := slices.DeleteFunc(slices.Clone(uses), func(u recordedUse) bool { return kindOf(u.Session) != kind.name })
		if len(of) == 0 {
			continue
		}
		archive := filepath.Join(r.projects, "real-"+kind.name+".txtar")
		p, err := client.NewProject(r.program, filepath.Join(dir, kind.name), kind.dir, []string{archive})
		if err == nil {
			err = r.drive(kind, p, of)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", kind.name, err)
		}
	}
	return nil
}

// here returns what was recorded with the paths of the project.
func (k realKind) here(p *client.Project, text string) string {
	text = strings.ReplaceAll(text, k.recorded, p.Dir)
	if k.name == "py" {
		return text
	}
	return strings.ReplaceAll(text, recordedHome, p.Home)
}

// drive decides the uses of one kind, one session after the other.
func (r *real) drive(kind realKind, p *client.Project, uses []recordedUse) error {
	c, err := p.Start(r.flags...)
	if err != nil {
		return err
	}
	for i, u := range uses {
		if i > 0 && u.Session != uses[i-1].Session {
			if err := c.EndSession(uses[i-1].Session); err != nil {
				return err
			}
		}
		use := client.Use{Tool: u.Tool, Input: json.RawMessage(kind.here(p, string(u.Input))), Dir: kind.here(p, u.Cwd), Session: u.Session}
		reply, err := c.CanUse(use, func(q json.RawMessage) any { return client.Remember(q, u.Refused) })
		if err != nil {
			return fmt.Errorf("%s: %w", u.Session, err)
		}
		if err := r.count(kind, p, u, use, reply); err != nil {
			return err
		}
	}
	return c.Close()
}

// realResult is what is read of a decision or of a question.
type realResult struct {
	Behavior     string
	UpdatedInput struct{ Command string }
	Decision     struct{ Reason string }
	Reason       string
}

// count counts what became of a use.
func (r *real) count(kind realKind, p *client.Project, u recordedUse, use client.Use, reply client.Reply) error {
	var result, question realResult
	if err := json.Unmarshal(reply.Result, &result); err != nil {
		return err
	}
	if reply.Question != nil {
		if err := json.Unmarshal(reply.Question, &question); err != nil {
			return err
		}
	}
	interrupts, why := reply.Question != nil || result.Behavior != "allow", question.Reason
	if reply.Question == nil {
		why = result.Decision.Reason
	}
	if result.Behavior == "allow" {
		if u.Refused && reply.Question == nil {
			r.letGo = append(r.letGo, string(u.Input))
		}
		if r.runs && r.run(kind, p, use, result.UpdatedInput.Command) == notStarted {
			interrupts, why = true, "not started inside"
		}
	}
	r.total[kind.name]++
	r.perSession[u.Session] = append(r.perSession[u.Session], interrupts)
	if interrupts && !u.Refused {
		r.asked[kind.name]++
		r.because(kind.name, strings.ReplaceAll(why, p.Home, recordedHome), string(u.Input))
	}
	return nil
}

// notStarted is the exit code of a command whose sandbox could not be built.
const notStarted = 126

// run makes the file that a use writes, or runs the line that is to be run in place of
// a command. It returns the exit code.
func (r *real) run(kind realKind, p *client.Project, use client.Use, line string) int {
	var input struct {
		Path    string `json:"file_path"`
		Command string `json:"command"`
	}
	if json.Unmarshal(use.Input, &input) != nil {
		return 0
	}
	switch {
	case slices.Contains([]string{"Write", "Edit", "MultiEdit"}, use.Tool):
		if strings.HasPrefix(input.Path, p.Home+"/") {
			appendTo(input.Path)
		}
	case use.Tool == "Bash" && line != "" && line != input.Command:
		r.ran++
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		return p.Shell(ctx, line, use.Dir)
	}
	return 0
}

// appendTo appends a line to a file, if that can be done.
func appendTo(path string) {
	if os.MkdirAll(filepath.Dir(path), 0o755) != nil {
		return
	}
	if f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644); err == nil {
		f.WriteString("x\n")
		f.Close()
	}
}

func (r *real) because(kind, why, example string) {
	words := strings.Fields(why)
	key := strings.Join(words[:min(7, len(words))], " ")
	c := r.causes[kind+key]
	if c == nil {
		c = &realCause{kind: kind, reason: key, example: example}
		r.causes[kind+key] = c
	}
	c.count++
}

// figures returns the figures as real.py words them, after the n most frequent causes.
func (r *real) figures(n int) string {
	var b strings.Builder
	causes := slices.SortedFunc(maps.Values(r.causes), func(a, b *realCause) int {
		if a.count != b.count {
			return b.count - a.count
		}
		return strings.Compare(a.kind+a.reason, b.kind+b.reason)
	})
	for _, c := range causes[:min(n, len(causes))] {
		example := visible.Line(c.example)
		fmt.Fprintf(&b, "%d %s %s | %s\n", c.count, c.kind, visible.Line(c.reason), example[:min(150, len(example))])
	}
	fmt.Fprintf(&b, "refused by the person and allowed unasked: %d; lines run inside: %d\n", len(r.letGo), r.ran)
	b.WriteString("real sessions: questions or refusals in 25 tool uses: ")
	for i, k := range realKinds {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s %.2f (%d uses)", k.name, 25*float64(r.asked[k.name])/float64(max(1, r.total[k.name])), r.total[k.name])
	}
	if rates := r.rates(); len(rates) > 0 {
		fmt.Fprintf(&b, "; sessions of 10 or more: median %.1f, 90 %% %.1f, worst %.0f", rates[len(rates)/2], rates[len(rates)*9/10], rates[len(rates)-1])
	}
	b.WriteString("\n")
	return b.String()
}

// rates returns how often each session of ten uses or more was interrupted, in 25 uses.
func (r *real) rates() []float64 {
	var all []float64
	for _, uses := range r.perSession {
		if len(uses) < 10 {
			continue
		}
		n := 0
		for _, interrupts := range uses {
			n += number(interrupts)
		}
		all = append(all, 25*float64(n)/float64(len(uses)))
	}
	slices.Sort(all)
	return all
}
