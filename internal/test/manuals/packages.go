package manuals

import "strings"

// pages holds Debian packages with those of their manual pages that are
// compared with the catalogue. "git-*" means every page with that prefix whose
// subcommand has an entry with options.
var pages = map[string]string{
	"ack":             "ack",
	"apache2-utils":   "ab",
	"apt":             "apt-get",
	"aria2":           "aria2c",
	"at":              "at",
	"autossh":         "autossh",
	"bats":            "bats",
	"bc":              "bc",
	"bind9-dnsutils":  "dig",
	"bind9-host":      "host",
	"binutils-common": "nm strings",
	"bsdextrautils":   "column hexdump hd look colrm",
	"bsdutils":        "scriptreplay",
	"bzip2":           "bzip2 bunzip2",
	"coreutils": "arch b2sum base32 base64 basename basenc cat chcon chgrp chmod chown cksum comm cp cut date df dir dircolors dirname du env expand " +
		"factor fmt fold groups head hostid id install join link ln logname ls md5sum mkdir mkfifo mknod mktemp mv nice nl nohup nproc numfmt od paste pathchk " +
		"pinky pr printenv ptx readlink realpath rm rmdir runcon seq sha1sum sha224sum sha256sum sha384sum sha512sum shred shuf sleep sort stat stdbuf " +
		"sum sync tac tail tee timeout touch tr truncate tsort tty uname unexpand uniq unlink users vdir wc who whoami yes",
	"cpio":                "cpio",
	"curl":                "curl",
	"diffstat":            "diffstat",
	"diffutils":           "cmp diff diff3 sdiff",
	"docker.io":           "docker docker-*",
	"dos2unix":            "dos2unix",
	"dpkg":                "dpkg dpkg-query start-stop-daemon",
	"ed":                  "ed",
	"entr":                "entr",
	"faketime":            "faketime",
	"fd-find":             "fdfind",
	"file":                "file",
	"findutils":           "find xargs",
	"fzf":                 "fzf",
	"gawk":                "gawk",
	"gettext-base":        "envsubst",
	"gh":                  "gh-*",
	"git-man":             "git git-*",
	"grep":                "grep egrep fgrep rgrep",
	"gzip":                "gzip gunzip",
	"hostname":            "hostname",
	"hyperfine":           "hyperfine",
	"inotify-tools":       "inotifywait",
	"iproute2":            "ip ss",
	"iputils-ping":        "ping",
	"jq":                  "jq",
	"less":                "less",
	"libcap2-bin":         "capsh",
	"libxml2-utils":       "xmllint",
	"lsof":                "lsof",
	"ltrace":              "ltrace",
	"make":                "make",
	"man-db":              "man apropos whatis",
	"mariadb-client-core": "mysql mariadb",
	"mariadb-client":      "mysqladmin mysqldump mysqlimport",
	"mosh":                "mosh",
	"moreutils":           "sponge",
	"netcat-openbsd":      "nc.openbsd",
	"ninja-build":         "ninja",
	"nmap":                "nmap",
	"npm":                 "npm-*",
	"numactl":             "numactl",
	"opendoas":            "doas",
	"openssh-client":      "scp ssh ssh-add ssh-agent ssh-copy-id ssh-keygen ssh-keyscan",
	"parallel":            "parallel",
	"patch":               "patch",
	"plocate":             "plocate",
	"procps":              "free kill pgrep pkill ps uptime w watch",
	"psmisc":              "fuser killall",
	"pv":                  "pv",
	"ripgrep":             "rg",
	"rsync":               "rsync",
	"screen":              "screen",
	"sed":                 "sed",
	"shellcheck":          "shellcheck",
	"socat":               "socat",
	"sqlite3":             "sqlite3",
	"sshpass":             "sshpass",
	"strace":              "strace",
	"sudo":                "sudo",
	"systemd":             "journalctl systemctl systemd-inhibit systemd-run",
	"tar":                 "tar",
	"tcpdump":             "tcpdump",
	"time":                "time",
	"tmux":                "tmux",
	"tree":                "tree",
	"unzip":               "unzip",
	"util-linux":          "chrt dmesg flock ionice linux32 lsblk more prlimit rev setarch setpriv setsid taskset unshare nsenter whereis",
	"wdiff":               "wdiff",
	"wget":                "wget",
	"whois":               "whois",
	"xxd":                 "xxd",
	"xz-utils":            "xz unxz",
	"zip":                 "zip",
	"zstd":                "zstd",
	"lz4":                 "lz4",
}

// wanted reports whether a package's page is compared.
func wanted(pkg, page string) bool {
	for name := range strings.FieldsSeq(pages[pkg]) {
		prefix, all := strings.CutSuffix(name, "*")
		if name == page || all && strings.HasPrefix(page, prefix) {
			return true
		}
	}
	return false
}
