package shell

import (
	"slices"
	"strings"
)

// aws reads the files that parameters name by file:// or fileb:// (AWS CLI user
// guide, "Load a parameter from a file").
func (e *effector) aws() {
	e.awsOutput()
	for _, t := range e.words[1:] {
		for _, piece := range pieces(t, ',') {
			for _, scheme := range []string{"file://", "fileb://"} {
				if at := strings.Index(piece.Text, scheme); at >= 0 {
					e.read(cutWord(piece, at+len(scheme)), NeedOutside, "a parameter of aws")
				}
			}
		}
	}
}

// awsOutput writes the file that the last word names if the operation returns a
// stream (AWS CLI reference, "outfile").
func (e *effector) awsOutput() {
	last := len(e.words) - 1
	if last > 2 && slices.ContainsFunc(e.words[1:last], func(w Word) bool { return awsStreams.has(w.Text) }) && !strings.HasPrefix(e.words[last].Text, "-") {
		e.write(e.words[last], NeedCover, false, "output of aws")
	}
}

// awsStreams lists the operations that return a stream, except those in the
// catalogue.
var awsStreams = set(
	"synthesize-speech", "get-media", "get-clip", "get-media-for-fragment-list", "get-export", "get-sdk", "get-package-version-asset", "get-snapshot-block",
	"get-raw-message-content", "post-content", "put-session", "recognize-utterance", "invoke-endpoint", "invoke-model", "get-map-tile", "get-map-sprites", "get-map-glyphs",
	"get-map-style-descriptor", "get-latest-configuration", "get-configuration", "describe-input-device-thumbnail", "get-code-binding-source", "get-image-frame",
	"get-image-set-metadata", "get-read-set", "get-reference", "get-object-torrent", "get-tile",
)

// azure reads the files that arguments name by @ (Azure CLI, "Use quotation marks").
func (e *effector) azure() {
	for _, t := range e.words[1:] {
		if at := strings.IndexByte(t.Text, '@'); at == 0 || at > 0 && t.Text[at-1] == '=' {
			e.read(cutWord(t, at+1), NeedOutside, "an argument of az")
		}
	}
}

// kubectl reads the template files of output formats (kubectl reference, "Output
// options").
func (e *effector) kubectl() {
	for _, a := range e.scan.Args {
		if a.Kind != ArgOption || len(a.Option.Names) == 0 {
			continue
		}
		switch form, _, found := strings.Cut(a.Value.Text, "="); {
		case a.Option.Names[0] == "-o" && found && strings.HasSuffix(form, "file"):
			e.load(cutWord(a.Value, len(form)+1), "option -o of kubectl")
		case a.Option.Names[0] == "--template" && strings.IndexAny(a.Value.Text, "/~") == 0:
			e.load(a.Value, "option --template of kubectl")
		}
	}
}

// composeNames are the options with which config of Compose prints no values.
var composeNames = []string{"--services", "--images", "--volumes", "--networks", "--profiles", "--models", "--quiet", "--hash"}

// compose requires a rule that names the subcommand for a file from another machine
// (docker compose reference, -f).
func (e *effector) compose() {
	for _, a := range e.scan.Args {
		if a.Kind == ArgOption && slices.Contains(a.Option.Names, "--file") && remoteSource(&a.Value) {
			e.apartLate(causeRemoteSource, "option -f of "+e.prog.Name)
		}
	}
	if path := e.scan.Path; len(path) > 0 && path[len(path)-1] == "config" && !slices.ContainsFunc(composeNames, e.has) {
		e.read(Word{Text: ".env", Holes: []Hole{{At: len(".env"), Kind: Glob}}}, NeedNone, "values that "+e.prog.Name+" config prints")
	}
}
