package execution

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/agent-wrapper/agent-wrapper/internal/atomicfile"
)

func TestEnviron(t *testing.T) {
	own := []string{
		"HOME=/h", "PATH=.:/bin::bin:/usr/bin:./x:", "AWS_SECRET_ACCESS_KEY=x", "AWS_REGION=eu", "GOOGLE_APPLICATION_CREDENTIALS=/k", "AZURE_CLIENT_SECRET=x",
		"ARM_CLIENT_ID=x", "VAULT_TOKEN=x", "TF_TOKEN_app_terraform_io=x", "OS_PASSWORD=x", "KUBECONFIG=/k", "AWSOME=1", "VAULT_TOKENS=1", "aws_x=1",
		"BASH_ENV=/x", "ENV=/x", "BASH_FUNC_ls%%=() { :; }", "SHELLOPTS=xtrace", "PS4=$(x)", "CDPATH=/", "LEX_BYPASS_COMMAND_VALIDATION=1", "EMPTY=", "A=b=c",
	}
	env, left, err := Environ(own, []string{"AWS_REGION", "GONE"})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(env, " "), "HOME=/h PATH=/bin:/usr/bin AWS_REGION=eu KUBECONFIG=/k AWSOME=1 VAULT_TOKENS=1 aws_x=1 EMPTY= A=b=c"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if got, want := strings.Join(left, " "), "ARM_CLIENT_ID AWS_SECRET_ACCESS_KEY AZURE_CLIENT_SECRET GOOGLE_APPLICATION_CREDENTIALS OS_PASSWORD TF_TOKEN_app_terraform_io VAULT_TOKEN"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	for _, name := range []string{"", "A=b", "AWS_*", "a\x00", "LEX_BYPASS_COMMAND_VALIDATION", "BASH_ENV", "BASH_FUNC_ls%%"} {
		if env, _, err := Environ(own, []string{name}); err == nil || env != nil {
			t.Errorf("--keep-env %q: %v", name, env)
		}
	}
}

// TestTables: no name is in both tables or covered twice.
func TestTables(t *testing.T) {
	all := append(slices.Clone(withheld), never...)
	for i, name := range all {
		rest := slices.Delete(slices.Clone(all), i, i+1)
		if listed(rest, strings.TrimSuffix(name, "*")) {
			t.Errorf("%s is listed twice", name)
		}
	}
}

func mode(t *testing.T, path string) fs.FileMode {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode().Perm()
}

func TestPlace(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	base := filepath.Join(t.TempDir(), "a", "runs")
	p, err := NewPlace(base)
	if err != nil {
		t.Fatal(err)
	}
	file, err := p.Keep("kubeconfig", []byte("secret"))
	if err != nil {
		t.Fatal(err)
	}
	work, err := p.Temp()
	if err != nil {
		t.Fatal(err)
	}
	if text, _ := os.ReadFile(file); string(text) != "secret" || mode(t, file) != 0o600 || mode(t, work) != 0o700 || mode(t, filepath.Dir(file)) != 0o700 || mode(t, base) != 0o700 {
		t.Errorf("%q %v %v", text, mode(t, file), mode(t, work))
	}
	if _, err := p.Keep("kubeconfig", nil); !errors.Is(err, fs.ErrExist) {
		t.Error(err)
	}
	if _, err := p.Temp(); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second one: %v", err)
	}
	shown, err := p.Show("kubeconfig", []byte("secret"))
	if text, _ := os.ReadFile(shown); err != nil || string(text) != "secret" || mode(t, shown) != 0o600 || mode(t, filepath.Dir(shown)) != 0o700 || strings.HasPrefix(shown, base) {
		t.Errorf("%s: %q, %v", shown, text, err)
	}
	killed, temp := filepath.Join(base, "run-killed"), t.TempDir()
	if err := errors.Join(os.MkdirAll(filepath.Join(killed, "x"), 0o700), os.Mkdir(filepath.Join(temp, "y"), 0o700), os.Symlink(temp, filepath.Join(killed, tempLink))); err != nil {
		t.Fatal(err)
	}
	q, err := NewPlace(base) // while the first is in use
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{killed, temp} {
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("what a killed run left stays: %v", err)
		}
	}
	if _, err := os.Stat(file); err != nil {
		t.Errorf("the files of a run that lives: %v", err)
	}
	for _, place := range []*Place{p, q} {
		if err := place.Remove(); err != nil {
			t.Error(err)
		}
	}
	if left, _ := os.ReadDir(base); len(left) != 0 {
		t.Errorf("%v", left)
	}
	for _, dir := range []string{work, filepath.Dir(shown)} {
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the temporary directory stays: %v", err)
		}
	}
}

