package patterns

import (
	"fmt"
	"strings"
)

// nameRule matches the name that a tool is asked for or, for an MCP server, the
// names of its tools.
type nameRule struct {
	server  bool     // the name is that of an MCP tool
	chunks  []string // literal parts with any characters between them
	prefix  bool     // "x:*": x itself, or x followed by ":" or a space and more
	slash   bool     // a "/" before the name is ignored
	literal int      // for a server in an allow rule, the length of mcp__server__
}

// mcpRule parses a rule whose tool is the name of an MCP server or tool,
// possibly with wildcards.
func (p *parser) mcpRule(r *Rule) error {
	name := r.tool
	if at := strings.IndexFunc(name, notInMCP); at >= 0 {
		return p.fail(at, fmt.Sprintf("%q in an MCP name", []rune(name[at:])[0]), "write mcp__server__tool")
	}
	server, tool, hasTool := strings.Cut(strings.TrimPrefix(name, "mcp__"), "__")
	switch {
	case server == "" || hasTool && tool == "":
		return p.fail(len(name), "an MCP name needs a server and a tool", "write mcp__server, mcp__server__* or mcp__server__tool")
	case p.list == Allow && strings.Contains(server, "*"):
		at := strings.IndexByte(name, '*')
		return p.fail(at, "a wildcard for the server would also allow MCP servers that are added later", "name the server: mcp__"+suggestServer(server)+"__*")
	}
	n := &nameRule{server: true}
	switch {
	case !hasTool && !strings.Contains(server, "*"):
		n.chunks = []string{name + "__", ""}
	default:
		n.chunks = strings.Split(name, "*")
	}
	n.literal = len("mcp__" + server + "__")
	r.name = n
	return nil
}

func suggestServer(server string) string {
	if s := strings.Trim(server, "*_-"); s != "" {
		return s
	}
	return "github"
}

func notInMCP(r rune) bool { return r != '*' && (notInName(r) || r == '/') }

// matchServer matches the rule against the name of an MCP tool. A name with
// more than two "__" proves nothing, since it is ambiguous where the server's
// name ends.
func (n *nameRule) matchServer(tool string, list List) Match {
	exact := len(n.chunks) == 1
	p := textPattern{chunks: n.chunks}
	if exact || list != Allow {
		if p.match(tool) || !exact && tool+"__" == n.chunks[0] {
			return Yes
		}
		if exact && list != Allow && strings.HasPrefix(tool, n.chunks[0]+"__") {
			return Maybe
		}
		return No
	}
	if len(tool) <= n.literal {
		return No
	}
	rest := tool[n.literal:]
	return yesIf(p.match(tool) && !strings.Contains(rest, "__") && rest[0] != '_')
}

// nameSpec parses the specifier of a tool that is asked for something by name.
func (p *parser) nameSpec(r *Rule, spec string) (string, error) {
	if strings.Trim(spec, "*") == "" {
		if r.name == nil {
			r.bare = true
		}
		return spec, nil
	}
	if len(names(r.tool)) == 0 && !p.known.Names(r.tool) {
		fix := "write " + r.tool
		if r.tool == "Monitor" {
			fix = "write Bash(" + spec + "), which covers Monitor as well"
		}
		r.name = &nameRule{}
		return spec, p.dead(p.from, "what "+r.tool+" is used for is unknown", fix)
	}
	if r.tool == "PowerShell" {
		return spec, p.powerShell(r, spec)
	}
	body, prefix := strings.CutSuffix(spec, ":*")
	if len(body) > maxPattern || strings.Count(body, "*") > maxStars {
		return "", p.fail(p.from, "the pattern is too long or too complex", "write a simpler one")
	}
	if prefix && body == "" {
		return "", p.fail(p.from, `":*" without a name before it`, "write "+r.tool)
	}
	r.name = &nameRule{prefix: prefix, slash: r.tool == "Skill" || r.tool == "SlashCommand"}
	if r.name.slash {
		body = strings.TrimPrefix(body, "/")
	}
	r.name.chunks = strings.Split(body, "*")
	return spec, nil
}

// powerShell parses a rule for a shell whose lines are not parsed.
func (p *parser) powerShell(r *Rule, spec string) error {
	r.name = &nameRule{}
	if p.list != Allow {
		return p.fail(p.from, "PowerShell lines are not analysed, so a rule cannot match part of one", "write PowerShell, for all of them")
	}
	if strings.Contains(spec, "*") {
		p.warn(Dead, p.from, "PowerShell lines are not analysed, so a pattern never matches: remove it, or run the command with Bash")
		return nil
	}
	r.name.chunks = []string{spec}
	p.warn(Note, p.from, "PowerShell lines are not analysed: the rule matches only this exact line")
	return nil
}

// match matches the rule against the name that a tool is asked for.
func (n *nameRule) match(name string, list List) Match {
	if len(n.chunks) == 0 {
		return No
	}
	if name == "" {
		return maybeIf(list != Allow)
	}
	if n.slash {
		name = strings.TrimPrefix(name, "/")
	}
	if n.fits(name) {
		return Yes
	}
	if list == Allow {
		return No
	}
	if trimmed := strings.TrimSpace(name); trimmed != name {
		return n.match(trimmed, list)
	}
	// A skill may be named with or without the plugin that it belongs to.
	if at := strings.LastIndexByte(name, ':'); at >= 0 && n.fits(name[at+1:]) {
		return Maybe
	}
	if text := n.chunks[0]; len(n.chunks) == 1 {
		return maybeIf(strings.HasSuffix(text, ":"+name))
	}
	return No
}

func (n *nameRule) fits(name string) bool {
	p := textPattern{chunks: n.chunks}
	if p.match(name) {
		return true
	}
	if !n.prefix {
		return false
	}
	p.chunks = append(n.chunks[:len(n.chunks):len(n.chunks)], "")
	p.chunks[len(n.chunks)-1] += ":"
	if p.match(name) {
		return true
	}
	p.chunks[len(n.chunks)-1] = n.chunks[len(n.chunks)-1] + " "
	return p.match(name)
}
