package shell

import "strings"

// curl reads the files that data options name by @ and sends.
func (e *effector) curl() {
	for _, r := range e.operandWords(0) {
		e.fileURL(r)
	}
	for _, a := range e.scan.Args {
		if a.Kind != ArgOption {
			continue
		}
		switch a.Option.Names[0] {
		case "-w":
			e.curlFormat(a.Value)
		case "-F", "--form", "--variable":
			e.curlFiles(a)
		case "-T", "--upload-file":
			e.curlUpload(a.Value)
		case "-d", "--data", "--data-ascii", "--data-binary", "--data-urlencode", "--url-query", "--json", "-H", "--header":
			if at := strings.IndexAny(a.Value.Text, "@<"); at >= 0 || len(a.Value.Holes) > 0 && a.Value.Holes[0].At == 0 {
				e.curlFile(a, at)
			}
		}
	}
}

func (e *effector) curlFile(a Arg, at int) {
	name := a.Option.Names[0]
	form := name == "--data-urlencode" || name == "--url-query"
	if at > 0 && !form || at < 0 && name == "-H" {
		return
	}
	if at >= 0 {
		e.read(cutWord(a.Value, at+1), NeedOutside, "option "+name+" of curl")
	}
	e.unprovenLate(causeMaySend, name, "curl")
}

// curlFiles reads the files of a part of a form (name=@file;type=x, name=@a,b,
// name=@"a"), or that of a variable (name@file, name[0-9]@file).
func (e *effector) curlFiles(a Arg) {
	name := a.Option.Names[0]
	at := strings.IndexAny(a.Value.Text, "@<")
	if at < 0 {
		if !a.Value.Known() {
			e.unprovenLate(causeMaySend, name, "curl")
		}
		return
	}
	e.unprovenLate(causeMaySend, name, "curl")
	files := cutWord(a.Value, at+1)
	e.read(files, NeedOutside, "option "+name+" of curl")
	if !files.Known() || !strings.ContainsAny(files.Text, `;,"`) {
		return
	}
	parts := strings.FieldsFunc(files.Text, func(r rune) bool { return strings.ContainsRune(`;,"`, r) })
	for _, text := range parts {
		file := Word{Text: strings.ReplaceAll(text, `\`, ""), Pos: files.Pos, End: files.End}
		if file.Text != "" {
			e.read(file, NeedOutside, "option "+name+" of curl")
		}
	}
}

// curlUpload reads the files that the globs of -T name: {a,b}, [1-9]. The table
// describes a value without them.
func (e *effector) curlUpload(files Word) {
	if !files.Known() || !strings.ContainsAny(files.Text, "{[") {
		return
	}
	at := strings.IndexAny(files.Text, "{[")
	e.read(Word{Text: files.Text[:at], Holes: []Hole{{At: at, Kind: AnyText}}}, NeedOutside, "option -T of curl")
}

// curlFormat handles the format of curl's report, which may be read from a file and
// may redirect output to one.
func (e *effector) curlFormat(format Word) {
	switch {
	case strings.HasPrefix(format.Text, "@"):
		e.read(cutWord(format, 1), NeedOutside, "option -w of curl")
	case strings.Contains(format.Text, "%output{"):
		e.w.opaque(e.index, MayWrite, causeCurlFormat)
	case !format.Known():
		e.unprovenLate(causeCurlFormatUnknown)
	}
}

// fileURL reads the file that a URL names.
func (e *effector) fileURL(url Word) {
	rest, ok := strings.CutPrefix(strings.ToLower(url.Text), "file://")
	if slash := strings.IndexByte(rest, '/'); ok && slash >= 0 {
		e.read(cutWord(url, len("file://")+slash), NeedNone, "operand of "+e.prog.Name)
	}
}
