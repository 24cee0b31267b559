package whitelist

import (
	"path"
	"slices"
	"strings"
	"unicode"
)

// outward are words in the name of a step, a script, a target or a command that
// publishes or deploys: what it changes is elsewhere, and others get to see it.
var outward = []string{
	"publish", "deploy", "deployment", "release", "push", "upload", "ship", "promote", "rollout", "apply", "destroy", "migrate",
}

// outwardPrograms are programs that do little else.
var outwardPrograms = []string{
	"twine", "scp", "rsync", "sftp", "vercel", "netlify", "wrangler", "firebase", "heroku", "eas", "flyctl", "fly", "serverless", "sls",
	"goreleaser", "semantic-release", "capistrano", "cap", "fastlane", "ansible-playbook",
}

// outwardOptions make a program that builds something publish it too.
var outwardOptions = []string{"--push", "--publish", "--deploy", "--release-to"}

// isOutward reports whether a text has a word that is outward: "deploy:prod".
func isOutward(text string) bool {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) })
	return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(outward, w) })
}

// publishes reports whether the words of a command say that it publishes or deploys:
// its program, an operand, or an option that makes it.
func publishes(words []string) bool {
	base := path.Base(words[0])
	if slices.Contains(outwardPrograms, base) || isOutward(base) {
		return true
	}
	return slices.ContainsFunc(words[1:], func(w string) bool {
		name, _, _ := strings.Cut(w, "=")
		if strings.HasPrefix(w, "-") {
			return slices.Contains(outwardOptions, name)
		}
		return !strings.Contains(w, " ") && isOutward(path.Base(w))
	})
}

// withoutListed removes from what is off all that is listed as well.
func (d *draft) withoutListed() {
	for name, s := range d.off {
		on := d.programs[name]
		if on == nil {
			continue
		}
		has := func(list []string) func(string) bool {
			return func(text string) bool { return slices.Contains(list, text) }
		}
		s.phrases = slices.DeleteFunc(s.phrases, has(on.phrases))
		more := slices.ContainsFunc(append(s.args, s.words...), func(w string) bool { return !slices.Contains(append(on.args, on.words...), w) })
		if s.bare = s.bare && (!on.bare || more); !s.bare && len(s.phrases) == 0 {
			delete(d.off, name)
		}
	}
}
