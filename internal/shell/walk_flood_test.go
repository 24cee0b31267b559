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
		"while [ 1 ]; do x & done": true, "while [[ 1 ]]; do x & done": true, "while ((1)); do x & done": true, "while ! false; do x & done": true, "while (true); do x & done": true, "while { :; }; do x & done": true,
		"while command true; do x & done": true, "while echo a; do x & done": true, "for ((i=0;1;i++)); do x & done": true, "until ((0)); do x & done": true, "until [ ]; do x & done": true, "until ! true; do x & done": true,
		"while true; do x & sleep 0; done": true, "while true; do x & sleep 0.0s; done": true, "while test 1 -eq 1; do x & done": true, "while [ -n a ]; do x & done": true, "while [ ! '' ]; do x & done": true, "while [[ a == a ]]; do x & done": true, "while [[ ! -z 1 ]]; do x & done": true,
		"while ((1==1)); do x & done": true, "while ((!0)); do x & done": true, "while true && :; do x & done": true, "while false || true; do x & done": true, "while printf ''; do x & done": true, "while true | true; do x & done": true,
		"while [ -f a ]; do x & done": false, "while [ \"$a\" ]; do x & done": false, "while [[ $i -lt 3 ]]; do x & done": false, "while ((i<3)); do x & done": false, "while ((i++<3)); do x & done": false, "while [ a -nt b ]; do x & done": false, "while [[ -e a ]]; do x & done": false, "while kill -0 1; do x & done": false,
		"while ((0)); do x & done": false, "while false; do x & done": false, "until [ 1 ]; do x & done": false, "while ! true; do x & done": false, "while true && y; do x & done": false, "while false && true; do x & done": false, "while true; do x & sleep $n; done": false, "while true; do x & sleep 0.5; done": false, "while [ $# -gt 0 ]; do x & done": false,
		"while true; do x; done": false, "while true; do x & wait; done": false, "while true; do wait; x & done": false, "while true; do x & sleep 5; done": false, "while y; do x & done": false, "while read a; do x & done": false,
		"until true; do x & done": false, "for i in 1 2; do x & done": false, "for ((i=0;i<3;i++)); do x & done": false, "while true; do sleep 1; done &": false, "x & y &": false,
	} {
		f := Analyze(line, Options{Dir: "/home/dev/proj", Home: "/home/dev", Workspace: "/home/dev/proj"})
		if got := slices.ContainsFunc(f.Actions, func(a Action) bool { return a.Why.Cause == causeFlood }); got != want {
			t.Errorf("%s: %v", line, got)
		}
	}
}