func TestNoPlace(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := NewPlace(file); err == nil || !strings.Contains(err.Error(), "private files cannot be kept") {
		t.Error(err)
	}
}

func TestReadKubeconfig(t *testing.T) {
	dir := t.TempDir()
	good, big := filepath.Join(dir, "config"), filepath.Join(dir, "big")
	if err := errors.Join(os.WriteFile(good, []byte("a: b\n"), 0o644), os.WriteFile(big, make([]byte, maxKubeconfig+1), 0o600)); err != nil {
		t.Fatal(err)
	}
	k, err := ReadKubeconfig(good)
	if err != nil || k.Path != good || string(k.Data) != "a: b\n" || !strings.HasPrefix(k.Digest, "sha256:") || len(k.Digest) != 71 {
		t.Errorf("%+v, %v", k, err)
	}
	for path, want := range map[string]string{dir: "is not a regular file", big: "larger than 4 MiB", dir + "/gone": "no such file", "/dev/null": "is not a regular file"} {
		if _, err := ReadKubeconfig(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", path, err, want)
		}
	}
}

var (
	noon  = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	scope = Scope{Session: "s", Dir: "/w"}
)

func rule(s Scope, text string, until time.Time) Rule {
	return Rule{Scope: s, List: "allow", Text: text, At: noon, Until: until}
}

func texts(rules []Rule) string {
	var out []string
	for _, r := range rules {
		out = append(out, r.Text)
	}
	return strings.Join(out, " ")
}

func TestSessions(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "exec")
	s := SessionsAt(dir)
	if rules, err := s.Rules(scope, noon); len(rules) != 0 || err != nil {
		t.Errorf("%v, %v", rules, err)
	}
	other := Scope{Session: "t", Dir: "/w"}
	cluster := Scope{Session: "s", Dir: "/w", Kubeconfig: "sha256:1"}
	elsewhere := Scope{Session: "s", Dir: "/x"}
	hour := noon.Add(time.Hour)
	err := errors.Join(
		s.Keep(noon, rule(scope, "a", hour), rule(scope, "short", noon.Add(time.Minute))),
		s.Keep(noon, rule(other, "b", hour), rule(cluster, "c", hour), rule(elsewhere, "d", hour)),
	)
	if err != nil {
		t.Fatal(err)
	}
	if path := filepath.Join(dir, "sessions.json"); mode(t, path) != 0o600 || mode(t, dir) != 0o700 {
		t.Errorf("%v %v", mode(t, path), mode(t, dir))
	}
	for _, tt := range []struct {
		scope Scope
		at    time.Time
		want  string
	}{
		{scope, noon, "a short"}, {scope, noon.Add(time.Minute), "a"}, {scope, hour, ""}, {scope, noon.Add(-time.Second), ""},
		{other, noon, "b"}, {cluster, noon, "c"}, {elsewhere, noon, "d"}, {Scope{}, noon, ""},
	} {
		if rules, err := s.Rules(tt.scope, tt.at); texts(rules) != tt.want || err != nil {
			t.Errorf("%+v at %v: %s, %v", tt.scope, tt.at, texts(rules), err)
		}
	}
	if n, err := s.Clear("s", noon); n != 4 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if rules, _ := s.List(noon); texts(rules) != "b" {
		t.Errorf("%s", texts(rules))
	}
	if err := errors.Join(s.ClearAll(), s.ClearAll()); err != nil {
		t.Error(err)
	}
	if rules, _ := s.List(noon); len(rules) != 0 {
		t.Errorf("%s", texts(rules))
	}
}

