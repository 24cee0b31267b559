package shell

import "github.com/agent-wrapper/agent-wrapper/internal/mask"

// Where a shell runs one line after another, what a line leaves behind changes what the
// next one does, which is read without it. A line that leaves more than a directory, or
// variables that stay in the shell, is therefore opaque. The next line is read as if any
// variable had any value, so those do no harm.

// leaves adds an opaque spot for what the line leaves to the next one. A variable that no
// known program obeys is left to a rule for the command that exports it.
func (w *walker) leaves() {
	if !w.opt.Survives || w.end == nil {
		return // or the shell has ended
	}
	w.from, w.to = 0, len(w.facts.Source)
	if why := w.left(); why.Cause != 0 {
		w.add(opaque(-1, 0, why))
	}
}

func (w *walker) left() Why {
	if name := w.leftVariable(); name == anyVariable {
		return because(causeStaysAll)
	} else if name != "" {
		return because(causeStaysExported, name)
	}
	switch {
	case w.stay.function != "":
		return because(causeStaysFunction, w.stay.function)
	case w.stay.traced:
		return because(causeStaysTraced)
	case w.stay.secret != "":
		return because(causeStaysSecret, w.stay.secret)
	}
	return Why{}
}

// leftVariable returns a variable that later programs may obey, "" if there is none.
func (w *walker) leftVariable() string {
	env := w.end.env
	switch {
	case env == nil:
		return ""
	case env.all:
		return anyVariable
	}
	unknown := false
	for _, v := range env.vars {
		if inherits(v.Name) || v.Name == anyVariable || len(w.exporters) == 0 {
			return v.Name
		}
		unknown = true
	}
	if unknown {
		for _, i := range w.exporters {
			w.facts.Actions[i].Exports = true
		}
	}
	return ""
}

// staySecrets records a variable into which the current text puts a secret.
func (w *walker) staySecrets() {
	w.followSecrets(w.unit)
	for name := range w.unit.secrets {
		if !mask.IsSecretVariable(name) && name != lastWord && (w.stay.secret == "" || name < w.stay.secret) {
			w.stay.secret = name
		}
	}
}
