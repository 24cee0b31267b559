package gates

import (
	"encoding/json"
	"testing"
)

// TestFailureType: the key and the values of a gate's failure, which programs
// depend on, are the same in results and previews (S2-33).
func TestFailureType(t *testing.T) {
	for failure, want := range map[Failure]string{
		Hallucination: `,"failure_type":"hallucination"`, Denied: `,"failure_type":"denied"`, Paused: `,"failure_type":"paused"`,
		TimedOut: `,"failure_type":"timeout"`, Exited: `,"failure_type":"exit"`, NotStarted: `,"failure_type":"not_started"`,
		Dependency: `,"failure_type":"dependency"`, UnsupportedRuntime: `,"failure_type":"unsupported_runtime"`, Interrupted: `,"failure_type":"interrupted"`,
		"": "",
	} {
		ran := Result{Item: "i", Gate: "g", Command: "c", Status: Blocked, Failure: failure}
		would := Preview{Item: "i", Gate: "g", Command: "c", Would: WouldBlock, Failure: failure}
		marshals(t, ran, `{"item":"i","gate":"g","command":"c","status":"blocked"`+want+`,"duration_ms":0}`)
		marshals(t, would, `{"item":"i","gate":"g","command":"c","would":"block"`+want+`}`)
	}
}

// marshals holds what a value is as JSON.
func marshals(t *testing.T, value any, want string) {
	t.Helper()
	if got, err := json.Marshal(value); err != nil || string(got) != want {
		t.Errorf("%s, %v, want %s", got, err, want)
	}
}
