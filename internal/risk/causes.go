package risk

import (
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
)

// cause is what the tables say about a program or a path. Decisions compare it;
// its text is for people.
type cause = program.Cause

// The causes that the tables give.
const (
	readOnly    cause = "read-only"
	mutating    cause = "mutating operation"
	destructive cause = "destructive operation"
	ownShell    cause = "changes only the shell it runs in"
	wrapper     cause = "runs another command"
	runsCode    cause = "runs a program of its own"
	projectCode cause = "runs a program of the project"
	needsRoot   cause = "needs root"
	installs    cause = "installs a package"
	removesPkg  cause = "removes a package"
	remote      cause = "reaches another host"
	sends       cause = "sends data to a host"
	asks        cause = "read-only: asks another host"
	fetches     cause = "fetches what files name"
	services    cause = "mutating operation on a service"
	power       cause = "stops or restarts the machine"
	disks       cause = "destructive operation on a disk"
	users       cause = "changes users or their rights"
	network     cause = "changes the network setup"
	environment cause = "shows variables that may hold secrets"
	deletes     cause = "mutating operation: deletes objects"
	waits       cause = "holds the shell"
	copies      cause = "copies bytes"

	// Of paths.
	onSystem      cause = "operates on system paths"
	startup       cause = "changes what a shell runs when it starts"
	writesNowhere cause = "writes nowhere"
	toTerminal    cause = "writes to the terminal"
	logins        cause = "changes who may log in"
	keys          cause = "changes keys"
	gitRuns       cause = "changes what git runs and trusts"

	// Of Windows.
	screen     cause = "clears what the terminal shows"
	logs       cause = "destructive operation: clears logs"
	removed    cause = "destructive operation: removes what it names"
	startUp    cause = "destructive operation: changes how the machine starts"
	ends       cause = "destructive operation: ends a program or a service"
	registry   cause = "changes the registry"
	encoded    cause = "runs encoded text"
	fromRemote cause = "fetches from a host"
)

// because returns a finding of the tables.
func because(class Class, c cause, factor string) Finding {
	f := Finding{Class: class, Reason: string(c), cause: c}
	f.factor(factor)
	return f
}

// RunsCode reports whether the program runs code that the command line does not
// show: a target or a script.
func (f *Finding) RunsCode() bool { return f.cause == runsCode || f.cause == projectCode }

// Local reports whether the command needs only the files of its directory, although the
// program works by more than that otherwise: terraform validate, but not terraform plan.
func (f *Finding) Local() bool { return f.cause == projectCode }

// Remote reports whether the tables say no more of the command than that it connects to a
// host.
func (f *Finding) Remote() bool { return f.cause == remote }

// Loses reports whether the tables say that something is gone after the command: it
// destroys or deletes.
func (f *Finding) Loses() bool {
	return f.Destroys || strings.Contains(string(f.cause), "deletes")
}

// Mutates reports whether the tables say of the command that it changes something.
func (f *Finding) Mutates() bool { return strings.HasPrefix(string(f.cause), string(mutating)) }

// outward are the causes of what is done to another host or to this machine.
var outward = []cause{needsRoot, installs, removesPkg, remote, sends, asks, fetches, services, power, disks, users, network, deletes}

// Outward reports whether the command works on another host, or on more of this machine
// than files and its own processes.
func (f *Finding) Outward() bool { return slices.Contains(outward, f.cause) }
