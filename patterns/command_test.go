package patterns

import (
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/shell"
)

var here = Place{Workspace: "/home/dev/proj", Home: "/home/dev"}

// rule parses a rule that must load, bound to here.
func rule(t testing.TB, text string, list List) *Rule {
	t.Helper()
	r, _, err := Parse(text, list, Source{})
	if err != nil {
		t.Fatalf("Parse(%s): %v", text, err)
	}
	return r.bound(here, 0)
}

// commands returns the commands of a line as subjects.
func commands(line string) []*Subject {
	facts := shell.Analyze(line, shell.Options{Dir: here.Workspace, Home: here.Home, Workspace: here.Workspace})
	var subs []*Subject
	for i := range facts.Actions {
		if a := &facts.Actions[i]; a.Kind == shell.Command {
			subs = append(subs, &Subject{Kind: RunCommand, Tool: "Bash", Command: a, Line: line, Simple: facts.Simple})
		}
	}
	return subs
}

// first matches a rule against the first command of a line.
func first(t testing.TB, r *Rule, line string) Match {
	t.Helper()
	subs := commands(line)
	if len(subs) == 0 {
		t.Fatalf("no command in %q", line)
	}
	return r.match(subs[0], Query{})
}

// TestHomeUnknown: where the home directory is not known, ~ is any text to a deny rule, and
// an allow rule with it matches nothing.
func TestHomeUnknown(t *testing.T) {
	t.Parallel()
	for list, want := range map[List]Match{Allow: No, Deny: Yes} {
		r, _, err := Parse("Bash(cat ~/.ssh/id)", list, Source{})
		if err != nil {
			t.Fatal(err)
		}
		if m := first(t, r.bound(Place{Workspace: here.Workspace}, 0), "cat /root/.ssh/id"); m != want {
			t.Errorf("%v: %v, want %v", list, m, want)
		}
	}
}

func TestAllowCommand(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		rule    string
		covers  []string
		refuses []string
	}{
		{
			rule:    "Bash(git status)",
			covers:  []string{"git status", "git  status", "git 'status'", `"git" stat"us"`, `g\it status`},
			refuses: []string{"git status -s", "git", "./git status", "/usr/bin/git status", "git Status", "git $x", `git "$x"`, "git stat*", "FOO=1 git status", "git 'status '"},
		},
		{
			rule:    "Bash(git push:*)",
			covers:  []string{"git push", "git push origin main", "git push --force", `git "push" 'a b'`},
			refuses: []string{"git pushx", "git pus", "git -C x push", "git 'push x'", "/usr/bin/git push", "git $x", "git push $x", "git p*", "X=1 git push"},
		},
		{
			rule:    "Bash(git push *)",
			covers:  []string{"git push", "git push origin"},
			refuses: []string{"git pushx", "git pull"},
		},
		{
			rule:    "Bash(git push  :*)",
			covers:  []string{"git push", "git push x"},
			refuses: []string{"git pushx"},
		},
		{
			rule:    "Bash(ls*)",
			covers:  []string{"ls", "ls -la", "lsof"},
			refuses: []string{"als", "ls/../../bin/rm x", "./ls"},
		},
		{
			rule:    "Bash(git * main)",
			covers:  []string{"git push main", "git push origin main"},
			refuses: []string{"git main", "git push mainx", "git push 'x main'", "git push main x", "git $x main"},
		},
		{
			rule:    "Bash(npm run test*)",
			covers:  []string{"npm run test", "npm run test:unit", "npm run test -- x"},
			refuses: []string{"npm run tes", "npm 'run test'", "npm run build"},
		},
		{
			rule:    "Bash(node .claude/*)",
			covers:  []string{"node .claude/x.js", "node .claude/a/b.js y"},
			refuses: []string{"node .claude/../evil.js", "node .claudex", "node evil.js"},
		},
		{
			rule:    "Bash(curl -s http://localhost:3000/*)",
			covers:  []string{"curl -s http://localhost:3000/", "curl -s http://localhost:3000/api/x"},
			refuses: []string{"curl -s http://localhost:3000", "curl -s http://localhost:30001/", "curl http://localhost:3000/"},
		},
		{
			rule:    `Bash(l\s \?)`,
			covers:  []string{"ls '?'"},
			refuses: []string{"ls x", "ls"},
		},
		{
			rule:    "Bash(ls ?)",
			covers:  []string{"ls '?'"},
			refuses: []string{"ls x", "ls"},
		},
		{
			rule:    "Bash(find . -name '*.go')",
			covers:  []string{"find . -name '*.go'", `find . -name "*.go"`, `find . -name \*.go`},
			refuses: []string{"find . -name a.go", "find . -name *.go", "find . -name '*.go' -delete"},
		},
		{
			rule:    "Bash(source ~/.bashrc)",
			covers:  []string{"source ~/.bashrc", "source /home/dev/.bashrc"},
			refuses: []string{"source '~/.bashrc'", "source /root/.bashrc"},
		},
		{
			rule:    `Bash(python3 -c "import serial; print\(serial.__version__\)")`,
			covers:  []string{`python3 -c "import serial; print(serial.__version__)"`},
			refuses: []string{`python3 -c "import serial; print(serial.__version__); x"`, "python3 -c x"},
		},
		{
			rule:    "Bash(python3 -c ' *)",
			covers:  []string{"python3 -c 'print(1)'", "python3 -c ' import x'"},
			refuses: []string{"python3 x.py", "python3 -cx", "python3"},
		},
		{
			rule:    "Bash(cd web && npm test)",
			covers:  []string{"cd web && npm test", "  cd web && npm test\n"},
			refuses: []string{"cd web", "npm test", "cd web  && npm test", "cd web && npm test; ls"},
		},
		{
			rule:    "Bash(echo $SHELL)",
			covers:  []string{"echo $SHELL"},
			refuses: []string{"echo /bin/sh", "echo '$SHELL'", "echo $SHELL; ls"},
		},
		{
			rule:    "Bash(NODE_ENV=test npm test)",
			covers:  []string{"NODE_ENV=test npm test"},
			refuses: []string{"npm test", "NODE_ENV=prod npm test"},
		},
		{
			rule:    "Bash(ls|rm:*)",
			refuses: []string{"ls", "rm -rf build", "ls | rm x"},
		},
		{
			rule:   "Bash",
			covers: []string{"anything $x", "FOO=1 x"},
		},
	} {
		r := rule(t, test.rule, Allow)
		for _, line := range test.refuses {
			if m := first(t, r, line); m != No {
				t.Errorf("allow %s on %q: %v, want no", test.rule, line, m)
			}
		}
		for _, line := range test.covers {
			if m := first(t, r, line); m != Yes {
				t.Errorf("allow %s on %q: %v, want yes", test.rule, line, m)
			}
		}
	}
}

