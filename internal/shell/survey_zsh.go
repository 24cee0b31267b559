package shell

import (
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// zshSurvey adds opaque spots for what zsh and bash read differently. A zsh line is
// clear only if both shells read it alike.
type zshSurvey struct {
	v         *surveyor
	documents map[*syntax.Word]bool // bodies of here-documents, and whether they expand
}

func (v *surveyor) zsh(file *syntax.File) {
	z := zshSurvey{v: v, documents: map[*syntax.Word]bool{}}
	syntax.Walk(file, z.node)
}

func (z *zshSurvey) node(n syntax.Node) bool {
	switch n := n.(type) {
	case *syntax.Stmt:
		z.stmt(n)
	case *syntax.CallExpr:
		z.call(n)
	case *syntax.Assign:
		z.assign(n)
	case *syntax.DeclClause:
		z.declaration(n)
	case *syntax.Redirect:
		z.redirect(n)
	case *syntax.Word:
		z.word(n)
	case *syntax.DblQuoted:
		z.parts(n.Parts)
	case *syntax.SglQuoted:
		if n.Dollar && strings.Contains(n.Value, "\\") {
			z.v.odd(causeZshEscape)
		}
	case *syntax.ParamExp:
		z.param(n)
	case *syntax.CaseItem:
		if n.Op == syntax.ResumeKorn || n.Op == syntax.Resume {
			z.v.odd(causeZshOperator, n.Op.String())
		}
	case *syntax.FuncDecl:
		if n.RsrvWord {
			z.v.odd(causeZshFunction)
		}
	case *syntax.ForClause:
		if n.Select {
			z.v.odd(causeZshSelect)
		}
	case *syntax.TimeClause:
		if n.PosixFormat {
			z.v.odd(causeZshTime)
		}
	case *syntax.LetClause:
		z.v.odd(causeZshLet)
	}
	return true
}

// stmt examines a statement. In zsh a redirection without a command runs cat or more.
func (z *zshSurvey) stmt(st *syntax.Stmt) {
	if at := int(st.Semicolon.Offset()) + 1; st.Background && at < len(z.v.u.src) && strings.IndexByte("!|", z.v.u.src[at]) >= 0 {
		z.v.odd(causeZshBackground)
	}
	if len(st.Redirs) == 0 {
		return
	}
	call, isCall := st.Cmd.(*syntax.CallExpr)
	if st.Cmd == nil || isCall && len(call.Args) == 0 {
		z.v.odd(causeZshOnlyRedirects)
	}
}

// call examines the words before a command that only zsh has, and builtins that
// change the meaning of a line or run text.
func (z *zshSurvey) call(c *syntax.CallExpr) {
	if len(c.Args) > 0 && strings.Contains(partText(c.Args[0]), "=") {
		z.v.odd(causeZshName) // 0=1 is an assignment
	}
	options := ""
	for i, arg := range c.Args {
		text, plain := literal(arg)
		switch {
		case !plain:
			return
		case zshWords.has(text):
			z.v.odd(causeZshWord, text)
			return
		case text == "cd" && len(c.Args)-i > 2:
			z.v.odd(causeZshCd)
		case text == "set":
			z.set(c.Args[i+1:])
		case strings.HasPrefix(text, "-") && i > 0:
			if text != "--" && (len(text) != 2 || strings.Trim(text[1:], options) != "") {
				z.v.odd(causeZshRunner)
			}
			continue
		case runsBuiltins[text]:
			options = zshRunnerOptions[text]
			continue
		}
		return
	}
}

// zshWords lists the reserved words, precommand modifiers and builtins of zsh that
// bash does not have or reads differently.
var zshWords = set(
	"-", "repeat", "nocorrect", "noglob", "foreach", "end", "always", "coproc", "select", "function", "time",
	"autoload", "zmodload", "emulate", "setopt", "unsetopt", "sched", "zle", "bindkey", "zstyle", "vared", "print",
	"alias", "unalias", "hash", "rehash", "unhash", "disable", "enable", "functions", "unfunction", "integer",
	"float", "typeset", "declare", "private", "nameref", "zparseopts", "zformat", "zpty", "zsocket", "ztcp",
	"zregexparse", "zcompile", "zftp", "zcurses", "zsystem", "zselect", "zstat", "sysopen", "sysread", "syswrite",
	"fc", "r", "history", "getln", "pushln", "chdir", "pushd", "popd", "compadd", "compcall", "compctl", "shopt",
	"mapfile", "readarray", "let", "local", "read", "getopts",
)

// zshRunnerOptions lists, for builtins that run their words, the option letters that
// both shells have. After a letter unknown to zsh the letter itself is the command.
var zshRunnerOptions = map[string]string{"command": "pvV", "exec": "acl"}

// set examines the options of set, whose letters differ in zsh.
func (z *zshSurvey) set(args []*syntax.Word) {
	for _, arg := range args {
		text, plain := literal(arg)
		switch {
		case plain && text == "--":
			return
		case plain && (text == "errexit" || text == "nounset" || text == "pipefail" || text == "xtrace"):
		case !plain || strings.Trim(text, "-euxo") != "" || !strings.HasPrefix(text, "-"):
			z.v.odd(causeZshOption, "set")
			return
		}
	}
}

func (z *zshSurvey) assign(a *syntax.Assign) {
	if a.Array != nil || a.Index != nil || a.Append {
		z.v.odd(causeZshArray)
	}
	if a.Value == nil {
		return
	}
	for i, part := range a.Value.Parts {
		lit, ok := part.(*syntax.Lit)
		if ok && (i == 0 && strings.HasPrefix(lit.Value, "=") || strings.Contains(lit.Value, ":=")) {
			z.v.odd(causeZshValue)
		}
	}
}

func (z *zshSurvey) declaration(d *syntax.DeclClause) {
	if d.Variant.Value != "export" && d.Variant.Value != "readonly" {
		z.v.odd(causeZshDeclaration, d.Variant.Value)
	}
	for _, a := range d.Args {
		if a.Name == nil {
			z.v.odd(causeZshOption, d.Variant.Value)
		}
	}
}

func (z *zshSurvey) redirect(r *syntax.Redirect) {
	if r.Hdoc != nil {
		z.documents[r.Hdoc] = !quotedDelimiter(r.Word)
	}
	text := partText(r.Word)
	switch {
	case r.OpPos.Offset() > 0 && strings.HasPrefix(r.Op.String(), "&") && strings.IndexByte("0123456789", z.v.u.src[r.OpPos.Offset()-1]) >= 0:
		z.v.odd(causeZshDigit, r.Op.String())
	case r.N != nil && len(r.N.Value) > 1:
		z.v.odd(causeZshDescriptor)
	case strings.HasPrefix(text, "!"), strings.HasPrefix(text, "|"):
		z.v.odd(causeZshClobber)
	case r.Op == syntax.RdrIn && strings.Trim(text, "0123456789-") == "" && strings.Contains(text, "-"):
		z.v.odd(causeZshRange)
	}
}

func (z *zshSurvey) word(word *syntax.Word) {
	if expands, is := z.documents[word]; is {
		if expands {
			z.parts(word.Parts)
		}
		return
	}
	for i, part := range word.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			z.literal(p.Value, i == 0)
			if p.Value == "~" && len(word.Parts) > 1 {
				z.v.odd(causeZshTildePart)
			}
			if i > 0 && strings.HasPrefix(p.Value, "=") && !isLit(word.Parts[i-1]) {
				z.v.odd(causeZshEqualsBehind)
			}
		case *syntax.ExtGlob:
			z.v.odd(causeZshPattern)
		}
	}
	z.parts(word.Parts)
}

