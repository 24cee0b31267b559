package shell

// Readable reports whether text is a whole command line that the parser can
// read: no half of a loop, no open quote. Text beyond the limits of Analyze is
// not readable.
func Readable(text string) (ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	if refuse(text, Bash).Cause != 0 {
		return false
	}
	f, err := parse(text)
	return err == nil && len(f.Stmts) > 0
}
