package picture

import (
	"regexp"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/test/screen"
)

// said are words that say what their colour says.
var said = regexp.MustCompile(`\b(?i:allow(?:ed)?|ask(?:ed)?|deny|denied|approved|held|write|moderate|destructive|critical|warning|error)\b`)

// changed is how the line of a diff begins, behind the frame of a window.
var changed = regexp.MustCompile(`^[ │|]*[-+][ │|]`)

// ColourAlone returns the pieces of a screen that are red, green or yellow and say nothing
// else by it, so that a person who does not see the colour misses something: those that
// have no word for it, in them or before them in their row, no line of marks (^) below, and
// no sign of a diff.
func ColourAlone(rows [][]screen.Cell) (pieces []string) {
	for i, cells := range rows {
		line := columns(cells)
		below := ""
		if i+1 < len(rows) {
			below = columns(rows[i+1])
		}
		for _, r := range runs(cells) {
			text := strings.TrimSpace(r.text)
			if (r.look.ink == red || r.look.ink == green || r.look.ink == yellow) && text != "" &&
				!said.MatchString(string([]rune(line)[:r.from+r.width])) && !changed.MatchString(line) && strings.Trim(text, "^ ") != "" && !marked(below, r) {
				pieces = append(pieces, text)
			}
		}
	}
	return pieces
}

// marked reports whether a row has marks below a piece of the one above.
func marked(below string, r run) bool {
	marks := []rune(below)
	return r.from < len(marks) && marks[r.from] == '^'
}

// columns returns a row as text with one character for each column.
func columns(cells []screen.Cell) string {
	var line strings.Builder
	for _, c := range cells {
		if c.Text == "" {
			c.Text = " "
		}
		line.WriteRune([]rune(c.Text)[0])
	}
	return line.String()
}
