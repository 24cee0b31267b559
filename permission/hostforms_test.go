package permission

import (
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
)

// hostForms are spellings of a host by which a resolver or a parser of URLs finds it.
var hostForms = map[string][]string{
	"evil.com": {"EVIL.COM", "evil.com.", "evil\u3002com", "evil\uff0ecom", "evil\uff61com", "\uff45vil\uff0e\uff43om", "e\u00advil\u3002com", "evil\u2024com"},
	"1.0.0.1":  {"1.1", "1.0.1", "0x1.1", "01.1", "1.0x1", "1.1.", "16777217", "0x1000001", "0100000001", "\uff11.1", "1\u30021", "1\u3002\uff11"},
	"10.0.0.1": {"10.1", "012.1", "0xa.1", "167772161"},
}

// schemeForms are spellings of the beginning of a URL.
var schemeForms = []string{"HTTPS://", "hTTps://", "https:", "HTTPS:/", "https:///", `https:\\`, " https://", "\thttps://", "ht\ntps://"}

// hostUses returns words in which a program is given a host as an operand or as the value
// of an option, each with %s for the host.
func hostUses(p *program.Program) []string {
	uses := []string{"%s", "x %s", "@%s x"}
	for o := range p.All {
		if o.Value == program.NoValue || o.Effect == program.EffNumber {
			continue
		}
		for _, name := range o.Names {
			uses = append(uses, name+" %s", name+" %s x")
			if strings.HasPrefix(name, "--") {
				uses = append(uses, name+"=%s")
			} else if strings.HasPrefix(name, "-") {
				uses = append(uses, name+"%s")
			}
		}
	}
	return uses
}

// hostLines calls visit with each use of each program and of its subcommands.
func hostLines(visit func(use string)) {
	var below func(words string, p, top *program.Program, depth int)
	below = func(words string, p, top *program.Program, depth int) {
		uses := hostUses(p)
		if p != top {
			uses = append(uses, hostUses(top)[3:]...)
		}
		for _, use := range uses {
			visit(words + " " + use)
		}
		for sub := range p.Subs {
			if depth < 2 {
				below(words+" "+sub.Name, sub, top, depth+1)
			}
		}
	}
	for p := range program.Builtin {
		if p.Special != "sed" { // a script is no host
			below(p.Name, p, p, 0)
		}
	}
}

// TestHostSpellings: however a host is written, the line is asked about where it is with
// the plain form, and a rule about the host decides no less.
func TestHostSpellings(t *testing.T) {
	t.Parallel()
	policies := []spec{{risk: true}, {allow: "Bash", deny: "WebFetch(evil.com); WebFetch(1.0.0.1)"}, {allow: "Bash", ask: "WebFetch(evil.com); WebFetch(1.0.0.1)"}}
	decide := func(s spec, use, word string) Behavior {
		return decideSecret(t, s, fmt.Sprintf(use, "'"+word+"'"), fakeFS{}).Behavior
	}
	every, words := 16, hostWords() // all of them take ten minutes
	if testing.Short() {
		every = 512
	}
	uses, met := 0, 0
	hostLines(func(use string) {
		if strings.HasPrefix(use, "git ") && strings.Contains(use, " -c%s") {
			return // a setting is no host
		}
		uses++
		sum := fnv.New32a() // a further entry changes no other line of the sample
		sum.Write([]byte(use))
		at := int(sum.Sum32() >> 1)
		if at%every != 0 {
			return
		}
		for i, s := range policies { // each use with some of the words
			w := words[(at/every+i)%len(words)]
			want := decide(s, use, w.plain)
			if want == Allow || strings.Contains(use, "@%s") && strings.Contains(w.plain, "/") {
				continue
			}
			if decide(s, use, "evilcom") != Allow || decide(s, use, "a:b") != Allow {
				continue // it is asked about whatever the host is
			}
			for _, form := range w.forms {
				if strings.ContainsAny(form, " \t\n") && !strings.Contains(use, " %s") && (!strings.Contains(use, "=%s") || strings.Contains(use, ":=%s")) {
					continue // the word is no URL
				}
				met++
				got := decide(s, use, form)
				if got == Allow || want == Deny && got != Deny && !unsure(form) {
					t.Errorf("%s: %v, but %v for %s", fmt.Sprintf(use, fmt.Sprintf("%q", form)), got, want, w.plain)
				}
			}
		}
	})
	t.Logf("%d uses, %d other spellings", uses, met)
	if met < 1000000/every {
		t.Errorf("%d uses and %d spellings: the catalogue is not covered", uses, met)
	}
}

// fullStop returns a dot for the full stops of other scripts.
func fullStop(r rune) rune {
	if strings.ContainsRune("\u3002\uff0e\uff61\u2024", r) {
		return '.'
	}
	return r
}

// unsure reports whether parsers disagree on the host of a word.
func unsure(word string) bool {
	return strings.Contains(word, "\u2024") || strings.HasPrefix(word, "https:1")
}

// hostWord is a word with a host in its plain form, and the same with its other forms.
type hostWord struct {
	plain string
	forms []string
}

func hostWords() (words []hostWord) {
	for _, host := range slices.Sorted(maps.Keys(hostForms)) {
		for _, text := range []string{"%s", "%s/x", "%s:5000/x", "user@%s:x", "https://%s/x", "ssh://%s/x"} {
			w := hostWord{plain: fmt.Sprintf(text, host)}
			for _, form := range hostForms[host] {
				if strings.Contains(form, "\u2024") && !strings.HasPrefix(text, "https") && text != "%s" {
					continue // only some parsers take it for a dot
				}
				if text == "%s/x" && !strings.Contains(strings.Map(fullStop, form), ".") {
					continue // a number and a slash are the name of something
				}
				w.forms = append(w.forms, fmt.Sprintf(text, form))
			}
			if strings.HasPrefix(text, "https") {
				for _, scheme := range schemeForms {
					w.forms = append(w.forms, scheme+host+"/x")
				}
			}
			words = append(words, w)
		}
	}
	return words
}
