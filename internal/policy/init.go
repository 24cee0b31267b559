package policy

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"github.com/agent-wrapper/agent-wrapper/internal/text/stricttoml"
)

// Kit is a language or a build tool that a project uses.
type Kit struct {
	Name  string
	about string   // what its allow rules are for
	marks []string // patterns of files that show that it is used
	allow []string // commands, to which own adds
	ask   []string // commands
	hosts []string // of its documentation
	own   func(project fs.FS) own
}

// own are the rules for what a project itself names.
type own struct {
	allow, ask []string // commands
	hosts      []string
}

// Kits returns the kits that a project uses, judged by the files in its top
// directory.
func Kits(project fs.FS) []Kit {
	var found []Kit
	for _, k := range kits {
		if slices.ContainsFunc(k.marks, func(mark string) bool { return exists(project, mark) }) {
			found = append(found, k)
		}
	}
	return found
}

// exists reports whether the project has a file that the pattern matches.
func exists(project fs.FS, pattern string) bool {
	names, err := fs.Glob(project, pattern)
	return err == nil && len(names) > 0
}

// maxProjectFile is the maximum number of bytes read from a file of the
// project.
const maxProjectFile = 1 << 20

// projectFile returns the beginning of the first of the named files that can be
// read. Only regular files are read: others may have no end, or block until
// there is a writer.
func projectFile(project fs.FS, names ...string) []byte {
	for _, name := range names {
		if info, err := fs.Stat(project, name); err != nil || !info.Mode().IsRegular() {
			continue
		}
		if data, err := readUpTo(project, name, maxProjectFile+1); err == nil && len(data) <= maxProjectFile {
			return data
		}
	}
	return nil
}

func readUpTo(project fs.FS, name string, n int64) ([]byte, error) {
	f, err := project.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, n))
}

// The rules common to all starting policies. What only looks needs none: its
// tier lets it run, and only here.
var (
	gitRules = []string{
		"git add:*", "git commit:*", "git mv:*", "git switch:*", "git checkout -b:*", "git checkout main", "git checkout master", "git stash", "git stash push:*",
		"git stash pop:*", "git stash apply:*", "git fetch:*", "git revert:*", "git merge --continue", "git init", "gh pr checkout:*",
	}
	gitAsks = []string{
		"git push:*", "git pull:*", "git reset:*", "git rebase:*", "git restore:*", "git clean:*", "git switch -f:*", "git switch -C:*",
	}
	// gitHosts are fetches from what is no remote of the repository: a URL, or the form of
	// scp. Hosts without a dot and a user are those of ~/.ssh/config.
	gitHosts    = []string{"git fetch *://*", "git fetch *@*:*", "git fetch *.*:*"}
	hereRules   = []string{"sleep:*", "kill %1"}
	localHosts  = []string{"localhost", "127.0.0.1"}
	secretRules = []string{
		"Read(.env)", "Read(.env.local)", "Read(.env.production)", "Read(*.pem)", "Read(*.key)", "Read(credentials.json)", "Read(~/.ssh/**)",
		"Read(~/.aws/**)", "Read(~/.gnupg/**)", "Read(~/.kube/**)", "Read(~/.config/gh/**)", "Read(~/.config/gcloud/**)", "Read(~/.netrc)", "Read(~/.npmrc)", "Read(~/.pypirc)", "Read(~/.git-credentials)",
	}
)

// start is a starting policy.
type start struct{ allow, ask, deny []Group }

func starting(project fs.FS) *start {
	s := &start{allow: []Group{{"git: local work that loses nothing", bash(gitRules)}}}
	var asks, hosts []string
	for _, k := range Kits(project) {
		more := own{}
		if k.own != nil {
			more = k.own(project)
		}
		s.allow = append(s.allow, Group{k.Name + ": " + k.about, bash(slices.Concat(k.allow, more.allow))})
		asks = slices.Concat(asks, k.ask, more.ask)
		hosts = slices.Concat(hosts, k.hosts, more.hosts)
	}
	s.allow = append(s.allow,
		Group{"waiting, jobs of the same command line, servers on this machine", append(bash(hereRules), fetches(localHosts)...)},
		Group{"documentation for what the project uses", fetches(distinct(hosts))})
	s.ask = []Group{
		{"git: what others see, and what discards work", bash(slices.Concat(gitAsks, gitHosts))},
		{"what publishes, deploys, migrates or installs", bash(asks)},
	}
	s.deny = []Group{
		{"secrets, by any tool; others (tokens, histories) are asked about", secretRules},
		{"running as another user", bash([]string{"sudo:*"})},
	}
	return s
}

// Starting returns a first policy for a project, with comments that explain its
// rules. With edits set it accepts edits in the workspace without a question.
func Starting(project fs.FS, edits bool) []byte { return StartingWith(project, edits, &Draft{}) }

