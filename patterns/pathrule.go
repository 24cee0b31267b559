package patterns

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/gobwas/glob"

	"github.com/agent-wrapper/agent-wrapper/internal/shell"
)

// The limits of a path pattern.
const (
	maxPathPattern = 512 // bytes
	maxBraces      = 64  // patterns after the expansion of braces
)

// anchor is the starting point of a path pattern.
type anchor uint8

const (
	atRoot      anchor = iota // "/etc/x", "//etc/x"
	atHome                    // "~/x"
	atWorkspace               // "src/x", "./x"
	atAnyDepth                // "*.md": below the workspace
)

// pathRule is a path pattern without braces.
type pathRule struct {
	from anchor
	segs []name
	text string // as written, without its anchor
}

// name is the pattern of one segment: literal text, a glob or "**".
type name struct {
	text    string // as written
	literal string // without escapes, if it has no wildcards
	many    bool   // "**": any number of segments
	wild    bool
	glob    *glob.Pattern // of a name with wildcards, without separators and braces
}

// pathSpec parses a path pattern.
func (p *parser) pathSpec(r *Rule, spec string) (string, error) {
	if spec == "*" && p.list != Allow || r.family == ofReadsBy && strings.Trim(spec, "*") == "" {
		// As a pattern it would only match what is below the workspace. An ask or
		// deny rule means more, and so does Grep(*), which reads the workspace
		// itself.
		r.bare = true
		return spec, nil
	}
	if len(spec) > maxPathPattern {
		return "", p.fail(p.from, fmt.Sprintf("the pattern is longer than %d bytes", maxPathPattern), "write a shorter one")
	}
	if strings.ContainsAny(spec, "\n\t") {
		return "", p.fail(p.from+strings.IndexAny(spec, "\n\t"), "the pattern contains a control character", "remove it")
	}
	if strings.HasPrefix(spec, "!") {
		return "", p.fail(p.from, "a pattern cannot be negated", "write the rule in the other list")
	}
	if isWindows(spec) {
		return spec, p.dead(p.from, "Windows paths are not supported", "write it as /c/dir/**")
	}
	if at := strings.IndexByte(spec, '$'); at >= 0 && at+1 < len(spec) && (spec[at+1] == '{' || spec[at+1] == '_' || isAlnum(spec[at+1])) {
		return spec, p.dead(p.from+at, "variables are not expanded in a pattern", `write "*" or the directory itself`)
	}
	texts, err := braces(spec)
	if err != nil {
		return "", p.fail(p.from, err.Error(), `write a rule for each, or "\{" for the character`)
	}
	for _, text := range texts {
		pr, err := newPathRule(text)
		if err != nil {
			return "", p.fail(p.from, err.Error(), `write "\[", "\*" or "\?" for the character itself`)
		}
		r.paths = append(r.paths, pr)
	}
	p.pathWarnings(r, spec)
	return spec, nil
}

func (p *parser) pathWarnings(r *Rule, spec string) {
	if strings.HasPrefix(spec, "/") && !strings.HasPrefix(spec, "//") {
		p.warn(Note, p.from, "this is an absolute path; in the agent CLI's own settings /x is relative to the settings file and //x is absolute")
	}
	if p.list == Allow && r.family != ofReads && r.family != ofReadsBy && (spec == "//**" || spec == "~/**" || spec == "/**") {
		p.warn(Danger, p.from, "every file there may be changed")
	}
}

// isWindows reports whether a path begins with a drive: c:\x, /C:\x.
func isWindows(spec string) bool {
	spec = strings.TrimLeft(spec, "/")
	return len(spec) > 2 && spec[1] == ':' && (spec[2] == '\\' || spec[2] == '/') && isAlnum(spec[0])
}

// newPathRule parses a pattern without braces.
func newPathRule(text string) (pathRule, error) {
	pr := pathRule{text: text}
	rest := text
	switch {
	case strings.HasPrefix(rest, "/"):
		pr.from = atRoot
	case rest == "~" || strings.HasPrefix(rest, "~/"):
		pr.from, rest = atHome, rest[1:]
	case !strings.Contains(rest, "/") && rest != "." && rest != ".." && rest != "**":
		pr.from = atAnyDepth
	default:
		pr.from = atWorkspace
	}
	if strings.HasSuffix(rest, "/") && strings.Trim(rest, "/") != "" {
		rest += "**" // a directory means its contents
	}
	for _, part := range strings.Split(rest, "/") {
		if part == "" || part == "." {
			continue
		}
		n, err := newName(part)
		if err != nil {
			return pr, err
		}
		if n.literal == ".." && !n.wild {
			return pr, pr.up()
		}
		pr.segs = append(pr.segs, n)
	}
	if len(pr.segs) == 0 && pr.from == atRoot {
		pr.segs = []name{{text: "**", many: true}}
	}
	return pr, nil
}

