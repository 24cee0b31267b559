package patterns

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/shell"
)

func TestHostRules(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		rule  string
		list  List
		no    []string
		maybe []string
		yes   []string
	}{
		{
			rule: "WebFetch(github.com)", list: Allow,
			no: []string{
				"https://api.github.com/", "https://github.com.evil.org/", "https://evilgithub.com", "ftp://github.com/", "github.com", "https:/github.com",
				"https://x@github.com/", "https://github.com@evil.org", `https://github.com\x`, "https://github.com/\x01", "https://github%2ecom/", "https://git\thub.com/",
				"https://ｇithub.com/", "https://github.com:x/", "https://github.com../", "", "https://", "https://$/", "https://github.com$", "$", " https://github.com/",
				"https://github.com/a b", "https://ɡithub.com", "https://xn--/", "view-source:https://github.com/",
			},
			yes: []string{
				"https://github.com", "http://github.com/", "https://github.com:443/x", "https://GitHub.com/x?y#z", "https://github.com./", "https://github.com/x@y",
				"https://github.com/%20", "https://github.com/?u=http://evil.org", "https://github.com/$", "https://github.com#x@evil.org",
			},
		},
		{
			rule: "WebFetch(domain:*.github.com)", list: Allow,
			no:  []string{"https://github.com/", "https://xgithub.com/", "https://api.github.com.evil.org/"},
			yes: []string{"https://api.github.com/", "https://a.b.github.com/"},
		},
		{
			rule: "WebFetch(domain:evil.org)", list: Deny,
			no: []string{"https://evil.org.example/", "https://notevil.org", "https://github.com/evil.org", "https://github.com/#@evil.org", "data:text/html,evil.org", "file:///evil.org", "mailto:x@evil.org"},
			maybe: []string{
				`https://evil.org\@github.com/`, `https://evil.org\.github.com/`, "https://evil.\torg/", "https://$/", "$", "https://e$", "https://evil.org$",
				"https://github.com$", "view-source:https://evil.org/", "blob:https://x.com/", "https://evil org/",
			},
			yes: []string{
				"https://evil.org", "http://EVIL.org:80/x", "https://a.b.evil.org/", "https://evil.org./", "https://x@evil.org/", "https://github.com@evil.org", "https://x:y@evil.org/",
				"https:/evil.org", "https:evil.org", "//evil.org/x", "evil.org", "evil.org/x", "evil.org:8080/x", "ftp://evil.org/", "https://evil。org/", "https://ｅvil.org/", "https://%65vil.org/",
				"https://evil.org/$", `https:\\evil.org`, "git+https://evil.org/x", "ssh://evil.org/",
			},
		},
		{
			rule: "WebFetch(*.evil.org)", list: Ask,
			yes: []string{"https://evil.org/", "https://x.evil.org/"},
			no:  []string{"https://xevil.org/"},
		},
		{
			rule: "WebFetch(127.0.0.1)", list: Deny,
			yes: []string{
				"http://127.0.0.1/", "http://2130706433/", "http://0177.0.0.1/", "http://0x7f.1/", "http://127.1/", "http://0x7f000001/", "http://[::ffff:127.0.0.1]/",
				"http://[::ffff:7f00:1]:80/", "http://127.0.0.1./", "http://１２７.0.0.1/", "http://[64:ff9b::127.0.0.1]/", "http://[::127.0.0.1]/",
			},
			no:    []string{"http://127.0.0.2/", "http://127.0.0.11/", "http://127.0.0.1.example/", "http://[::1]/"},
			maybe: []string{"http://127.0.0.0.1/", "http://256.0.0.1/", "http://127.0.0.08/", "http://[fe80::1%25eth0]/"},
		},
		{
			rule: "WebFetch(domain:127.0.0.1)", list: Allow,
			yes: []string{"http://127.0.0.1/", "http://127.0.0.1:8080/x"},
			no:  []string{"http://2130706433/", "http://127.1/", "http://0177.0.0.1/"},
		},
		{rule: "WebFetch([::1])", list: Allow, yes: []string{"http://[::1]/", "http://[0:0:0:0:0:0:0:1]:80/"}, no: []string{"http://[::2]/"}},
		{rule: "WebFetch(münchen.example)", list: Allow, yes: []string{"https://münchen.example/", "https://xn--mnchen-3ya.example/", "https://MÜNCHEN.example"}, no: []string{"https://munchen.example/"}},
		{rule: "WebFetch(my_host.local)", list: Allow, yes: []string{"http://my_host.local/"}},
		{rule: "WebFetch(localhost)", list: Allow, yes: []string{"http://localhost:3000/"}, no: []string{"http://localhost.evil.org/"}},
		{
			rule: "WebFetch(domain:api.example.com:8443)", list: Allow,
			yes: []string{"https://api.example.com:8443/x", "http://api.example.com:8443", "https://API.example.com:08443/"},
			no:  []string{"https://api.example.com/", "https://api.example.com:443/", "https://api.example.com:844/", "https://api.example.com:84430/", "https://api.example.com:74979/", "https://x.api.example.com:8443/", "api.example.com:8443", "https://u:8443@api.example.com/", "https://api.example.com/:8443", "https://api.example.com:/"},
		},
		{
			rule: "WebFetch(*.example.com:443)", list: Allow,
			yes: []string{"https://a.example.com/", "https://a.example.com:443/", "http://a.example.com:443/", "https://a.example.com:/"},
			no:  []string{"http://a.example.com/", "https://example.com/", "https://a.example.com:8443/"},
		},
		{rule: "WebFetch([::1]:8080)", list: Allow, yes: []string{"http://[::1]:8080/"}, no: []string{"http://[::1]/", "http://[::1]:80/"}},
		{
			rule: "WebFetch(localhost:5432)", list: Deny,
			yes:   []string{"http://localhost:5432/", "localhost:5432/x", "https://x@localhost:5432/", "http://a.localhost:05432/", "ftp://localhost:5432/"},
			no:    []string{"http://localhost/", "https://localhost:443/", "localhost:3000/x", "http://localhost:54321/", "http://example.com:5432/", "ssh://localhost/", "http://localhost:5432@localhost:80/"},
			maybe: []string{"localhost/x", "//localhost/x", "svn://localhost/", "http://localhost:x/", "http://localhost$", "$"},
		},
		{
			rule: "WebFetch(example.com)", list: Ask,
			yes: []string{"http://example.com:5432/", "https://a.example.com:1/", "example.com:3000"},
		},
		{rule: "WebFetch", list: Deny, yes: []string{"x", "$", "https://a"}},
		{rule: "WebFetch(domain:*)", list: Allow, yes: []string{"x", "https://a"}},
	} {
		r := rule(t, test.rule, test.list)
		set := NewSet(here, r)
		for want, texts := range map[Match][]string{No: test.no, Maybe: test.maybe, Yes: test.yes} {
			for _, text := range texts {
				sub := &Subject{Kind: FetchURL, Tool: "WebFetch", URL: NewURL(plainHoles(text))}
				if m := r.match(sub, Query{}); m != want {
					t.Errorf("%v %s of %q: %v, want %v (%+v)", test.list, test.rule, text, m, want, sub.URL)
				}
				if _, m := set.Match(sub, Query{}); m != want {
					t.Errorf("%v %s of %q in a set: %v, want %v", test.list, test.rule, text, m, want)
				}
			}
		}
	}
}

