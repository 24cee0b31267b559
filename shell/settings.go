package shell

import "strings"

// gitConfig: some settings are commands, which git runs later.
func (e *effector) gitConfig() {
	if len(e.scan.Path) == 0 || e.scan.Path[0] != "config" {
		return
	}
	rest := e.operandWords(0)
	e.gitConfigFile(rest)
	if len(rest) < 2 || len(e.scan.Path) > 1 && e.scan.Path[1] != "set" {
		return
	}
	if key := strings.ToLower(rest[0].Text); !rest[0].Known() || gitRuns(key, &rest[1]) {
		e.odd("the git setting "+key+" can run a program", "leave the setting to a person")
	}
}

// gitConfigFile is the write of a settings file outside the repository.
func (e *effector) gitConfigFile(rest []Word) {
	writes, file := len(rest) > 1, Word{}
	if len(e.scan.Path) > 1 {
		writes = gitConfigWriters[e.scan.Path[1]]
	}
	for _, a := range e.scan.Args {
		if a.Kind != ArgOption {
			continue
		}
		switch name := a.Option.Names[0]; name {
		case "--global":
			file = joinPath(known(e.w.opt.Home), Word{Text: ".gitconfig"})
		case "--system":
			file = Word{Text: "/etc/gitconfig"}
		case "--unset", "--unset-all", "--add", "--replace-all", "--remove-section", "--rename-section":
			writes = true
		case "--get", "--get-all", "--get-regexp", "--get-urlmatch":
			return
		}
	}
	if writes && (file.Text != "" || !file.Known()) {
		e.write(file, NeedCover, false, "settings file of git config")
	}
}

var gitConfigWriters = set("set", "unset", "rename-section", "remove-section", "edit")

func gitRuns(key string, value *Word) bool {
	section, _, _ := strings.Cut(key, ".")
	switch section {
	case "pager", "include", "includeif":
		return true
	case "alias":
		return !value.Known() || strings.HasPrefix(value.Text, "!")
	}
	return gitCommands[key[strings.LastIndexByte(key, '.')+1:]]
}

// gitCommands are the last parts of the names of settings whose value git
// runs, or finds programs with (git-config(1)).
var gitCommands = set(
	"pager", "editor", "fsmonitor", "sshcommand", "hookspath", "askpass", "gitproxy", "alternaterefscommand", "cmd", "command",
	"process", "clean", "smudge", "textconv", "driver", "external", "program", "helper", "uploadpack", "receivepack", "browser",
	"packobjectshook", "tocmd", "cccmd", "smtpserver", "sendmailcmd", "templatedir", "attributesfile", "worktree",
)

// fileURL reads the file that a URL names.
func (e *effector) fileURL(url Word) {
	rest, ok := strings.CutPrefix(strings.ToLower(url.Text), "file://")
	if slash := strings.IndexByte(rest, '/'); ok && slash >= 0 {
		e.read(cutWord(url, len("file://")+slash), NeedNone, "operand of "+e.prog.Name)
	}
}
