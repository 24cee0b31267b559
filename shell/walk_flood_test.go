package shell

import (
	"slices"
	"testing"
)

// TestFlood: a loop without end that starts programs in the background, and waits neither
// for them nor for a while, is a spot that a person looks at.
func TestFlood(t *testing.T) {
	for line, want := range map[string]bool{
		"while true; do x & done": true, "while :; do x & done": true, "until false; do x & done": true, "while /bin/true; do x & done": true, "for ((;;)); do x & done": true,
		"while true; do (x &); wait; done": true, "while true; do { x & }; done": true, "while true; do if y; then x & fi; done": true, "while true; do x & (wait); done": true,
		"while true; do x & wait & done": true, "while y; true; do x | z & done": true, "bash -c 'while true; do x & done'": true, "while true; do x & false && wait; done": true, "while true; do sleep 1 & done": true,
		"while true; do x; done": false, "while true; do x & wait; done": false, "while true; do wait; x & done": false, "while true; do x & sleep 5; done": false, "while y; do x & done": false, "while read a; do x & done": false,
		"until true; do x & done": false, "for i in 1 2; do x & done": false, "for ((i=0;i<3;i++)); do x & done": false, "while true; do sleep 1; done &": false, "x & y &": false,
	} {
		f := Analyze(line, Options{Dir: "/home/dev/proj", Home: "/home/dev", Workspace: "/home/dev/proj"})
		if got := slices.ContainsFunc(f.Actions, func(a Action) bool { return a.Why.Cause == causeFlood }); got != want {
			t.Errorf("%s: %v", line, got)
		}
	}
}
