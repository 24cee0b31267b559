package permission

import (
	"strings"
	"testing"
)

// private is the private directory of the sessions in these tests.
const private = "/tmp/agent-wrapper-1"

// scratchEnv is a machine on which others use /tmp too: /tmp/old existed before the
// session, /tmp/theirs is another user's, /tmp/agent-wrapper-2 another session's,
// and there are links.
var scratchEnv = fakeFS{
	files:  []string{private, "/tmp/old/file", "/tmp/agent-wrapper-2/file", "/tmp/mine/a", workspace + "/a.go"},
	others: []string{"/tmp/theirs"},
	links:  map[string]string{"/tmp/link": home + "/.bashrc", private + "/link": home + "/notes", "/tmp/mine/link": "/etc/motd", "/tmp/dir": "/etc"},
}

// inScratch decides a tool use in a session that has made /tmp/mine.
func inScratch(t *testing.T, s spec, use ToolUse) Decision {
	t.Helper()
	session := s.session(t)
	session.Scratch(private, "/tmp", "/private/tmp")
	session.made([]string{"/tmp/mine", "/tmp/theirs", "/tmp/gone"})
	use.Dir = workspace
	return Evaluate(s.policy(t), session, &use, scratchEnv, nil)
}

// said returns the use of a file tool, or of Bash.
func said(text string) ToolUse {
	if tool, arg, found := strings.Cut(text, " "); found && (tool == "Write" || tool == "Edit" || tool == "Read") {
		return using(tool, arg)
	}
	return using("Bash", text)
}

