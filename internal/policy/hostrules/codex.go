package hostrules

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.starlark.net/syntax"

	"github.com/agent-wrapper/agent-wrapper/internal/text/shellword"
	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// Codex: prefix_rule(pattern = ["git", ["add", "commit"]], decision = "allow") in Starlark.
// The strictest of the rules that match decides, as here. The text is parsed and never
// executed: only calls with literal arguments are rules, and a file with anything else is
// refused, since a rule may come of it that we cannot see.

// The limits of a file: its size in bytes, its brackets, which bound their depth, and the
// prefixes that one rule may have.
const (
	maxStarlark = 1 << 20
	maxBrackets = 20_000
	maxNesting  = 100
	maxPrefixes = 64
)

var codexDecisions = map[string]patterns.List{"allow": patterns.Allow, "prompt": patterns.Ask, "forbidden": patterns.Deny}

func readCodex(c *collector, files []File) error {
	for i := range files {
		f := &files[i]
		if err := shallow(f); err != nil {
			return err
		}
		tree, err := parseStarlark(f)
		if err != nil {
			return err
		}
		r := codexFile{c, f.Name}
		for _, stmt := range tree.Stmts {
			if err := r.statement(stmt); err != nil {
				return err
			}
		}
	}
	return nil
}

// shallow refuses a text that the parser might not be able to hold: it is recursive.
func shallow(f *File) error {
	if len(f.Text) > maxStarlark {
		return fmt.Errorf("%s is larger than %d MiB", f.Name, maxStarlark>>20)
	}
	depth, deepest, open := 0, 0, 0
	for _, b := range f.Text {
		switch b {
		case '(', '[', '{':
			open++
			depth++
			deepest = max(deepest, depth)
		case ')', ']', '}':
			depth = max(depth-1, 0)
		}
	}
	if open > maxBrackets || deepest > maxNesting || longRun(string(f.Text)) {
		return fmt.Errorf("%s is nested too deeply to be a list of rules", f.Name)
	}
	return nil
}

// longRun reports a run of operators that nest without a bracket.
func longRun(text string) bool {
	return strings.Count(text, "not ")+strings.Count(text, "-")+strings.Count(text, "+")+strings.Count(text, "~")+strings.Count(text, "lambda")+strings.Count(text, " if ") > maxBrackets
}

// parseStarlark parses a file; the parser panics with what it did not expect.
func parseStarlark(f *File) (tree *syntax.File, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s: this cannot be parsed", f.Name)
		}
	}()
	tree, err = (&syntax.FileOptions{}).Parse(f.Name, text(f), 0)
	var bad syntax.Error
	if errors.As(err, &bad) {
		return nil, fmt.Errorf("%s:%d:%d: this is not Starlark: %s", f.Name, bad.Pos.Line, bad.Pos.Col, bad.Msg)
	}
	return tree, err
}

type codexFile struct {
	*collector
	name string
}

func (r *codexFile) fail(at syntax.Position, format string, args ...any) error {
	return fmt.Errorf("%s:%d:%d: %s", r.name, at.Line, at.Col, fmt.Sprintf(format, args...))
}

// statement reads a statement, which must be the call of a rule.
func (r *codexFile) statement(stmt syntax.Stmt) error {
	start, _ := stmt.Span()
	x, ok := stmt.(*syntax.ExprStmt)
	if !ok {
		return r.fail(start, "only calls such as prefix_rule(...) are read, nothing is computed: write the rules out")
	}
	if lit, ok := x.X.(*syntax.Literal); ok && lit.Token == syntax.STRING { // a comment
		return nil
	}
	call, ok := x.X.(*syntax.CallExpr)
	if !ok {
		return r.fail(start, "only calls such as prefix_rule(...) are read, nothing is computed: write the rules out")
	}
	fn, ok := call.Fn.(*syntax.Ident)
	if !ok {
		return r.fail(start, "this calls something that is computed: write the rules out")
	}
	args, err := r.arguments(call)
	if err != nil {
		return err
	}
	e := &entry{at: patterns.Source{Name: r.name, Line: int(start.Line), Col: int(start.Col)}, word: fn.Name}
	switch fn.Name {
	case "prefix_rule":
		return r.prefix(e, start, args)
	case "host_executable":
		e.text = r.said(args["name"])
		r.leave(e, whyIsDefault, "an allow here is for the very word that it names")
		return nil
	case "network_rule":
		return r.network(e, start, args)
	}
	return r.fail(start, "there is no rule called %s: prefix_rule, host_executable and network_rule are read", fn.Name)
}

// arguments returns the arguments of a call by name.
func (r *codexFile) arguments(call *syntax.CallExpr) (map[string]syntax.Expr, error) {
	args := map[string]syntax.Expr{}
	for _, arg := range call.Args {
		at, _ := arg.Span()
		pair, ok := arg.(*syntax.BinaryExpr)
		if !ok || pair.Op != syntax.EQ {
			return nil, r.fail(at, "every argument needs its name, as in pattern = [...]")
		}
		name, ok := pair.X.(*syntax.Ident)
		if !ok {
			return nil, r.fail(at, "every argument needs its name, as in pattern = [...]")
		}
		if args[name.Name] != nil {
			return nil, r.fail(at, "%s stands here twice", name.Name)
		}
		args[name.Name] = pair.Y
	}
	return args, nil
}

