package briefing

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/agent-wrapper/agent-wrapper/frontmatter"
	"github.com/agent-wrapper/agent-wrapper/internal/text/lazyregexp"
	"github.com/agent-wrapper/agent-wrapper/internal/text/subpath"
	"github.com/agent-wrapper/agent-wrapper/internal/workspace"
	"github.com/agent-wrapper/agent-wrapper/wrapper/claude/command"
)

// Prompt is what a typed prompt comes to.
type Prompt struct {
	Text  string
	Files []File
}

// File is a file that a prompt names, with its text or its picture.
type File struct {
	Name      string // as it is named
	Text      string
	MediaType string // of a picture; "" for text
	Picture   []byte
}

// The limits on what a prompt names.
const (
	maxAttached = 256 << 10  // of a text file, in bytes
	maxPicture  = 3750 << 10 // of a picture: the model takes 5 MB, coded
	maxNames    = 20         // files
	maxTotal    = 20 << 20   // of all files, in bytes
	maxFilled   = 1 << 20    // of the words of a person in a command, in bytes
)

// Prompt returns what a prompt comes to that a person has typed. With /name it begins a
// command or skill of the person or the project: its text stands in place of the name,
// and the command lines in that run, each decided as a tool use. With @path it names a
// file, which is read if that is allowed. The error is for a prompt that cannot be sent,
// since a command line of it must not run, or has failed. With a blank before it, /name is
// text.
func (r *Reader) Prompt(ctx context.Context, typed string) (Prompt, error) {
	pieces, err := r.expand(ctx, typed)
	if err != nil {
		return Prompt{}, err
	}
	var text strings.Builder
	for _, p := range pieces {
		text.WriteString(p.text)
	}
	a := &attaching{Reader: r, ctx: ctx, seen: map[string]bool{}}
	for _, p := range pieces {
		a.from(p)
	}
	return Prompt{Text: text.String(), Files: a.files}, ctx.Err()
}

// piece is a part of a prompt.
type piece struct {
	text string
	by   author
}

// author is who has written a piece of a prompt. What a command wrote names no files.
type author uint8

const (
	person author = iota
	template
	output
)

var (
	called    = lazyregexp.New(`^/([A-Za-z0-9_][A-Za-z0-9_.:-]*)(?:\s+((?s:.*)))?$`)
	parameter = lazyregexp.New(`\$(?:ARGUMENTS(?:\[([0-9]{1,3})\])?|([0-9]))`)
)

// expand returns the pieces of a typed prompt.
func (r *Reader) expand(ctx context.Context, typed string) ([]piece, error) {
	found := called.FindStringSubmatch(strings.TrimRight(strings.TrimLeft(typed, "\n"), " \t\r\n"))
	if found == nil {
		return []piece{{typed, person}}, nil
	}
	name, words := found[1], strings.TrimSpace(found[2])
	p, file, err := r.find(name)
	switch {
	case err != nil:
		return nil, err
	case file == "":
		r.Warn(fmt.Sprintf("there is no command or skill /%s here: the prompt is sent as it is", name))
		return []piece{{typed, person}}, nil
	}
	text, err := r.template(p, name, file)
	if err != nil {
		return nil, err
	}
	return r.fill(ctx, name, text, words)
}

// Has reports whether there is a command or skill with a name.
func (r *Reader) Has(name string) bool {
	_, file, err := r.find(name)
	return err != nil || file != ""
}

// Names returns the names of the commands and skills that there are, sorted.
func (r *Reader) Names() []string {
	var all []string
	for _, p := range r.places() {
		all = append(all, command.Names(p.dir)...)
	}
	all = slices.DeleteFunc(all, func(name string) bool { return !called.MatchString("/" + name) })
	slices.Sort(all)
	return slices.Compact(all)
}

// find returns the file of a command or skill, that of the nearest place.
func (r *Reader) find(name string) (p place, file string, err error) {
	for _, p := range slices.Backward(r.places()) {
		file, err := command.Find(name, p.dir)
		if err != nil || file != "" {
			return p, file, err
		}
	}
	return place{}, "", nil
}

// template returns the text of a command or skill.
func (r *Reader) template(p place, name, file string) (string, error) {
	s := &start{Reader: r, dropped: map[string][]string{}}
	data, err := s.allowed(p, file)
	if err != nil {
		return "", fmt.Errorf("/%s is not sent: %s: %w", name, r.short(file), err)
	}
	fields, below, err := frontmatter.Document(data, r.short(file))
	if err != nil {
		return "", fmt.Errorf("/%s is not sent: %w", name, err)
	}
	for _, f := range fields {
		if !slices.Contains(skillFields, f.Name) {
			s.drop(f.Name, file)
		}
	}
	s.tellDropped()
	text := string(bytes.TrimSpace(below))
	if filepath.Base(file) == skillFile {
		dir := filepath.Dir(file)
		text = "Base directory for this skill: " + dir + "\n\n" + strings.ReplaceAll(text, "${CLAUDE_SKILL_DIR}", dir)
	}
	return text, nil
}