func TestNotScratch(t *testing.T) {
	for _, text := range []string{
		// not below it
		"Write /tmp/x/../../etc/passwd", "Write " + private + "/../x/../../etc/passwd", "Write /tmp", "Write /tmpx", "echo x > /tmp/x/../../etc/motd",
		"Write /home/dev/other", "rm -rf " + private, "rm -rf " + private + "/", "rm -rf /tmp", "rmdir " + private,
		// what existed before, and what others have
		"Write /tmp/old/file", "Write /tmp/old/new", "echo x >> /tmp/old/file", "rm /tmp/old/file", "rm -rf /tmp/old", "Read /tmp/old/file", "cat /tmp/old/file",
		"Write /tmp/agent-wrapper-2/x", "Read /tmp/agent-wrapper-2/file", "rm -rf /tmp/agent-wrapper-2", "cat /tmp/agent-wrapper-2/file",
		"Write /tmp/theirs", "Write /tmp/theirs/x", "Read /tmp/theirs", "rm /tmp/theirs",
		// links
		"Write /tmp/link", "echo x > /tmp/link", "Read /tmp/link", "cat /tmp/link", "Write " + private + "/link", "cat " + private + "/link", "Write /tmp/mine/link", "Write /tmp/dir/new", "cp a.go /tmp/dir",
		"ln -s ~/.bashrc /tmp/new", "ln -s a.go /tmp/new", "ln a.go /tmp/new", "cp -l a.go /tmp/new", "cp --link a.go " + private + "/new", "cp -rs a.go /tmp/new", "link a.go /tmp/new",
		"ln -s a.go /tmp/new; echo x > /tmp/new", "ln -s . /tmp/new; cat /tmp/new/a.go", "cp -a a.go /tmp/new; echo x > /tmp/new", "cp -P a.go " + private + "/new && cat " + private + "/new",
		"echo x > " + private + "/D/y; cp -r sub " + private + "/d", "cp -r sub /tmp/new && cat /tmp/new/x", "mv " + private + "/a " + private + "/b; echo x > " + private + "/b",
		"tar xf a.tar -C /tmp/new; echo x > /tmp/new/y", "git clone https://example.com/x /tmp/new; cat /tmp/new/README", "unzip a.zip -d " + private + "; cat " + private + "/x",
		"rsync -a sub/ /tmp/new; echo x > /tmp/new/y", "cp -r sub " + private + "/d; cat " + private + "/*/x", "cp -r sub /tmp/new/d; cat -r /tmp/new; grep -R x /tmp/new",
		// patterns and unknown words
		"rm -rf /tmp/*", "rm -rf /tmp/m*", "rm -rf /tmp/mine*", "rm /tmp/{mine,*}", "rm -rf /tmp/$x", "rm -rf " + private + "/$x", "echo x > /tmp/$x", "echo x > /tmp/new.$$", "rm -rf $TMPDIR", "rm -rf ${TMPDIR}", "rm -rf $TMPDIR/..", "rm -rf $TMPDIR/../old",
		"TMPDIR=/etc; rm $TMPDIR/x", "TMPDIR=/etc rm -rf $TMPDIR/x", "unset TMPDIR; rm -rf $TMPDIR/x", "env -i bash -c 'rm -rf $TMPDIR/x'", "bash -c 'rm -rf $TMPDIR/x'", "read TMPDIR; rm -rf $TMPDIR/x", "rm -rf $TMPDIR2/x",
		// more than scratch
		"rm -rf " + private + "/x ./build", "rm " + private + "/x a.go", "mv a.go " + private + "/x", "mv " + private + "/x a.go", "cp " + private + "/x a.go", "cp ~/notes " + private + "/x",
		"cp /etc/hostname /tmp/new", "rm -rf /tmp/mine /tmp/old", "touch /tmp/new /tmp/old/new", "tee /tmp/new a.go < a.go",
		// names that are protected
		"Write /tmp/agent-wrapper.toml", "Write " + private + "/agent-wrapper.toml", "Write " + private + "/.git/config", "Write /tmp/new/.git/hooks/pre-commit", "echo x > /tmp/.bashrc", "Write " + private + "/.claude/settings.json", "rm -rf " + private + "/x/.git", "mkdir " + private + "/.git", "Write /tmp/mine/.mcp.json",
		// programs
		private + "/x.sh", "/tmp/mine/a", "bash " + private + "/x.sh", "echo ls > /tmp/new; sh /tmp/new", "cp a.go /tmp/new && /tmp/new", "python3 /tmp/mine/a", "source " + private + "/x", "make -f /tmp/new", "/tmp/new/rm -rf " + private + "/x", "chmod u+s " + private + "/x", "chmod 777 /tmp/mine/a", "chmod +x /tmp/old/file", "sed -i s/a/b/w" + home + "/x " + private + "/x", "sed -i s/a/b/e " + private + "/x", "gofmt -w " + private + "/x a.go",
		"sudo rm -rf " + private + "/x", "git clone https://example.com/x " + private + "/x", "curl -o /tmp/new https://example.com", "npm install --prefix " + private, "find " + private + " -delete", "xargs rm -rf < " + private + "/x",
		"cat ~/.ssh/id_rsa > /tmp/new", "cp .env /tmp/new", "dd if=/dev/sda of=" + private + "/x",
		"install a.go " + private + "/x", "LD_PRELOAD=" + private + "/x.so rm " + private + "/y",
	} {
		s := spec{unlisted: byMode, risk: true}
		p := s.policy(t)
		p.SensitiveAsks = true
		session := s.session(t)
		session.Scratch(private, "/tmp", "/private/tmp")
		session.made([]string{"/tmp/mine", "/tmp/theirs", "/tmp/gone"})
		u := said(text)
		u.Dir = workspace
		if d := Evaluate(p, session, &u, scratchEnv, nil); d.Behavior == Allow {
			t.Errorf("%s: %v %s", text, d.Behavior, d.Reason)
		}
	}
}

