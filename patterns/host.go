package patterns

import (
	"slices"
	"strings"
)

// hostRule is the specifier of a WebFetch rule.
type hostRule struct {
	name string // canonical
	subs bool   // "*.": its subdomains
	port string // the only one, "" for every port
}

// hostSpec parses the specifier of a WebFetch rule.
func (p *parser) hostSpec(r *Rule, spec string) (string, error) {
	text := strings.TrimSpace(strings.TrimPrefix(spec, "domain:"))
	at := p.from + len(spec) - len(text)
	if text == "*" {
		r.bare = true
		return spec, nil
	}
	h := &hostRule{}
	h.name, h.subs = strings.CutPrefix(text, "*.")
	h.name, h.port = cutPort(h.name)
	if err := p.checkHost(at, text, h.name); err != nil {
		return "", err
	}
	if h.port != "" {
		h.port, _ = portNumber(h.port)
	}
	name, ok := canonical(h.name)
	if !ok {
		return "", p.fail(at, "the host is neither a name nor an address", "write, for example, WebFetch(domain:github.com)")
	}
	h.name = name
	if h.subs && p.list == Allow && !strings.Contains(name, ".") {
		p.warn(Danger, at, "every host under the top-level domain "+name+" is allowed")
	}
	r.host = h
	return spec, nil
}

func (p *parser) checkHost(at int, text, name string) error {
	host := text
	if i := strings.Index(host, "://"); i >= 0 {
		host = host[i+3:]
	}
	if i := strings.IndexAny(host, "/?#"); i >= 0 {
		host = host[:i]
	}
	plain, port := cutPort(host)
	_, exists := portNumber(port)
	switch {
	case text == "":
		return p.fail(at, "the host is empty", "write, for example, WebFetch(domain:github.com)")
	case strings.Contains(text, "://") || strings.ContainsAny(text, "/?#@"):
		return p.fail(at, "a rule names a host, not a URL", "write WebFetch(domain:"+host+")")
	case strings.Contains(plain, ":") && !strings.HasPrefix(plain, "["):
		return p.fail(at, "the host is neither a name nor an address", "write an address of IPv6 in brackets, for example WebFetch(domain:[::1])")
	case plain != host && !exists:
		return p.fail(at+strings.LastIndexByte(text, ':')+1, "a port is a number from 1 to 65535", "write WebFetch(domain:"+plain+") for every port, or WebFetch(domain:"+plain+":8443)")
	case strings.Contains(name, "*"):
		return p.fail(at+strings.LastIndex(text, "*"), `in a host, "*" may only be the first part, for its subdomains`, "write WebFetch(domain:*.example.com)")
	}
	return nil
}

// match matches the rule against a URL. An allow rule matches exactly the host
// or, with "*.", its subdomains; ask and deny rules match both. A rule with a port matches
// only that port.
func (h *hostRule) match(u *URL, list List) Match {
	if list == Allow {
		return yesIf(u.host != "" && h.allows(u.host) && (h.port == "" || h.port == u.port))
	}
	found, all := 0, !u.any
	for i, host := range u.hosts {
		m := No
		if host == h.name || strings.HasSuffix(host, "."+h.name) {
			m = h.matchPort(u.ports[i])
		}
		if m != No {
			found++
		}
		all = all && m == Yes
	}
	switch {
	case found > 0 && all:
		return Yes
	case found > 0 || u.any:
		return Maybe
	}
	return No
}

// matchPort matches the port of the rule against those that parsers may use for a host.
func (h *hostRule) matchPort(ports []string) Match {
	if h.port == "" || len(ports) == 1 && ports[0] == h.port {
		return Yes
	}
	if slices.Contains(ports, h.port) || slices.Contains(ports, "") {
		return Maybe
	}
	return No
}

// NamesHost reports whether an allow rule names the host of a URL, and not only many.
func (r *Rule) NamesHost(u *URL) bool {
	return r.host != nil && !r.host.subs && r.host.match(u, Allow) == Yes
}

// NamesPort reports whether an allow rule covers a URL and names its port.
func (r *Rule) NamesPort(u *URL) bool {
	return r.host != nil && r.host.port != "" && r.host.match(u, Allow) == Yes
}

// Names reports whether f holds for the rule of one of the domains.
func (g *Granular) Names(f func(*Rule) bool) bool { return slices.ContainsFunc(g.domains, f) }

func (h *hostRule) allows(host string) bool {
	if h.subs {
		return strings.HasSuffix(host, "."+h.name)
	}
	return host == h.name
}
