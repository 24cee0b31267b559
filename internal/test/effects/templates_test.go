//go:build oracle && linux

package effects

import "strings"

// templates holds the arguments of commands. A placeholder is a word or a part
// of one:
//
//	%f a file that is read   %o a file that is written   %d a directory
//	%n a number              %p a pattern                %x any word
//	%t shell text            %s a sed script             %a an awk program
//	%O some options of the catalogue                     %C a command, word by word
//	%F an expression of find                             %S names of tables of sqlite3
//
// A backslash precedes a character that only the shell sees.
var templates = map[string][]string{
	"awk":       {"%a %f", "%O %a %f", "-F : %a", "-f prog.awk %f", "-v x=%x %a %f", "-f prog.awk -- %a", "%a v=%x %f", "-W%x %a", "-o%o %a", "-i %x %a", "-l %x %a", "%a -o %o"},
	"base64":    {"%O %f", "-d %f"},
	"basename":  {"%f", "-a %f %f", "%O %f"},
	"bash":      {"-c %t", "-c %t %x %x", "x", "%O -c %t", "-ec %t", "--rcfile %f -ic %t", "--norc -c %t", "-s %x", "-x x", "+x -c %t", "-- x", "-o pipefail -c %t"},
	"bc":        {"%f", "-q %f", "%O %f"},
	"bzip2":     {"%f", "-c %f", "-k %f", "%O %f", "-t %f"},
	"cal":       {"", "%O", "2020"},
	"cat":       {"%f", "%f %f", "%O %f", "-"},
	"chmod":     {"%x %f", "+x %f", "-R go-w %d", "%O 644 %f", "--reference=%f %f", "644 %f %f", "-x %f"},
	"cksum":     {"%f", "%O %f"},
	"cmp":       {"%f %f", "%O %f %f"},
	"column":    {"-t %f", "%O %f"},
	"comm":      {"%f %f", "%O %f %f"},
	"command":   {"%C", "-v %x", "-p %C", "-V %x"},
	"cp":        {"%f %o", "%f %f %d", "-r %d %o", "%O %f %o", "-t %d %f", "--target-directory=%d %f", "-a %d %d", "--parents %f %d", "-s %f %o", "-l %f %o", "-b %f %o", "-S %x %f %o", "-rT %d %o", "--backup=t --suffix=%x %f %o", "-d %f %o", "-P %f %o"},
	"cpio":      {"-o", "-i", "-it", "-pd %d", "-o -O %o", "-o -F %o", "-id -D %d", "-i -F arch.tar", "%O", "-t -F arch.tar", "-pdm %o"},
	"csplit":    {"%f 2", "-f %o %f 2", "%O %f %n", "-s -k %f /a/"},
	"cut":       {"-d: -f1 %f", "-c1 %f", "%O -f %n %f", "%O %f"},
	"date":      {"", "+%F", "-d %x", "-r %f", "%O", "-f %f"},
	"dash":      {"-c %t", "x", "%O -c %t", "-c %t %x"},
	"dd":        {"if=%f of=%o", "of=%o if=%f bs=1 count=%n", "if=%f", "%x", "if=%f of=%o conv=notrunc", "if=%f oflag=append of=%o"},
	"df":        {"%f", "%O"},
	"diff":      {"%f %f", "-u %f %f", "%O %f %f", "-r %d %d", "--to-file=%f %f", "-l %f %f"},
	"diff3":     {"%f %f %f", "%O %f %f %f", "--diff-program=%x %f %f %f"},
	"dirname":   {"%f", "%O %f"},
	"du":        {"%d", "-sh %f", "%O %f"},
	"echo":      {"%x", "%x %f", "-n %x", "-e %x", "%f %f", "c1 %x", "%f -o %o", "-rf %f", "!c1"},
	"ed":        {"%f", "-s %f", "-s !c1", "%O %f"},
	"egrep":     {"%p %f", "%O %p %f"},
	"env":       {"%C", "A=1 %C", "-i %C", "-i A=%x %C", "-u A %C", "-C %d %C", "", "-S %x", "-S%x", "-vS %x", "--split-string=%x", "-- %C", "B=%x A=1 %C", "--chdir=%d %C", "-0", "-iu A %C", "--unset=A %C", "- %C", "LC_ALL=C %C", "PATH=%x %C", "--ignore-signal=PIPE %C", "--debug %C", "-uA %C", "-Csub %C"},
	"eval":      {"%t", "%C", "%x %C"},
	"exec":      {"%C", "-a %x %C", "-c %C", ""},
	"expand":    {"%f", "%O %f"},
	"expr":      {"1 + %n", "%x : %p"},
	"factor":    {"%n"},
	"false":     {"", "%x"},
	"fdfind":    {"%p", "%p -x %C", "-x %C", "-X %C", "-e txt", "%O %p", "-t f %p %d", "--exec %C", "--exec=%x", "%p %d -x %C \\; -0", "-HI %p", "--exec-batch %C", "-x %C {}", "-x %C ; -x %C"},
	"fgrep":     {"%p %f", "%O %p %f"},
	"file":      {"%f", "%O %f", "-m %f %f", "-f list", "-C -m %f"},
	"find":      {"%F", "%d %F", "%d %d %F", "%d -type f %F", "-H %d %F", ". -name %p %F", "-L %F", "%f %F", "-D exec %F", "-O2 %d %F", "-files0-from %f %F", "-- %d %F"},
	"flock":     {"%o %C", "-n %o %C", "%o -c %t", "%O %o %C", "-c %t", "-w 1 %o -c %t", "%d %C", "-x -n %o %C"},
	"fmt":       {"%f", "%O %f", "-10 %f"},
	"fold":      {"-w 3 %f", "%O %f"},
	"gawk":      {"%a %f", "%O %a %f", "-f prog.awk", "--source %a", "-e %a %f", "-p%o %a", "--pretty-print=%o %a", "--profile %a %f", "-d %a", "-S %a", "-f %f", "-E prog.awk", "--dump-variables=%o %a", "-o %a", "--include=%x %a", "-l filefuncs %a", "-lfilefuncs %a %f", "-D %a"},
	"git":       gitTemplates,
	"grep":      {"%p %f", "-r %p %d", "%O %p %f", "-e %p %f", "-f %f %f", "-l %p %f", "-rl %p .", "-R %p", "-c %p", "%p -- %f", "--file=%f %f", "%p"},
	"gunzip":    {"%f", "-c %f", "-k t.gz", "%O %f", "t.gz"},
	"gzip":      {"%f", "-c %f", "-k %f", "%O %f", "-d t.gz", "-dc t.gz", "-r %d", "-S %x %f"},
	"head":      {"-n 1 %f", "%f", "%O %f", "-1 %f"},
	"hexdump":   {"-C %f", "%O %f"},
	"hostname":  {"", "%O", "-F %f"},
	"iconv":     {"-t UTF-8 %f", "-o %o %f", "--output=%o %f", "%O %f", "-f L1 -t UTF-8 -o%o %f"},
	"id":        {"", "%O"},
	"install":   {"%f %o", "-m 755 %f %o", "-d %o", "-D %f %o", "-t %d %f", "%O %f %o", "-Dt %d %f", "-s --strip-program=%x %f %o", "-b %f %o", "-d %o %o"},
	"ionice":    {"-c 3 %C", "%C", "-p %n"},
	"join":      {"%f %f", "%O %f %f"},
	"jq":        {". n.json", "%p %f", "-r .b n.json", "%O . %f", "-n %x", "-f %f n.json", "--arg a %x . %f", "--slurpfile a %f . n.json", "-L %d . n.json", "-n input n.json"},
	"less":      {"%f", "-o %o %f", "%O %f", "-O%o %f", "+%x %f", "--log-file=%o %f"},
	"link":      {"%f %o"},
	"ln":        {"-s %f %o", "%f %o", "-sf %f %o", "-s %x %o", "-t %d %f", "-s %f", "%O %f %o", "-sfn %d %o", "-s %f %f %d", "-r -s %f %o", "-sb %f %o"},
	"look":      {"%p %f", "%O %p %f"},
	"ls":        {"", "%f", "-la %d", "%O %f", "-R", "%f %f", "-- %f"},
	"lz4":       {"%f", "%f %o", "-c %f", "-k %f", "%O %f", "-m %f %f", "-t %f"},
	"mawk":      {"%a %f", "%O %a %f", "-f prog.awk %f", "-v x=%x %a", "-W exec prog.awk", "-We prog.awk", "-Wi %a", "-W dump %a"},
	"md5sum":    {"%f", "-c %f", "%O %f"},
	"mkdir":     {"%o", "-p %o", "%O %o", "-p %o %o", "-m 700 %o", "-pv %o/a/b"},
	"mkfifo":    {"%o", "%O %o"},
	"mktemp":    {"", "-d", "-p %d", "%O", "-u", "-t n.XXXX", "out/n.XXXX", "--tmpdir=%d", "-p %d n.XXXX", "--suffix=%x", "/tmp/n.XXXX"},
	"mv":        {"%f %o", "%f %f %d", "-f %f %o", "-t %d %f", "%O %f %o", "-n %f %o", "-T %f %o", "-b %f %o", "%d %o", "--target-directory=%d %f", "-S %x -b %f %o"},
	"nice":      {"%C", "-n 5 %C", "-5 %C", "--adjustment=3 %C", "-n5 %C"},
	"nl":        {"%f", "%O %f"},
	"nohup":     {"%C"},
	"numfmt":    {"%n", "%O %n"},
	"od":        {"-c %f", "%O %f"},
	"paste":     {"%f %f", "%O %f"},
	"patch":     {"-i e.patch", "a.txt e.patch", "-p0 -i up.patch", "-o %o a.txt e.patch", "%O a.txt e.patch", "-d %d -i %f", "--dry-run -i e.patch", "%f %f", "-b -i e.patch", "-r %o -i e.patch", "-b -z %x a.txt e.patch", "-B %x -b a.txt e.patch", "-Y %x -b a.txt e.patch"},
	"pr":        {"%f", "%O %f"},
	"printf":    {"%x", "%%s\\n %f", "-v x %x", "%%s\\\\0 %f %f", "%%s\\\\n %x %f", "%%b %x"},
	"ptx":       {"%f", "%O %f", "-G %f %o", "%f %o"},
	"pwd":       {"", "-P"},
	"readlink":  {"%f", "-f %f", "%O %f"},
	"realpath":  {"%f", "%O %f"},
	"rev":       {"%f", "%f %f"},
	"rg":        {"%p", "%p %d", "%O %p %f", "-l %p", "--pre %x %p", "--pre=%x %p %f", "-f %f", "-z %p %f", "--hostname-bin %x %p", "--files", "--hidden %p", "--search-zip %p t.gz"},
	"rm":        {"%f", "-f %f", "-rf %d", "%f %f", "%O %f", "-r %f", "-- %f", "-rf -- %f", "-d %d", "-f -r %o"},
	"rmdir":     {"empty", "%d", "-p %d", "%O empty", "--parents sub/deep"},
	"rsync":     {"-a %f %o", "-a sub/ %o", "-r %d %d", "%O %f %o", "-a --delete empty/ %d", "-e %t %f h:x", "-a --files-from=list . %d", "--log-file=%o %f %o", "--backup-dir=%o -ab %f %o", "-T %d -a %f %o", "--write-batch=%o -a sub/ out/", "--only-write-batch=%o -a sub/ out/", "-n %f %o", "%f", "--remove-source-files -a %f %o", "-a --temp-dir=%d %f %o", "--rsync-path=%x %f %o", "-av %f %f %d", "--partial-dir=%o -a %f %o", "--list-only %f", "-R %f %d", "-a -M%x %f %o", "-aK sub/ %d", "-b --suffix=%x -a %f %o"},
	"sdiff":     {"%f %f", "-o %o %f %f", "%O %f %f", "--diff-program=%x %f %f"},
	"sed":       {"%s %f", "-n %s %f", "-e %s %f", "-e %s -e %s %f", "-i %s %f", "-i.bak %s %f", "-f script.sed %f", "%O %s %f", "-n -f %f %f", "--expression=%s %f", "-s %s %f %f", "-E %s", "--in-place=%x %s %f", "-ni %s %f", "--sandbox %s %f", "-ie %s %f", "-z %s %f", "--posix %s %f", "-i*.bak %s %f", "-iout/* %s %f", "-i%x %s %f", "-ne %s", "--debug %s %f"},
	"seq":       {"%n", "1 %n", "%O 3"},
	"setsid":    {"%C", "-w %C", "-f %C"},
	"sh":        {"-c %t", "x", "-c %t %x %x", "%O -c %t", "-s", "-ec %t", "+e -c %t", "-x x"},
	"sha256sum": {"%f", "-c %f", "%O %f"},
	"shuf":      {"%f", "-o %o %f", "%O %f", "-e %x %x", "-n1 -o%o %f", "--output %o %f", "-i 1-%n"},
	"sleep":     {"0", "0.01"},
	"sort":      {"%f", "-o %o %f", "-u %f", "%O %f", "-uo%o %f", "--output=%o %f", "%f -o %o", "-T %d %f", "--compress-program=%x -S 1k %f", "-k2 -t: %f", "--out %o %f", "-nro %o %f", "-m %f %f", "--files0-from=%f", "+1 %f", "%f %f"},
	"split":     {"%f", "-l 1 %f %o", "-b 2 %f", "--filter=%t %f", "%O %f %o", "-d -l1 %f", "-n 2 %f %o", "--filter %t -l1 %f", "--additional-suffix=%x -l1 %f %o"},
	"sqlite3":   {"%o %S", ":memory: %S", "-cmd %x :memory: %S", "-init %f :memory: %S", "%O :memory: %S", "-batch %o", "-readonly :memory: %S", ":memory:"},
	"stat":      {"%f", "-c %x %f", "%O %f"},
	"stdbuf":    {"-oL %C", "-o0 -eL %C", "--output=L %C", "-i0 %C"},
	"strings":   {"%f", "%O %f"},
	"tac":       {"%f", "%O %f"},
	"tail":      {"-n 1 %f", "%f", "%O %f", "+2 %f"},
	"tar":       {"cf %o %f", "xf arch.tar", "xf arch.tar -C %d", "czf %o %f", "tf arch.tar", "-cf %o %O %f", "xzf arch.tar.gz --to-command=%t", "-cf %o --checkpoint=1 --checkpoint-action=exec=%x %f", "rf arch.tar %f", "-cf %o *", "--delete -f arch.tar in.txt", "-cf - %f", "-cf %o -T list", "xOf arch.tar", "-cf %o --use-compress-program=%x %f", "-cf %o -I %x %f", "-xf arch.tar %O", "-tvf arch.tar %O", "-cvzf %o %f %f", "--create --file=%o %f", "--extract --file=arch.tar --directory=%d", "-C %d -cf %o .", "xvf arch.tar --one-top-level=%o", "-xPf arch.tar", "-uf arch.tar %f", "cf %o %f --remove-files", "-cf %o -g %o %f", "-x -f arch.tar --transform=s,in,/tmp/n,", "xf arch.tar --checkpoint=1 --checkpoint-action=%p", "xkf arch.tar in.txt", "-cf%o %f", "cfz %o %f", "-cf %o --index-file=%o %f", "-xf arch.tar --backup --suffix=%x", "caf %o.gz %f", "-tf arch.tar.gz", "-xf arch.tar -s,in,n,", "-Mcf %o -L1 -F %t %f", "-cf /dev/null --checkpoint=1 --checkpoint-action=exec=c1 .", "cf /dev/null --checkpoint --checkpoint-action exec=%x .", "-cf /dev/null --checkpoint=1 --checkpoint-act=exec=c1 .", "--to-command=c1 -xf arch.tar", "-cf - -I c1 .", "tf %f", "-tzf arch.tar.gz --occurrence=1 in.txt"},
	"tee":       {"%o", "-a %o", "%o %o", "%O %o", "/dev/null", "-- %o"},
	"test":      {"-f %f", "-n %x", "%x = %x", "-e %f -o -d %d", "-v a[0]"},
	"time":      {"%C", "-p %C"},
	"timeout":   {"1 %C", "-s INT 1 %C", "-k 1 1 %C", "--signal=KILL 1s %C", "--foreground 1 %C", "%O 1 %C", "-v 1 %C", "-- 1 %C", "-sKILL 1 %C", "--kill-after=1 1 %C"},
	"touch":     {"%o", "-c %f", "-r %f %o", "%O %o", "-d %x %o", "%o %o", "-h %o", "-- %o"},
	"tr":        {"a b", "-d %x", "%O a b"},
	"tree":      {"%d", "-L 1", "-o %o", "%O %d", "-o %o %d", "-H . -o %o", "-R -L 1 -H . %d", "-R -L 1 -o %o"},
	"true":      {"", "%x", "%f"},
	"truncate":  {"-s 0 %o", "-s %n %o", "%O -s 1 %o", "-c -s 0 %o", "-r %f %o"},
	"tsort":     {"%f"},
	"tty":       {"", "-s"},
	"uname":     {"-a", "%O"},
	"unexpand":  {"%f", "%O %f"},
	"uniq":      {"%f", "%f %o", "-c %f", "%O %f", "-d %f %o", "-f 1 %f", "- %o", "-c %f -- %o"},
	"unlink":    {"%f", "%o"},
	"unzip":     {"arch.zip", "-o arch.zip", "-l arch.zip", "-d %o arch.zip", "arch.zip -d %d", "-p arch.zip", "-oq arch.zip in.txt", "%O arch.zip", "-: -o arch.zip", "-t arch.zip", "-j -o arch.zip", "-ql arch.zip", "-Z1 arch.zip", "-n arch.zip -d%o", "-c arch.zip", "-lo arch.zip", "-pqo arch.zip"},
	"wc":        {"-l %f", "%f", "%O %f", "--files0-from=%f"},
	"which":     {"%x", "-a git"},
	"xargs":     {"%C", "-n 1 %C", "-I {} %C {}", "-0 %C", "%O %C", "-I% %C %", "", "-a %f %C", "-r -n1 %C", "-L 1 %C", "-P 2 -n 1 %C", "sh -c %t", "-i %C {}", "--arg-file=%f %C", "-d , %C", "-t %C", "-J % %C", "--replace %C {}", "-E x %C", "-e %C", "-l %C", "--max-args=1 %C", "-I X %C --output=X", "-IX sh -c %t X", "-n1 -- %C", "bash -c %t _"},
	"xxd":       {"%f", "%f %o", "-r %f %o", "-p %f", "%O %f", "-l 2 -- %f %o"},
	"xz":        {"%f", "-k %f", "-c %f", "%O %f", "-t %f", "--files=list", "-S %x %f", "--suffix=%x -k %f"},
	"zcat":      {"t.gz", "%f", "%O t.gz"},
	"zgrep":     {"%p t.gz", "%p %f", "%O %p t.gz", "-f %f t.gz", "-e %p %f", "--file=%f t.gz", "-rf %f t.gz"},
	"zip":       {"%o.zip %f", "-r %o.zip %d", "-q %o.zip %f", "-T %o.zip %f", "-T -TT %t %o.zip %f", "%O %o.zip %f", "-m %o.zip %f", "-@ %o.zip", "- %f", "-u arch.zip %f", "-d arch.zip in.txt", "-b %d %o.zip %f", "-O %o arch.zip %f", "-sf arch.zip", "-lf %o %o.zip %f", "-Tq %o.zip %f", "-F arch.zip --out %o", "%o.zip %f -TT c1", "--unzip-command %t -T %o.zip %f", "-rT %o.zip sub", "-la -lf %o arch.zip %f", "-FS %o.zip %f", "-r -s 64k %o.zip sub"},
	"zstd":      {"%f", "-o %o %f", "-c %f", "-k %f", "%O %f", "-d %f", "-f %f", "--rm %f", "-r %d", "--train %f -o %o", "--output-dir-flat %d %f", "-qo %o %f", "--output-dir-mirror=%d -r sub", "--filelist=list", "-D %f %f", "--patch-from=%f %f", "--trace %o %f", "-b1 %f"},

	"c1":   {"", "%x", "%f", "%x %x %f"},
	"c2":   {"%x", "-o %o"},
	"c3":   {"%x %x"},
	"sudo": {"%C", "-u x %C", "-n %C", "A=1 %C"},

	"cd": {"%d"}, "export": {"A=%x", "PAGER=%x"}, "read": {"x"}, ":": {"%x"}, "type": {"%x"},
	"set": {"-- %f %f", "-e", "-f"}, "umask": {"077"}, "wait": {""}, "trap": {"%t EXIT", "%t ERR"},
	"source": {"%f"}, ".": {"./x"}, "unset": {"A"}, "shopt": {"-s nullglob", "-s dotglob"}, "builtin": {"echo %x"},
	"ulimit": {"-c 0"}, "hash": {"-r"}, "alias": {"x=%x"}, "local": {"x"}, "let": {"x=%n"}, "mapfile": {"x"},
}

