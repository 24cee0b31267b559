package policy

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
)

// digest names what the policy says, not where: two files with the same rules
// in the same order have the same one.
func (s *Spec) digest() string {
	type rule struct {
		Tools, Paths, Commands, Patterns, Domains []string
		Action, Message                           string
	}
	said := struct {
		Mode, Unlisted, Risk, Catastrophic string
		Allow, Ask, Deny                   []string
		Rules                              []rule
	}{
		Mode: s.Mode, Unlisted: s.Unlisted, Risk: s.Risk, Catastrophic: s.Catastrophic,
		Allow: texts(s.Allow), Ask: texts(s.Ask), Deny: texts(s.Deny),
	}
	for _, r := range s.Rules {
		said.Rules = append(said.Rules, rule{r.Tools, r.Paths, r.Commands, r.Patterns, r.Domains, r.Action, r.Message})
	}
	data, err := json.Marshal(said)
	if err != nil { // strings and lists always have a form
		data = []byte(err.Error())
	}
	return fmt.Sprintf("sha256:%x", sha256.Sum256(data))
}

func texts(items []Item) []string {
	var list []string
	for _, item := range items {
		list = append(list, item.Text)
	}
	return list
}