// A file that does not have the expected form yields no rules and accepts none.
func TestBrokenSessions(t *testing.T) {
	whole := `{"v":1,"rules":[{"session":"s","dir":"/w","list":"allow","rule":"x","at":"2026-01-02T12:00:00Z","until":"2026-01-02T13:00:00Z"}]}`
	for name, text := range map[string]string{
		"empty": "", "cut": whole[:60], "version": strings.Replace(whole, `"v":1`, `"v":2`, 1), "list": strings.Replace(whole, "allow", "ask", 1),
		"key": strings.Replace(whole, `"dir"`, `"folder"`, 1), "twin": strings.Replace(whole, `"dir"`, `"Dir"`, 1), "twice": strings.Replace(whole, `"dir"`, `"session":"t","dir"`, 1),
		"no session": strings.Replace(whole, `"s"`, `""`, 1), "no rule": strings.Replace(whole, `"x"`, `""`, 1), "two": whole + whole,
	} {
		s := SessionsAt(t.TempDir())
		if err := os.WriteFile(s.path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		rules, err := s.Rules(scope, noon)
		if len(rules) != 0 || err == nil || !strings.Contains(err.Error(), "session clear --all") {
			t.Errorf("%s: %v, %v", name, rules, err)
		}
		if err := s.Keep(noon, rule(scope, "a", noon.Add(time.Hour))); err == nil {
			t.Errorf("%s: a rule is added", name)
		}
		if _, err := s.Clear("s", noon); err == nil {
			t.Errorf("%s: cleared", name)
		}
		if err := s.ClearAll(); err != nil {
			t.Error(err)
		}
		if _, err := s.List(noon); err != nil {
			t.Errorf("%s, cleared: %v", name, err)
		}
	}
	s := SessionsAt(t.TempDir())
	if err := os.WriteFile(s.path, []byte(whole), 0o600); err != nil {
		t.Fatal(err)
	}
	if rules, err := s.Rules(scope, noon); texts(rules) != "x" || err != nil {
		t.Errorf("the whole: %v, %v", rules, err)
	}
	if err := os.Chmod(s.path, 0o620); err != nil {
		t.Fatal(err)
	}
	if rules, err := s.Rules(scope, noon); len(rules) != 0 || err == nil || !strings.Contains(err.Error(), "by others") {
		t.Errorf("%v, %v", rules, err)
	}
}

func TestTooManyRules(t *testing.T) {
	s := SessionsAt(t.TempDir())
	hour := noon.Add(time.Hour)
	if err := s.Keep(noon, slices.Repeat([]Rule{rule(scope, "a", hour)}, maxRules)...); err != nil {
		t.Fatal(err)
	}
	if err := s.Keep(noon, rule(scope, "b", hour)); err == nil {
		t.Error("one too many is kept")
	}
	if err := s.Keep(hour, rule(scope, "b", hour.Add(1))); err != nil {
		t.Errorf("when the others have expired: %v", err)
	}
}

// The rules that are read are those that were kept, in any order.
func TestSessionsModel(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "m")
		if err != nil {
			r.Fatal(err)
		}
		s := SessionsAt(dir)
		var model []Rule
		now := noon
		for range rapid.IntRange(1, 8).Draw(r, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 40).Draw(r, "minutes")) * time.Minute)
			switch id := rapid.SampledFrom([]string{"s", "t"}).Draw(r, "session"); rapid.IntRange(0, 2).Draw(r, "step") {
			case 0:
				_, err = s.Clear(id, now)
				model = slices.DeleteFunc(model, func(x Rule) bool { return x.Session == id })
			default:
				x := Rule{Scope{id, "/w", ""}, "allow", rapid.StringN(1, 9, -1).Draw(r, "rule"), now, now.Add(time.Hour)}
				err = s.Keep(now, x)
				model = append(model, x)
			}
			if err != nil {
				r.Fatal(err)
			}
			model = slices.DeleteFunc(model, func(x Rule) bool { return !x.Until.After(now) })
			got, err := s.List(now)
			if err != nil || !slices.EqualFunc(got, model, func(a, b Rule) bool { return a.Scope == b.Scope && a.Text == b.Text && a.Until.Equal(b.Until) }) {
				r.Fatalf("%v, %v\nwant %v", got, err, model)
			}
		}
	})
}

func FuzzSessions(f *testing.F) {
	f.Add([]byte(`{"v":1,"rules":[{"session":"s","dir":"/w","list":"allow","rule":"x","at":"2026-01-02T12:00:00Z","until":"2026-01-02T13:00:00Z"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := parseSessions(data)
		if err != nil {
			return
		}
		for _, r := range file.Rules {
			if r.Session == "" || r.Text == "" || r.List != "allow" && r.List != "deny" {
				t.Errorf("%+v", r)
			}
		}
	})
}

// TestTryLock: only one holds the lock at a time.
func TestTryLock(t *testing.T) {
	dir := t.TempDir()
	unlock, free, err := atomicfile.TryLock(dir)
	if err != nil || !free {
		t.Fatal(free, err)
	}
	if _, free, err := atomicfile.TryLock(dir); err != nil || free {
		t.Error(free, err)
	}
	unlock()
	if unlock, free, err := atomicfile.TryLock(dir); err != nil || !free {
		t.Error(free, err)
	} else {
		unlock()
	}
	if _, _, err := atomicfile.TryLock(dir + "/gone"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}
