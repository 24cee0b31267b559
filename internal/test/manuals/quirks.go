package manuals

import (
	"slices"
	"strings"
)

// quirks holds differences that are not faults, by reason and page.
var quirks = []struct {
	why   string
	pages map[string]string
}{
	{"stands for several names, is a cluster or an example, or is no option", map[string]string{
		"ack": "--TYPE --noTYPE", "docker-network-create": "--cluster-store --cluster-store-opt --cluster-advertise", "cut": "-M", "numfmt": "-M", "pr": "-COLUMN", "curl": "-ftps -all",
		"diff": "--GTYPE-group-format --LTYPE-line-format", "dpkg": "--assert- --validate- --force- --no-force- --refuse-",
		"find": "-Olevel -n -newerXY", "xargs": "--show", "fzf": "-2", "git-config": "-HOST:PORT", "jq": "-Ldirectory", "lsof": "-i6",
		"ssh-keygen": "-4w:+4w -1d:20110101 -1m:forever", "parallel": "-1 -2 -1000 -1220", "rg": "-uu -uuu --unrestricted",
		"rsync": "--no-OPTION", "screen": "-fn -fa -ln", "socat": "-hh -hhh", "xxd": "-1",
	}},
	{"takes a value that the page leaves out where it names the option", map[string]string{
		"ack": "--ackrc", "strings": "-s --output-separator", "file": "--exclude-quiet", "git-am": "--patch-format",
		"git-commit-graph": "--object-dir", "git-grep": "-e", "git-symbolic-ref": "-m", "git-clone": "--reference", "git-shortlog": "--format",
		"less": "-D --shift --line-num-width --rscroll --status-col-width", "plocate": "-r --regexp",
		"apt-get":   "-q --quiet -a --host-architecture -P --build-profiles -t --target-release --default-release -c --config-file -o --option",
		"mysqldump": "--plugin-dir --default-auth", "mysqladmin": "--default-auth", "git-instaweb": "-d --httpd -m --module-path -p --port -b --browser",
		"killall": "-n --ns -o --older-than -s --signal -u --user -y --younger-than -Z --context",
		"sshpass": "-P", "systemctl": "-P", "tcpdump": "-E", "prlimit": "-p --pid",
	}},
	{"is one option of the subcommand expire and another one of show", map[string]string{"git-reflog": "-n"}},
	{"may have a value, attached, in the program's source or in another version", map[string]string{
		"aria2c": "-h", "hd": "-L", "hexdump": "-L", "cp": "--update", "mv": "--update", "fdfind": "--strip-cwd-prefix", "fzf": "-m --multi --listen",
		"git-branch": "-t", "git-checkout": "-t", "git-describe": "--abbrev", "git-format-patch": "--rfc", "git-maintenance": "--schedule",
		"git-pack-objects": "--unpack-unreachable", "git-pull": "-r", "git-rebase": "-r", "git-show-branch": "-g", "git-show-ref": "-s",
		"lsof": "-F -K", "nmap": "-PS -PA -PU -PY -PO", "ssh-copy-id": "-i", "ps": "--help", "watch": "-d", "strace": "--silent --silence",
		"journalctl": "-n --lines", "dmesg": "-L", "nsenter": "-m -u -i -n -p -U -C -T -r -w -W",
		"prlimit": "-c -d -e -f -i -l -m -n -q -r -s -t -u -v -x -y", "zstd": "--priority", "socat": "-ly -lm", "ip": "-c", "curl": "-h --help",
	}},
	{"is followed by what the catalogue reads as operands", map[string]string{
		"ack": "-g", "nm": "-f -t", "sort": "-C", "dos2unix": "-n --newfile -o --oldfile",
		"dpkg-query": "-L --listfiles -c --control-path -S --search",
		"dpkg": "-i --install --unpack --configure -r --remove -P --purge --add-architecture --compare-versions -b --build -c --contents -e --control " +
			"-x --extract -X -f --field -I --info -l --list -s --status -L --listfiles -S --search -p --print-avail",
		"find": "-exec -execdir -okdir -not", "git-config": "--get-colorbool --get-color", "git-merge-index": "-a", "git-replace": "--edit --graft",
		"ssh-add": "-T", "pgrep": "-q", "ps": "-g -u", "unzip": "-x", "zstd": "--train --pass-through",
	}},
}

// explained returns the reason why a fault of a page is a quirk, or "".
func explained(page string, f Fault) string {
	for _, q := range quirks {
		if slices.Contains(strings.Fields(q.pages[page]), f.Option) {
			return q.why
		}
	}
	return ""
}
