package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/test/client"
)

// record is one decision, with all that was said of it.
type record struct {
	ID    string          `json:"id"`
	Class string          `json:"class"`
	Use   string          `json:"use"`
	Got   json.RawMessage `json:"got"`
}

// outcome is what a build makes of a task.
type outcome struct {
	records []record
	err     error // the build cannot do it
}

// task is a part of what is decided.
type task struct {
	name   string
	decide func(ctx context.Context, program, dir string) outcome
}

// common holds the policies under which every row is decided beside its own.
var common = []struct{ name, text string }{
	{"none", `{}`},
	{"bare", `{"allow":["Bash"],"deny":["Bash(rm:*)","Bash(curl:*)","Bash(sudo:*)","Bash(git push:*)","Read(.env)","Edit(src/**)","WebFetch(evil.com)"]}`},
	{"narrow", `{"allow":["Bash(git:*)","Bash(echo:*)","Bash(ls:*)","Bash(npm:*)","Read","Edit(src/**)"]}`},
	{"edits", `{"mode":"acceptEdits","allow":["Bash(git status)","Bash(go test:*)","Read"],"ask":["Bash(git:*)"]}`},
}

// riskless are the flags of check under which tiers answer nothing.
var riskless = []string{"--risk", "off", "--unlisted", "ask"}

// sandboxed are the flags of decide with a sandbox.
var sandboxed = []string{"--sandbox=on", "--applies-input"}

// known returns the flags by the names that a build has for them: before 0.1.0 a sandbox was
// called walls.
func known(program string, flags []string) []string {
	help, err := exec.Command(program, "decide", "--help").Output()
	if len(flags) == 0 || err != nil || bytes.Contains(help, []byte("--sandbox")) {
		return flags
	}
	return strings.Split(strings.ReplaceAll(strings.Join(flags, "\n"), "--sandbox", "--walls"), "\n")
}

// tasks returns what is decided.
func (o *options) tasks() ([]task, error) {
	files, err := filepath.Glob(filepath.Join(o.cases, "*.jsonl"))
	if err != nil {
		return nil, err
	}
	if o.rows != "" {
		files = append(files, o.rows)
	}
	rows, err := readRows(files)
	if err != nil {
		return nil, err
	}
	var all []task
	// What takes longest begins first.
	for _, p := range people {
		for _, k := range recordedKinds {
			t, err := o.session(k, p)
			if err != nil {
				return nil, err
			}
			all = append(all, t)
		}
	}
	uses := slices.DeleteFunc(slices.Clone(rows), func(r row) bool { return strings.HasPrefix(r.ID, "generated") })
	all = append(all, o.explained("explain", uses, nil), o.explained("explain sandbox", uses, sandboxed))
	for _, flags := range [][]string{nil, riskless} {
		name := cmp.Or(strings.Join(flags, " "), "risk on")
		own := slices.DeleteFunc(slices.Clone(rows), func(r row) bool { return !r.ownPolicy() })
		all = append(all, checked("check own "+name, own, flags))
		for _, p := range common {
			under := make([]row, len(rows))
			for i, r := range rows {
				r.Policy = json.RawMessage(p.text)
				under[i] = r
			}
			all = append(all, checked("check "+p.name+" "+name, under, flags))
		}
		all = append(all, o.checkedByInit("check init "+name, rows, flags))
	}
	return all, nil
}

// checked returns the task of deciding rows by check --jsonl.
func checked(name string, rows []row, flags []string) task {
	return task{name, func(ctx context.Context, program, _ string) outcome {
		return check(ctx, program, rows, flags)
	}}
}

// checkedByInit returns the task of deciding rows under the policy of init.
func (o *options) checkedByInit(name string, rows []row, flags []string) task {
	return task{name, func(ctx context.Context, program, dir string) outcome {
		p, err := client.NewProject(program, filepath.Join(dir, recordedHome), "proj", o.archives("everyday", "go", "ts", "py"))
		if err != nil {
			return outcome{err: err}
		}
		under := make([]row, len(rows))
		for i, r := range rows {
			r.Policy = nil
			under[i] = r
		}
		return check(ctx, program, under, append([]string{"--policy", p.Policy()}, flags...)).within(dir)
	}}
}

func (o *options) archives(names ...string) (files []string) {
	for _, name := range names {
		files = append(files, filepath.Join(o.projects, name+".txtar"))
	}
	return files
}