func TestDenyCommand(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		rule  string
		no    []string
		maybe []string
		yes   []string
	}{
		{
			rule:  "Bash(rm:*)",
			no:    []string{"ls rm", "rmdir x", "./rm.sh", "git rm x", "echo rm", "grep rm f"},
			maybe: []string{"$X -rf b", "unfamiliar rm x", "unfamiliar -x /bin/rm x", `"$x" b`, "r* x", "/bin/$x y"},
			yes:   []string{"rm x", `r\m x`, "'rm' x", "/bin/rm x", "./rm", "/bin/../bin/rm x", "~/rm x", "rm", "rm $x"},
		},
		{
			rule:  "Bash(rm -rf:*)",
			no:    []string{"rm x", "rm -r x", "rm -f x", "rm -- -rf", "rm -i x", "rm *.log", "rm -v x"},
			maybe: []string{"rm $x", "rm -r $x", `rm "$x"`, "rm -$x y", "unfamiliar rm -rf x"},
			yes:   []string{"rm -rf x", "rm -fr x", "rm -r -f x", "rm x -rf", "rm --recursive --force x", "rm --rec --forc x", "rm -vrf x", "rm -R -f x", "rm -rfv x"},
		},
		{
			rule:  "Bash(git push --force:*)",
			no:    []string{"git push", "git push origin main", "git commit -m --force", "git status --force", "git push -- --force", "git -C push status --force"},
			maybe: []string{"git push $x", "git $x", "git $x --force", "git --unlisted-option x push --force"},
			yes: []string{"git push --force", "git push origin main --force", "git -C x push origin main --force", "git push -f", "git -c a=b push -fu origin",
				"git push --force --forc", "/usr/bin/git push --force", "git --no-pager push --force"},
		},
		{
			rule: "Bash(git push -f:*)",
			no:   []string{"git push", "git push origin f"},
			yes:  []string{"git push --force", "git push -f", "git push -uf"},
		},
		{
			rule: "Bash(git push* )",
			no:   []string{"git pull"},
			yes:  []string{"git push", "git pushx", "git -C x push y"},
		},
		{
			rule: "Bash(* --force)",
			no:   []string{"git push", "git push -- --force x"},
			yes:  []string{"git push --force", "git push --force origin", "unfamiliar --force x", "git push -- --force"},
		},
		{
			rule:  "Bash(git * main)",
			no:    []string{"git main", "git push origin mainx"},
			maybe: []string{"git push $x"},
			yes:   []string{"git push main", "git push origin main", "/usr/bin/git push main", "git commit -m 'to main'"},
		},
		{
			rule: "Bash(mkfs*)",
			no:   []string{"ls mkfs"},
			yes:  []string{"mkfs /dev/sda", "mkfs.ext4 /dev/sda", "/sbin/mkfs.ext4 /dev/sda"},
		},
		{
			rule: "Bash(find * -exec *)",
			no:   []string{"find . -name x"},
			yes:  []string{`find . -exec rm {} \;`, `find a b -name x -exec rm {} +`, `find -exec rm {} \;`},
		},
		{
			rule: "Bash(find * -delete*)",
			no:   []string{"find . -name x"},
			yes:  []string{"find . -delete", "find . -name x -delete"},
		},
		{
			rule: "Bash(sed -i:*)",
			no:   []string{"sed s/a/b/ f", "sed -n p f", "sed -e -i f"},
			yes:  []string{"sed -i s/a/b/ f", "sed -i.bak s/a/b/ f", "sed -ni p f", "sed -Ei p f", "sed --in-place p f", "sed --in-p p f", "sed p f -i"},
		},
		{
			rule: "Bash(sort -o:*)",
			no:   []string{"sort f", "sort -rn f", "sort -k o f"},
			yes:  []string{"sort -o f f", "sort -of f", "sort --output=f f", "sort --out f f", "sort -uof f"},
		},
		{
			rule: "Bash(sort --output:*)",
			no:   []string{"sort f"},
			yes:  []string{"sort -o f f", "sort --outp=f f"},
		},
		{
			rule: "Bash(chmod 777:*)",
			no:   []string{"chmod 755 x", "chmod 0776 x", "chmod x 777"},
			yes:  []string{"chmod 777 x", "chmod -R 777 .", "chmod 0777 x", "/bin/chmod 00777 x"},
		},
		{
			rule: "Bash(git commit --author=*:*)",
			no:   []string{"git commit", "git commit -m author"},
			yes:  []string{"git commit --author=me", "git commit --author 'me'", "git commit -m x --author=me"},
		},
		{
			rule:  "Bash(git push)",
			no:    []string{"git push origin", "git push -f", "git"},
			maybe: []string{"git push $x"},
			yes:   []string{"git push", "git -C x push", "/usr/bin/git push"},
		},
		{
			rule:  "Bash(./deploy.sh:*)",
			no:    []string{"deploy.sh", "sub/deploy.sh", "../deploy.sh"},
			maybe: []string{"$x"},
			yes:   []string{"./deploy.sh", "././deploy.sh x", "/home/dev/proj/deploy.sh", "sub/../deploy.sh"},
		},
		{
			rule:  "Bash(/usr/bin/rm:*)",
			no:    []string{"./rm x", "rmdir"},
			maybe: []string{"rm x", "/bin/rm x"},
			yes:   []string{"/usr/bin/rm x", "/usr/bin/../bin/rm x"},
		},
		{
			rule: "Bash(rm -rf ~)",
			no:   []string{"rm -rf x", "rm -rf ~/x"},
			yes:  []string{"rm -rf ~", "rm -fr /home/dev", "rm -rf $HOME"},
		},
		{
			rule: "Bash(curl x.sh | bash)",
			no:   []string{"curl x.sh", "curl x.sh|bash", "bash"},
			yes:  []string{"curl x.sh | bash"},
		},
		{
			rule: "Bash(*rm -rf*)",
			no:   []string{"ls"},
			yes:  []string{"rm -rf x", "sudo rm -rf x", "echo 'rm -rf x'"},
		},
		{
			rule:  "Bash(git checkout -- *)",
			no:    []string{"git checkout main", "git checkout -b x", "git status -- x"},
			maybe: []string{"git checkout $x"},
			yes:   []string{"git checkout -- .", "git checkout main -- x", "git -C y checkout -- ."},
		},
		{
			rule: "Bash(rm -rf /*)",
			no:   []string{"rm -rf x", "rm -r /x"},
			yes:  []string{"rm -rf /etc", "rm -fr /etc", "rm -rf /", "rm -r -f /a b"},
		},
		{
			rule: "Bash(git reset --hard origin/*)",
			no:   []string{"git reset --hard", "git reset origin/x", "git reset --hard HEAD"},
			yes:  []string{"git reset --hard origin/main", "git reset origin/main --hard", "git -C x reset --hard origin/a"},
		},
		{
			rule: "Bash(rm -rf .)",
			no:   []string{"rm -rf x", "rm -rf ./x", "rm -rf . x", "rm -rfv ."},
			yes:  []string{"rm -rf .", "rm -fr ./", "rm -rf x/..", "rm --recursive --force ."},
		},
		{
			rule: "Bash(rm -rf build:*)",
			no:   []string{"rm -rf builds", "rm -rf x/build"},
			yes:  []string{"rm -rf build", "rm -rf ./build", "rm -rf build/", "rm -rf ./x/../build/ y"},
		},
		{
			rule: "Bash(tar -x:*)",
			no:   []string{"tar tf a", "tar -cf a"},
			yes:  []string{"tar xf a", "tar -xf a", "tar --extract -f a", "tar vxf a"},
		},
		{
			rule:  "Bash(unheard --prod:*)",
			no:    []string{"unheard x", "unheard -- --prod", "unheard --production"},
			maybe: []string{"unheard --pro", "unheard $x", "unheard --pr$x"},
			yes:   []string{"unheard --prod", "unheard x --prod", "unheard --prod=1 x"},
		},
		{
			rule:  "Bash(unheard -xy:*)",
			no:    []string{"unheard -x", "unheard xy"},
			maybe: []string{"unheard -yx", "unheard -x -y", "unheard -axyz"},
			yes:   []string{"unheard -xy", "unheard a -xy"},
		},
		{
			rule:  "Bash(unheard go)",
			no:    []string{"unheard", "unheard go on", "unheard go -v", "unheard went"},
			maybe: []string{"unheard $x", "other unheard go"},
			yes:   []string{"unheard go", "./unheard go"},
		},
		{
			rule:  "Bash(* --prod)",
			maybe: []string{`"$x" -p`, "$x"},
			no:    []string{`"$x" prod`},
			yes:   []string{"x --prod", "x --prod y"},
		},
		{
			rule: "Bash(sudo rm:*)",
			no:   []string{"sudo ls", "rm x"},
			yes:  []string{"sudo rm x", "sudo -u root rm x", "sudo -n rm x"},
		},
	} {
		r := rule(t, test.rule, Deny)
		for want, lines := range map[Match][]string{No: test.no, Maybe: test.maybe, Yes: test.yes} {
			for _, line := range lines {
				if m := first(t, r, line); m != want {
					t.Errorf("deny %s on %q: %v, want %v", test.rule, line, m, want)
				}
			}
		}
	}
}