var gitTemplates = strings.Split(`status
status -s
status %O
log --oneline
log %O
log -p %f
log -%n
log --format=%p %x
diff
diff %O
diff %O %f
diff --output=%o
diff --no-index %f %f
diff --no-index --output %o %f %f
diff HEAD~1
show %O
show HEAD:a.txt
show %x
add %f
add -A
add %O %f
commit -m %x
commit -am %x
commit %O -m %x
commit -F %f
commit
branch
branch %x
branch %O %x
checkout -b %x
checkout -- %f
checkout side
checkout %O %x
tag %x
tag -a %x -m %x
tag -F %f %x
grep %p
grep %O %p
grep -O%x %p
grep --open-files-in-pager=%x %p
grep -f %f
rev-parse HEAD
rev-parse %O
ls-files
ls-files %O
ls-files -z
stash
stash push -m %x
stash list
config user.name %x
config core.pager %x
config --get %x
config -l
config --file %o a.b c
config alias.x !c1
config --global a.b c
archive HEAD
archive -o %o HEAD
archive --output=%o HEAD
archive %O HEAD
apply e.patch
apply %O e.patch
apply --directory=%d %f
apply --unsafe-paths up.patch
apply --reject %f
format-patch -1
format-patch -1 -o %o
format-patch %O -1
format-patch --stdout -1
bundle create %o HEAD
bundle list-heads %f
bisect run %C
bisect start HEAD HEAD~1
blame a.txt
blame %O a.txt
rebase -x %t HEAD~1
rebase --exec %t HEAD~1
rebase HEAD~1
submodule foreach %t
submodule status
difftool -x %t HEAD~1
difftool -y --extcmd=%x HEAD~1
clean -n
clean -fd
clean -fdx %d
mv a.txt %o
rm a.txt
rm %O %f
reset
reset --hard
reset %x
restore a.txt
restore %O a.txt
restore --source=HEAD~1 a.txt
clone . %o
clone -u %x . %o
clone --template=%d . %o
clone %O . %o
init %o
init --template=%d %o
init %O
worktree add %o
worktree add %o side
worktree list
fetch . side
fetch %O
fetch --upload-pack=%x .
pull . side
push . HEAD:refs/heads/n
push --receive-pack=%x . HEAD:n
push %O
remote -v
remote add %x %x
ls-remote .
ls-remote --upload-pack=%x .
notes add -m %x
describe --always
shortlog -s HEAD
cat-file -p HEAD
cat-file --textconv HEAD:a.txt
hash-object %f
hash-object -w %f
update-index --refresh
filter-branch --tree-filter %t HEAD
filter-branch -f --index-filter %t HEAD
gc
fsck
reflog
merge side
merge %O side
cherry-pick HEAD
cherry-pick %O HEAD
revert --no-edit HEAD
range-diff HEAD~1 HEAD HEAD
switch side
switch -c %x
help
version
var GIT_EDITOR
write-tree
read-tree HEAD
checkout-index -a --prefix=%o
checkout-index -f %f
for-each-ref
for-each-ref --format=%x
for-each-repo --config=a.b %x
merge-file %f %f %f
merge-file -p %f %f %f
interpret-trailers --in-place %f
interpret-trailers --trailer %x %f
mailinfo %o %o
mailsplit -o%d %f
pack-objects %o
pack-objects %O %o
index-pack %f
index-pack -o %o %f
unpack-file HEAD:a.txt
fast-export HEAD
fast-export --export-marks=%o HEAD
rev-list HEAD
rev-list %O HEAD
diff-tree -p HEAD
diff-tree --output=%o -p HEAD
diff-index --output=%o HEAD
stripspace
column
credential fill
bugreport
bugreport -o %o
diagnose -o %o
replay
sparse-checkout list
maintenance run
symbolic-ref HEAD
update-ref refs/heads/n HEAD
update-server-info
get-tar-commit-id
am %f
am %O %f
send-email %x
instaweb
daemon
cvsserver
upload-pack .
-C %d status
-C %d log
-c core.pager=%x log
-c alias.x=%x x
-c alias.x=!c1 x
-c diff.external=%x diff
--exec-path=%d status
--git-dir=%d status
--work-tree=%d checkout -- a.txt
-p log
-p diff
--no-pager log
--paginate diff
--config-env=core.pager=HOME log
--bare status
x
st`, "\n")

