package chat

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/agent-wrapper/agent-wrapper/internal/text/spelling"
	"github.com/agent-wrapper/agent-wrapper/internal/text/visible"
)

// The names of our own commands.
const (
	helpName = "help"
	quitName = "quit"
)

// means returns the prompt that is sent for what was typed, or what is shown if it was a
// command.
func (l *loop) means(typed string) (prompt, shown string, err error) {
	if c, args := l.command(typed); c != nil {
		if !l.seen(typed) {
			return "", "", fmt.Errorf("/%s is a command, and all of a command has to be seen in one line: take out the line breaks and make it short; a blank before it sends it to the agent", c.Name)
		}
		shown, err = c.Run(args)
		return "", shown, err
	}
	prompt, err = l.options.Prompt(typed)
	if err == nil && strings.TrimSpace(prompt) == "" {
		err = errors.New("that is an empty prompt")
	}
	return prompt, "", err
}

// command returns the command that a text begins with, and what stands behind its name; nil
// if it begins with none.
func (l *loop) command(typed string) (c *Command, args string) {
	words := strings.TrimLeft(typed, "\n")
	end := strings.IndexFunc(words, unicode.IsSpace)
	if end < 0 {
		end = len(words)
	}
	for _, c := range l.commands() {
		if "/"+c.Name == words[:end] {
			return &c, strings.TrimSpace(words[end:])
		}
	}
	return nil, ""
}

// seen reports whether a person who sends a text sees all of it: a command that was pasted
// may stand above the rows that there is room for.
func (l *loop) seen(typed string) bool {
	if strings.Contains(strings.TrimSuffix(typed, "\n"), "\n") {
		return false
	}
	columns, lines := l.board.Size()
	e := edit{}
	e.set(typed)
	rows, _, _ := e.rows(columns, len(e.text)+1)
	return l.board.Dumb() || len(rows) <= max(lines/2-2, 1)
}

func (l *loop) commands() []Command {
	return append([]Command{
		{Name: helpName, Help: "this list", Run: func(string) (string, error) { return l.help(), nil }},
		{Name: quitName, Help: "end the conversation (also ^D, or ^C twice)", Run: func(string) (string, error) { l.leave(); return "", nil }},
	}, l.options.Commands...)
}

// help returns what can be typed.
func (l *loop) help() string {
	var out strings.Builder
	for _, c := range l.commands() {
		fmt.Fprintf(&out, "%-18s %s\n", strings.TrimSpace("/"+c.Name+" "+c.Args), c.Help)
	}
	if l.options.Texts != nil {
		if texts := l.texts(); texts != "" {
			fmt.Fprintf(&out, "%-18s %s\n", "/NAME [WORDS]", "a text of yours or the project: "+texts)
		}
		fmt.Fprintf(&out, "%-18s %s\n", "@PATH", "gives the agent a file or a picture")
	}
	for _, key := range [][2]string{
		{"Enter", "sends; while the agent works it waits for its turn"},
		{"^J, Alt-Enter, \\", "begin a new line"},
		{"Up, Down", "what waits, and earlier prompts"},
		{"^R", "searches earlier prompts"},
		{"^C", "interrupts the agent; twice ends"},
		{"Tab", "shows a question that waits"},
	} {
		fmt.Fprintf(&out, "%-18s %s\n", key[0], key[1])
	}
	return out.String()
}

// maxTexts is how many texts the help names.
const maxTexts = 8

// texts returns the names of commands that stand for a text.
func (l *loop) texts() string {
	names := l.options.Texts()
	out := ""
	for i, name := range names {
		if i == maxTexts {
			return out + fmt.Sprintf(" and %d more", len(names)-i)
		}
		if i > 0 {
			out += " "
		}
		out += "/" + visible.Line(name)
	}
	return out
}

// Unknown returns the error for a command that is none of those of a conversation, nil if
// what was typed is no command at all. A text that begins with a path is none.
// texts are the names of commands that stand for a text.
func Unknown(typed string, commands []Command, texts ...string) error {
	name, _, _ := strings.Cut(strings.TrimLeft(typed, "\n"), " ")
	if !strings.HasPrefix(name, "/") || strings.ContainsAny(name[1:], "/.\n") || name == "/" {
		return nil
	}
	hint := "/help lists the commands; a blank before it sends it to the agent"
	known := append([]string{helpName, quitName}, texts...)
	for _, c := range commands {
		known = append(known, c.Name)
	}
	if near := spelling.Nearest(name[1:], slices.Values(known)); near != "" {
		hint = "did you mean /" + visible.Line(near) + "? A blank before it sends it to the agent"
	}
	return fmt.Errorf("there is no command %s: %s", visible.Line(name), hint)
}