// A word that may split proves nothing for a pattern that counts words.
func TestAllowSplitWords(t *testing.T) {
	t.Parallel()
	unknown := shell.Word{Holes: []shell.Hole{{}}, Split: true}
	globbed := shell.Word{Text: "x/", Holes: []shell.Hole{{At: 2, Kind: shell.Glob}}, Split: true}
	for _, test := range []struct {
		rule  string
		words []shell.Word
		want  Match
	}{
		{"Bash(a * b)", []shell.Word{{Text: "a"}, unknown, {Text: "b"}}, No},
		{"Bash(a * b)", []shell.Word{{Text: "a"}, {Text: "x"}, unknown, {Text: "b"}}, No},
		{"Bash(a x*)", []shell.Word{{Text: "a"}, globbed, unknown}, Yes},
		{"Bash(a x/*)", []shell.Word{{Text: "a"}, globbed}, Yes},
		{"Bash(a:*)", []shell.Word{{Text: "a"}, unknown}, Yes},
		{"Bash(a x:*)", []shell.Word{{Text: "a"}, globbed}, No},
		{"Bash(a x/y)", []shell.Word{{Text: "a"}, globbed}, No},
	} {
		if m := rule(t, test.rule, Allow).match(commandOf(test.words), Query{}); m != test.want {
			t.Errorf("%s on %+v: %v, want %v", test.rule, test.words, m, test.want)
		}
	}
}