// said returns a text for the report, "" if there is none.
func (r *codexFile) said(x syntax.Expr) string {
	s, _ := literal(x)
	return s
}

// literal returns the value of a text.
func literal(x syntax.Expr) (string, bool) {
	for {
		p, ok := x.(*syntax.ParenExpr)
		if !ok {
			break
		}
		x = p.X
	}
	if lit, ok := x.(*syntax.Literal); ok && lit.Token == syntax.STRING {
		s, ok := lit.Value.(string)
		return s, ok
	}
	return "", false
}

// words returns the elements of a list, each with its alternatives.
func (r *codexFile) words(x syntax.Expr) ([][]string, error) {
	list, ok := x.(*syntax.ListExpr)
	if !ok {
		at, _ := x.Span()
		return nil, r.fail(at, "this must be a list of texts that are written out")
	}
	var all [][]string
	for _, item := range list.List {
		if s, ok := literal(item); ok {
			all = append(all, []string{s})
			continue
		}
		inner, ok := item.(*syntax.ListExpr)
		at, _ := item.Span()
		if !ok {
			return nil, r.fail(at, "this must be a text, or a list of texts, that is written out")
		}
		var alts []string
		for _, alt := range inner.List {
			s, ok := literal(alt)
			if !ok {
				at, _ := alt.Span()
				return nil, r.fail(at, "this must be a text that is written out")
			}
			alts = append(alts, s)
		}
		if len(alts) == 0 {
			return nil, r.fail(at, "a list of alternatives is empty")
		}
		all = append(all, alts)
	}
	if len(all) == 0 {
		at, _ := x.Span()
		return nil, r.fail(at, "the pattern is empty")
	}
	return all, nil
}

// prefix takes a rule for commands that begin with some words.
func (r *codexFile) prefix(e *entry, at syntax.Position, args map[string]syntax.Expr) error {
	for name := range args {
		if !slices.Contains([]string{"pattern", "decision", "justification", "match", "not_match"}, name) {
			return r.fail(at, "prefix_rule has no argument %s", name)
		}
	}
	if args["pattern"] == nil {
		return r.fail(at, "prefix_rule needs a pattern")
	}
	words, err := r.words(args["pattern"])
	if err != nil {
		return err
	}
	e.text, e.word, e.list = shownPattern(words), "allow", patterns.Allow
	if x := args["decision"]; x != nil {
		e.word = r.said(x)
		e.list = codexDecisions[e.word]
		if e.list == 0 {
			start, _ := x.Span()
			return r.fail(start, "the decision must be \"allow\", \"prompt\" or \"forbidden\"")
		}
	}
	prefixes, ok := product(words)
	if !ok {
		if e.list == patterns.Allow {
			r.leave(e, whyCannotBeSaid, fmt.Sprintf("it has more than %d alternatives", maxPrefixes))
			return nil
		}
		r.closed(e, fmt.Sprintf("it has more than %d alternatives", maxPrefixes), "Bash")
		return nil
	}
	var texts []string
	for _, p := range prefixes {
		texts = append(texts, "Bash("+shellword.Join(p)+":*)")
	}
	r.take(e, Taken, whySame, r.said(args["justification"]), texts...)
	return nil
}

// shownPattern returns a pattern for the report.
func shownPattern(words [][]string) string {
	var parts []string
	for _, alts := range words {
		parts = append(parts, strings.Join(alts, "|"))
	}
	return strings.Join(parts, " ")
}

// product returns the words that a pattern stands for; ok is false if they are too many.
func product(words [][]string) (all [][]string, ok bool) {
	all = [][]string{nil}
	for _, alts := range words {
		if len(all)*len(alts) > maxPrefixes {
			return nil, false
		}
		var next [][]string
		for _, head := range all {
			for _, alt := range alts {
				next = append(next, append(slices.Clone(head), alt))
			}
		}
		all = next
	}
	return all, true
}

// special reports a character that means something to a shell or to our rules.
func special(r rune) bool {
	return !(r == '-' || r == '_' || r == '.' || r == '/' || r == '=' || r == '@' || r == '%' || r == '+' || r == ',' || r == ':' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z')
}

// network takes a rule for a host that commands in Codex's own sandbox may reach.
func (r *codexFile) network(e *entry, at syntax.Position, args map[string]syntax.Expr) error {
	host := r.said(args["host"])
	e.text = host
	switch decision := r.said(args["decision"]); decision {
	case "allow":
		r.leave(e, whyCondition, "it is about what commands may reach from inside Codex's own sandbox")
	case "deny", "forbidden", "prompt":
		e.list, e.word = patterns.Deny, decision
		if decision == "prompt" {
			e.list = patterns.Ask
		}
		if name, _, port := strings.Cut(host, ":"); port && strings.Count(host, ":") == 1 {
			host = name // Codex takes no notice of the port
		}
		r.take(e, Tightened, whyWider, "by any tool or command, with its subdomains", "WebFetch(domain:"+host+")")
	default:
		return r.fail(at, "the decision of network_rule must be written out")
	}
	return nil
}