// findParts holds the parts of an expression of find.
var findParts = []string{
	"-name %p", "-type f", "-type d", "-newer %f", "-print", "-print0", "-delete", "-exec %C {} \\;", "-exec %C {} +", "-execdir %C {} \\;",
	"-exec %C \\;", "-ok %C {} \\;", "-fprint %o", "-fls %o", "-fprintf %o %x", "-fprint0 %o", "-maxdepth 1", "-o -name %p", "! -name %p",
	"\\( -name %p -o -delete \\)", "-prune", "-quit", "-ls", "-exec sh -c %t \\;", "-exec sh -c %t _ {} +", "-path %x", "-size +0", "-mtime -1",
	"-printf %x", "-empty", "-name -delete", "-newerXY %f", "-newermt %x", "-samefile %f", "-regex %p", "-exec echo {} \\; -exec %C {} \\;",
	"-name %p , -print", "-okdir %C {} \\;", "-exec %C ./{} \\;", "-exec %C --output={} \\;", "-exec %C {} \\; -delete", "-type f -exec %C {} \\; -print",
	"-exec touch {} \\;", "-exec chmod 600 {} +", "-name %p -exec cp b.txt {} \\;", "-exec tee {} \\;", "-exec sed -i s/a/b/ {} +", "-type f -exec chmod 600 {} +", "-exec rm -f {} +", "-type l -exec rm {} +", "-name %p -exec mv {} out \\;",
}

