package shell

import "testing"

// TestInheritedTemp: the value of TMPDIR is known in the line itself, where nothing
// in it sets the variable; a text that a command runs may have another one.
func TestInheritedTemp(t *testing.T) {
	for line, want := range map[string]string{
		"rm $TMPDIR/x": "/private/x", `rm "${TMPDIR}/x"`: "/private/x", "(rm $TMPDIR/x)": "/private/x",
		"TMPDIR=/etc; rm $TMPDIR/x": "/etc/x", "read TMPDIR; rm $TMPDIR/x": "", "unset TMPDIR; rm $TMPDIR/x": "",
		"env -u TMPDIR bash -c 'rm $TMPDIR/x'": "", "env -i sh -c 'rm $TMPDIR/x'": "", "eval 'rm $TMPDIR/x'": "", "sudo bash -c 'rm $TMPDIR/x'": "",
	} {
		facts := Analyze(line, Options{Dir: "/w", Workspace: "/w", Temp: "/private"})
		got := ""
		for i := range facts.Actions {
			if a := &facts.Actions[i]; a.Kind == Write && a.Path.Known() {
				got = a.Path.Text
			}
		}
		if got != want {
			t.Errorf("%s removes %q, want %q", line, got, want)
		}
	}
	for _, a := range Analyze("rm $TMPDIR/x", Options{Dir: "/w"}).Actions {
		if a.Kind == Write && a.Path.Known() {
			t.Errorf("without an option TMPDIR is %q", a.Path.Text)
		}
	}
}
