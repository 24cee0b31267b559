//go:build sandbox && linux

package sandbox

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// job is what people let agents do: it has to succeed.
type job struct {
	name   string
	needs  []string
	files  map[string]string
	before string // runs outside
	script string
}

var jobs = []job{
	{
		"go", []string{"go"}, map[string]string{
			"go.mod": "module example.com/x\n\ngo 1.24\n",
			"x.go":   "package main\n\nimport \"net/http\"\n\nfunc main() {}\n\nfunc hello(w http.ResponseWriter, _ *http.Request) { w.Write([]byte(\"hello\")) }\n",
			"x_test.go": `package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
)

func TestHello(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(hello))
	defer s.Close()
	res, err := http.Get(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	if data, _ := io.ReadAll(res.Body); string(data) != "hello" {
		t.Fatal(string(data))
	}
	if err := os.WriteFile(t.TempDir()+"/x", nil, 0o600); err != nil {
		t.Fatal(err)
	}
}
`,
		}, "", "go build ./... && go vet ./... && go test -count=1 ./...",
	},
	{
		"npm", []string{"npm", "node"}, map[string]string{
			"package.json": `{"name": "x", "version": "1.0.0", "scripts": {"test": "node test.js"}}`,
			"test.js": `const http = require('http'), cp = require('child_process'), fs = require('fs'), os = require('os'), { Worker } = require('worker_threads');
const s = http.createServer((q, r) => r.end('hello')).listen(0, '127.0.0.1', () =>
  http.get({ port: s.address().port, host: '127.0.0.1' }, r => r.on('data', d => {
    if (String(d) !== 'hello' || cp.execSync('echo hi').toString() !== 'hi\n') process.exit(1);
    fs.writeFileSync(os.tmpdir() + '/x', 'x');
    new Worker('process.exit(0)', { eval: true }).on('exit', c => { s.close(); process.exit(c) });
  })));
`,
		}, "", "npm test && npm ls && npm pack",
	},
	{
		"python", []string{"python3"}, map[string]string{
			"t.py": `import multiprocessing, socket, tempfile, unittest
def double(x): return 2 * x
class T(unittest.TestCase):
    def test_pool(self):
        with multiprocessing.Pool(2) as p: self.assertEqual(p.map(double, [1, 2]), [2, 4])
    def test_socket(self):
        s = socket.create_server(("127.0.0.1", 0)); c = socket.create_connection(s.getsockname()); c.close()
    def test_temp(self):
        with tempfile.NamedTemporaryFile() as f: f.write(b"x")
if __name__ == "__main__": unittest.main()
`,
		}, "", "python3 -m venv --without-pip .venv && .venv/bin/python t.py",
	},
	{
		"make", []string{"make", "cc"}, map[string]string{
			"Makefile": "x: x.c\n\tcc -O2 -o x x.c\n\t./x\n",
			"x.c":      "#include <stdio.h>\nint main(void) { puts(\"made\"); return 0; }\n",
		}, "", "make",
	},
	{
		"git", []string{"git"}, map[string]string{"a": "a\n", ".gitignore": "out\n"},
		"git init -q -b main . && git config user.name x && git config user.email x@example.com",
		"git add -A && git commit -qm one && git checkout -qb next && echo b >>a && git commit -qam two && git checkout -q main && git merge -q next && " +
			"git stash -q 2>/dev/null; git tag v1 && git rebase -q main next && git gc -q && git log --oneline && git status --short",
	},
	{
		"a working tree of git", []string{"git"}, map[string]string{"../main/a": "a\n"},
		"cd ../main && git init -q -b main . && git config user.name x && git config user.email x@example.com && git add a && git commit -qm one && rm -r ../project/run.sh && git worktree add -q ../project",
		"echo b >>a && git commit -qam two && git log --oneline",
	},
	{
		"a server", []string{"python3", "curl"}, map[string]string{"index.html": "hello"}, "",
		"python3 -m http.server 8000 --bind 127.0.0.1 >out 2>&1 & for i in $(seq 100); do curl -sf --noproxy '*' http://127.0.0.1:8000/ && exit 0; sleep 0.1; done; cat out; exit 1",
	},
}

