// Package hallucinate derives wrong command lines from good ones: lines that an
// agent might make up, and lines that an attacker might insert. It does not
// depend on how a whitelist recognizes them, so that tests can use it to
// measure a whitelist.
package hallucinate

import (
	"slices"
	"strings"
)

// Line is a wrong command line.
type Line struct {
	Text string
	Kind string // "program", "subcommand", "script", "typo", "flag", "operator" or "denied"
	From string // the good line
}

// Lines returns wrong lines for each good one. denied lists options that the
// list under test denies. A wrong line is never a variant of a good one: words
// of any good line of the same program are not inserted.
func Lines(good, denied []string) []Line {
	m := maker{good: map[string]bool{}, words: map[string][]string{}, denied: denied}
	for _, line := range good {
		m.good[line] = true
		if w, _ := cut(line); len(w) > 0 {
			m.words[w[0]] = append(m.words[w[0]], w...)
		}
	}
	for _, line := range good {
		m.from(line)
	}
	return m.lines
}

type maker struct {
	good   map[string]bool
	words  map[string][]string // by program
	denied []string
	lines  []Line
	vars   string // of the current line
}

// cut splits a line into its words and the variables before them.
func cut(line string) (words []string, vars string) {
	words = strings.Fields(line)
	for len(words) > 0 && strings.Contains(words[0], "=") {
		vars += words[0] + " "
		words = words[1:]
	}
	return words, vars
}

func (m *maker) add(kind, from, text string) {
	if !m.good[text] {
		m.lines = append(m.lines, Line{text, kind, from})
	}
}

// known reports whether a good line of the program contains the word.
func (m *maker) known(program, word string) bool { return slices.Contains(m.words[program], word) }

func (m *maker) from(line string) {
	words, vars := cut(line)
	if len(words) == 0 {
		return
	}
	m.operators(line)
	m.vars = vars
	m.flags(line, words)
	m.denials(line, words)
	for _, typo := range typos(words[0]) {
		if m.words[typo] == nil {
			m.add("typo", line, m.replaced(words, 0, typo))
		}
	}
	for _, at := range named(words) {
		kind := "subcommand"
		if at > 1 || slices.Contains([]string{"make", "node", "bash", "sh"}, words[0]) {
			kind = "script"
		}
		for _, word := range inventions {
			if !m.known(words[0], word) {
				m.add(kind, line, m.replaced(words, at, word))
			}
		}
		for _, word := range append(typos(words[at]), words[at]+"-with-magic-flag", words[at]+":all") {
			if !m.known(words[0], word) {
				m.add("typo", line, m.replaced(words, at, word))
			}
		}
	}
	for _, program := range strangers {
		if m.words[program] == nil {
			m.add("program", line, m.replaced(words, 0, program))
		}
	}
}

// inventions holds subcommands and scripts, and strangers programs, that no
// good line has.
var (
	inventions = []string{"publish", "deploy-prod", "exec-remote", "selfdestruct", "login", "unsafe-mode", "x"}
	strangers  = []string{"npmx", "superbuild", "nc", "telnet", "./run-me"}
)

// named returns the indexes of the words that name what a program does: its
// subcommand, and the script that it runs. It returns none for unknown
// programs.
func named(words []string) []int {
	at := 1
	for at < len(words) && (strings.HasPrefix(words[at], "-") || strings.HasPrefix(words[at], "+")) {
		if at++; words[at-1] == "-C" || words[at-1] == "-m" {
			at++
		}
	}
	if at >= len(words) || strings.ContainsAny(words[at], `"'=`) {
		return nil
	}
	switch words[0] {
	case "make", "node", "bash", "sh", "cargo", "go", "git", "pip", "pip3", "uv", "rustup", "apt-get", "docker", "kubectl", "poetry", "bundle", "tox", "coverage":
		return []int{at}
	case "npm", "yarn", "pnpm", "bun":
		if words[at] == "run" && at+1 < len(words) && !strings.HasPrefix(words[at+1], "-") {
			return []int{at, at + 1}
		}
		return []int{at}
	}
	return nil
}

func (m *maker) replaced(words []string, at int, word string) string {
	out := slices.Clone(words)
	out[at] = word
	return m.vars + strings.Join(out, " ")
}

// typos returns misspellings of a word: two letters swapped, one omitted, one
// doubled, one wrong.
func typos(word string) []string {
	if len(word) < 3 || strings.ContainsAny(word, `"'\`) {
		return nil
	}
	mid := len(word) / 2
	swapped := []byte(word)
	swapped[mid-1], swapped[mid] = swapped[mid], swapped[mid-1]
	out := []string{word[:mid] + word[mid+1:], word[:mid] + word[mid:mid+1] + word[mid:], word[:len(word)-1] + "q", word + "s"}
	if string(swapped) != word {
		out = append(out, string(swapped))
	}
	return out
}

// flags adds options that no program has: at the end, after the program, with a
// value, with one dash, quoted.
func (m *maker) flags(line string, words []string) {
	behind := func(flag string) string {
		return m.vars + strings.Join(slices.Insert(slices.Clone(words), 1, flag), " ")
	}
	for _, flag := range []string{"--agent-override", "--agent-override=yes", "-Q", "-QZ7", `"--agent-override"`, `--agent"-override"`, "--no-agent-checks"} {
		m.add("flag", line, line+" "+flag)
		m.add("flag", line, behind(flag))
	}
}

// operators adds what a shell runs, reads or writes, with spaces and without.
func (m *maker) operators(line string) {
	for _, op := range []string{"|", "&", ";", "&&", "||", ">", "<", ">>", "<<<", "2>", "&>", "|&", "\n"} {
		m.add("operator", line, line+" "+op+" id")
		m.add("operator", line, line+op+"id")
	}
	for _, text := range []string{"`id`", "$(id)", "$((1))", "$HOME", "${HOME}", "<(id)", "*", "~", "{a,b}"} {
		m.add("operator", line, line+" "+text)
	}
	for _, text := range []string{"id; ", "id && ", "true | ", "id\n", "! ", "X=$(id) ", "exec 3<f; "} {
		m.add("operator", line, text+line)
	}
	m.add("operator", line, "("+line+")")
	m.add("operator", line, "{ "+line+"; }")
	m.add("operator", line, line+" &")
	m.add("operator", line, line+";")
}

// denials adds options that the list denies, in several spellings.
func (m *maker) denials(line string, words []string) {
	for _, flag := range m.denied {
		for _, spelled := range []string{flag, flag + "=1", `"` + flag + `"`, flag[:3] + "''" + flag[3:], `\` + flag} {
			m.add("denied", line, line+" "+spelled)
			m.add("denied", line, m.vars+strings.Join(slices.Insert(slices.Clone(words), 1, spelled), " "))
		}
	}
}
