//go:build nvim

package neovim

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// built is a directory with the binary; TestMain makes and removes it.
var built string

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == asAgent {
		playAgent(os.Args[2], os.Args[3:])
		return
	}
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	var err error
	if built, err = os.MkdirTemp("", "agent-wrapper-nvim"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(built)
	if path := os.Getenv("AW_BINARY"); path != "" {
		err = os.Symlink(path, filepath.Join(built, "agent-wrapper"))
	} else {
		var out []byte
		out, err = exec.Command("go", "build", "-o", built+"/agent-wrapper", "../../../cmd/agent-wrapper").CombinedOutput()
		os.Stderr.Write(out)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// each runs a test with every Neovim that is installed.
func each(t *testing.T, test func(t *testing.T, r Release)) {
	t.Parallel()
	releases := Releases("../../../.cache/neovim")
	if len(releases) == 0 {
		t.Fatal("no Neovim is installed: make install")
	}
	for _, r := range releases {
		t.Run(r.Version, func(t *testing.T) {
			t.Parallel()
			test(t, r)
		})
	}
}

// person is somebody who sits at a Neovim with the plugin.
type person struct {
	*Nvim
	t    *testing.T
	Dir  string // holds all of it
	Work string // the workspace
	env  []string
	r    Release
	size [2]int
}

// sit lays out a workspace and starts Neovim in it. The policy is that of the flags.
func sit(t *testing.T, r Release, script turns, policy string, config ...string) *person {
	t.Helper()
	dir := home(t)
	p := &person{t: t, Dir: dir, Work: dir + "/proj", r: r, size: [2]int{80, 24}}
	for _, d := range []string{"proj", "home", "state", "config/nvim", "config/agent-wrapper", "data", "tmp"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	p.write("config/agent-wrapper/agent-wrapper.toml", policy)
	text, err := json.Marshal(script)
	if err != nil {
		t.Fatal(err)
	}
	p.write("script.json", string(text))
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	plugin, err := filepath.Abs("../../../editors/nvim")
	if err != nil {
		t.Fatal(err)
	}
	p.write("config/nvim/init.lua", fmt.Sprintf(`
vim.opt.runtimepath:prepend(%q)
vim.o.shortmess = vim.o.shortmess .. "I"
vim.o.swapfile = false
vim.o.showcmd = false
vim.o.ruler = false
require("agent-wrapper").setup({
  command = %q,
  args = { "--agent-command", %q, "--audit", %q },
  %s
})
`, plugin, built+"/agent-wrapper", self+" "+asAgent+" "+dir+"/script.json", dir+"/audit.jsonl", strings.Join(config, ",\n")))
	p.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir + "/home", "TMPDIR=" + dir + "/tmp", "LANG=C.UTF-8", "TERM=xterm-256color",
		"XDG_STATE_HOME=" + dir + "/state", "XDG_CONFIG_HOME=" + dir + "/config", "XDG_DATA_HOME=" + dir + "/data",
	}
	p.start()
	return p
}

// shownHome is in goldens what the directory of a person is, of the same length.
const shownHome = "/home/dev-user"

// home makes the directory of a person.
func home(t *testing.T) string {
	t.Helper()
	for range 100 {
		dir := fmt.Sprintf("/tmp/nv%07d", rand.IntN(1e7))
		if os.Mkdir(dir, 0o700) == nil {
			t.Cleanup(func() { os.RemoveAll(dir) })
			return dir
		}
	}
	t.Fatal("no directory can be made")
	return ""
}

// start starts Neovim.
func (p *person) start(args ...string) {
	p.t.Helper()
	p.Nvim = p.r.Start(p.t, Options{Dir: p.Work, Env: p.env, Args: args, Width: p.size[0], Height: p.size[1]})
}

func (p *person) write(name, text string) {
	p.t.Helper()
	path := name
	if !filepath.IsAbs(name) {
		path = filepath.Join(p.Dir, name)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// gate makes a named pipe and returns what opens it.
func (p *person) gate(name string) (path string, open func()) {
	p.t.Helper()
	path = filepath.Join(p.Dir, name)
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		p.t.Fatal(err)
	}
	return path, func() {
		p.t.Helper()
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			p.t.Fatal(err)
		}
		f.Close()
	}
}

// armed reports whether a key counts: the last line of the float ends with ">".
func armed(screen string) bool {
	for _, line := range strings.Split(screen, "\n") {
		line, framed := strings.CutSuffix(strings.TrimSpace(line), "│")
		_, line, _ = strings.Cut(line, "│")
		if line = strings.TrimRight(line, " "); framed && (line == " >" || strings.HasSuffix(line, "  >")) {
			return true
		}
	}
	return false
}

func unarmed(screen string) bool { return !armed(screen) }

// press waits until a key counts, presses it and waits until none counts. A key beside
// which something else happens does not count, and all stays as it was: as a person
// would, it presses the key again then.
func (p *person) press(key string) {
	p.t.Helper()
	for range 3 {
		before := p.Wait("a key that counts", armed)
		p.Type(key)
		p.Wait("the end of "+key, unarmed)
		after := p.Wait("what "+key+" does", func(screen string) bool { return armed(screen) || unlike(screen, before) })
		if unlike(after, before) {
			return
		}
	}
	p.t.Errorf("%s does nothing", key)
}

// unlike reports whether two screens differ by more than whether a key counts.
func unlike(a, b string) bool {
	bare := func(screen string) string { return strings.NewReplacer(">", "", " ", "").Replace(screen) }
	return bare(a) != bare(b)
}

// decision is what the record says of a decision.
type decision struct {
	Kind     string `json:"kind"`
	Tool     string `json:"tool"`
	Use      string `json:"use"`
	Behavior string `json:"behavior"`
	By       string `json:"by"`
	Agent    string `json:"agent"`
	Message  string `json:"message"`
	Updated  object `json:"updated"`
	Rule     string `json:"rule"`
	Layer    string `json:"layer"`
}

// decisions waits until the record has n decisions, and returns all of them.
func (p *person) decisions(n int) []decision {
	p.t.Helper()
	var all []decision
	p.until(fmt.Sprintf("%d decisions", n), func() bool {
		all = p.recorded()
		return len(all) >= n
	})
	return all
}

// recorded returns the decisions of the record so far.
func (p *person) recorded() []decision {
	p.t.Helper()
	data, err := os.ReadFile(p.Dir + "/audit.jsonl")
	if err != nil && !os.IsNotExist(err) {
		p.t.Fatal(err)
	}
	var all []decision
	for line := range strings.Lines(string(data)) {
		var d decision
		if json.Unmarshal([]byte(line), &d) == nil && d.Kind == "decision" {
			all = append(all, d)
		}
	}
	return all
}

// until waits for something that no screen shows.
func (p *person) until(what string, is func() bool) {
	p.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(patience)
	for !is() {
		select {
		case <-tick.C:
		case <-limit:
			p.t.Fatalf("%s: not seen\n%s", what, p.Screen())
		}
	}
}

// behaviors returns what was decided, in order.
func behaviors(all []decision) string {
	var out []string
	for _, d := range all {
		out = append(out, d.Behavior)
	}
	return strings.Join(out, " ")
}

// bash is a step that runs a command line.
func bash(command string) step {
	return step{Tool: "Bash", Input: object{"command": command, "description": "x"}, Result: "ran: " + command}
}

func marshal(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