func TestReach(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		rule  string
		reach int
		want  Match
	}{
		{"Bash(xargs:*)", 0, Yes},
		{"Bash(xargs:*)", 1, No},
		{"Bash(xargs grep:*)", 1, Yes},
		{"Bash(xargs grep:*)", 2, No},
		{"Bash(xargs *)", 1, No},
		{"Bash(xargs g*)", 1, No},
		{"Bash(xargs grep x)", 1 << 62, Yes},
	} {
		sub := commands("xargs grep x")[0]
		if m := rule(t, test.rule, Allow).match(sub, Query{Reach: test.reach}); m != test.want {
			t.Errorf("%s reaching %d: %v, want %v", test.rule, test.reach, m, test.want)
		}
	}
}

// Exact rules and whole-line rules cover everything that the line does; a
// prefix rule covers the command only.
func TestLineSubjects(t *testing.T) {
	t.Parallel()
	write := &Subject{Kind: WritePath, Tool: "Bash", Line: "sort -o a b", Simple: true, Path: NewPath(shell.Word{Text: "a"}, here.Workspace, here, same)}
	opaque := &Subject{Kind: Hidden, Tool: "Bash", Line: "eval $x; ls", May: shell.MayRun}
	for _, test := range []struct {
		rule string
		list List
		sub  *Subject
		want Match
	}{
		{"Bash(sort -o a b)", Allow, write, Yes},
		{"Bash(sort:*)", Allow, write, No},
		{"Bash(sort -o a *)", Allow, write, No},
		{"Bash", Allow, write, Yes},
		{"Bash", Deny, write, No},
		{"Bash(sort:*)", Deny, write, No},
		{"Bash(eval $x; ls)", Allow, opaque, Yes},
		{"Bash(eval $x; ls)", Deny, opaque, Yes},
		{"Bash(eval $x)", Deny, opaque, No},
		{"Bash(eval:*)", Allow, opaque, No},
		{"Bash(ls)", Allow, opaque, No},
		{"Bash", Allow, opaque, Yes},
		{"Bash", Deny, opaque, Yes},
		{"Bash(rm:*)", Deny, opaque, Maybe},
		{"Bash(rm)", Deny, opaque, Maybe},
		{"Read(x)", Deny, opaque, Maybe},
		{"Edit(x)", Deny, opaque, Maybe},
		{"WebFetch(x.org)", Deny, opaque, Maybe},
		{"WebFetch", Deny, opaque, Maybe},
		{"Write(x)", Deny, opaque, Maybe},
		{"Grep(x)", Deny, opaque, No},
		{"mcp__x", Deny, opaque, No},
		{"Skill(x)", Deny, opaque, No},
		{"*", Deny, opaque, Yes},
	} {
		sub := *test.sub
		r := rule(t, test.rule, test.list)
		if m := r.match(&sub, Query{}); m != test.want {
			t.Errorf("%v %s: %v, want %v", test.list, test.rule, m, test.want)
		}
		if _, m := NewSet(here, r).Match(&sub, Query{}); m != test.want {
			t.Errorf("%v %s in a set: %v, want %v", test.list, test.rule, m, test.want)
		}
	}
}

