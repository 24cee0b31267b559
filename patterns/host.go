package patterns

import (
	"slices"
	"strings"
)

// hostRule is the specifier of a WebFetch rule.
type hostRule struct {
	name string // canonical
	subs bool   // "*.": its subdomains
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
	if err := p.checkHost(at, text, h.name); err != nil {
		return "", err
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
	switch {
	case text == "":
		return p.fail(at, "the host is empty", "write, for example, WebFetch(domain:github.com)")
	case strings.Contains(text, "://") || strings.ContainsAny(text, "/?#@"):
		return p.fail(at, "a rule names a host, not a URL", "write WebFetch(domain:"+host+")")
	case port != "" || plain != host:
		return p.fail(at, "a rule names a host without its port", "write WebFetch(domain:"+plain+")")
	case strings.Contains(name, "*"):
		return p.fail(at+strings.LastIndex(text, "*"), `in a host, "*" may only be the first part, for its subdomains`, "write WebFetch(domain:*.example.com)")
	}
	return nil
}

// match matches the rule against a URL. An allow rule matches exactly the host
// or, with "*.", its subdomains; ask and deny rules match both.
func (h *hostRule) match(u *URL, list List) Match {
	if list == Allow {
		return yesIf(u.host != "" && h.allows(u.host))
	}
	found := 0
	for _, host := range u.hosts {
		if host == h.name || strings.HasSuffix(host, "."+h.name) {
			found++
		}
	}
	switch {
	case found > 0 && found == len(u.hosts) && !u.any:
		return Yes
	case found > 0 || u.any:
		return Maybe
	}
	return No
}

// NamesHost reports whether an allow rule names the host of a URL, and not only many.
func (r *Rule) NamesHost(u *URL) bool {
	return r.host != nil && !r.host.subs && r.host.match(u, Allow) == Yes
}

// NamesHost reports whether one of the rule's domains is the host of a URL.
func (g *Granular) NamesHost(u *URL) bool {
	return slices.ContainsFunc(g.domains, func(r *Rule) bool { return r.NamesHost(u) })
}

func (h *hostRule) allows(host string) bool {
	if h.subs {
		return strings.HasSuffix(host, "."+h.name)
	}
	return host == h.name
}
