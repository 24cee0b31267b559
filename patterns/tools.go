package patterns

import (
	"cmp"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/tools"
)

// family is the set of subjects that a tool's rules match.
type family uint8

const (
	ofTool    family = iota // uses of the tool itself
	ofLines                 // what a command line does
	ofReads                 // reading a path, by any tool
	ofReadsBy               // reading a path by this tool only
	ofEdits                 // writing a path, by any tool
	ofEditsBy               // writing a path by this tool only
	ofFetch                 // fetching a URL, by any tool
	ofAll                   // "*": everything
)

// path reports whether the rules of a family have path patterns.
func (f family) path() bool { return f >= ofReads && f <= ofEditsBy }

// familyOf returns the family of the rules for a tool.
func familyOf(name string, t *tools.Tool) family {
	families := [...][2]family{tools.Command: {ofTool, ofLines}, tools.Read: {ofReadsBy, ofReads}, tools.Write: {ofEditsBy, ofEdits}, tools.Fetch: {ofTool, ofFetch}}[t.Does]
	if name == t.Does.General() {
		return families[1]
	}
	return families[0]
}

// names returns the fields of a tool that may hold what it is asked for.
func names(tool string) []string {
	if t := tools.Builtin(tool); t != nil {
		return t.Names
	}
	return nil
}

// twin returns the other name of a tool, "" if it has none.
func twin(tool string) string {
	if t := tools.Builtin(tool); t != nil {
		return t.Twin
	}
	return ""
}

// sameTool reports whether a rule for the tool named a applies to the tool b.
func sameTool(a, b string) bool {
	return a == b || b != "" && twin(a) == b
}

// nearMiss returns the built-in tool that a name was probably meant to be, ""
// if none is near.
func nearMiss(name string) string {
	lower := strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(name))
	same, found, best := "", "", 3
	tools.Builtins(func(b string) {
		if strings.EqualFold(b, lower) {
			same = b
		}
		d := distance(lower, strings.ToLower(b))
		if d < best || d == best && b < found {
			if d <= 1 || d == 2 && (len(b) >= 7 || stutters(lower, strings.ToLower(b))) {
				found, best = b, d
			}
		}
	})
	return cmp.Or(same, tools.Synonym(lower), found)
}

// stutters reports whether name is the built-in name with something attached to
// one end, as in BaBash.
func stutters(name, builtin string) bool {
	return len(builtin) >= 4 && (strings.HasSuffix(name, builtin) || strings.HasPrefix(name, builtin))
}

// distance returns the number of single-byte edits between two short names,
// counting a swap of neighbours as one. It stops counting at 3.
func distance(a, b string) int {
	if len(a)-len(b) > 2 || len(b)-len(a) > 2 {
		return 3
	}
	var rows [3][]int
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
	}
	for j := range rows[1] {
		rows[1][j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, last, row := rows[(i-1)%3], rows[i%3], rows[(i+1)%3]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return min(3, rows[(len(a)+1)%3][len(b)])
}