// plainHoles is word with literal "*" and "#".
func plainHoles(text string) shell.Word {
	var w shell.Word
	for _, r := range text {
		if r == '$' {
			w.Holes = append(w.Holes, shell.Hole{At: len(w.Text)})
		} else {
			w.Text += string(r)
		}
	}
	return w
}

// TestPortsOfRules: an allow rule with a port covers no other port, and a deny or ask rule
// without one meets every port of its hosts, in each form of a URL.
func TestPortsOfRules(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	hosts := []string{"a.example", "localhost", "10.0.0.5", "[::1]", "127.0.0.1"}
	ports := []string{"1", "22", "80", "443", "3000", "5432", "8443", "65535"}
	schemes := map[string]string{"http": "80", "https": "443", "HTTPS": "443", "ftp": "21", "ssh": "22", "svn": "", "": ""}
	for range 2_000 {
		host, port := hosts[r.IntN(len(hosts))], ports[r.IntN(len(ports))]
		for scheme, usual := range schemes {
			authority, meant := host, usual
			if r.IntN(3) > 0 {
				meant = ports[r.IntN(len(ports))]
				authority += ":" + strings.Repeat("0", r.IntN(2)) + meant
			}
			if r.IntN(4) == 0 {
				authority = []string{"u@", "u:" + port + "@"}[r.IntN(2)] + authority
			}
			text := authority + []string{"", "/", "/x:" + port, "?q=:" + port, "#:" + port}[r.IntN(5)]
			if scheme != "" {
				text = scheme + "://" + text
			}
			sub := &Subject{Kind: FetchURL, Tool: "WebFetch", URL: NewURL(shell.Word{Text: text})}
			match := func(text string, list List) Match { return rule(t, text, list).match(sub, Query{}) }
			if match("WebFetch("+host+":"+port+")", Allow) == Yes && (meant != port || match("WebFetch("+host+")", Allow) != Yes) {
				t.Fatalf("%s is allowed on port %s", text, port)
			}
			for _, list := range []List{Ask, Deny} {
				if match("WebFetch("+host+")", list) == No {
					t.Fatalf("%s is not met on port %s", text, meant)
				}
				if with := match("WebFetch("+host+":"+port+")", list); with == No && (meant == port || meant == "") || with == Yes && meant != port {
					t.Fatalf("%s, port %s: %v", text, port, with)
				}
			}
		}
	}
}
