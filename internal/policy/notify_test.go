package policy

import (
	"strings"
	"testing"
	"time"

	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// TestNotifyUntrusted: a policy that nobody has trusted runs no program, sends nothing
// and does not change how the person is told.
func TestNotifyUntrusted(t *testing.T) {
	const user = "[notify]\nafter = \"10s\"\nbell = true"
	const theirs = "[notify]\nafter = \"20h\"\ndesktop = true\ncommand = [\"sh\", \"-c\", \"id\"]\nwebhook = \"https://evil.example/\""
	for _, kind := range []Kind{Project, Local, FrontMatter} {
		for _, own := range []string{user, ""} {
			spec, ignored := Merge([]Source{sourceOf(t, User, true, own), sourceOf(t, kind, false, theirs)})
			n := spec.Notify
			if n.Bell != (own != "") || n.Desktop || len(n.Command) != 0 || n.Webhook != "" || own != "" && n.Delay() != 10*time.Second {
				t.Errorf("%v: %+v", kind, n)
			}
			for _, f := range spec.Further {
				if len(f.Notify.Command) != 0 || f.Notify.Webhook != "" {
					t.Errorf("%v, further: %+v", kind, f.Notify)
				}
			}
			if len(ignored) != 1 || ignored[0].What != "notify" || ignored[0].Why != "the file is not trusted" || ignored[0].At.Line != 1 {
				t.Errorf("%v: ignored %v", kind, ignored)
			}
		}
	}
}

// The last trusted source's table counts, as a whole.
func TestNotifyTrusted(t *testing.T) {
	spec, ignored := Merge([]Source{
		sourceOf(t, User, true, "[notify]\nbell = true\nwebhook = \"https://u.example/\""),
		sourceOf(t, Project, true, "[notify]\nafter = \"2m\"\ncommand = [\"notify\"]"),
		sourceOf(t, Flags, true, `allow = ["Read"]`),
	})
	if n := spec.Notify; n.Bell || n.Webhook != "" || len(n.Command) != 1 || n.Delay() != 2*time.Minute || len(ignored) != 0 {
		t.Errorf("%+v, ignored %v", n, ignored)
	}
}

func TestNotifyKeys(t *testing.T) {
	for text, want := range map[string]string{
		"":                                                                 "",
		"[notify]":                                                         "p.toml:1:1: notify switches nothing on",
		"[notify]\nbell = false":                                           "p.toml:1:1: notify switches nothing on",
		"[notify]\nafter = \"30s\"":                                        "p.toml:1:1: notify switches nothing on",
		"[notify]\nbell = true":                                            "",
		"[notify]\nbell = \"yes\"":                                         "p.toml:2:",
		"[notify]\nBell = true":                                            "unknown key Bell",
		"[notify]\ncomand = [\"x\"]":                                       "unknown key comand",
		"[notify]\ndesktop = true":                                         "",
		"[notify]\ncommand = [\"notify\"]":                                 "",
		"[notify]\ncommand = \"notify\"":                                   "p.toml:2:",
		"[notify]\ncommand = [\"\", \"x\"]":                                "the command has no program",
		"[notify]\nwebhook = \"https://chat.example/x\"":                   "",
		"[notify]\nwebhook = \"http://127.0.0.1:8080/x\"":                  "",
		"[notify]\nwebhook = \"http://chat.example/x\"":                    "must be an https URL",
		"[notify]\nwebhook = \"http://127.0.0.1.evil.example/x\"":          "must be an https URL",
		"[notify]\nwebhook = \"file:///etc/passwd\"":                       "must be an https URL",
		"[notify]\nbell = true\nwebhook = \"https://user:hunter2@%zz\"":    "is not a URL",
		"[notify]\nbell = true\nafter = \"1s\"":                            "",
		"[notify]\nbell = true\nafter = \"24h\"":                           "",
		"[notify]\nbell = true\nafter = \"\"":                              "p.toml:3:9: notify.after is \"\", want a time of 1s to 24h",
		"[notify]\nbell = true\nafter = \"30\"":                            "notify.after is \"30\"",
		"[notify]\nbell = true\nafter = \"999ms\"":                         "notify.after",
		"[notify]\nbell = true\nafter = \"-5m\"":                           "notify.after",
		"[notify]\nbell = true\nafter = \"25h\"":                           "notify.after",
		"[notify]\nbell = true\nafter = 30":                                "p.toml:3:",
		"[notify]\nbell = true\n[[notify.webhooks]]\nurl = \"https://x/\"": "unknown key",
	} {
		s, err := Parse([]byte(text), "p.toml")
		if err == nil {
			_, _, _, err = s.Compile(patterns.Place{})
		}
		switch {
		case want == "" && err != nil:
			t.Errorf("%q: %v", text, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%q: %v, want %q", text, err, want)
		case err != nil && strings.Contains(err.Error(), "hunter2"):
			t.Errorf("%q: the error shows the address: %v", text, err)
		}
	}
}

// TestDigestOfNotify: trust covers what a file says about notices.
func TestDigestOfNotify(t *testing.T) {
	seen := map[string]string{new(Spec).Digest(): ""}
	for _, text := range []string{
		"bell = true", "desktop = true", "bell = true\nafter = \"1m\"", "command = [\"a\"]", "command = [\"a\", \"b\"]", "webhook = \"https://a.example/\"", "webhook = \"https://b.example/\"",
	} {
		s, err := Parse([]byte("[notify]\n"+text), "p.toml")
		if err != nil {
			t.Fatal(err)
		}
		if other, twice := seen[s.Digest()]; twice {
			t.Errorf("%q and %q have one digest", text, other)
		}
		seen[s.Digest()] = text
	}
}

func TestShowNotify(t *testing.T) {
	s, err := Parse([]byte("[notify]\nbell = true\ndesktop = true\ncommand = [\"tell\", \"me\"]\nwebhook = \"https://a.example/secret\""), "p.toml")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, one := range s.Show() {
		got = append(got, one.Key+"="+one.Text+"@"+one.Place)
	}
	const want = "notify.after=30s@p.toml:1:1 notify.bell=true@p.toml:1:1 notify.desktop=true@p.toml:1:1 notify.command=tell me@p.toml:1:1 notify.webhook=(an address, not shown)@p.toml:1:1"
	if text := strings.Join(got, " "); text != want {
		t.Errorf("%s\nwant %s", text, want)
	}
}

func TestLintNotify(t *testing.T) {
	for mode, want := range map[string]int{"default": 0, "dontAsk": 1} {
		s, err := Parse([]byte("mode = \""+mode+"\"\n[notify]\nbell = true"), "p.toml")
		if err != nil {
			t.Fatal(err)
		}
		found, err := Lint(s)
		if err != nil || len(found) != want {
			t.Errorf("%s: %v, %v", mode, found, err)
		}
	}
}
