package permission

import (
	"path"
	"slices"

	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// credentialPaths lists the files of this program that hold the credentials of people,
// wherever the state directory is. Who reads one can answer in that person's name.
var credentialPaths = []string{".local/state/agent-wrapper/credentials.json"}

var credentialNames = namesOf(credentialPaths)

// takesCredential reports whether a read may show a credential of a person. Only a
// person lifts that, in every mode and whatever a rule names.
func (e *evaluation) takesCredential(a *act) bool {
	if a.sub.Kind != patterns.ReadPath || a.sub.Path == nil || a.does != nil && (a.does.Unnamed || a.does.ByPattern && a.does.Found) {
		return false // the directory that is searched stands for the names that find looks for
	}
	tree := a.does != nil && a.does.Recursive
	return slices.ContainsFunc(a.sub.Path.Forms(), func(form shell.Word) bool { return e.credentialAt(form, tree) })
}

// credentialAt reports whether a path may be that of a credential, or with tree set lie
// above one.
func (e *evaluation) credentialAt(form shell.Word, tree bool) bool {
	return named(form, credentialNames(), tree) ||
		slices.ContainsFunc(e.credentials(), func(name string) bool { return reaches(form, name, tree) })
}

// credentials returns the files with credentials under their given names and under
// those to which links lead.
func (e *evaluation) credentials() []string {
	if e.watched.credentials != nil {
		return e.watched.credentials
	}
	e.watched.credentials = []string{}
	for _, name := range e.policy.Credentials {
		name = path.Clean(name)
		e.watched.credentials = append(e.watched.credentials, name)
		if real, ok := e.lookUp(name); ok && !same(real, name) {
			e.watched.credentials = append(e.watched.credentials, real)
		}
	}
	return e.watched.credentials
}