// check has a program decide rows.
func check(ctx context.Context, program string, rows []row, flags []string) outcome {
	var input bytes.Buffer
	enc := json.NewEncoder(&input)
	enc.SetEscapeHTML(false)
	for _, r := range rows {
		if err := enc.Encode(r); err != nil {
			return outcome{err: err}
		}
	}
	cmd := exec.CommandContext(ctx, program, append([]string{"check", "--jsonl"}, flags...)...)
	var said strings.Builder
	cmd.Stdin, cmd.Stderr, cmd.Env = &input, &said, append(os.Environ(), "HOME=/nonexistent")
	out, err := cmd.Output()
	if err != nil {
		return outcome{err: fmt.Errorf("%w: %s", err, strings.TrimSpace(said.String()))}
	}
	var got outcome
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		if len(got.records) == len(rows) {
			return outcome{err: errors.New("more answers than rows")}
		}
		r := rows[len(got.records)]
		got.records = append(got.records, record{r.ID, r.Class, show(r.Tool, r.Input), bytes.Clone(lines.Bytes())})
	}
	if len(got.records) != len(rows) {
		return outcome{err: fmt.Errorf("answers to %d of %d rows", len(got.records), len(rows))}
	}
	return got
}

func show(tool string, input json.RawMessage) string { return tool + " " + string(input) }

// recordedHome is the home directory in recorded tool uses. Each task has one at the same
// path below its own directory.
const recordedHome = "/home/dev"

// explained returns the task of explaining each tool use of the rows in a project with
// files of all kinds.
func (o *options) explained(name string, rows []row, flags []string) task {
	seen := map[string]bool{}
	rows = slices.DeleteFunc(slices.Clone(rows), func(r row) bool {
		key := show(r.Tool, r.Input)
		defer func() { seen[key] = true }()
		return seen[key]
	})
	return task{name, func(_ context.Context, program, dir string) outcome {
		home := filepath.Join(dir, recordedHome)
		p, err := client.NewProject(program, home, "proj", o.archives("everyday", "go", "ts", "py"))
		if err != nil {
			return outcome{err: err}
		}
		c, err := p.Start(known(program, flags)...)
		if err != nil {
			return outcome{err: err}
		}
		var got outcome
		for _, r := range rows {
			u := r.use()
			u.Input = bytes.ReplaceAll(u.Input, []byte(recordedHome+"/"), []byte(home+"/"))
			reply, err := c.Explain(u)
			if err != nil {
				return outcome{err: fmt.Errorf("%s: %w", r.ID, err)}
			}
			got.records = append(got.records, record{r.ID, r.Class, show(r.Tool, r.Input), reply.Result})
		}
		got.err = c.Close()
		return got.within(dir)
	}}
}

// person answers the questions of sessions in a way.
type person struct {
	name   string
	flags  []string
	answer func(question json.RawMessage, u *sessionUse) any
}

var people = []person{
	{"who remembers", nil, func(q json.RawMessage, u *sessionUse) any { return client.Remember(q, u.Refused) }},
	{"who remembers, with a sandbox", sandboxed, func(q json.RawMessage, u *sessionUse) any { return client.Remember(q, u.Refused) }},
	{"of many minds", nil, changing},
}

// changing answers by the words of the use: each choice that a question offers comes up.
func changing(question json.RawMessage, u *sessionUse) any {
	h := fnv.New32a()
	h.Write(u.Input)
	n := h.Sum32()
	offered := client.Choices(question)
	for i := range uint32(5) {
		choice, ok := offered[[]string{"once", "session", "always", "never", "while"}[(n+i)%5]]
		if ok && (choice.Name != "never" || n%4 == 0) {
			return choice.At(int(n / 5 % 3))
		}
	}
	return client.Answer{Choice: "deny", Message: "no"}
}

// sessionUse is a tool use of a recorded session.
type sessionUse struct {
	Session string          `json:"session"`
	Tool    string          `json:"tool"`
	Input   json.RawMessage `json:"input"`
	Cwd     string          `json:"cwd"`
	Refused bool            `json:"refused"`
}

// recordedKind is a kind of project in which sessions were recorded.
type recordedKind struct {
	file, prefix string // its sessions: the corpus, and how their names begin
	archive      string
	recorded     string // its directory as recorded
	dir          string // below the home
}

