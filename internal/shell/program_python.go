package shell

import "strings"

// python handles -X, which may name a file or a module, and the modules that read a
// program from standard input (python(1), -X).
func (e *effector) python() {
	for _, a := range e.scan.Args {
		if a.Kind != ArgOption {
			continue
		}
		switch name, value := a.Option.Names[0], a.Value.Text; {
		case name == "-X" && strings.HasPrefix(value, "pycache_prefix="):
			e.write(cutWord(a.Value, len("pycache_prefix=")), NeedCover, false, "option -X of python")
		case name == "-X" && (strings.HasPrefix(value, "presite=") || !a.Value.Known()):
			e.odd(causePythonOption)
		case name == "-m" && (value == "code" || value == "asyncio"):
			e.stdin()
		}
	}
}

// pytest writes the file that a report names, and handles arguments in a file
// (pytest-cov, "Reporting"; pytest, "Read arguments from file").
func (e *effector) pytest() {
	e.gcc()
	for _, a := range e.scan.Args {
		if a.Kind == ArgOption && a.Option.Names[0] == "--debug" && a.ValueAt < 0 && a.Word+1 < len(e.words) && !strings.HasPrefix(e.words[a.Word+1].Text, "-") {
			e.write(e.words[a.Word+1], NeedCover, false, "option --debug of pytest")
		}
		if a.Kind != ArgOption || a.Option.Names[0] != "--cov-report" {
			continue
		}
		if at := strings.IndexByte(a.Value.Text, ':'); at >= 0 {
			e.write(cutWord(a.Value, at+1), NeedCover, false, "option --cov-report of pytest")
		}
	}
}

// perl adds an opaque spot for -M and -m with more than a module and its arguments:
// their text becomes part of a use statement (perlrun(1)).
func (e *effector) perl() {
	for _, a := range e.scan.Args {
		if a.Kind != ArgOption || a.Option.Names[0] != "-M" && a.Option.Names[0] != "-m" {
			continue
		}
		module, _, _ := strings.Cut(strings.TrimPrefix(a.Value.Text, "-"), "=")
		if !a.Value.Known() || strings.ContainsFunc(module, notModule) {
			e.odd(causeCode, "option "+a.Option.Names[0]+" of perl")
		}
	}
}

// notModule reports whether a character cannot be part of the name of a Perl module.
func notModule(r rune) bool {
	return r != ':' && r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
}
