package risk

import (
	"path"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/shell"
)

// spot is a file or directory that is not like others; what lies below it is
// meant as well. "**/" stands for any directory.
type spot struct {
	path   string
	write  Class // of a write to it
	reason string
	factor string
}

// spots is searched in order; the first that holds counts.
var spots = []spot{
	{"/dev/null", Safe, "writes nowhere", ""},
	{"/dev/stdout", Safe, "writes to the terminal", ""},
	{"/dev/stderr", Safe, "writes to the terminal", ""},
	{"/dev/tty", Safe, "writes to the terminal", ""},
	{"/dev/shm", Moderate, mutating, ""},
	{"/etc/passwd", High, users, FactorSensitive},
	{"/etc/shadow", High, users, FactorSensitive},
	{"/etc/gshadow", High, users, FactorSensitive},
	{"/etc/group", High, users, FactorSensitive},
	{"/etc/sudoers", High, users, FactorSensitive},
	{"/etc/sudoers.d", High, users, FactorSensitive},
	{"/etc/master.passwd", High, users, FactorSensitive},
	{"/etc/ssh", High, onSystem, FactorSensitive},
	{"/etc/ssl/private", High, onSystem, FactorSensitive},
	{"/root", High, onSystem, FactorSensitive},
	{"/proc/kcore", High, onSystem, FactorSensitive},
	{"/", High, onSystem, FactorSystem},
	{"/bin", High, onSystem, FactorSystem},
	{"/boot", High, onSystem, FactorSystem},
	{"/dev", High, onSystem, FactorSystem},
	{"/etc", High, onSystem, FactorSystem},
	{"/lib", High, onSystem, FactorSystem},
	{"/lib64", High, onSystem, FactorSystem},
	{"/proc", High, onSystem, FactorSystem},
	{"/sbin", High, onSystem, FactorSystem},
	{"/sys", High, onSystem, FactorSystem},
	{"/usr", High, onSystem, FactorSystem},
	{"/var/lib", High, onSystem, FactorSystem},
	{"/var/spool/cron", High, onSystem, FactorSystem},
	{"/Library", High, onSystem, FactorSystem},
	{"/System", High, onSystem, FactorSystem},
	{"**/.ssh", High, "changes who may log in", FactorSensitive},
	{"**/.gnupg", High, "changes keys", FactorSensitive},
	{"**/.bashrc", High, startup, FactorSensitive},
	{"**/.bash_profile", High, startup, FactorSensitive},
	{"**/.bash_login", High, startup, FactorSensitive},
	{"**/.bash_logout", High, startup, FactorSensitive},
	{"**/.profile", High, startup, FactorSensitive},
	{"**/.zshrc", High, startup, FactorSensitive},
	{"**/.zshenv", High, startup, FactorSensitive},
	{"**/.zprofile", High, startup, FactorSensitive},
	{"**/.zlogin", High, startup, FactorSensitive},
	{"**/.gitconfig", High, "changes what git runs and trusts", FactorSensitive},
	{"**/.git/hooks", High, "changes what git runs and trusts", FactorSensitive},
	{"**/.git/config", High, "changes what git runs and trusts", FactorSensitive},
	{"**/.git-credentials", Moderate, mutating, FactorSensitive},
	{"**/.aws", Moderate, mutating, FactorSensitive},
	{"**/.azure", Moderate, mutating, FactorSensitive},
	{"**/.config/gcloud", Moderate, mutating, FactorSensitive},
	{"**/.kube", Moderate, mutating, FactorSensitive},
	{"**/.docker/config.json", Moderate, mutating, FactorSensitive},
	{"**/.netrc", Moderate, mutating, FactorSensitive},
	{"**/.npmrc", Moderate, mutating, FactorSensitive},
	{"**/.pypirc", Moderate, mutating, FactorSensitive},
	{"**/.pgpass", Moderate, mutating, FactorSensitive},
	{"**/.env", Moderate, mutating, FactorSensitive},
	{"**/id_rsa", Moderate, mutating, FactorSensitive},
	{"**/id_ecdsa", Moderate, mutating, FactorSensitive},
	{"**/id_ed25519", Moderate, mutating, FactorSensitive},
}

const (
	onSystem = "operates on system paths"
	startup  = "changes what a shell runs when it starts"
)

// devices are the beginnings of the names of block devices; a digit or a
// letter may follow where the name ends in one.
var devices = []string{
	"/dev/sd", "/dev/hd", "/dev/vd", "/dev/xvd", "/dev/nvme", "/dev/mmcblk", "/dev/md", "/dev/dm-",
	"/dev/loop", "/dev/nbd", "/dev/sr", "/dev/zd", "/dev/drbd", "/dev/rbd", "/dev/disk", "/dev/rdisk",
	"/dev/mapper/", "/dev/disk/by-", "/dev/block/", "/dev/bcache", "/dev/ram", "/dev/zram",
}

// reading is the finding of a Read.
func reading(a *shell.Action, p Profile) Finding {
	f := Finding{Class: Safe, Reason: readOnly}
	s := known(&a.Path)
	if s == nil {
		return f
	}
	if s.factor == FactorSensitive {
		f.factor(FactorSensitive)
	}
	// A read that needs cover is no plain look: a source of cp, a file sent.
	if p == Terminal && a.Need != shell.NeedNone && strings.HasPrefix(s.path, "/") && s.write == High {
		f.raise(High, onSystem, FactorSystem)
	}
	return f
}

// writing is the finding of a Write.
func writing(a *shell.Action, p Profile) Finding {
	if device(&a.Path) {
		return Finding{Class: Forbidden, Reason: disks, Factors: []string{FactorDevice}}
	}
	f := Finding{Class: Moderate, Reason: "mutating operation: writes " + shown(&a.Path)}
	if s := known(&a.Path); s != nil {
		f.Class, f.Reason = s.write, s.reason
		f.factor(s.factor)
		if p == Terminal && s.reason == users {
			f.Class = Forbidden
		}
	}
	return f
}

func shown(w *shell.Word) string {
	if w.Known() {
		return w.Text
	}
	return "a path known only when it runs"
}

// known returns the spot that a path lies in, or nil. Of a path that is known
// only in part the part before the first hole counts.
func known(w *shell.Word) *spot {
	text := w.Text
	if len(w.Holes) > 0 {
		text = text[:min(w.Holes[0].At, len(text))]
		text = text[:strings.LastIndexByte(text, '/')+1]
	}
	if text == "" {
		return nil
	}
	text = path.Clean(text)
	for i := range spots {
		if spots[i].covers(text) {
			return &spots[i]
		}
	}
	return nil
}

// covers reports whether a cleaned path is the spot or lies below it.
func (s *spot) covers(text string) bool {
	if anywhere, ok := strings.CutPrefix(s.path, "**"); ok {
		return strings.Contains("/"+text+"/", anywhere+"/")
	}
	rest, ok := strings.CutPrefix(text, s.path)
	return ok && (rest == "" || rest[0] == '/')
}

// device reports whether a path is a block device for certain: its name is
// known, or only a pathname expansion is not.
func device(w *shell.Word) bool {
	for _, h := range w.Holes {
		if h.Kind != shell.Glob && h.Kind != shell.Digits {
			return false
		}
	}
	text := path.Clean(w.Text)
	for _, d := range devices {
		if strings.HasPrefix(text, d) && (len(text) > len(d) || len(w.Holes) > 0) {
			return true
		}
	}
	return false
}