// slow are more of them, for the long form (AW_LONG).
var slow = []job{
	{
		"cargo", []string{"cargo"}, nil, "cargo init -q --vcs none --name x .",
		"cargo build -q --offline && cargo test -q --offline && cargo run -q --offline",
	},
	{
		"pnpm", []string{"pnpm", "node"}, map[string]string{
			"package.json": `{"name": "root", "private": true}`, "pnpm-workspace.yaml": "packages: [packages/*]\n",
			"packages/a/package.json": `{"name": "a", "version": "1.0.0"}`,
			"packages/b/package.json": `{"name": "b", "version": "1.0.0", "dependencies": {"a": "workspace:*"}, "scripts": {"test": "node -p 'require(\"a/package.json\").name'"}}`,
		}, "", "pnpm install --offline --store-dir .pnpm-store && pnpm -r test",
	},
	{
		"a server, and a browser", []string{"python3", "curl", "chromium"}, map[string]string{"index.html": "<title>no</title><script>document.title = 'page ' + 6 * 7</script>"}, "",
		"python3 -m http.server 8000 --bind 127.0.0.1 >/dev/null 2>&1 & for i in $(seq 100); do curl -sf --noproxy '*' http://127.0.0.1:8000/ >/dev/null && break; sleep 0.1; done; " +
			"chromium --headless --no-sandbox --disable-gpu --dump-dom http://127.0.0.1:8000/ 2>/dev/null | grep '<title>page 42</title>'",
	},
}

// TestWork: what people let agents do is done inside the sandbox.
func TestWork(t *testing.T) {
	all := jobs
	if os.Getenv("AW_LONG") != "" {
		all = slices.Concat(jobs, slow)
	}
	for _, job := range all {
		t.Run(job.name, func(t *testing.T) {
			for _, need := range job.needs {
				if _, err := exec.LookPath(need); err != nil {
					t.Skipf("%s is not installed", need)
				}
			}
			w := newWorld(t, job.files)
			write(t, w, "run.sh", job.script)
			if job.before != "" {
				cmd := exec.Command("bash", "-c", job.before)
				cmd.Dir, cmd.Env = w.project, w.env()
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatalf("%v: %s", err, out)
				}
				write(t, w, "run.sh", job.script)
			}
			out, err := w.command("run.sh").CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			t.Logf("%s", strings.TrimSpace(string(out)))
		})
	}
}

// TestOutside: what people do not let agents do is not done, and says so.
func TestOutside(t *testing.T) {
	for name, script := range map[string]string{
		"a connection":         "curl -sS --max-time 5 https://example.com/",
		"a file of the home":   "touch ~/x",
		"a file of the system": "touch /etc/x",
		"a secret":             "cat ~/.ssh/id_ed25519 .env",
		"a start-up file":      "echo x >>~/.bashrc",
		"docker":               "docker ps",
		"a hook":               "mkdir -p .git/hooks && echo x >.git/hooks/pre-commit",
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, map[string]string{".env": "secret-text", "../.ssh/id_ed25519": "secret-text", ".git/hooks/x": "", ".git/config": "", ".git/HEAD": "ref: refs/heads/main"})
			write(t, w, "run.sh", script)
			out, err := w.command("run.sh").CombinedOutput()
			if err == nil || strings.Contains(string(out), "secret-text") {
				t.Errorf("%v\n%s", err, out)
			}
			if strings.Contains(string(out), "not run") {
				t.Errorf("it did not run: %s", out)
			}
		})
	}
}

func write(t *testing.T, w *world, name, text string) {
	t.Helper()
	must(t, exec.Command("bash", "-c", `printf '%s\n' "$1" >"$2"`, "x", text, w.project+"/"+name).Run())
}
