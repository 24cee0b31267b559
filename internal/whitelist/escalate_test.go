package whitelist

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

type tripFunc func(*http.Request) (*http.Response, error)

func (f tripFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func answered(code int) *http.Response {
	return &http.Response{StatusCode: code, Status: http.StatusText(code), Body: io.NopCloser(strings.NewReader("")), Header: http.Header{"Location": {"https://evil.example/"}}}
}

// A webhook that fails twice: the alert arrives within a minute, and every
// attempt is in the journal.
func TestWebhookFailsTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := newTracker(t, 2)
		begun, told := time.Now(), time.Duration(0)
		attempts := 0
		var got Alert
		e := &Escalation{Webhook: "https://chat.example/hook", Post: &http.Client{Transport: tripFunc(func(r *http.Request) (*http.Response, error) {
			attempts++
			switch attempts {
			case 1:
				<-r.Context().Done() // no answer at all
				return nil, r.Context().Err()
			case 2:
				return answered(503), nil
			}
			told = time.Since(begun)
			return answered(204), json.NewDecoder(r.Body).Decode(&got)
		})}}
		tr.Escalate = func(a Alert) {
			e.Tell(a, func(how string, err error) {
				if err := tr.Escalated(how, err); err != nil {
					t.Error(err)
				}
			})
		}
		for range 3 { // one pause, one alert
			_ = tr.hallucinated(denied("npm run magic"))
		}
		e.Wait()
		if attempts != 3 || told == 0 || told >= time.Minute {
			t.Errorf("%d attempts, told after %v", attempts, told)
		}
		if got.Count != 2 || got.Threshold != 2 || got.AgentID != "a" || got.PlanID != "/p/plan.json" || len(got.Events) != 2 ||
			got.Events[0].Command != "npm run magic" || !strings.Contains(got.Message, "Human review required") || got.Resume != resumeCommand(testKey) {
			t.Errorf("%+v", got)
		}
		if s, err := tr.Journal.standing(testKey); !s.escalated || err != nil {
			t.Errorf("%+v, %v", s, err)
		}
		if err := tr.Remind(); err != nil || attempts != 3 {
			t.Errorf("told again: %v", err)
		}
	})
}

// If a process ends before the alert was delivered, the next one delivers it.
func TestRemind(t *testing.T) {
	tr := newTracker(t, 1)
	_ = tr.hallucinated(denied("x")) // no escalation is configured
	var alerts []Alert
	tr.Escalate = func(a Alert) { alerts = append(alerts, a) }
	if err := tr.Escalated("webhook", errors.New("503")); err != nil {
		t.Fatal(err)
	}
	if err := tr.Remind(); err != nil || len(alerts) != 1 || alerts[0].Count != 1 {
		t.Errorf("%+v, %v", alerts, err)
	}
	if _, err := tr.Journal.Resume(testKey.Plan, "", "me"); err != nil {
		t.Fatal(err)
	}
	if err := tr.Remind(); err != nil || len(alerts) != 1 {
		t.Errorf("there is no pause to tell of: %+v, %v", alerts, err)
	}
}

// Unreadable events do not prevent the alert.
func TestAlertWithoutEvents(t *testing.T) {
	tr := newTracker(t, 1)
	tr.Journal = NewJournal(t.TempDir())
	warned := 0
	tr.Warn = func(error) { warned++ }
	var got Alert
	tr.Escalate = func(a Alert) { got = a }
	if tr.alert(7); got.Count != 7 || got.Events != nil || warned != 1 {
		t.Errorf("%+v, %d warnings", got, warned)
	}
}

// A command that always fails is retried for a minute and no longer, and all
// ways are tried at once.
func TestEscalationEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		var commands, posts int
		e := &Escalation{
			Command: []string{"notify", "me"}, Webhook: "https://chat.example/hook",
			Run: func(ctx context.Context, argv []string, stdin []byte) error {
				commands++
				if !slices.Equal(argv, []string{"notify", "me"}) || !json.Valid(stdin) {
					t.Errorf("%q < %s", argv, stdin)
				}
				return errors.New("exit code 1")
			},
			Post: &http.Client{Transport: tripFunc(func(r *http.Request) (*http.Response, error) {
				posts++
				return nil, errors.New("cannot reach https://chat.example/hook?token=hunter2hunter2")
			})},
		}
		failures := make(chan string, 100)
		e.Tell(Alert{}, func(how string, err error) { failures <- how + ": " + err.Error() })
		e.Wait()
		if took := time.Since(begun); took > time.Minute || took < 50*time.Second || commands < 5 || posts != commands || len(failures) != commands+posts {
			t.Errorf("%v, %d commands, %d posts, %d failures", took, commands, posts, len(failures))
		}
		for close(failures); len(failures) > 0; {
			if text := <-failures; strings.Contains(text, "hunter2hunter2") {
				t.Errorf("the record has the address: %s", text)
			}
		}
	})
}