// literal examines unquoted text: braces, = for the path of a program, ~ for a named
// directory.
func (z *zshSurvey) literal(text string, first bool) {
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\':
			i++
		case c == '{' || c == '}':
			z.v.odd(causeZshBrace)
		case c == '*' && i > 0 && text[i-1] == '*':
			z.v.odd(causeZshStars)
		case c == '=' && first && i == 0:
			z.v.odd(causeZshEquals)
		case c == '^' && first && i == 0, c == '#' && i > 0 || c == '#' && !first, c == '(' || c == ')' || c == '<' || c == '>' || c == '|':
			z.v.odd(causeZshInWord, string(c))
		case c == '~' && (!first || i > 0) && !nextIsDigit(text[i+1:]), c == '~' && first && i == 0 && text != "~" && text[1] != '/':
			z.v.odd(causeZshInWord, "~")
		}
	}
}

// nextIsDigit reports whether rest is empty or begins with a digit: HEAD~1 is a name
// in both shells.
func nextIsDigit(rest string) bool { return rest == "" || rest[0] >= '0' && rest[0] <= '9' }

// parts examines the text behind a variable, and a $ that bash takes literally.
func (z *zshSurvey) parts(parts []syntax.WordPart) {
	for i, part := range parts {
		lit, ok := part.(*syntax.Lit)
		if !ok {
			continue
		}
		for k := 0; k < len(lit.Value); k++ {
			switch lit.Value[k] {
			case '\\':
				k++
			case '$':
				z.v.odd(causeZshDollar)
			}
		}
		if i > 0 && z.joined(parts[i-1], lit.Value) {
			z.v.odd(causeZshBehind)
		}
	}
	for i := 1; i < len(parts); i++ {
		if isCount(parts[i-1]) && z.v.u.src[parts[i].Pos().Offset()] == '$' {
			z.v.odd(causeZshBehind) // $#$ is the length of $$
		}
	}
}

// isCount reports whether a part is $#.
func isCount(part syntax.WordPart) bool {
	p, ok := part.(*syntax.ParamExp)
	return ok && p.Short && p.Param != nil && p.Param.Value == "#"
}

// joined reports whether zsh takes the text behind a parameter for a part of it: $#x
// is a length, $10 is the tenth parameter, [ and : begin a subscript or a modifier,
// and letters beyond ASCII continue the name, depending on the locale.
func (z *zshSurvey) joined(before syntax.WordPart, text string) bool {
	p, ok := before.(*syntax.ParamExp)
	if !ok || !p.Short || p.Param == nil || text == "" {
		return false
	}
	name := p.Param.Value
	return text[0] == '[' || text[0] == ':' || text[0] >= utf8.RuneSelf || name == "#" || name == "?" || name == "-" || name == "!" || name == "$" ||
		name[0] >= '0' && name[0] <= '9' && text[0] >= '0' && text[0] <= '9'
}

func (z *zshSurvey) param(p *syntax.ParamExp) {
	plain := p.Param != nil && !p.Excl && !p.Length && p.Index == nil && p.Slice == nil && p.Repl == nil && p.Names == 0
	if plain && p.Param.Value == "IFS" { // its NUL byte ends an argument
		plain = false
	}
	if !plain || !p.Short && p.Exp != nil && !zshKnows(p.Exp.Op) {
		z.v.odd(causeZshParameter)
	}
}

func zshKnows(op syntax.ParExpOperator) bool {
	switch op {
	case syntax.DefaultUnset, syntax.DefaultUnsetOrNull, syntax.AlternateUnset, syntax.AlternateUnsetOrNull:
		return true
	}
	return false
}
