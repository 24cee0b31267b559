package desk_test

import (
	"context"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/desk"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// ends is what became of the questions of a desk, by ID.
type ends struct {
	mu                          sync.Mutex
	asked                       map[string]desk.Question
	accepted, refused, withdrew map[string]int
	choice                      map[string]string // of the answer that was accepted
}

// use is one tool use that is asked about.
type use struct {
	cancel    context.CancelFunc
	cancelled bool
	answer    permission.Answer
	err       error
}

// step is what somebody does at a moment.
type step struct {
	Do     int // ask, answer, answer with another digest, answer what is unknown, cancel, close
	Use    int
	Choice string
}

var steps = rapid.Custom(func(t *rapid.T) step {
	return step{
		Do: rapid.SampledFrom([]int{0, 0, 0, 1, 1, 1, 1, 2, 3, 4, 5}).Draw(t, "do"), Use: rapid.IntRange(0, 7).Draw(t, "use"),
		Choice: rapid.SampledFrom([]string{desk.Once, desk.Deny, desk.Session, desk.Never, "none"}).Draw(t, "choice"),
	}
})

// requests are questions about different tool uses, some of which one rule answers.
var requests = sync.OnceValue(func() (all []permission.Request) {
	for _, line := range []string{"npm install a", "npm install b", "git push", "rm x"} {
		all = append(all, about("Bash", line, `{"command":"`+line+`"}`))
	}
	return all
})

// TestInterleavings: whatever several people, the agent and the program do at once,
// each question ends once, by its own digest; what was accepted is what the evaluator
// gets; nothing is lost; and a closed desk denies.
func TestInterleavings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		scripts := rapid.SliceOfN(rapid.SliceOfN(steps, 1, 12), 1, 4).Draw(t, "scripts")
		e := &ends{asked: map[string]desk.Question{}, accepted: map[string]int{}, refused: map[string]int{}, withdrew: map[string]int{}, choice: map[string]string{}}
		d := desk.New(desk.Options{
			Asked: func(q desk.Question) { e.mu.Lock(); defer e.mu.Unlock(); e.asked[q.ID] = q },
			Withdrawn: func(id, _ string) {
				e.mu.Lock()
				defer e.mu.Unlock()
				if e.asked[id].ID == "" {
					t.Errorf("%s was withdrawn before it was asked", id)
				}
				e.withdrew[id]++
			},
		})
		var people, asking sync.WaitGroup
		var mu sync.Mutex
		var uses []*use
		for _, script := range scripts {
			people.Go(func() {
				for _, s := range script {
					switch s.Do {
					case 0:
						ctx, cancel := context.WithCancel(context.Background())
						u := &use{cancel: cancel}
						mu.Lock()
						uses = append(uses, u)
						mu.Unlock()
						asking.Go(func() { u.answer, u.err = d.Approve(ctx, requests()[s.Use%len(requests())]) })
					case 1, 2, 3:
						e.answer(t, d, s)
					case 4:
						mu.Lock()
						if len(uses) > 0 {
							u := uses[s.Use%len(uses)]
							u.cancelled = true
							u.cancel()
						}
						mu.Unlock()
					case 5:
						d.Close("over")
					}
				}
			})
		}
		people.Wait()
		d.Close("over")
		asking.Wait()
		if len(d.Waiting()) > 0 {
			t.Errorf("%d wait after the end", len(d.Waiting()))
		}
		if _, err := d.Approve(context.Background(), requests()[0]); err == nil {
			t.Error("a closed desk allows")
		}
		e.check(t, uses)
	})
}

// answer answers one of the questions that were asked, also one that has ended.
func (e *ends) answer(t *rapid.T, d *desk.Desk, s step) {
	e.mu.Lock()
	var all []desk.Question
	for _, q := range e.asked {
		all = append(all, q)
	}
	e.mu.Unlock()
	if len(all) == 0 {
		return
	}
	q := all[s.Use%len(all)]
	r := desk.Reply{ID: q.ID, Digest: q.Digest, Choice: s.Choice}
	switch s.Do {
	case 2:
		r.Digest = all[(s.Use+1)%len(all)].Digest + "0"
	case 3:
		r.ID += "0000"
	}
	_, err := d.Answer(r)
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case err != nil:
		e.refused[r.ID]++
	case s.Do != 1 || s.Choice == "none":
		t.Errorf("accepted: %+v", r)
	default:
		e.accepted[r.ID]++
		e.choice[r.ID] = r.Choice
	}
}

func (e *ends) check(t *rapid.T, uses []*use) {
	said := map[string]int{}
	for id := range e.asked {
		if e.accepted[id]+e.withdrew[id] != 1 {
			t.Errorf("question %s: %d answers were accepted, and it was withdrawn %d times", id, e.accepted[id], e.withdrew[id])
		}
		said[e.choice[id]]++
	}
	got, cancelled := 0, 0
	for _, u := range uses {
		u.cancel()
		switch {
		case u.err == nil:
			got++
		case u.answer.Behavior != 0:
			t.Errorf("%+v with %v", u.answer, u.err)
		}
		if u.cancelled {
			cancelled++
		}
	}
	accepted := 0
	for _, n := range e.accepted {
		accepted += n
	}
	// An answer may come to nothing only if its tool use was cancelled at the same time,
	// and there may be more only where one was answered together with another.
	if got < accepted-cancelled {
		t.Errorf("%d answers were accepted, %d arrived, %d tool uses were cancelled", accepted, got, cancelled)
	}
	if said[desk.Session] == 0 && got > accepted {
		t.Errorf("%d answers were accepted, and %d arrived", accepted, got)
	}
}