// In sedScripts, awkPrograms and sql, %o is a path and %t a command.
var sedScripts = []string{
	"s/a/b/", "s/a/c1 x/e", "s/a/b/w %o", "w %o", "r %f", "e c1 x", "1e", "W %o", "$!d", "p;p", "y/a/b/", "/a/{p;w %o", "s|a|b|gw %o",
	"s/a/b/;e c2", "i\\ text", "{w %o\n}", "s,x,y,;W %o", "F;=", "1!G;h;$!d", "s/x/\\n/w %o", "R list", "Q", "a\\\nw x", "/b/s//y/e", "0~2e",
	"s/.*/c2/e;p", "2q", "s/a/w %o/", "s/b/x/2;w %o", "/a/,/b/w %o", "1,2!w %o", "\\,a,w %o", "y/abc/xyz/;w %o", "$ { w %o\n}", "n;d", "b x;:x;w %o",
	"s/a/b/m;s/b/c/we", "s/[/]a/b/w %o", "s/a\\/b/c/w %o", "a w %o", "i\\\nx\\\nw %o", "c text;w %o", "r x;w %o", "#n\nw %o", "s/a/b/ w %o", "}", "1{e", "v 4.2;w %o", "z;w %o", "s/x/y/pw %o", "s/a/b/ge", "e", "s/a/b/eg", "s/a/b/Me",
	"l 1;w %o", "q5", "s/\\n/,/;ta;:a;N", ":a w %o", "y,/,b,;w %o", "s/[^/]/x/w %o", "s/a/[/w %o", "/[/]/w %o", "/a/I w %o", "/b/Me c1",
}

var awkPrograms = []string{
	"{print}", "{print > \"%o\"}", "{print | \"c1\"}", "BEGIN{system(\"c1 x\")}", "{ \"c2\" | getline x }", "{print >> \"%o\"}", "BEGIN{getline < \"a.txt\"}",
	"{print $1, $2}", "BEGIN{while((\"c1\")|getline);}", "{printf \"%%s\", $0 > $1}", "{print > $1 \".out\"}", "BEGIN { print length(\"x > y\") }",
	"/a>b/{print}", "{print ($1 > 2)}", "{ if ($1 > 2) print }", "BEGIN{close(\"c1\"); fflush()}", "BEGIN{x=\"c1\"; x | getline}", "{print |& \"c1\"}",
	"BEGIN{print | \"cat >%o\"}", "BEGIN{f=\"%o\"; print \"x\" > f}", "function f(a){return a} {print f($1)}", "@include \"prog.awk\"", "BEGIN{ARGV[1]=\"x\"}",
	"NR==1", "BEGIN{printf(\"a\") > \"%o\"}", "{print $1/2 > \"%o\"}", "{x = $1 / 2; y = \"a\" / 3; print > \"%o\"}", "BEGIN{print \"a\" \"b\" > \"%o\" \".x\"}", "@load \"filefuncs\"; BEGIN{}",
	"BEGIN{a[\"system\"]=1; for (k in a) print k}", "BEGIN{ f = \"system\"; @f(\"c1\") }", "END{print NR}", "length > 3", "$1 > 2 {print}", "BEGIN{print -1 \" \" > \"%o\"}",
	"{sub(/a/, \"b\"); print}", "{gsub(\"/\", \"x\"); print > \"%o\"}", "BEGIN { \"date\" |& getline d }", "BEGIN{system(\"\")}", "# c\n{print > \"%o\"}", "{print /x/ ? \"a\" : \"b\" > \"%o\"}", "BEGINFILE{print > \"%o\"}", "{nextfile}", "a=b > \"%o\"", "BEGIN{sys\\\ntem(\"c1\")}", "{print>$0}", "{print;print>\"%o\"}",
}

var sql = []string{
	"create table t(a);", ".shell c1 x", ".system c1", "select 1;", ".output %o", ".once |c1", "select writefile('%o','x');", "attach '%o' as a; create table a.t(b);", ".import |c1 t", ".read list",
	".log %o", ".backup %o", ".save %o", "vacuum into '%o';", ".open %o", "select load_extension('x');", ".dump", "select edit('x','c1');", ".excel",
}

// often lists programs that are chosen more often, in proportion to their number.
var often = strings.Fields("find find find xargs xargs sed sed awk sort tar tar cp mv rm git git git git git tee rsync zip env env timeout sh bash install ln touch")

// The kinds of words.
var (
	inputs = []string{
		"a.txt", "b.txt", "c.md", "'a b'", "sub/d.txt", "./-o", "-o", "./--output=x", "--output=x", "-rf", "-delete", "./rm", "rm", "'$(c9)'", "'--checkpoint=1'", "lnk.txt", "ld/f",
		"in/d.txt", "up/h.txt", "../h.txt", "~/h.txt", "/outside/f", "/etc/x", "/tmp/y", "*", "*.txt", "./*", "sub/*", "[-a]*", "?.txt", "-*", "*/*", "{a,b}.txt", "{-o,n8}", "n.json", "list", "none", "x",
		"$HOME/h.txt", "\"$PWD\"/a.txt", "out/old.log", "sub", "out", ".", "-exec", "arch.tar", "-", "/dev/null", ".env", "sub/../b.txt", "./a.txt", "/home/dev/w/b.txt", "ld/../w/b.txt", "tool", "./tool", "sub/l", "gone", "~+/a.txt", "**", ".*", "$A", "\"$A\"", "/dev/fd/0", "-i", "--", "+x", "@list", "=x", "e.patch", "prog.awk", "*.{txt,md}", "?", "a.txt -o n9",
	}
	outputs = []string{
		"n1", "n2", "out/n3", "out/old.log", "a.txt", "b.txt", "/tmp/n4", "/tmp/y", "/outside/n5", "/outside/f", "../n6", "ld/n7", "lnk.txt", "sub/n8", "~/n9", ".git/hooks/post-commit", "./n10", "in/n11", "up/n12", "gone",
		"/dev/null", "/dev/stdout", "-", "\"$HOME\"/n13", "sub/../../n14", "x", "'n 15'", "n16.log", "out/x.log", ".env", "-o", "./-o", "\"$A\"n", "n$A", "*.txt", "sub/l", "/dev/fd/1", "|c1", "'!c1'", "n{1,2}", "/dev/../outside/n17", "out/./n18", "out//n19", "out/../n20", "tool", "/etc/n21", "~/.bashrc", ".", "sub", "out", "empty", "ld", "/dev/stderr", "out/sub/n22", "./*", "./*.txt", "./*/*", "l*", "-- *", "\"$f\"", "in/*",
	}
	dirs     = []string{"sub", "out", ".", "..", "/tmp", "ld", "in", "/outside", "~", "./-exec", "up", "empty", "sub/deep", "none", "$HOME", "\"$PWD\"", "sub/..", "out/", "*/", "s*", "/home/dev/w", "-exec", "$A", "/etc"}
	searches = []string{"a", "'*.txt'", "x", "'*'", "\"c9 x\"", "^b", "-o", "'*.log'", "d.txt", "e", "'%h\\n'", "exec=c1", "'exec=c1 x'", ".", "\\*.md", "'-o'", "ttyout=x", "totals", "a.*", "*.txt", "'sleep=0'", "'echo=x'"}
	anything = []string{"x", "1", "'c1 x'", "c2", "-o", "a.txt", "./tool", "'a b'", "$A", "\"$A\"", "*", "--output=n1", "'rm a.txt'", "/outside/f", "'$(c9)'", "`c1`", "$(c2)", "\"$(cat list)\"", "-exec", "rm", "~", "a=b", "-", "--", "%h", "'%p\\n'", "'|c1'", "!c1", "-rf", "/bin/c1", "\\-o", "$'a\\nb'", "${A:-x}", "out/n", "sh", "'sh -c c1'", "cat", "$((1+2))", "{a,b}", "<(c1)", "=c1", "-x", "$#", "n30", ".bak", "out/*", "/tmp/n31", "../n32", "'touch n33'", "755", "u+x", "644", "now", "{}", "<(cat a.txt)", "\"<(c1)\"", "-c", "@1", "a.txt:x", "|", "HEAD"}
	numbers  = []string{"1", "2", "3", "0", "10", "-1", "1k"}
)