var recordedKinds = []recordedKind{
	{"real-sessions", "ss-", "real-go", "/home/dev/src/acme/app", "src/acme/app"},
	{"real-sessions", "ts-", "real-ts", "/home/dev/proj", "proj"},
	{"real-sessions", "", "real-py", "/testbed", "testbed"},
	{"sessions", "go-", "go", "/home/dev/proj", "proj"},
	{"sessions", "ts-", "ts", "/home/dev/proj", "proj"},
	{"sessions", "py-", "py", "/home/dev/proj", "proj"},
}

func (k *recordedKind) has(session string) bool {
	if k.prefix == "" {
		return !strings.HasPrefix(session, "ss-") && !strings.HasPrefix(session, "ts-")
	}
	return strings.HasPrefix(session, k.prefix)
}

// session returns the task of deciding the sessions of one kind, as a person answers.
func (o *options) session(kind recordedKind, who person) (task, error) {
	file, err := os.Open(filepath.Join(o.cases, kind.file+".jsonl"))
	if err != nil {
		return task{}, err
	}
	defer file.Close()
	var uses []*sessionUse
	for dec := json.NewDecoder(file); ; {
		u := &sessionUse{}
		err := dec.Decode(u)
		if err == io.EOF {
			break
		}
		if err != nil {
			return task{}, fmt.Errorf("%s: %w", file.Name(), err)
		}
		if kind.has(u.Session) {
			uses = append(uses, u)
		}
	}
	name := fmt.Sprintf("session %s, a person %s", kind.archive, who.name)
	return task{name, func(_ context.Context, program, dir string) outcome {
		p, err := client.NewProject(program, filepath.Join(dir, recordedHome), kind.dir, o.archives(kind.archive))
		if err != nil {
			return outcome{err: err}
		}
		who := who
		who.flags = known(program, who.flags)
		return kind.decide(p, uses, who).within(dir)
	}}, nil
}

// decide has all uses decided, one session after the other.
func (k *recordedKind) decide(p *client.Project, uses []*sessionUse, who person) (got outcome) {
	c, err := p.Start(append([]string{"--audit-sync", "none"}, who.flags...)...)
	if err != nil {
		return outcome{err: err}
	}
	here := strings.NewReplacer(k.recorded, p.Dir, recordedHome, p.Home)
	for i, u := range uses {
		if i > 0 && u.Session != uses[i-1].Session {
			if err := c.EndSession(uses[i-1].Session); err != nil {
				return outcome{err: err}
			}
		}
		use := client.Use{Tool: u.Tool, Input: json.RawMessage(here.Replace(string(u.Input))), Dir: here.Replace(u.Cwd), Session: u.Session}
		reply, err := c.CanUse(use, func(q json.RawMessage) any { return who.answer(q, u) })
		if err != nil {
			return outcome{err: fmt.Errorf("use %d: %w", i+1, err)}
		}
		whole, err := json.Marshal(map[string]json.RawMessage{"result": reply.Result, "question": reply.Question})
		if err != nil {
			return outcome{err: err}
		}
		got.records = append(got.records, record{fmt.Sprintf("%s:%d", k.archive, i+1), k.archive, show(u.Tool, u.Input), whole})
	}
	got.err = c.Close()
	return got
}

// drawn matches what differs from run to run, or with the questions before: ids and digests
// of questions, where the program lies, permits of commands, and the ends of rules for a while.
var drawn = regexp.MustCompile(`"id":"q[0-9.]+"|"digest":"[^"]*"|[^" ]*/[^" /]+ within (?:--directory )?[0-9a-f]+-[0-9a-z]+|until [0-9:]{8}`)

// within removes from an outcome in dir what another run would have otherwise.
func (o outcome) within(dir string) outcome {
	for i := range o.records {
		got := bytes.ReplaceAll(o.records[i].Got, []byte(dir), nil)
		o.records[i].Got = drawn.ReplaceAllFunc(got, func(b []byte) []byte {
			if key, _, ok := bytes.Cut(b, []byte(":")); ok && b[0] == '"' {
				return append(bytes.Clone(key), `:""`...)
			}
			if bytes.HasPrefix(b, []byte("until")) {
				return []byte("until …")
			}
			return []byte("agent-wrapper …")
		})
	}
	return o
}