func (pr *pathRule) up() error {
	return errors.New(`".." in a pattern: paths are compared after it is resolved`)
}

// newName parses the pattern of one segment.
func newName(text string) (name, error) {
	n := name{text: text}
	if len(text) > 1 && strings.Trim(text, "*") == "" {
		n.many = true
		return n, nil
	}
	source, wild, err := segmentGlob(text)
	if err != nil {
		return n, err
	}
	n.wild = wild
	if !wild {
		n.literal = unescapeName(text)
		return n, nil
	}
	n.glob, err = glob.Compile(source)
	if err != nil {
		return n, fmt.Errorf("the pattern %q is not valid", text)
	}
	return n, nil
}

// segmentGlob converts the pattern of a segment to one for package glob: runs
// of stars become one star, braces are escaped, and "[^" becomes "[!". It
// reports whether there is a wildcard.
func segmentGlob(text string) (source string, wild bool, err error) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '\\':
			if i+1 == len(text) {
				return "", false, errors.New(`a "\" at the end of a name`)
			}
			i++
			b.WriteByte('\\')
			b.WriteByte(text[i])
		case '*':
			wild = true
			if i == 0 || text[i-1] != '*' {
				b.WriteByte('*')
			}
		case '?':
			wild = true
			b.WriteByte('?')
		case '[':
			wild = true
			end := classEnd(text, i)
			if end < 0 {
				return "", false, fmt.Errorf(`"[" is not closed in %q`, text)
			}
			class := text[i:end]
			if strings.HasPrefix(class, "[^") {
				class = "[!" + class[2:]
			}
			b.WriteString(class)
			i = end - 1
		case '{', '}', ']', ',':
			b.WriteByte('\\')
			b.WriteByte(c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), wild, nil
}

// classEnd returns the index after the "]" that closes the class at i, -1 if
// there is none.
func classEnd(text string, i int) int {
	for j := i + 1; j < len(text); j++ {
		switch text[j] {
		case '\\':
			j++
		case ']':
			if j > i+1 {
				return j + 1
			}
		}
	}
	return -1
}

