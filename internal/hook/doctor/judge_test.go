package doctor

import "testing"

// The negative first: what ran is never reported as stopped.
func TestJudge(t *testing.T) {
	through := evidence{ran: true, made: true, back: true}
	quiet := evidence{made: true, back: true}
	inOurWords := evidence{made: true, back: true, words: true}
	tests := []struct {
		name       string
		state      state
		e, control evidence
		known      string
		outcome    Outcome
		mark       Mark
	}{
		{"it ran with a hook that denies", answering, through, through, "", Ran, Red},
		{"it ran though the words came", answering, evidence{ran: true, made: true, back: true, words: true}, through, "", Ran, Red},
		{"it ran and nothing came back", answering, evidence{ran: true}, through, "", Ran, Red},
		{"it ran with a hook that is killed", killed, through, through, "", Ran, Red},
		{"it ran as it is known to", garbage, through, through, "a reason", Ran, Warn},
		{"other words", answering, quiet, through, "", Unproven, Red},
		{"never asked", answering, evidence{ended: "exit status 1"}, through, "", NotRun, Warn},
		{"the host gave up after the call", answering, evidence{made: true}, through, "", NotRun, Warn},
		{"the control does not get through", allowing, inOurWords, evidence{}, "", NotRun, Red},
		{"nothing to compare with", killed, quiet, evidence{}, "", Unproven, Warn},
		{"stopped in our words", answering, inOurWords, through, "", Stopped, OK},
		{"stopped in our words, without a control", answering, inOurWords, evidence{}, "", Stopped, OK},
		{"stopped though the hook is gone", missing, quiet, through, "", Stopped, OK},
		{"the control", allowing, through, evidence{}, "", Through, OK},
	}
	for _, tt := range tests {
		outcome, mark, why := judge(tt.state, tt.e, tt.control, tt.known)
		if outcome != tt.outcome || mark != tt.mark {
			t.Errorf("%s: %s, %s (%s), want %s, %s", tt.name, outcome, mark, why, tt.outcome, tt.mark)
		}
		if (why == "") != (mark == OK) {
			t.Errorf("%s: %s with the reason %q", tt.name, mark, why)
		}
	}
}
