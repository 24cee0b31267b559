package frontmatter

import (
	"fmt"
	"strings"
	"testing"
)

// said formats a head for comparison.
func said(h Head) string {
	var out []string
	add := func(key string, values ...Value) {
		for _, v := range values {
			out = append(out, fmt.Sprintf("%s %s@%d:%d", key, v.Text, v.Line, v.Col))
		}
	}
	if h.Mode.Line > 0 {
		add("mode", h.Mode)
	}
	add("allow", h.Allow...)
	add("ask", h.Ask...)
	add("deny", h.Deny...)
	return strings.Join(out, "; ")
}

func TestParse(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"no file", "", ""},
		{"no head", "# Chat\n---\npermission_mode: plan\n---\n", ""},
		{"a line that only begins so", "----\npermission_mode: plan\n----\n", ""},
		{"an empty head", "---\n---\n", ""},
		{"only comments", "---\n# permission_mode: plan\n---\n", ""},
		{"a mode", "---\npermission_mode: plan\n---\ntext", "mode plan@2:18"},
		{"the other name", "---\npermissions_mode: plan\n---\n", "mode plan@2:19"},
		{"both names", "---\npermissions_mode: plan\npermission_mode: acceptEdits\n---\n", "mode acceptEdits@3:18"},
		{"both names, the other order", "---\npermission_mode: acceptEdits\npermissions_mode: plan\n---\n", "mode acceptEdits@2:18"},
		{"block lists", "---\npermissions_allow:\n  - Read\n  - Edit\npermissions_deny:\n- Bash\n---\n", "allow Read@3:5; allow Edit@4:5; deny Bash@6:3"},
		{"a flow list", "---\npermissions_deny: [Bash, \"Read(./.env)\"]\n---\n", "deny Bash@2:20; deny Read(./.env)@2:27"},
		{"a flow list over lines", "---\npermissions_ask: [\n  Bash(git push:*),\n  'Edit',\n]\n---\n", "ask Bash(git push:*)@3:3; ask Edit@4:4"},
		{"quotes", "---\npermissions_allow:\n  - \"Bash(git commit:*)\"\n  - 'Bash(echo ''a'')'\n---\n", "allow Bash(git commit:*)@3:6; allow Bash(echo 'a')@4:6"},
		{"comments", "---\npermissions_deny: # all of it\n  - Bash # note\n  # - Read\n---\n", "deny Bash@3:5"},
		{"empty lists", "---\npermissions_allow: []\npermissions_deny:\n---\n", ""},
		{"other keys", "---\nsession_id: abc\nmodel: opus\nagents: {a: [1, true]}\npermission_mode: plan\nlist:\n  - x: 1\n---\n", "mode plan@5:18"},
		{"CRLF", "---\r\npermission_mode: plan\r\npermissions_deny:\r\n  - Bash\r\n---\r\n", "mode plan@2:18; deny Bash@4:5"},
		{"a byte order mark", "\ufeff---\npermission_mode: plan\n---\n", "mode plan@2:18"},
		{"blanks behind the fences", "--- \npermission_mode: plan\n---\t\n", "mode plan@2:18"},
		{"the text behind is not read", "---\npermission_mode: plan\n---\n---\npermissions_deny: [Bash]\n---\n", "mode plan@2:18"},
		{"words of YAML 1.1", "---\npermissions_allow: [yes, on]\n---\n", "allow yes@2:21; allow on@2:26"},
		{"columns are bytes", "---\npermissions_deny: [\"Read(é)\", Bash]\n---\n", "deny Read(é)@2:21; deny Bash@2:32"},
		{"keys that begin like permission", "---\nversion: 1\npermalink: /x\nprovision: a\nremission: b\nprecision: c\nperson: d\npercussion: e\n---\n", ""},
		{"a rule above", "text\n\n---\npermissions_deny: [Bash]\n---\n", ""},
		{"a diff", "--- a/file\n+++ b/file\n", ""},
		{"a long line", "\n-----\n", ""},
		{"TOML", "+++\npermission_mode = \"plan\"\nmodel = \"x\"\npermissions_allow = [\n  'Read', # all\n  \"Bash(git status)\",\n]\n[chat]\nid = 1\n+++\n", "mode plan@2:20; allow Read@5:4; allow Bash(git status)@6:4"},
		{"TOML with CRLF", "+++\r\npermissions_deny = [\"Bash\"]\r\n+++\r\n", "deny Bash@2:22"},
		{"an empty TOML head", "+++\n+++\n", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			head, err := parse([]byte(tt.text), "chat.md")
			if err != nil {
				t.Fatal(err)
			}
			if got := said(head); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// TestRefused: what is ambiguous is refused, with its position.
func TestRefused(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"a list that is a text", "---\npermissions_deny: Bash\n---\n", "chat.md:2:1: permissions_deny: want a list"},
		{"a mode that is a list", "---\npermission_mode: [plan]\n---\n", "chat.md:2:1: permission_mode: want one name"},
		{"a mode without a value", "---\npermission_mode:\n---\n", "chat.md:2:1: permission_mode: want one name"},
		{"a mode that is no text", "---\npermission_mode: true\n---\n", "chat.md:2:1: permission_mode: want one name"},
		{"a list of lists", "---\npermissions_allow: [[Read]]\n---\n", "chat.md:2:1: permissions_allow: want a list of rules"},
		{"a rule that is a number", "---\npermissions_deny:\n  - Bash\n  - 7\n---\n", "chat.md:2:1: permissions_deny: want a list of rules, as [Read, \"Bash(git status)\"]: at 4:5"},
		{"a rule that becomes a map", "---\npermissions_deny:\n  - Bash(rm: -rf)\n---\n", "chat.md:2:1: permissions_deny: want a list of rules"},
		{"a list that is a map", "---\npermissions_deny:\n  Bash: true\n---\n", "chat.md:2:1: permissions_deny: want a list"},
		{"a rule that is null", "---\npermissions_deny: [~]\n---\n", "chat.md:2:1: permissions_deny: want a list of rules"},
		{"another case", "---\nPermission_Mode: plan\n---\n", `chat.md:2:1: unknown key "Permission_Mode"`},
		{"dashes", "---\npermission-mode: plan\n---\n", `chat.md:2:1: unknown key "permission-mode"`},
		{"no line", "---\npermissionsDeny: [Bash]\n---\n", `chat.md:2:1: unknown key "permissionsDeny"`},
		{"one letter", "---\npermision_deny: [Bash]\n---\n", `chat.md:2:1: unknown key "permision_deny"`},
		{"a letter missing", "---\npermssions_deny: [Bash]\n---\n", `chat.md:2:1: unknown key "permssions_deny"`},
		{"letters turned", "---\npremissions_deny: [Bash]\n---\n", `chat.md:2:1: unknown key "premissions_deny"`},
		{"a letter too many", "---\npermiassions_deny: [Bash]\n---\n", `chat.md:2:1: unknown key "permiassions_deny"`},
		{"a letter that looks the same", "---\np\u0435rmissions_deny: [Bash]\n---\n", "chat.md:2:1: unknown key \"p\u0435rmissions_deny\""},
		{"lines that end in CR", "---\rpermissions_deny: [Bash]\r---\r", "chat.md:1:1: this looks like the begin of a head"},
		{"a CR in a comment", "---\n# note\rpermissions_deny: [Bash]\n---\n", "chat.md:2:7: a line break other than"},
		{"a NEL in a comment", "---\n# note\u0085permissions_deny: [Bash]\n---\n", "chat.md:2:7: a line break other than"},
		{"a line separator in a text", "---\nx: \"a\u2028b\"\n---\n", "chat.md:2:6: a line break other than"},
		{"a fence with a comment", "--- # head\npermissions_deny: [Bash]\n---\n", "chat.md:1:1: this looks like"},
		{"a fence of TOML with a comment", "+++ # head\npermissions_deny = ['Bash']\n+++\n", "chat.md:1:1: this looks like"},
		{"blank lines above", "\n \n---\npermissions_deny: [Bash]\n---\n", "chat.md:3:1: this looks like"},
		{"a blank before the fence", " ---\npermissions_deny: [Bash]\n---\n", "chat.md:1:1: this looks like"},
		{"two byte order marks", "\ufeff\ufeff---\npermissions_deny: [Bash]\n---\n", "chat.md:1:1: this looks like"},
		{"a hidden character before the fence", "\u200b---\npermissions_deny: [Bash]\n---\n", "chat.md:1:1: this looks like"},
		{"UTF-16", "\xff\xfe-\x00-\x00-\x00\n\x00", "chat.md:1:1: the file is UTF-16"},
		{"singular", "---\npermission_deny: [Bash]\n---\n", `chat.md:2:1: unknown key "permission_deny"`},
		{"nested", "---\npermissions:\n  deny: [Bash]\n---\n", `chat.md:2:1: unknown key "permissions"`},
		{"quoted key", "---\n\"permissions_denied\": [Bash]\n---\n", `chat.md:2:2: unknown key "permissions_denied"`},
		{"a key twice", "---\npermissions_deny: [Bash]\npermissions_deny: []\n---\n", "chat.md:3:1:"},
		{"another key twice", "---\na: 1\na: 2\n---\n", "chat.md:3:1:"},
		{"a key of another key twice", "---\na:\n  b: 1\n  b: 2\n---\n", "chat.md:4:3: key \"b\" stands twice"},
		{"an anchor", "---\nx: &a [Bash]\npermissions_deny: [Bash]\n---\n", "chat.md:2:"},
		{"an alias", "---\nx: &a [Bash]\npermissions_deny: *a\n---\n", "chat.md:2:"},
		{"a star that is an alias", "---\npermissions_deny:\n  - *\n---\n", "chat.md:3:"},
		{"a merge key", "---\n<<: {permissions_deny: [Bash]}\n---\n", "chat.md:2:1: merge keys"},
		{"a tag", "---\npermissions_deny: !!set {Bash}\n---\n", "chat.md:2:"},
		{"a tagged text", "---\npermission_mode: !!str plan\n---\n", "chat.md:2:"},
		{"a second document", "---\na: 1\n...\npermissions_deny: [Bash]\n---\n", "chat.md:"},
		{"a complex key", "---\n? [a]\n: 1\n---\n", "chat.md:2:"},
		{"no mapping", "---\n- Bash\n---\n", "chat.md:2:1: the head is no list of key: value"},
		{"a tab", "---\npermissions_deny:\n\t- Bash\n---\n", "chat.md:"},
		{"no end", "---\npermission_mode: plan\n", "chat.md:1: the head that begins with --- does not end"},
		{"the other end", "---\npermission_mode: plan\n+++\n", "chat.md:1: the head that begins with --- does not end"},
		{"not UTF-8", "---\npermission_mode: \xffplan\n---\n", "chat.md:2: the head is not UTF-8"},
		{"too long", "---\nx: " + strings.Repeat("a", maxHead) + "\n---\n", "chat.md:1: the head that begins with --- does not end within 16384 bytes"},
		{"too deep", "---\nx: " + strings.Repeat("[", maxHead-100) + "\n---\n", "chat.md:"},
		{"a control character", "---\npermission_mode: \x01plan\n---\n", "chat.md:"},
		{"TOML: a key twice", "+++\npermissions_deny = []\npermissions_deny = [\"Bash\"]\n+++\n", "chat.md:3:1:"},
		{"TOML: another case", "+++\nPermissions_deny = []\n+++\n", `chat.md:2:20: unknown key "Permissions_deny"`},
		{"TOML: a table", "+++\n[permissions]\ndeny = [\"Bash\"]\n+++\n", `chat.md:2:`},
		{"TOML: no text", "+++\npermissions_deny = [1]\n+++\n", "chat.md:2:"},
		{"TOML: no list", "+++\npermissions_deny = \"Bash\"\n+++\n", "chat.md:2:"},
		{"TOML: broken", "+++\npermissions_deny = [\n+++\n", "chat.md:"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			head, err := parse([]byte(tt.text), "chat.md")
			if err == nil {
				t.Fatalf("no error, but %s", said(head))
			}
			if !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("%v, want %s", err, tt.want)
			}
		})
	}
}

