package shell

import "mvdan.cc/sh/v3/syntax"

// counts reports whether a substitution prints a count and nothing else, or nothing:
// "wc -l < file", "... | wc -l", "date +%s". Messages would be printed as well where a
// redirection of the same command leads them there.
func (w *walker) counts(stmts []*syntax.Stmt, s *scope) bool {
	if len(stmts) != 1 {
		return false
	}
	st := stmts[0]
	for {
		b, ok := st.Cmd.(*syntax.BinaryCmd)
		if !ok || b.Op != syntax.Pipe || len(st.Redirs) > 0 {
			break
		}
		st = b.Y
	}
	call, ok := st.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 || len(call.Assigns) > 0 || st.Background || st.Coprocess {
		return false
	}
	for _, r := range st.Redirs {
		if r.Op != syntax.RdrIn || r.N != nil {
			return false
		}
	}
	var words []string
	for _, arg := range call.Args {
		text, plain := literal(arg)
		if !plain {
			return false
		}
		words = append(words, text)
	}
	return !s.funcs[words[0]] && !w.defined[words[0]] && printsCount(words)
}

// printsCount reports whether a command prints one number (wc(1), date(1), nproc(1)).
func printsCount(words []string) bool {
	switch {
	case len(words) == 1:
		return words[0] == "nproc"
	case len(words) > 2:
		return false
	}
	switch words[0] {
	case "wc":
		return len(words[1]) == 2 && words[1][0] == '-' && (words[1][1] == 'l' || words[1][1] == 'c' || words[1][1] == 'w' || words[1][1] == 'm')
	case "date":
		return words[1] == "+%s"
	}
	return false
}
