package tomlfmt

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var forms = []struct{ name, in, want string }{
	{"nothing", "", ""},
	{"blanks", "a=1  \n\n\n\n  b   =  \"x  y\"\t# c  \n", "a = 1\n\nb = \"x  y\" # c\n"},
	{"tables", "a = 1\n# about b\n[ b . c ] # t\nd = 1\n[[ e ]]\n", "a = 1\n\n# about b\n[b.c] # t\nd = 1\n\n[[e]]\n"},
	{"a table first", "\n\n[a]\nb = 1", "[a]\nb = 1\n"},
	{"dotted keys", "a . \"b c\" = true", "a.\"b c\" = true\n"},
	{"strings", "a = \"\\\"#]\"\nb = 'C:\\'\nc = \"\"\"\n x = [1]  \n\"\\\"\"\"\"\"\nd = '''it's ''''\n", "a = \"\\\"#]\"\nb = 'C:\\'\nc = \"\"\"\n x = [1]  \n\"\\\"\"\"\"\"\nd = '''it's ''''\n"},
	{"a date", "a = 1979-05-27   07:32:00 # x", "a = 1979-05-27 07:32:00 # x\n"},
	{"an array in a line", "a = [ \"x\",\"y\" , ]", "a = [\"x\", \"y\"]\n"},
	{"an empty array", "a = [ ]\nb = [\n]\n", "a = []\nb = [\n]\n"},
	{
		"a long array", "allow = [\"Bash(git status:*)\", \"Bash(git diff:*)\", \"Bash(git log:*)\", \"Bash(npm test:*)\"]",
		"allow = [\n  \"Bash(git status:*)\",\n  \"Bash(git diff:*)\",\n  \"Bash(git log:*)\",\n  \"Bash(npm test:*)\",\n]\n",
	},
	{
		"comments in an array", "a = [ # first\n # own\n\n 1, # one\n 2 # two\n , # three\n 3\n # four\n # last\n]\n",
		"a = [\n  # first\n  # own\n  1, # one\n  2, # two\n  # three\n  3,\n  # four\n  # last\n]\n",
	},
	{"arrays in arrays", "a=[[1,2],\n[3]]", "a = [\n  [1, 2],\n  [3],\n]\n"},
	{"inline tables", "a={b=1,c=[ 1 ],d={ }}", "a = { b = 1, c = [1], d = {} }\n"},
	{"tables in an array", "a = [\n{x=1},\n{y=2} ]", "a = [\n  { x = 1 },\n  { y = 2 },\n]\n"},
	{"line ends of Windows", "a = 1\r\n# c\r\n[b]\r\n", "a = 1\n\n# c\n[b]\n"},
}

func TestFormat(t *testing.T) {
	for _, tt := range forms {
		got, err := Format(tt.in)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestRefused(t *testing.T) {
	for _, in := range []string{"a", "a =", "a = [", "a = \"x", "a = '''x''", "a = {b}", "a = [1 2 3]", "= 1", "a = 1 b = 2", "]", "a = \"x\ny\""} {
		if got, err := Format(in); err == nil {
			t.Errorf("%q: %q", in, got)
		}
	}
}

// What is formatted stays as it is, and nothing but blanks has changed.
func FuzzFormat(f *testing.F) {
	for _, tt := range forms {
		f.Add(tt.in)
	}
	found, _ := filepath.Glob("../../policy/testdata/*.toml")
	for _, name := range found {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	squeezed := func(s string) string {
		return strings.NewReplacer(" ", "", "\t", "", "\r", "", "\n", "", ",", "").Replace(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		once, err := Format(in)
		if err != nil {
			return
		}
		twice, err := Format(once)
		if err != nil || twice != once {
			t.Errorf("%q: %q: %v, %q", in, once, err, twice)
		}
		if squeezed(in) != squeezed(once) {
			t.Errorf("%q: %q", in, once)
		}
	})
}
