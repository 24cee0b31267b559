package shell

import "sync"

// readByProgram runs the reader of a program that a table cannot describe, and
// returns the state after the command.
func (e *effector) readByProgram() outcome {
	name := e.sub().Special
	if name == "" {
		return same(e.s)
	}
	read, ok := byProgram()[name]
	if !ok {
		return same(e.s)
	}
	return read(e)
}

// byProgram maps the name that the catalogue gives a reader to the reader.
var byProgram func() map[string]func(*effector) outcome

func init() { byProgram = sync.OnceValue(readers) }

// readers returns the readers; not a variable, since a reader reads what others are for.
func readers() map[string]func(*effector) outcome {
	here := func(f func(*effector)) func(*effector) outcome {
		return func(e *effector) outcome { f(e); return same(e.s) }
	}
	return map[string]func(*effector) outcome{
		"cd": (*effector).cd, "command": (*effector).builtin, "eval": (*effector).eval,
		"pushd": (*effector).stack, "popd": (*effector).stack, "exit": (*effector).exit,
		"source": (*effector).source, "exec": (*effector).exec,
		"env": here((*effector).env), "xargs": here((*effector).xargs), "find": here((*effector).find),
		"sed": here((*effector).sed), "awk": here((*effector).awk), "dd": here((*effector).dd),
		"test": here((*effector).testCommand), "shell": here((*effector).shell),
		"declare": here((*effector).declare), "read": here((*effector).names), "mapfile": here((*effector).mapfile),
		"getopts": here((*effector).names), "wait": here((*effector).wait), "unset": here((*effector).unset),
		"echo": here(func(*effector) {}), "silent": here((*effector).quiet), "printf": here((*effector).printf), "let": here((*effector).letCommand), "hash": here((*effector).hash),
		"trap": (*effector).trap, "alias": here((*effector).alias), "enable": here((*effector).enable),
		"set": here((*effector).set), "shopt": here((*effector).shopt), "complete": here((*effector).complete),
		"compgen": here((*effector).complete), "fc": here((*effector).fc), "history": here((*effector).history),
		"git": here((*effector).git), "patch": here((*effector).patch), "tar": here((*effector).tar), "jq": here((*effector).jq),
		"busybox": here((*effector).busybox), "ssh": here((*effector).ssh), "curl": here((*effector).curl), "ssh-option": here((*effector).sshOptions),
		"go": here((*effector).goTool), "gcc": here((*effector).gcc), "gh": here((*effector).gh),
		"kubectl": here((*effector).kubectl), "npm": here((*effector).npm), "crontab": here((*effector).crontab), "tmux": here((*effector).tmux), "behind": here((*effector).behind), "mvn": here((*effector).mvn), "cmake": here((*effector).cmake),
		"rustc": here((*effector).rustc), "rustc-words": here((*effector).rustcWords), "libtest": here((*effector).libtest), "golangci": here((*effector).golangci), "sources": here((*effector).reformats), "formats": here((*effector).formats),
		"python": here((*effector).python), "pytest": here((*effector).pytest), "runner": here((*effector).runner), "deno": here((*effector).deno), "compose": here((*effector).compose),
		"aws": here((*effector).aws), "azure": here((*effector).azure),
		"supervised": here((*effector).supervised), "mount": here((*effector).mount), "parallel": here((*effector).parallel),
		"perl": here((*effector).perl), "diff": here((*effector).diff), "sets": here((*effector).sets),
		"variables": here((*effector).variables), "envsubst": here((*effector).envsubst), "ps": here((*effector).ps),
		"make": here((*effector).make), "flock": here((*effector).flock), "mktemp": here((*effector).mktemp), "jobs": here((*effector).jobs),
	}
}