// StartingWith is Starting with the rules of a draft added to its own.
func StartingWith(project fs.FS, edits bool, more *Draft) []byte {
	var b bytes.Buffer
	s := starting(project)
	s.allow, s.ask, s.deny = append(s.allow, more.Allow...), append(s.ask, more.Ask...), append(s.deny, more.Deny...)
	b.WriteString("# What the agent may do here. Made by agent-wrapper init: change it as you like,\n" +
		"# then: agent-wrapper trust " + FileName + ". All keys: docs/policy.md.\n\n")
	if edits {
		b.WriteString("# Files here are edited without asking: git shows the changes and can undo them.\n" +
			"# \"default\" asks about each edit. Both ask before files are removed.\n" +
			"mode = \"acceptEdits\"\n")
	} else {
		b.WriteString("# Each edit is asked about; \"acceptEdits\" allows edits to files here.\n" +
			"mode = \"default\"\n")
	}
	b.WriteString("# Commands that no rule names: harmless ones that stay here run (ls, grep, git\n" +
		"# log, gh pr view), others are asked about, rm -rf and the like are denied.\n" +
		"unlisted = \"risk\"\n" +
		"inline_code = \"as-files\" # python3 -c \"…\" needs the same rule as x.py\n")
	writeList(&b, "# Runs without asking, unless a rule below asks or denies.", "allow", s.allow)
	writeList(&b, "# Always asks, even where a rule above allows it.", "ask", s.ask)
	writeList(&b, "# Never.", "deny", s.deny)
	b.WriteString("\n# Writes to these always ask, like those to .git, CI files, and editor and shell\n" +
		"# settings: git cannot restore these. Add your own by name.\n" +
		"protect = [\".env\", \".env.local\", \".env.production\"]\n")
	writeRules(&b, more.Rules)
	return b.Bytes()
}

func bash(specs []string) []string {
	var rules []string
	for _, spec := range specs {
		rules = append(rules, "Bash("+spec+")")
	}
	return rules
}

// fetches returns rules for hosts.
func fetches(hosts []string) []string {
	var rules []string
	for _, host := range hosts {
		rules = append(rules, "WebFetch("+host+")")
	}
	return rules
}

// distinct returns the texts sorted, without empty ones and repetitions.
func distinct(texts []string) []string {
	texts = slices.DeleteFunc(slices.Clone(texts), func(t string) bool { return t == "" })
	slices.Sort(texts)
	return slices.Compact(texts)
}

// once returns the texts without empty ones and repetitions.
func once(texts []string) []string {
	var kept []string
	for _, t := range texts {
		if t != "" && !slices.Contains(kept, t) {
			kept = append(kept, t)
		}
	}
	return kept
}

// writeList writes a list of rules in groups. A rule is in it once.
func writeList(b *bytes.Buffer, about, key string, groups []Group) {
	fmt.Fprintf(b, "\n%s\n%s = [\n", about, key)
	var written []string
	for _, g := range groups {
		rules := slices.DeleteFunc(once(g.Rules), func(rule string) bool { return slices.Contains(written, rule) })
		writeGroup(b, Group{g.About, rules})
		written = append(written, rules...)
	}
	b.WriteString("]\n")
}

// columns is the width of a terminal, and of a starting policy.
const columns = 80

// writeGroup writes rules under a comment.
func writeGroup(b *bytes.Buffer, g Group) {
	if len(g.Rules) == 0 {
		return
	}
	fmt.Fprintf(b, "  # %s\n ", g.About)
	width := 1
	for _, rule := range g.Rules {
		text := " " + stricttoml.Quote(rule) + ","
		if width > 1 && width+len(text) > columns {
			b.WriteString("\n ")
			width = 1
		}
		b.WriteString(text)
		width += len(text)
	}
	b.WriteString("\n")
}

// Addition is a rule that Extend has added to one of the lists of a policy.
type Addition struct{ List, Rule string }

// Extend returns the text of a policy with those rules of a starting policy that
// it lacks, and these rules. Everything else stays as it is, byte for byte: the
// mode and all other keys, and what the policy says by a rule. A rule is not added
// to the allow list if another list has it.
func Extend(old []byte, name string, project fs.FS) (next []byte, added []Addition, err error) {
	spec, err := Parse(old, name)
	if err != nil {
		return nil, nil, err
	}
	next = old
	s := starting(project)
	for _, list := range []struct {
		key    string
		groups []Group
	}{{"allow", s.allow}, {"ask", s.ask}, {"deny", s.deny}} {
		for _, g := range list.groups {
			for _, text := range g.Rules {
				if spec.mentions(text) {
					continue
				}
				rule, err := spec.usableRule(text, listKeys[list.key])
				if err != nil {
					return nil, nil, err
				}
				longer, _, err := withRule(next, name, list.key, rule)
				if err != nil {
					return nil, nil, err
				}
				if !bytes.Equal(longer, next) {
					next, added = longer, append(added, Addition{list.key, text})
				}
			}
		}
	}
	return next, added, nil
}

// mentions reports whether a list has a rule, in any spelling.
func (s *Spec) mentions(text string) bool {
	for key, list := range listKeys {
		rule, err := s.usableRule(text, list)
		if err != nil {
			continue
		}
		if _, found := s.find(key, rule); found {
			return true
		}
	}
	return false
}
