package shell

import "strings"

// ssh runs the words behind the host as a command on that host.
func (e *effector) ssh() {
	e.done = true
	e.sshOptions()
	if rest := e.operandWords(1); len(rest) > 0 {
		e.runsText(rest, "command for the host")
	}
}

// sshOptions handles the settings on the command line of ssh, scp and sftp.
func (e *effector) sshOptions() {
	for _, a := range e.scan.Args {
		if a.Kind == ArgOption && a.Option.Names[0] == "-o" {
			e.sshOption(a.Value)
		}
	}
}

// sshOption adds an opaque spot for a setting that may run or load something on this
// machine (ssh_config(5)).
func (e *effector) sshOption(v Word) {
	key, _, _ := strings.Cut(strings.ToLower(v.Text), "=")
	key, _, _ = strings.Cut(strings.TrimSpace(key), " ")
	switch key {
	case "stricthostkeychecking", "connecttimeout", "batchmode", "user", "port", "serveraliveinterval",
		"serveralivecountmax", "loglevel", "passwordauthentication", "preferredauthentications", "requesttty",
		"compression", "addressfamily", "identitiesonly":
		if v.Known() {
			return
		}
	}
	e.odd(causeSSHOption, e.prog.Name)
}
