package shell

import "strings"

// tar creates, lists or extracts an archive; the options say which.
func (e *effector) tar() {
	e.done = true
	mode, archive, toStdout := e.tarMode()
	switch mode {
	case 'x':
		if !toStdout {
			e.write(Word{Holes: []Hole{{Kind: Glob}}}, NeedCover, false, "extraction of tar")
		}
		e.tarArchive(archive, Read)
	case 't', 'd':
		e.tarArchive(archive, Read)
	case 'c', 'r', 'u', 'A':
		e.tarArchive(archive, Write)
		e.recursive = true
		for _, r := range e.operandWords(0) {
			e.read(r, NeedNone, "operand of tar")
			if e.has("--remove-files") {
				e.write(r, NeedCover, false, "option --remove-files of tar")
			}
		}
	default:
		e.unprovenLate(causeTarUnclear)
	}
}

func (e *effector) tarArchive(archive *Word, kind Kind) {
	if archive == nil {
		return
	}
	if archive.Known() && archive.Text == "-" {
		return
	}
	if strings.Contains(archive.Text, ":") {
		e.odd(causeTarHost)
		return
	}
	recursive, dirs := e.recursive, e.dirs
	e.recursive, e.dirs = false, e.s.dirs // -C applies to members only
	if kind == Write {
		e.write(*archive, NeedCover, false, "archive of tar")
	} else {
		e.read(*archive, NeedNone, "archive of tar")
	}
	e.recursive, e.dirs = recursive, dirs
}

// tarMode returns the letter of the operation, the archive, and whether files are
// extracted to standard output.
func (e *effector) tarMode() (mode byte, archive *Word, toStdout bool) {
	for i := range e.scan.Args {
		a := &e.scan.Args[i]
		if a.Kind != ArgOption {
			continue
		}
		switch name := a.Option.Names[0]; name {
		case "-x", "-t", "-d", "-c", "-r", "-u", "-A":
			mode = name[1]
		case "-f":
			archive = &a.Value
		case "-O":
			toStdout = true
		case "--delete":
			mode = 'r'
		}
	}
	return mode, archive, toStdout
}
