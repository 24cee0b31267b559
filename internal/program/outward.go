package program

import (
	"slices"
	"strings"
	"unicode"
)

// outward are words in the name or in the text of a script or target that does
// more than a rule for all of them should let run: what others get to see, what changes a
// database or another machine, and what installs.
var outward = []string{
	"publish", "deploy", "release", "push", "upload", "ship", "sync", "changeset", "twine", "semantic",
	"migrate", "migration", "migrations", "upgrade", "downgrade", "seed", "reset", "flush", "purge", "wipe", "drop", "destroy", "apply", "prod", "production",
	"ssh", "scp", "rsync", "kubectl", "helm", "terraform", "pulumi", "aws", "gcloud", "az", "docker", "podman", "vercel", "netlify", "fly", "wrangler", "firebase", "heroku", "eas",
	"install", "uninstall", "setup", "bootstrap", "login", "sudo", "curl", "wget", "npx", "dlx", "uvx", "bunx", "prune", "kill", "pkill",
}

// IsOutward reports whether a text has a word that says that a script does more than build,
// test or check a project where it is.
func IsOutward(text string) bool { return HasWord(text, outward) }

// HasWord reports whether a text has one of the words, in lower case, between other
// characters than letters and digits.
func HasWord(text string, words []string) bool {
	return slices.ContainsFunc(strings.FieldsFunc(text, notLetter), func(word string) bool { return slices.Contains(words, strings.ToLower(word)) })
}

func notLetter(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }
