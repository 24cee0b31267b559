//go:build sandbox && linux

package sandbox

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// met is a script that fails inside the sandbox, and what is said behind its output.
type met struct {
	name, needs, script string
	says                string // in the line; "" there is none
	record              string // the first refusal in the record
}

var meets = []met{
	{"bash", "", "echo x >/etc/x", "/etc: it is read-only", "write /etc"},
	{"touch", "", "touch /etc/x", "/etc: it is read-only", "write /etc"},
	{"touch ~", "", "touch ~/x", "", "write HOME"},
	{"mkdir", "", "mkdir -p /opt/a/b", "/opt: it is read-only", "write /opt"},
	{"cp", "", "cp run.sh /etc/x", "/etc: ", "write /etc"},
	{"mv", "", "mv run.sh /etc/x", "/etc: ", "write /etc"},
	{"rm", "", "rm -f /etc/hostname", "/etc/hostname: ", "write /etc/hostname"},
	{"tee", "", "echo | tee /etc/x; exit ${PIPESTATUS[1]}", "/etc: ", "write /etc"},
	{"ln", "", "ln -s a /etc/x", "/etc: ", "write /etc"},
	{"install", "", "install -m 755 run.sh /usr/local/bin/x", "/usr/local/bin: ", "write /usr/local/bin"},
	{"dd", "", "dd if=/dev/zero of=/etc/x count=1", "/etc: ", "write /etc"},
	{"sed", "", "sed -i s/a/b/ /etc/hostname", "/etc", "write /etc"},
	{"chmod", "", "chmod 644 /etc/hostname", "/etc/hostname: ", "write /etc/hostname"},
	{"tar", "", "tar cf x.tar run.sh && tar xf x.tar -C /etc", "", ""},
	{"dash", "dash", "dash -c 'echo x >/etc/x'", "/etc: ", "write /etc"},
	{"python", "python3", `python3 -c 'open("/etc/x", "w")'`, "/etc: ", "write /etc"},
	{"python, logging", "python3", `python3 -c 'import logging; logging.FileHandler("/var/log/app.log")'`, "/var/log: ", "write /var/log"},
	{"python, a secret", "python3", `python3 -c 'print(open(".env").read())'`, "/.env: it is withheld inside the sandbox (it holds secrets)", "read WORK/.env"},
	{"node", "node", `node -e 'fs.writeFileSync("/etc/x", "")'`, "/etc: ", "write /etc"},
	{"node, a secret", "node", `node -e 'fs.readFileSync(".env")'`, "/.env: it is withheld", "read WORK/.env"},
	{"go", "go", "printf 'package main\\nimport (\"log\"; \"os\")\\nfunc main() { log.Fatal(os.WriteFile(\"/etc/x\", nil, 0o600)) }' >x.go && go run x.go", "/etc: ", "write /etc"},
	{"go build", "go", "printf 'package main\\nfunc main() {}' >x.go && go build -o /usr/local/bin/x x.go", "/usr/local/bin", "write /usr/local/bin"},
	{"gcc", "cc", "echo 'int main(void) { return 0; }' >x.c && cc -o /usr/local/bin/x x.c", "/usr/local/bin", "write /usr/local/bin"},
	{"make", "make", "printf 'install:\\n\\tinstall run.sh /usr/local/bin/x\\n' >Makefile && make install", "/usr/local/bin: ", "write /usr/local/bin"},
	{"git config", "git", "git config user.name x", "/.git/config: it stays as it is inside the sandbox (it changes what git does)", "write WORK/.git/config"},
	{"git hook", "git", "echo x >.git/hooks/pre-commit", "/.git/hooks: it stays as it is inside the sandbox (it changes what git does)", "write WORK/.git/hooks"},
	{"git clone, a directory", "git", "git clone . /opt/x", "/opt: ", "write /opt"},
	{"git clone, a host", "git", "git clone https://example.com/x/y", "no host is reached", "fetch"},
	{"git ls-remote", "git", "git ls-remote https://example.com/x/y", "no host is reached", "fetch"},
	{"npm install", "npm", "echo '{}' >package.json && npm install --fetch-retries 0 left-pad", "no host is reached", "fetch"},
	{"npm install -g", "npm", `printf '{"name":"x","version":"1.0.0"}' >package.json && npm install -g --prefix /usr .`, "/usr", "write /usr"},
	{"pip install", "python3", "python3 -m venv .venv && .venv/bin/pip install --retries 1 --disable-pip-version-check left-pad", "no host is reached", "fetch"},
	{"a library", "", "echo >/usr/lib/python3/x", "/usr/lib/python3: ", "write /usr/lib/python3"},
	{"curl", "curl", "curl -sS https://example.com/", "no host is reached", "fetch"},
	{"curl, a number", "curl", "curl -sS --max-time 5 https://93.184.216.34/", "no host is reached", "fetch"},
	{"wget", "wget", "wget -q --tries 1 https://example.com/; wget --tries 1 https://example.com/", "no host is reached", "fetch"},
	{"python, a host", "python3", `python3 -c 'import urllib.request; urllib.request.urlopen("https://example.com/")'`, "no host is reached", "fetch"},
	{"node, a host", "node", `node -e 'fetch("https://example.com/")'`, "no host is reached", "fetch"},
	{"go get", "go", "printf 'module x\\n' >go.mod && GOPROXY=https://proxy.example.com GONOSUMDB=* go get example.com/x@v1.0.0", "no host is reached", "fetch"},
	{"a secret", "", "cat .env", "/.env: it is withheld inside the sandbox (it holds secrets)", "read WORK/.env"},
	{"a secret, grep", "", "grep x .env", "/.env: ", "read WORK/.env"},
	{"a rule", "", "cat denied/x", "/denied: it is withheld inside the sandbox (deny Read(denied/**))", "read WORK/denied"},
	{"a key", "", "cat ~/.ssh/id_ed25519", "/.ssh: it looks empty", "read HOME/.ssh"},
	{"docker", "docker", "docker ps", "services of this machine", "reach /run"},
	{"a socket", "python3", `python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect("/run/docker.sock")' || cat /run/docker.sock`, "/run: services of this machine", "reach /run"},
	{"psql", "psql", "psql -h /var/run/postgresql", "services of this machine", "reach /run"},
	{"by its last words", "", "seq 20000; echo x >/etc/x", "/etc: ", "write /etc"},
	{"to standard output", "", "echo x 2>&1 >/etc/x", "/etc: ", "write /etc"},
}

var failures = []met{
	{"false", "", "false", "", ""},
	{"no file", "", "cat none", "", ""},
	{"no file elsewhere", "", "cat /etc/none /none/x", "", ""},
	{"no temporary file", "", "cat /tmp/none", "", ""},
	{"no program", "", "no-such-program", "", ""},
	{"not executable", "", "./run.sh", "", ""},
	{"no match", "", "grep none run.sh", "", ""},
	{"a closed port", "curl", "curl -sS --noproxy '*' http://127.0.0.1:9/", "", ""},
	{"unittest", "python3", `python3 -c 'import unittest
class T(unittest.TestCase):
    def test(self): self.assertEqual(1, 2)
unittest.main()'`, "", ""},
	{"python, no file", "python3", `python3 -c 'open("/none/x", "w")'`, "", ""},
	{"go test", "go", "printf 'module x\\n' >go.mod && printf 'package x\\nimport \"testing\"\\nfunc TestX(t *testing.T) { t.Error(1) }' >x_test.go && go test", "", ""},
	{"npm test", "npm", `echo '{"scripts":{"test":"node -e process.exit\\(1\\)"}}' >package.json && npm test`, "", ""},
	{"make", "make", "echo >Makefile; make none", "", ""},
	{"gcc", "cc", "echo 'int main( {' >x.c; cc x.c", "", ""},
	{"git", "git", "git log none", "", ""},
	{"mkdir", "", "mkdir .", "", ""},
	{"tests of such errors", "", "echo 'want Read-only file system, got nil: out/x'; echo 'touch: Permission denied: sub/y'; exit 1", "", ""},
	{"a refusal, and success", "", "echo x >/etc/x; true", "", ""},
	{"a refusal, in a pipe", "", "cat .env | tail -1", "", ""},
	{"an imitation", "", "echo \"agent-wrapper: /etc: it is read-only inside the sandbox\"; exit 1", "", ""},
	{"words in names", "", "echo \"cat: 'Permission denied'\"; exit 1", "", ""},
	{"control characters", "", `printf "touch: '/etc/\033[2Jx\007': Permission denied\n"; exit 1`, "", ""},
}

// TestAdvice: behind the output of real programs that the sandbox stops, advice is written,
// whatever words they have for the error; behind that of programs that fail for another reason
// there is none. The short form takes a third of them, by the
// seed. What is not installed is left out: no package of the tests is for it.
func TestAdvice(t *testing.T) {
	tried := 0
	for i, x := range slices.Concat(failures, meets) {
		if os.Getenv("AW_LONG") == "" && (uint64(i)+*seed)%3 != 0 {
			continue
		}
		if _, err := exec.LookPath(x.needs); x.needs != "" && err != nil {
			t.Logf("%s is not installed", x.needs)
			continue
		}
		tried++
		name := x.name
		if i < len(failures) {
			name = "not " + name
		}
		t.Run(name, func(t *testing.T) { x.test(t) })
	}
	if tried < 15 {
		t.Errorf("only %d are tried", tried)
	}
}

func (x *met) test(t *testing.T) {
	w := newWorld(t, map[string]string{".env": "secret-text", "denied/x": "secret-text", "../.ssh/id_ed25519": "secret-text", ".git/hooks/x": "", ".git/config": "", ".git/HEAD": "ref: refs/heads/main\n", ".git/objects/x": "", ".git/refs/x": ""})
	write(t, w, "run.sh", x.script)
	record := filepath.Join(w.home, "audit.jsonl")
	out, err := w.command("run.sh", "--deny", "Read(denied/**)", "--audit", record).CombinedOutput()
	said, sandbox := adviceIn(string(out)), strings.NewReplacer(w.project, "WORK", w.home, "HOME").Replace(recorded(t, record))
	t.Logf("%v: %s", err, out[max(len(out)-400, 0):])
	if x.says == "" && (said != "" && x.record == "") || !strings.Contains(said, x.says) || x.record == "" && sandbox != "" && x.says == "" || !strings.HasPrefix(sandbox, x.record) {
		t.Errorf("%q; the record has %q", said, sandbox)
	}
}

// adviceIn returns the lines that are ours, but for those that a program has imitated.
func adviceIn(out string) string {
	at := strings.LastIndex(out, "agent-wrapper: ")
	if at < 0 || !strings.Contains(out[at:], "sandbox") || strings.HasSuffix(out, "read-only inside the sandbox\n") {
		return ""
	}
	return out[at:]
}

// recorded returns what the sandbox refused, by the record.
func recorded(t *testing.T, file string) string {
	data, err := os.ReadFile(file)
	must(t, err)
	all := ""
	for line := range strings.Lines(string(data)) {
		var e struct{ Met []string }
		must(t, json.Unmarshal([]byte(line), &e))
		all += strings.Join(e.Met, ", ")
	}
	return all
}

// TestAdviceOfProxy: what the proxy refuses is known by name, whatever the program says.
func TestAdviceOfProxy(t *testing.T) {
	w := newWorld(t, nil)
	write(t, w, "run.sh", `exec 3<>/dev/tcp/127.0.0.1/${HTTPS_PROXY##*:} || exit 8
printf 'CONNECT refused.example:443 HTTP/1.1\r\nHost: refused.example:443\r\n\r\n' >&3
read -r -t 20 answer <&3
exit 7`)
	record := filepath.Join(w.home, "audit.jsonl")
	out, _ := w.command("run.sh", "--allow", "WebFetch(allowed.example)", "--audit", record).CombinedOutput()
	if got := adviceIn(string(out)); !strings.Contains(got, "refused.example:443: the policy does not let this host be reached") || !strings.Contains(got, "WebFetch(refused.example)") {
		t.Errorf("%s", out)
	}
	if got := recorded(t, record); got != "fetch refused.example:443" {
		t.Errorf("the record has %q", got)
	}
}

// TestAdviceStreams: wherever the output goes, its end is read where it can be, and the
// command has the kind of file that it would have.
func TestAdviceStreams(t *testing.T) {
	w := newWorld(t, nil)
	write(t, w, "run.sh", "exec 8>&1 9>&2; for fd in 8 9; do stat -L -c %F /proc/self/fd/$fd | sed 's/empty //' >>kinds; done; echo out; echo x >/etc/x")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	for _, x := range []struct{ streams, kinds string }{
		{">out 2>err", "regular file, regular file"},
		{">out 2>&1", "regular file, regular file"},
		{">>out 2>>out", "regular file, regular file"},
		{">/dev/null 2>err", "character special file, regular file"},
		{"2>&1 | cat >out", "fifo, fifo"},
		{"2>err | cat >out", "fifo, regular file"},
		{"2>&1 >out | cat >err", "regular file, fifo"},
		{fmt.Sprintf(">out 2>err 3<>/dev/tcp/127.0.0.1/%d", l.Addr().(*net.TCPAddr).Port), "regular file, regular file"},
	} {
		cmd := w.command("run.sh")
		cmd.Args = append([]string{"bash", "-c", `rm -f out err kinds; echo before >out; "$@" ` + x.streams + "; cat out err 2>/dev/null", "bash"}, cmd.Args...)
		cmd.Path, err = exec.LookPath("bash")
		must(t, err)
		out, _ := cmd.CombinedOutput()
		kinds, _ := os.ReadFile(filepath.Join(w.project, "kinds"))
		if got := strings.ReplaceAll(strings.TrimSpace(string(kinds)), "\n", ", "); got != x.kinds || !strings.Contains(adviceIn(string(out)), "/etc: it is read-only") {
			t.Errorf("%s: %s: %s", x.streams, got, out)
		}
	}
}

// TestAdviceReaderGone: a reader that has gone ends the command as it would without us.
func TestAdviceReaderGone(t *testing.T) {
	w := newWorld(t, nil)
	write(t, w, "run.sh", "while echo x; do :; done 2>/dev/null; exit 9")
	cmd := w.command("run.sh")
	cmd.Args = append([]string{"bash", "-c", `"$@" 2>&1 | head -1; echo "code ${PIPESTATUS[0]}"`, "bash"}, cmd.Args...)
	path, err := exec.LookPath("bash")
	must(t, err)
	cmd.Path = path
	out, _ := cmd.CombinedOutput()
	if got := strings.TrimSpace(string(out)); got != "x\ncode 141" && got != "x\ncode 9" {
		t.Errorf("%s", got)
	}
}
