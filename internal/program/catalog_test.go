package program

import (
	"strings"
	"testing"
)

// walk calls check with every program and subcommand of the tables and its full name.
func walkPrograms(check func(name string, p *Program)) {
	var walk func(name string, p *Program)
	walk = func(name string, p *Program) {
		check(name, p)
		for sub := range p.Subs {
			walk(name+" "+sub.Name, sub)
		}
	}
	for p := range Builtin {
		walk(p.Name, p)
	}
}

func TestProgramsAreFound(t *testing.T) {
	n := 0
	for p := range Builtin {
		n++
		if find(p.Name) != p {
			t.Errorf("%s is found as another one", p.Name)
		}
	}
	if n < 2000 {
		t.Errorf("only %d programs", n)
	}
	if p := Lookup("no such program"); p != nil {
		t.Errorf("an unknown name is found as %s", p.Name)
	}
}

func TestSubcommandsAreFound(t *testing.T) {
	walkPrograms(func(name string, p *Program) {
		for sub := range p.Subs {
			if p.Subcommand(sub.Name) != sub {
				t.Errorf("%s %s is not found: the list is not sorted, or the name stands in it twice", name, sub.Name)
			}
			if len(sub.Path) != len(p.Path)+1 {
				t.Errorf("%s %s has the path %q", name, sub.Name, sub.Path)
			}
		}
	})
}

// TestOptionNames checks that every name leads to its option by the lookup that a
// scan uses, that no list holds a name twice, and that the form of a name fits the
// style.
func TestOptionNames(t *testing.T) {
	walkPrograms(func(name string, p *Program) {
		for l := 0; l <= len(p.Shared); l++ {
			seen := map[string]bool{}
			for _, o := range p.list(l) {
				for _, n := range o.Names {
					if seen[n] {
						t.Errorf("%s: option %s stands twice", name, n)
					}
					seen[n] = true
					if !strings.HasPrefix(n, "-") && !strings.HasPrefix(n, "+") && n != ":" {
						t.Errorf("%s: %q is no option", name, n)
					}
				}
			}
		}
		for _, o := range p.Options {
			if p.Option(o.Names[0]) == nil {
				t.Errorf("%s: option %s is not found", name, o.Names[0])
			}
		}
	})
}

// TestEffectsHaveValues checks that an effect of a value has a value, and that an
// effect of the option itself takes no word without using it.
func TestEffectsHaveValues(t *testing.T) {
	needs := map[Effect]string{
		EffProgram: "program", EffCode: "code", EffWrite: "write", EffOutput: "output", EffRead: "read", EffSend: "send",
		EffLoad: "load", EffPairs: "load-pairs", EffInput: "input", EffDir: "dir", EffURL: "url", EffTarget: "target", EffPlugin: "plugin", EffModule: "module", EffExec: "exec",
	}
	walkPrograms(func(name string, p *Program) {
		for o := range p.All {
			if effect, ok := needs[o.Effect]; ok && o.Value == NoValue {
				t.Errorf("%s: option %s has the effect %s and no value", name, o.Names[0], effect)
			}
			if (o.Effect == EffWriteHere || o.Effect == EffInPlace || o.Effect == EffReadOnly) && o.Value == Required {
				t.Errorf("%s: option %s takes a value that its effect has no use for", name, o.Names[0])
			}
		}
	})
}

// TestSafePrograms checks that no option of a safe program runs, writes or fetches
// anything, so that an unknown argument is harmless.
func TestSafePrograms(t *testing.T) {
	harmful := map[Effect]bool{
		EffRun: true, EffProgram: true, EffCode: true, EffWrite: true, EffOutput: true, EffClears: true, EffSend: true, EffURL: true, EffOpaque: true,
		EffUnproven: true, EffWriteHere: true, EffInPlace: true, EffExec: true, EffPlugin: true, EffModule: true, EffSystem: true,
	}
	walkPrograms(func(name string, p *Program) {
		if !p.Safe {
			return
		}
		for o := range p.All {
			if harmful[o.Effect] {
				t.Errorf("%s is safe and has the option %s", name, o.Names[0])
			}
		}
		switch p.Operands {
		case Text, Reads, ReadsTree, Names, PatternReads:
		default:
			t.Errorf("%s is safe, and its operands are not", name)
		}
	})
}