// fill returns the pieces of a command's text, with the words of the person in place of
// its parameters and the output of its command lines in place of these. What is filled in
// is not looked at again: neither words nor output become a command line.
func (r *Reader) fill(ctx context.Context, name, text, words string) ([]piece, error) {
	if n := len(parameter.FindAllSubmatch([]byte(text), -1)); n*len(words) > maxFilled {
		return nil, fmt.Errorf("/%s is not sent: with the words behind it, it would have more than %d bytes", name, maxFilled)
	}
	list := split(words)
	var all []piece
	used := false
	for _, part := range command.Parts(text) {
		filled, some := withWords(part.Text, words, list)
		used = used || some
		if !part.Runs {
			all = append(all, filled...)
			continue
		}
		line := ""
		for _, p := range filled {
			line += p.text
		}
		out, err := r.run(ctx, line)
		if err != nil {
			return nil, fmt.Errorf("/%s is not sent: it runs %q before the agent sees it: %w", name, line, err)
		}
		all = append(all, piece{strings.TrimRight(out, "\n"), output})
	}
	if words != "" && !used {
		all = append(all, piece{"\n\nARGUMENTS: ", template}, piece{words, person})
	}
	return all, nil
}

// split returns the words of a person, which are separated by blanks outside quotes. A
// quote that is not closed is an apostrophe.
func split(text string) []string {
	var all []string
	var word strings.Builder
	some := false
	for at := 0; at < len(text); {
		r, size := utf8.DecodeRuneInString(text[at:])
		end := -1
		if r == '\'' || r == '"' {
			end = strings.IndexByte(text[at+1:], byte(r))
		}
		switch {
		case end >= 0:
			word.WriteString(text[at+1 : at+1+end])
			some, size = true, end+2
		case !unicode.IsSpace(r):
			word.WriteString(text[at : at+size])
			some = true
		case some:
			all, some = append(all, word.String()), false
			word.Reset()
		}
		at += size
	}
	if some {
		all = append(all, word.String())
	}
	return all
}

// withWords returns the pieces of a text whose parameters are replaced, and whether it has
// any.
func withWords(text, words string, list []string) (all []piece, some bool) {
	for {
		found := parameter.FindStringSubmatch(text)
		if found == nil {
			return append(all, piece{text, template}), some
		}
		before, after, _ := strings.Cut(text, found[0])
		value := words
		if number := found[1] + found[2]; number != "" {
			value = ""
			if n, err := strconv.Atoi(number); err == nil && n < len(list) {
				value = list[n]
			}
		}
		all = append(all, piece{before, template}, piece{value, person})
		text, some = after, true
	}
}

// attaching gathers the files that a prompt names.
type attaching struct {
	*Reader
	ctx   context.Context
	files []File
	seen  map[string]bool
	size  int
}

// from adds the files that a piece names.
func (a *attaching) from(p piece) {
	if p.by == output {
		return
	}
	for _, path := range mentions(p.text) {
		for _, spelling := range spellings(path) {
			name := a.located(spelling, a.Dir)
			if p.by == template && !subpath.Inside(name, a.Dir) {
				continue // not even looked for
			}
			if info, err := os.Stat(name); err != nil || info.IsDir() {
				continue
			}
			if !a.seen[name] {
				a.seen[name] = true
				a.add(spelling, name, p.by)
			}
			break
		}
	}
}

// add reads a file, if that is allowed.
func (a *attaching) add(spelling, name string, by author) {
	f, err := a.file(name, by)
	if err == nil {
		f.Name = spelling
		a.files = append(a.files, f)
		return
	}
	a.Warn(fmt.Sprintf("@%s is not given to the agent: %v", spelling, err))
}

func (a *attaching) file(name string, by author) (File, error) {
	if len(a.files) >= maxNames {
		return File{}, fmt.Errorf("a prompt gives %d files at most; the agent can read the others", maxNames)
	}
	if by == template {
		if err := a.unasked(name); err != nil {
			return File{}, err
		}
	}
	real, ok := workspace.Env{}.Resolve(name)
	if !ok {
		return File{}, errors.New("where it leads cannot be told")
	}
	use, err := a.mayRead(a.ctx, name)
	if err != nil {
		return File{}, err
	}
	f, err := a.load(name, real)
	a.Ended(use, f.Text, nil, err != nil)
	return f, err
}

// load reads a file that may be read, if it is still the one that was decided about.
func (a *attaching) load(name, real string) (File, error) {
	if now, ok := (workspace.Env{}).Resolve(name); !ok || now != real {
		return File{}, errors.New("it leads elsewhere since it was decided about")
	}
	data, err := content(real, real, maxPicture)
	if err != nil {
		return File{}, err
	}
	if a.size+len(data) > maxTotal {
		return File{}, fmt.Errorf("the files of a prompt have %d bytes in all at most; the agent can read it by itself", maxTotal)
	}
	a.size += len(data)
	if kind := picture(data); kind != "" {
		return File{MediaType: kind, Picture: data}, nil
	}
	if len(data) > maxAttached {
		return File{}, fmt.Errorf("it has %d bytes, and %d are the most of a text: the agent can read parts of it by itself", len(data), maxAttached)
	}
	if !isText(data) {
		return File{}, errors.New("it is no UTF-8 text, and no picture in PNG, JPEG, GIF or WebP")
	}
	return File{Text: string(data)}, nil
}

// pictures are the kinds of pictures that a model takes, and how their files begin.
var pictures = []struct{ begin, then, kind string }{
	{"\x89PNG\r\n\x1a\n", "", "image/png"},
	{"\xff\xd8\xff", "", "image/jpeg"},
	{"GIF87a", "", "image/gif"},
	{"GIF89a", "", "image/gif"},
	{"RIFF", "WEBP", "image/webp"}, // between the two stands its size
}

// picture returns the kind of a picture, "" if it is none that a model takes.
func picture(data []byte) string {
	for _, p := range pictures {
		rest, ok := bytes.CutPrefix(data, []byte(p.begin))
		if ok && (p.then == "" || len(rest) >= 8 && string(rest[4:8]) == p.then) {
			return p.kind
		}
	}
	return ""
}
