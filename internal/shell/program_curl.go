package shell

import (
	"slices"
	"strings"
)

// curl reads the files that data options name by @ and sends.
func (e *effector) curl() {
	urls := e.curlURLs()
	for _, r := range urls {
		e.fileURL(r)
	}
	for _, a := range e.scan.Args {
		if a.Kind != ArgOption {
			continue
		}
		switch a.Option.Names[0] {
		case "-w":
			e.curlFormat(a.Value)
		case "--proto-default":
			e.curlScheme(a.Value, urls)
		case "--proto-redir":
			if !a.Value.Known() || slices.ContainsFunc(strings.Split(a.Value.Text, ","), addsScheme) {
				e.unprovenLate(causeVeryWords, "option --proto-redir", "curl")
			}
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

// curlScheme handles the scheme of URLs that have none. With any but http and https
// such a URL may read a file or talk to another server than a rule for its host means.
func (e *effector) curlScheme(scheme Word, urls []Word) {
	if scheme.Known() && isHTTP(scheme.Text) {
		return
	}
	e.unprovenLate(causeVeryWords, "option --proto-default", "curl")
	for _, url := range urls {
		if !strings.Contains(url.Text, "://") {
			e.fileURL(joinText(Word{Text: "file://", Pos: url.Pos, End: url.End}, url))
		}
	}
}

func isHTTP(scheme string) bool {
	return strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https")
}

// addsScheme reports whether a part of the value of --proto-redir lets redirects lead to
// another scheme than http and https.
func addsScheme(part string) bool {
	return !strings.HasPrefix(part, "-") && !isHTTP(strings.TrimLeft(part, "+="))
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

// outputName returns the name of an output. In that of -o curl puts what a glob of the URL
// matched in place of #1: anything for {a,b}, and a number or a letter for [1-9].
func (e *effector) outputName(a Arg) Word {
	name := a.Value
	if e.prog.Name != "curl" || a.Option.Names[0] != "-o" || !strings.Contains(name.Text, "#") {
		return name
	}
	kind := Glob
	if slices.ContainsFunc(e.curlURLs(), func(u Word) bool { return !u.Known() || strings.Contains(u.Text, "{") }) {
		kind = AnyText
	}
	for i := len(name.Text) - 1; i >= 0; i-- {
		end := i + 1
		for end < len(name.Text) && name.Text[end] >= '0' && name.Text[end] <= '9' {
			end++
		}
		if name.Text[i] != '#' || end == i+1 && !name.holeAt(end) {
			continue
		}
		front := headWord(name, 0, i)
		front.Holes = append(slices.Clip(front.Holes), Hole{At: i, Kind: kind})
		name = joinText(front, cutWord(name, end))
	}
	name.Split, name.Pos, name.End = a.Value.Split, a.Value.Pos, a.Value.End
	return name
}

// curlURLs returns the URLs of a command: operands and values of --url.
func (e *effector) curlURLs() []Word {
	urls := e.operandWords(0)
	for _, a := range e.scan.Args {
		if a.Kind == ArgOption && a.Option.Names[0] == "--url" {
			urls = append(urls, a.Value)
		}
	}
	return urls
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

// fileURL reads the file that a URL names: file:///x, file://localhost/x or file:/x.
func (e *effector) fileURL(url Word) {
	rest, ok := strings.CutPrefix(strings.ToLower(url.Text), "file:")
	if !ok {
		return
	}
	at := len("file:")
	if strings.HasPrefix(rest, "//") {
		at += len("//")
	}
	if slash := strings.IndexByte(url.Text[at:], '/'); slash >= 0 {
		e.read(cutWord(url, at+slash), NeedNone, "operand of "+e.prog.Name)
	}
}