// TestWrappers checks that programs that run their words know where their options
// end.
func TestWrappers(t *testing.T) {
	walkPrograms(func(name string, p *Program) {
		if p.Plain && p.Operands != RunsArgs {
			t.Errorf("%s is a plain wrapper and runs nothing", name)
		}
		if p.Skip > 0 && p.Operands == Text {
			t.Errorf("%s skips operands that mean nothing", name)
		}
	})
}

// grants lists the causes in which the risk of a wrapper states what it grants to the
// command, beyond the rights of its caller.
var grants = map[string]bool{
	"needs root":                          true,
	"runs as another user":                true,
	"changes users or their rights":       true,
	"runs with other rights":              true,
	"reaches another host":                true,
	"runs in a container":                 true,
	"gives a container the host's rights": true,
	"runs another command":                true, // nothing
	"runs a program of its own":           true, // nothing, and what it runs may be fetched
	"mutating operation":                  true, // nothing, and it writes (flock its lock, fc a file)
}

// TestWrappersSayWhatTheyGrant checks that the risk of a wrapper states what it
// grants, so that nobody has to know that doas is like sudo. A wrapper that grants
// something cannot be unknown.
func TestWrappersSayWhatTheyGrant(t *testing.T) {
	for p := range Builtin {
		rows := p.Risk
		if p.Wraps() && len(rows) > 0 && !grants[string(rows[len(rows)-1].Cause)] {
			t.Errorf("%s: %q does not say what the command is granted", p.Name, rows[len(rows)-1].Cause)
		}
	}
	for _, name := range []string{
		"sudo", "doas", "run0", "su", "runuser", "pkexec", "gosu", "su-exec", "setuidgid", "setpriv", "capsh", "chroot", "chpst", "sg", "runcon",
		"nsenter", "unshare", "systemd-nspawn", "machinectl", "systemd-run", "bwrap", "firejail", "proot", "ssh", "autossh", "mosh", "sshpass",
	} {
		if RiskOf(name) == nil {
			t.Errorf("%s grants something, and its risk is unknown", name)
		}
	}
}

// TestCatalogSize checks the number of programs stated in the documentation.
func TestCatalogSize(t *testing.T) {
	detailed := 0
	for p := range Builtin {
		if len(p.Options) > 0 || p.HasSubs() || len(p.Shared) > 0 {
			detailed++
		}
	}
	if detailed < 250 {
		t.Errorf("%d programs with options, want 250", detailed)
	}
}

// TestTablesAreConsistent checks that styles and operands are known, and that no own
// option stands in two rows.
func TestTablesAreConsistent(t *testing.T) {
	walkPrograms(func(name string, p *Program) {
		if p.Style > Bundle || p.Operands > Unread {
			t.Errorf("%s: style %d, operands %d", name, p.Style, p.Operands)
		}
		own := map[string]bool{}
		for _, o := range p.Options {
			if len(o.Names) == 0 || o.Value > Pair || o.Effect > EffTask {
				t.Errorf("%s: option %v is not valid", name, o.Names)
			}
			for _, n := range o.Names {
				if own[n] {
					t.Errorf("%s: option %s stands in two rows", name, n)
				}
				own[n] = true
			}
		}
	})
}

// TestSpelling: names of options are found as their program reads them.
func TestSpelling(t *testing.T) {
	for _, tt := range []struct{ program, name, want string }{
		{"tsc", "--OUTFILE", "--outFile"}, {"tsc", "-outfile", "--outFile"}, {"tsc", "-P", "-p"}, {"tsc", "--out-file", ""},
		{"jest", "--output-file", "--outputFile"}, {"jest", "--outputFile", "--outputFile"}, {"jest", "--outputfile", ""}, {"jest", "--no-cache", "--no-cache"},
		{"pytest", "--Debug", ""},
	} {
		got := ""
		if o := Lookup(tt.program).Option(tt.name); o != nil {
			got = o.Names[0]
		}
		if got != tt.want {
			t.Errorf("%s %s: %q, want %q", tt.program, tt.name, got, tt.want)
		}
	}
}
