package risk

// cause is what the tables say of the use of a program or of a path. What is
// decided looks at it; its words are for people.
type cause uint8

// The causes of the tables.
const (
	readOnly cause = iota + 1
	mutating
	destructive
	ownShell
	wrapper
	runsCode
	needsRoot
	installs
	removesPkg
	remote
	sends
	publishes
	services
	power
	disks
	users
	network
	secret
	environment
	discards
	history
	deletes
	dropsData
	anyProcess
	daemonRoot
	waits

	// Of single rows.
	looksUp
	browses
	deletesBranch
	setsGit
	sendsOver
	anyNamed
	beside
	inCluster
	changesPrograms
	renames
	scripts
	unguards

	// Of paths.
	onSystem
	startup
	writesNowhere
	toTerminal
	logins
	keys
	gitRuns

	// Of Windows.
	screen
	logs
	removed
	startUp
	ends
	registry
	encoded
	fromRemote
)

// causes are their words.
var causes = [...]string{
	readOnly:    "read-only",
	mutating:    "mutating operation",
	destructive: "destructive operation",
	ownShell:    "changes only the shell it runs in",
	wrapper:     "runs another command",
	runsCode:    "runs a program of its own",
	needsRoot:   "needs root",
	installs:    "installs a package",
	removesPkg:  "removes a package",
	remote:      "reaches another host",
	sends:       "sends data to a host",
	publishes:   "publishes to others",
	services:    "mutating operation on a service",
	power:       "stops or restarts the machine",
	disks:       "destructive operation on a disk",
	users:       "changes users or their rights",
	network:     "changes the network setup",
	secret:      "shows a secret",
	environment: "shows variables that may hold secrets",
	discards:    "destructive operation: discards work",
	history:     "destructive operation: rewrites history",
	deletes:     "mutating operation: deletes objects",
	dropsData:   "destructive operation on a database",
	anyProcess:  "destructive operation: ends every process",
	daemonRoot:  "gives a container the host's rights",
	waits:       "holds the shell",

	looksUp:         "looks up what is no name of a command",
	browses:         "opens a browser",
	deletesBranch:   "mutating operation: deletes a branch",
	setsGit:         "mutating operation: changes what git runs and trusts",
	sendsOver:       "sends data to a host, destructive operation there",
	anyNamed:        "destructive operation: ends every process of a name, on some systems every process",
	beside:          "reads or writes files beside the search",
	inCluster:       "mutating operation: runs a program in the cluster",
	changesPrograms: "changes which programs run",
	renames:         "changes what a name runs",
	scripts:         "changes which scripts may run",
	unguards:        "changes what guards the machine",

	onSystem:      "operates on system paths",
	startup:       "changes what a shell runs when it starts",
	writesNowhere: "writes nowhere",
	toTerminal:    "writes to the terminal",
	logins:        "changes who may log in",
	keys:          "changes keys",
	gitRuns:       "changes what git runs and trusts",

	screen:     "clears what the terminal shows",
	logs:       "destructive operation: clears logs",
	removed:    "destructive operation: removes what it names",
	startUp:    "destructive operation: changes how the machine starts",
	ends:       "destructive operation: ends a program or a service",
	registry:   "changes the registry",
	encoded:    "runs encoded text",
	fromRemote: "fetches from a host",
}

// String returns the words, "" for none.
func (c cause) String() string { return causes[c] }

// because is a finding of the tables.
func because(class Class, c cause, factor string) Finding {
	f := Finding{Class: class, Reason: c.String(), cause: c}
	f.factor(factor)
	return f
}

// RunsCode reports whether the tables say of a program that it runs what somebody
// else has written, a target or a script.
func (f *Finding) RunsCode() bool { return f.cause == runsCode }