func TestHiddenEffects(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		rule string
		may  shell.Effects
		want Match
	}{
		{"Read(x)", shell.MayRead, Maybe}, {"Read(x)", shell.MayWrite, No},
		{"Edit(x)", shell.MayWrite, Maybe}, {"Edit(x)", shell.MayRead, No},
		{"WebFetch(x.org)", shell.MayFetch, Maybe}, {"WebFetch(x.org)", shell.MayRead, No},
		{"Bash(rm:*)", shell.MayRead | shell.MayWrite | shell.MayFetch, No},
		{"Read", shell.MayRead, Maybe}, {"Edit", shell.MayRead, No},
	} {
		sub := &Subject{Kind: Hidden, Tool: "Bash", Line: "x", May: test.may}
		if _, m := NewSet(here, rule(t, test.rule, Ask)).Match(sub, Query{}); m != test.want {
			t.Errorf("%s and %v: %v, want %v", test.rule, test.may, m, test.want)
		}
	}
}

// Quoting a plain word never changes an answer.
func TestQuotingChangesNothing(t *testing.T) {
	t.Parallel()
	line := "git push origin main --force"
	for _, text := range []string{"Bash(git push:*)", "Bash(git push --force:*)", "Bash(git * --force)", "Bash(git push origin main --force)"} {
		for _, list := range []List{Allow, Ask, Deny} {
			r := rule(t, text, list)
			want := first(t, r, line)
			words := strings.Fields(line)
			for i := range words {
				for _, q := range []string{"'" + words[i] + "'", `"` + words[i] + `"`, `\` + words[i]} {
					spelled := strings.Join(words[:i], " ") + " " + q + " " + strings.Join(words[i+1:], " ")
					if m := first(t, r, spelled); m != want {
						t.Errorf("%v %s on %q: %v, want %v", list, text, spelled, m, want)
					}
				}
			}
		}
	}
}

// same is a resolver without symbolic links.
func same(name string) (string, bool) { return name, true }