func unescapeName(text string) string {
	if strings.IndexByte(text, '\\') < 0 {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) {
			i++
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// braces expands {a,b} into patterns without braces. Braces without a comma are
// literal.
func braces(text string) ([]string, error) {
	out := []string{""}
	for i := 0; i < len(text); {
		alts, end, err := braceAt(text, i)
		if err != nil {
			return nil, err
		}
		if alts == nil {
			end = i + 1
			if text[i] == '\\' && i+1 < len(text) {
				end++
			}
			alts = []string{text[i:end]}
		}
		if len(out)*len(alts) > maxBraces {
			return nil, fmt.Errorf("the braces expand to more than %d patterns", maxBraces)
		}
		next := make([]string, 0, len(out)*len(alts))
		for _, head := range out {
			for _, alt := range alts {
				next = append(next, head+alt)
			}
		}
		out, i = next, end
	}
	return out, nil
}

// braceAt returns the alternatives of the brace at i and the index after it,
// nil if there is none.
func braceAt(text string, i int) (alts []string, end int, err error) {
	if text[i] != '{' {
		return nil, 0, nil
	}
	depth, from := 0, i+1
	var parts []string
	for j := i; j < len(text); j++ {
		switch text[j] {
		case '\\':
			j++
		case '{':
			depth++
		case ',':
			if depth == 1 {
				parts = append(parts, text[from:j])
				from = j + 1
			}
		case '}':
			depth--
			if depth > 0 {
				continue
			}
			return expand(append(parts, text[from:j]), j+1)
		}
	}
	return nil, 0, errors.New(`"{" is not closed`)
}

func expand(parts []string, end int) ([]string, int, error) {
	if len(parts) == 1 {
		inner, err := braces(parts[0])
		for i := range inner {
			inner[i] = "{" + inner[i] + "}"
		}
		return inner, end, err
	}
	var alts []string
	for _, part := range parts {
		more, err := braces(part)
		if err != nil {
			return nil, 0, err
		}
		if alts = append(alts, more...); len(alts) > maxBraces {
			return nil, 0, fmt.Errorf("the braces expand to more than %d patterns", maxBraces)
		}
	}
	return alts, end, nil
}

// pathGlob is a path pattern made absolute for a place.
type pathGlob struct {
	names []name
	// prefix is the directory that contains all matches or, if whole is set
	// because the pattern has no wildcard, the path itself.
	prefix string
	whole  bool
	// below is set if everything below a match matches as well (ask and deny), as
	// far as the path is known.
	below bool
	fold  bool
}

// bind makes the pattern absolute. It reports false if its starting point is
// unknown.
func (pr *pathRule) bind(place Place, list List) (pathGlob, bool) {
	g := pathGlob{fold: place.Fold, below: list != Allow}
	base := "/"
	switch pr.from {
	case atHome:
		base = place.Home
	case atWorkspace, atAnyDepth:
		base = place.Workspace
	}
	if !path.IsAbs(base) {
		return g, false
	}
	for _, s := range knownForm(path.Clean(base)).segs {
		g.names = append(g.names, name{text: s.text, literal: s.text})
	}
	if pr.from == atAnyDepth {
		g.names = append(g.names, name{text: "**", many: true})
	}
	for _, n := range pr.segs {
		if n.many && len(g.names) > 0 && g.names[len(g.names)-1].many {
			continue
		}
		g.names = append(g.names, n.folded(place.Fold))
	}
	g.finish()
	return g, true
}

// inRealHome returns the pattern for the other name of the home, false if it is not about
// something there.
func (g *pathGlob) inRealHome(place *Place) (pathGlob, bool) {
	home := knownForm(path.Clean(place.Home)).segs
	if place.RealHome == "" || len(g.names) < len(home) {
		return pathGlob{}, false
	}
	real := pathGlob{fold: g.fold, below: g.below}
	for i := range home {
		n := &g.names[i]
		if n.wild || n.many || n.literal != home[i].text && !(g.fold && strings.EqualFold(n.literal, home[i].text)) {
			return pathGlob{}, false
		}
	}
	for _, s := range knownForm(path.Clean(place.RealHome)).segs {
		real.names = append(real.names, name{text: s.text, literal: s.text})
	}
	real.names = append(real.names, g.names[len(home):]...)
	real.finish()
	return real, true
}

// folded returns the name for a case-insensitive file system.
func (n name) folded(fold bool) name {
	if !fold || !n.wild {
		return n
	}
	source, _, err := segmentGlob(strings.ToLower(n.text))
	if err != nil {
		return n
	}
	if lower, err := glob.Compile(source); err == nil {
		n.glob = lower
	}
	return n
}

// finish computes the literal prefix. Only a pattern that ends in a literal
// name matches what is below it.
func (g *pathGlob) finish() {
	literal := 0
	for literal < len(g.names) && !g.names[literal].wild && !g.names[literal].many {
		literal++
	}
	g.whole = literal == len(g.names)
	for i := 0; i < literal; i++ {
		g.prefix += "/" + g.names[i].literal
	}
	if g.fold {
		g.prefix = strings.ToLower(g.prefix)
	}
	if n := len(g.names); n == 0 || g.names[n-1].wild || g.names[n-1].many {
		g.below = false
	}
}

// match matches a form of a path. For an allow rule (proof) unknown text must
// match whatever it is.
func (g *pathGlob) match(f *form, proof bool) Match {
	if f.text != "" && g.prefix != "" && !g.behind(f.text) {
		return No
	}
	const small = 64
	var space [2 * small]bool
	n := len(g.names) + 1
	row, next := space[:small], space[small:]
	if n > small {
		row, next = make([]bool, n), make([]bool, n)
	}
	row, next = row[:n], next[:n]
	sure := true
	row[0] = true
	g.skip(row)
	for i := range f.segs {
		if g.below && row[n-1] && !f.deep() {
			break
		}
		sure = sure && len(f.segs[i].holes) == 0 && !f.segs[i].deep
		clear(next)
		if !g.step(row, next, &f.segs[i], proof) {
			return No
		}
		row, next = next, row
	}
	switch {
	case !row[n-1]:
		return No
	case sure || proof:
		return Yes
	}
	return Maybe
}

// behind reports whether a path may begin with the literal prefix.
func (g *pathGlob) behind(text string) bool {
	n := len(g.prefix)
	if len(text) < n {
		return false
	}
	if g.fold {
		return !isASCII(text) || !isASCII(g.prefix) || strings.EqualFold(text[:n], g.prefix)
	}
	return text[:n] == g.prefix && (len(text) == n || text[n] == '/')
}

// skip passes a "**" that matches no segment. At the end of a pattern it
// matches at least one.
func (g *pathGlob) skip(row []bool) {
	for i := 0; i+1 < len(g.names); i++ {
		if row[i] && g.names[i].many {
			row[i+1] = true
		}
	}
}

// step consumes one segment of the path. It reports whether a match is still
// possible.
func (g *pathGlob) step(row, next []bool, s *segment, proof bool) bool {
	alive := false
	for i, on := range row {
		switch {
		case !on:
		case s.deep:
			if proof {
				continue
			}
			for k := i; k < len(next); k++ {
				next[k] = true
			}
			alive = true
		case i == len(g.names):
			// The pattern has ended; only a final "**" matches more.
			if i > 0 && g.names[i-1].many {
				next[i], alive = true, true
			}
		case g.names[i].many:
			next[i], alive = true, true
			if i == len(g.names)-1 {
				next[i+1] = true
			}
		case g.names[i].match(s, g.fold, proof):
			next[i+1], alive = true, true
		}
	}
	g.skip(next)
	return alive
}

// match reports whether a segment matches or, if it has holes, may match; with
// proof set, whether it matches whatever fills them.
func (n *name) match(s *segment, fold, proof bool) bool {
	if len(s.holes) > 0 {
		if proof {
			return n.holds(s)
		}
		return n.meets(s, fold)
	}
	if !n.wild {
		return sameName(n.literal, s.text, fold)
	}
	text := s.text
	if fold {
		text = strings.ToLower(text)
	}
	return n.glob.Match(text) || sameName(n.text, s.text, fold)
}

// filler replaces unknown text that only a "*" may match.
const filler = "\U0010FFFD"

// holds reports whether a glob matches a segment whatever fills its holes.
func (n *name) holds(s *segment) bool {
	if !n.wild || strings.ContainsAny(n.text, "?[\\") {
		return false
	}
	return n.glob.Match((&shell.Word{Text: s.text, Holes: s.holes}).Filled(filler))
}

// evident reports whether a pattern of a program's own that begins with a wildcard, and else
// is text, may be about what a rule means. An extension may be about a hidden file, and
// about names that the rule tells by it (*.pem). A rule that ends in a wildcard has to say a
// part of the text, or the text a part of it: *.ts does not mean .env.ts.
func evident(text string, chunks []string) bool {
	known := strings.Join(chunks, "")
	switch extension := strings.HasPrefix(text, "."); {
	case extension && !strings.HasPrefix(known, "."):
		return false
	case text == "" || chunks[len(chunks)-1] != "":
		return true
	}
	return slices.ContainsFunc(chunks, func(chunk string) bool {
		core := strings.TrimPrefix(chunk, ".")
		return core != "" && (strings.Contains(text, core) || strings.Contains(core, text))
	})
}

// meets reports whether a segment with holes may match. A class is taken to
// match any character.
func (n *name) meets(s *segment, fold bool) bool {
	chunks := []string{""}
	last := func() *string { return &chunks[len(chunks)-1] }
	for i := 0; i < len(n.text); i++ {
		switch c := n.text[i]; {
		case c == '\\' && i+1 < len(n.text):
			i++
			*last() += string(n.text[i])
		case n.wild && (c == '*' || c == '?' || c == '['):
			chunks = append(chunks, "")
			if c == '[' {
				i = classEnd(n.text, i) - 1
			}
		default:
			*last() += string(c)
		}
	}
	text := s.text
	if fold {
		text = strings.ToLower(text)
		for i := range chunks {
			chunks[i] = strings.ToLower(chunks[i])
		}
	}
	if first := s.holes[0]; first.At == 0 && first.Kind == shell.Pattern && !evident(text, chunks) {
		return false
	}
	p := textPattern{chunks: chunks}
	return p.meets(wordSteps(nil, &shell.Word{Text: text, Holes: s.holes}, false))
}