func TestScratch(t *testing.T) {
	for _, text := range []string{
		"Write " + private + "/x", "Write " + private + "/a/b/c", "Read " + private + "/x", "Edit " + private + "/x", "cat " + private + "/x", "grep -rn x " + private, "ls " + private, "grep x $TMPDIR/x",
		"echo x > " + private + "/x", "echo x > $TMPDIR/x", `echo x > "$TMPDIR/x"`, "echo x > ${TMPDIR}/x", "rm -rf $TMPDIR/x", `rm -rf "$TMPDIR"/x $TMPDIR/y`, "rm -f $TMPDIR/*.log", "rm -rf " + private + "/*",
		"mkdir -p $TMPDIR/a/b && cp a.go $TMPDIR/a/b && cat $TMPDIR/a/b/a.go", "cp -r sub $TMPDIR/d", "mv $TMPDIR/a $TMPDIR/b", "ls | tee $TMPDIR/x", "cd $TMPDIR && touch x && rm x", "chmod +x $TMPDIR/x", "sed -i s/a/b/ $TMPDIR/x",
		"Write /tmp/new", "Write /tmp/new/a/b", "echo x > /tmp/new 2>&1; tail -5 /tmp/new", "cat a.go > /tmp/new && diff a.go /tmp/new; rm /tmp/new", "rm -f /tmp/new", "Read /tmp/new",
		"Write /private/tmp/new", "for i in 1 2; do echo $i > /tmp/new-$i; done", "mkdir -p /tmp/new/a; cp a.go /tmp/new/a/; cat /tmp/new/a/a.go", "ls | tee /tmp/new | wc -l", "cp a.go /tmp/new; cat /tmp/new",
		"Write /tmp/mine/b", "Read /tmp/mine/a", "cat /tmp/mine/a", "rm -rf /tmp/mine", "echo x >> /tmp/mine/a", "Write /tmp/gone", "echo x > /tmp/mine/../new",
	} {
		d := inScratch(t, spec{unlisted: byMode, risk: true}, said(text))
		if d.Behavior != Allow {
			t.Errorf("%s: %v %s", text, d.Behavior, d.Reason)
		}
		if strings.HasPrefix(text, "Write ") && (!strings.HasPrefix(d.Reason, "scratch") || d.Layer != LayerDefault || d.Tier != 1) {
			t.Errorf("%s: %s %s, tier %d", text, d.Layer, d.Reason, d.Tier)
		}
		// Without a session nothing is known of it.
		if plain := (spec{unlisted: byMode, risk: true, env: scratchEnv}).decideOn(t, said(text)); plain.Behavior == Allow && strings.HasPrefix(text, "Write ") {
			t.Errorf("%s without a session: %s", text, plain.Reason)
		}
	}
}

// TestScratchUnderRules: rules, unlisted = "deny" and modes that deny a write in the workspace
// deny one there.
func TestScratchUnderRules(t *testing.T) {
	for _, tt := range []struct {
		name string
		spec spec
		text string
		want Behavior
		by   Layer
	}{
		{"deny list", spec{deny: "Bash(rm:*)"}, "rm $TMPDIR/x", Deny, LayerDenyList},
		{"deny of writes", spec{deny: "Edit(//tmp/**)"}, "echo x > /tmp/new", Deny, LayerDenyList},
		{"session deny", spec{sessionDeny: "Bash(rm:*)"}, "rm $TMPDIR/x", Deny, LayerSessionDeny},
		{"ask list", spec{ask: "Bash(rm:*)"}, "rm $TMPDIR/x", Ask, LayerAskList},
		{"bare ask", spec{ask: "Write"}, "Write /tmp/new", Ask, LayerAskList},
		{"bare ask of a tree", spec{ask: "Bash"}, "rm -rf $TMPDIR/x", Ask, LayerAskList},
		{"ask of reads", spec{ask: "Read(//tmp/**)"}, "Read /tmp/mine/a", Ask, LayerAskList},
		{"unlisted", spec{allow: "Read", unlisted: UnlistedDeny}, "Write /tmp/new", Deny, LayerAllowList},
		{"list", spec{allow: "Read"}, "Write /tmp/new", Allow, LayerDefault},
		{"bounded list", spec{allow: "Edit(src/**)"}, "Write /tmp/new", Allow, LayerDefault},
		{"bounded reads", spec{allow: "Read(src/**)"}, "cat $TMPDIR/x", Allow, LayerDefault},
		{"bounded list, elsewhere", spec{allow: "Edit(src/**)"}, "Write a.go", Ask, LayerAllowList},
		{"plan", spec{mode: "plan"}, "Write /tmp/new", Deny, LayerMode},
		{"plan, removal", spec{mode: "plan"}, "rm $TMPDIR/x", Deny, LayerMode},
		{"dontAsk", spec{mode: "dontAsk"}, "Write /tmp/new", Allow, LayerDefault},
		{"dontAsk with a list", spec{mode: "dontAsk", allow: "Read"}, "Write /tmp/new", Deny, LayerAllowList},
		{"acceptEdits", spec{mode: "acceptEdits"}, "Write /tmp/new", Allow, LayerMode},
		{"acceptEdits, before the session", spec{mode: "acceptEdits"}, "Write /tmp/old/new", Ask, LayerDefault},
		{"tree by a rule of the session", spec{sessionAllow: "Bash(rm:*)"}, "rm -rf $TMPDIR/x", Allow, LayerSessionAllow},
		{"tree elsewhere", spec{sessionAllow: "Bash(rm:*)"}, "rm -rf build", Deny, LayerDefault},
	} {
		tt.spec.risk = true
		if tt.spec.unlisted == 0 {
			tt.spec.unlisted = byMode
		}
		if d := inScratch(t, tt.spec, said(tt.text)); d.Behavior != tt.want || d.Layer != tt.by {
			t.Errorf("%s: %v by %v, want %v by %v: %s", tt.name, d.Behavior, d.Layer, tt.want, tt.by, d.Reason)
		}
	}
}

