package shell

import "github.com/agent-wrapper/agent-wrapper/internal/mask"

// lastWord is the variable into which a shell puts the last word of each command.
const lastWord = "_"

// leftovers are what a text leaves in its shell besides variables.
type leftovers struct {
	function string // a function, "" for none
	secret   string // a variable that has the value of a secret
	traced   bool   // set -x
}

// declaresSecret notes that the line may give a variable that may hold a secret an
// attribute, or make it an array or local. No variable is so before: what prints only
// such variables (readonly -p, declare -a, local) shows the secret, before or after it
// in the text.
func (w *walker) declaresSecret() {
	w.secretDeclared = true
	for _, index := range w.listings {
		w.shows(index)
	}
	w.listings = nil
}

// shows marks a command as one that prints values of variables.
func (w *walker) shows(index int) {
	if index >= 0 {
		a := &w.facts.Actions[index]
		a.Environment = true
		a.Need = max(a.Need, NeedCover) // even if the program needs none for what it is
	}
}

// secretGiven adds an opaque spot for a secret given to a variable that the shell or a
// program reads, and may print. A variable whose own name says that it holds a secret may
// get one.
func (w *walker) secretGiven(name string, parent int) {
	if w.unit.dialect.effectOf(name) != varUnlisted && !mask.IsSecretVariable(name) {
		w.opaque(parent, MayRead, causeSecretShown, name)
	}
}

// givesSecret reports whether an assignment puts a secret into a variable that is not
// called one.
func (a *Assign) givesSecret() bool { return a.Value.secret() && !mask.IsSecretVariable(a.Name) }