// TestReadStops: Read does not read the whole of a long chat.
func TestReadStops(t *testing.T) {
	r := strings.NewReader("---\npermission_mode: plan\n---\n" + strings.Repeat("x", 1<<20))
	head, err := Read(r, "chat.md")
	if err != nil || head.Mode.Text != "plan" {
		t.Fatal(head, err)
	}
	if r.Len() < 1<<20-maxHead-100 {
		t.Errorf("all but %d bytes were read", r.Len())
	}
}

// FuzzParse: values are at their reported positions, and nothing that looks
// like a permission setting is silently ignored.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"---\npermission_mode: plan\npermissions_deny: [Bash, \"Read(x)\"]\n---\n", "+++\npermissions_allow = ['Read']\n+++\n",
		"---\npermissions_ask:\n  - Bash(git push:*) # x\nmodel: x\n---\n", "---\n? a\n: b\n---\n", "---\n&a x: *a\n---\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		head, err := parse(data, "f")
		if err != nil {
			if !strings.HasPrefix(err.Error(), "f:") {
				t.Fatalf("no place: %v", err)
			}
			return
		}
		lines := strings.Split(strings.TrimPrefix(string(data), "\ufeff"), "\n")
		for _, v := range append(append(append([]Value{head.Mode}, head.Allow...), head.Ask...), head.Deny...) {
			if v.Line == 0 && v.Text == "" {
				continue
			}
			if v.Line < 2 || v.Line > len(lines) || v.Col < 1 || v.Col > len(lines[v.Line-1])+1 {
				t.Fatalf("%q is said to stand at %d:%d", v.Text, v.Line, v.Col)
			}
		}
	})
}