// TestScratchIsRemembered: what an allowed tool use makes may be read and removed
// later; what was only read, removed or refused may not.
func TestScratchIsRemembered(t *testing.T) {
	fs := fakeFS{}
	v, _ := evaluator(t, spec{unlisted: byMode, risk: true, deny: "Bash(make:*)"}, nil)
	v.Session.Scratch(private, "/tmp")
	step := func(text string, want Behavior) {
		t.Helper()
		v.Env = fs
		if res := can(t, v, said(text)); res.Behavior != want {
			t.Errorf("%s: %v: %s", text, res.Behavior, res.Reason)
		}
	}
	step("echo x > /tmp/a; mkdir /tmp/d", Allow)
	step("cat /tmp/b", Allow)
	step("rm -f /tmp/c", Allow)
	step("make > /tmp/e", Deny)
	fs.files = []string{"/tmp/a", "/tmp/b", "/tmp/c", "/tmp/d/x", "/tmp/e"}
	step("Read /tmp/a", Allow)
	step("echo y >> /tmp/a && rm /tmp/a", Allow)
	step("Write /tmp/d/y", Allow)
	step("rm -rf /tmp/d", Allow)
	for _, text := range []string{"cat /tmp/b", "Write /tmp/b", "cat /tmp/c", "rm /tmp/c", "cat /tmp/e"} {
		step(text, Deny) // there is nobody to ask
	}
	fs.others = []string{"/tmp/a"}
	step("cat /tmp/a", Deny)
	fs.others, fs.links = nil, map[string]string{"/tmp/d/x": "/etc/motd"}
	step("cat /tmp/d/x", Deny)
	if made := strings.Join(v.Session.standing().scratch.made, " "); made != "/tmp/a /tmp/d" {
		t.Errorf("made: %s", made)
	}
}

// TestScratchOfAnApprovedUse: what a person lets the agent make is of its making.
func TestScratchOfAnApprovedUse(t *testing.T) {
	v, _ := evaluator(t, spec{unlisted: byMode, risk: true}, &person{answers: []Answer{{Behavior: Allow}}})
	v.Session.Scratch(private, "/tmp")
	can(t, v, said("go build -o /tmp/tool ./cmd/tool"))
	v.Env = fakeFS{files: []string{"/tmp/tool"}}
	if res := can(t, v, said("rm /tmp/tool")); res.Behavior != Allow {
		t.Errorf("%v: %s", res.Behavior, res.Reason)
	}
}

// TestStarsOfScratch: a rule for any program file covers one that the session has made, or that
// belongs to a program's settings, and none that others may have written.
func TestStarsOfScratch(t *testing.T) {
	for text, want := range map[string]Behavior{
		"python /tmp/mine/x.py y": Allow, "python " + private + "/x.py": Allow, "python ~/.claude/skills/x.py": Allow, "python -m mypy /tmp/mine/x.py": Allow,
		"python /tmp/old/x.py": Ask, "python /tmp/theirs/x.py": Ask, "python /tmp/new.py": Ask, "python ~/x.py": Ask, "python ~/.claude/../x.py": Ask, "python /tmp/mine/../x.py": Ask,
		"python -m twine upload x.py": Ask,
	} {
		if d := inScratch(t, spec{allow: "Bash(python *.py *)", unlisted: byMode, risk: true}, said(text)); d.Behavior != want {
			t.Errorf("%s: %v %s", text, d.Behavior, d.Reason)
		}
	}
}
