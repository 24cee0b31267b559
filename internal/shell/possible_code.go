package shell

import (
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/mask"
	"github.com/agent-wrapper/agent-wrapper/internal/program"
	"github.com/agent-wrapper/agent-wrapper/internal/text/lazyregexp"
)

// AsFile returns the command that a Command which is given code resembles if the code
// stood in a file: "python3 -c 'x' a" and "python3 - a <<E" resemble "python3
// inline.py a". It is nil unless the code stands in the line, all of it, as the value
// of an option in a word of its own or as a here-document of the command, says nothing
// that a person is asked about in a command as well (saysMore), and the program's
// entry names such a file. What the code names is known to the result's PossibleReads,
// PossibleWrites and PossibleCommands.
func (a *Action) AsFile() *Action {
	if a.Kind != Command || a.Program == nil || a.Program.Inline == "" || slices.ContainsFunc(a.Words, func(w Word) bool { return !w.Known() }) {
		return nil
	}
	file := *a
	code, from, to := a.codeOption()
	if code == nil {
		code, from, to = a.codeInput()
		file.input = input{}
	}
	if code == nil || saysMore(code.Text) {
		return nil
	}
	file.Words = slices.Concat(a.Words[:from], []Word{{Text: a.Program.Inline}}, a.Words[to:])
	file.code, file.inner = *code, false
	return &file
}

// Code reports whether the action is an Opaque one because of code in another language
// that the line holds, or that comes from standard input.
func (a *Action) Code() bool {
	return a.Kind == Opaque && (a.Why.Cause == causeCode || a.Why.Cause == CauseStandardInput)
}

// saysMore reports whether code names what a command is asked about as well: another
// host, a variable of the environment, in capitals, whose name is that of a secret
// (process.env.NPM_TOKEN), all variables at once, or a function that starts programs, removes files or
// changes who may use them. That is what honest code says. Code can hide all of it,
// and so can a file.
func saysMore(code string) bool {
	for _, host := range strings.Split(code, "://")[1:] {
		if !localName.MatchString(host) {
			return true
		}
	}
	for _, word := range strings.FieldsFunc(code, func(r rune) bool { return r != '_' && (r < 'A' || r > 'Z') && (r < '0' || r > '9') }) {
		if mask.IsSecretVariable(word) {
			return true
		}
	}
	return starts.MatchString(code) || everyVariable.MatchString(code)
}

var (
	localName = lazyregexp.New(`(?i)^(localhost|127\.0\.0\.1|\[::1\]|0\.0\.0\.0)(:\d+)?([/?#'"\s]|$)`)
	// everyVariable is the whole environment, not one variable by its name:
	// os.environ["X"], process.env.X.
	everyVariable = lazyregexp.New(`\bos\.environb?(\s*([^\[.\w\s]|$)|\.(items|values|copy)\b)|\b(process|Bun)\.env\s*([^\[.\w\s]|$)|\bDeno\.env\.toObject\b|\bENV\.(to_h|each|values|map|inspect)|\$_(ENV|SERVER)\s*([^\[\s]|$)|\bgetenv\s*\(\s*\)`)
	// starts are the functions by the references of the languages: docs.python.org
	// (subprocess, os, shutil, pathlib), nodejs.org/api (child_process, fs, process),
	// docs.deno.com, bun.sh/docs, docs.ruby-lang.org (Kernel, File), perldoc.perl.org
	// (perlfunc), php.net (exec).
	starts = lazyregexp.New(`\b(subprocess|child_process|ctypes|socket|pty|rmtree|b64decode|Popen|popen|unlink\w*|rmdir\w*|rmSync|chmod\w*|chown\w*|(exec|spawn)Sync|shell_exec|passthru|proc_open|FileUtils)\b|\bos\.(system|exec\w+|spawn\w+|posix_spawn\w*|kill\w*|remove\w*)|\b(fs|promises)\.rm\b|\bprocess\.kill|\bsystem\s*\(|\bDeno\.(Command|run|remove)|\bBun\.(spawn|\$)`)
)

// codeOption returns the value of the only option that gives code, and where the
// option stands among the words.
func (a *Action) codeOption() (code *Word, from, to int) {
	scan := ScanWords(a.Program, a.Words)
	for i := range scan.Args {
		arg := &scan.Args[i]
		if arg.Kind != ArgOption || arg.Option.Effect != program.EffCode {
			continue
		}
		at := arg.Word + 1 // an optional value may be the next word too: node -p CODE
		if code != nil || at == len(a.Words) || arg.ValueAt >= 0 && arg.ValueAt != at || strings.HasPrefix(a.Words[at].Text, "-") ||
			!slices.Contains(arg.Option.Names, a.Words[arg.Word].Text) {
			return nil, 0, 0
		}
		code, from, to = &a.Words[at], arg.Word, at+1
	}
	return code, from, to
}

// codeInput returns the here-document that the command runs, and where the word "-"
// stands that says so.
func (a *Action) codeInput() (code *Word, from, to int) {
	if !a.input.document || len(a.input.texts) != 1 || !a.input.texts[0].Known() {
		return nil, 0, 0
	}
	scan := ScanWords(a.Program, a.Words)
	for i := range scan.Args {
		switch arg := &scan.Args[i]; arg.Kind {
		case ArgOption:
			if arg.Option.Pattern {
				return nil, 0, 0
			}
		case ArgOperand:
			if a.Words[arg.Word].Text != "-" {
				return nil, 0, 0
			}
			return &a.input.texts[0], arg.Word, arg.Word + 1
		default:
			return nil, 0, 0
		}
	}
	return &a.input.texts[0], len(a.Words), len(a.Words)
}
