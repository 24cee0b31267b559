package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/agent-wrapper/agent-wrapper/internal/whitelist"
	"github.com/agent-wrapper/agent-wrapper/permission"
	"github.com/agent-wrapper/agent-wrapper/wrapper"
)

const readsAnything = `deny = ["Read(.env)"]`

// yes approves everything, and counts.
type yes struct {
	mu    sync.Mutex
	asked int
}

func (y *yes) Approve(context.Context, permission.Request) (permission.Answer, error) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.asked++
	return permission.Answer{Behavior: permission.Allow}, nil
}

// fates decides uses one after the other and returns by whom each was decided.
func fates(t *testing.T, e *Engine, uses ...permission.ToolUse) string {
	t.Helper()
	var by []string
	for _, use := range uses {
		res, err := e.CanUseTool(t.Context(), use)
		if err != nil {
			t.Fatal(err)
		}
		if told := res.By == permission.ByAdvice; told != (res.Behavior == permission.Deny) {
			t.Errorf("%s: %v by %s", use.Input, res.Behavior, res.By)
		}
		by = append(by, res.By)
	}
	return strings.Join(by, " ")
}

// TestAdvisedOnce: a cause is advised once for each session, agent and program; then
// the person is asked.
func TestAdvisedOnce(t *testing.T) {
	o := site(t, nil)
	o.Settings, o.NoRecord, o.Approver = settings(t, readsAnything), true, &yes{}
	e := opened(t, o)
	of := func(session, agent, line string) permission.ToolUse {
		use := bash(e, line)
		use.Session, use.Agent = session, agent
		return use
	}
	got := fates(t, e,
		of("1", "", `cat "$f"`), of("1", "", `cat "$f"`), of("1", "", `cat "$g"`), // another line, the same cause
		of("1", "", `head "$f"`),                           // another program
		of("1", "a", `cat "$f"`), of("1", "a", `cat "$f"`), // another agent
		of("1", "b", `cat "$f"`),                         // a fourth in this turn
		of("2", "", `cat "$f"`), of("2", "", `cat "$f"`), // another session
		of("2", "", `cat "$f"; wc -l "$f"`), // one of the two was told
		of("2", "", `wc -l "$f"; uniq "$f"`), of("2", "", `uniq "$f"`),
	)
	want := "advice person person advice advice person person advice person person advice person"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestAdvisedThreeATurn: a run is a turn of the agent.
func TestAdvisedThreeATurn(t *testing.T) {
	o := site(t, nil)
	o.Settings, o.NoRecord, o.Approver = settings(t, readsAnything), true, &yes{}
	e := opened(t, o)
	programs := []string{"cat", "head", "tail", "wc", "uniq", "nl", "tac"}
	turn := func(programs ...string) string {
		var uses []permission.ToolUse
		for _, name := range programs {
			uses = append(uses, bash(e, name+` "$f"`))
		}
		got := ""
		d := taken(func(wrapper.Task) error { got = fates(t, e, uses...); return nil })
		if _, err := e.Drive(t.Context(), d, wrapper.Task{}); err != nil {
			t.Fatal(err)
		}
		return got
	}
	if got := turn(programs[:5]...); got != "advice advice advice person person" {
		t.Error(got)
	}
	if got := turn(programs...); got != "person person person advice advice advice person" {
		t.Errorf("the next turn: %s", got)
	}
}

// TestAdvisedAtTheSameTime: of uses at the same time one is advised.
func TestAdvisedAtTheSameTime(t *testing.T) {
	o := site(t, nil)
	person := &yes{}
	o.Settings, o.NoRecord, o.Approver = settings(t, readsAnything), true, person
	e := opened(t, o)
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		by := map[string]int{}
		for range 8 {
			go func() {
				res, err := e.CanUseTool(context.Background(), bash(e, `cat "$f"`))
				mu.Lock()
				defer mu.Unlock()
				by[fmt.Sprint(res.By, err)]++
			}()
		}
		synctest.Wait()
		if by["advice<nil>"] != 1 || by["person<nil>"] != 7 || person.asked != 7 {
			t.Errorf("%v, %d asked", by, person.asked)
		}
	})
}

// TestAdviceOff: an option or the policy leaves every question to the person.
func TestAdviceOff(t *testing.T) {
	for _, off := range []func(*Options){
		func(o *Options) { o.NoAdvice = true },
		func(o *Options) { o.Settings = settings(t, "advice = \"off\"\n"+readsAnything) },
	} {
		o := site(t, nil)
		o.Settings, o.NoRecord, o.Approver = settings(t, readsAnything), true, &yes{}
		off(&o)
		e := opened(t, o)
		if got := fates(t, e, bash(e, `cat "$f"`)); got != "person" {
			t.Error(got)
		}
	}
}

// TestAdviceIsRecorded: the record says by: advice with the words; a whitelist does
// not count the use as made up, not even in a dry run.
func TestAdviceIsRecorded(t *testing.T) {
	o := site(t, map[string]string{"work/list.json": `{"version":"1.0.0","mode":"strict","policy":{"dry_run_mode":true}}`})
	o.Settings = settings(t, "whitelist = \""+filepath.ToSlash(o.Dir)+"/list.json\"\n"+readsAnything)
	e := opened(t, o)
	res, err := e.CanUseTool(t.Context(), bash(e, `cat "$f"`))
	if err != nil || res.By != permission.ByAdvice {
		t.Fatalf("%+v, %v", res, err)
	}
	if res.Refusal.Kind == "" {
		t.Errorf("the whitelist has no objection: %+v", res)
	}
	if _, err := os.Stat(filepath.Join(o.Dir, whitelist.LogFile)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is a made-up command: %v", err)
	}
	e.Close()
	record, err := os.ReadFile(filepath.Join(o.Dirs.State, "audit.jsonl"))
	for _, want := range []string{`"by":"advice"`, `"behavior":"deny"`, "Instead: name the file"} {
		if err != nil || !strings.Contains(string(record), want) {
			t.Errorf("the record holds no %s: %s, %v", want, record, err)
		}
	}
}
