package risk

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/agent-wrapper/agent-wrapper/internal/shell"
)

// spot is a set of sensitive files or directories, with everything below them.
// "**/" stands for any directory, "*" in an absolute path for any name.
type spot struct {
	paths  string
	write  Class // of a write
	reason cause
	factor string
}

// spots is searched in order; the first match counts.
var spots = []spot{
	{"/dev/null", Safe, writesNowhere, ""},
	{"/dev/stdout /dev/stderr /dev/tty", Safe, toTerminal, ""},
	{"/dev/shm", Moderate, mutating, ""},
	{"/etc/passwd /etc/group /etc/sudoers /etc/sudoers.d", High, users, FactorSensitive},
	{"/etc/shadow /etc/gshadow /etc/master.passwd", High, logins, FactorSensitive},
	{"/etc/ssh /root /proc/kcore", High, onSystem, FactorSensitive},
	{"/etc/ssl/private", High, keys, FactorSensitive},
	{"/proc/*/environ /proc/*/mem /proc/*/task/*/environ /proc/*/task/*/mem", High, onSystem, FactorSensitive},
	{"/ /bin /boot /dev /etc /lib /lib64 /proc /sbin /sys /usr /var/lib /var/spool/cron /Library /System", High, onSystem, FactorSystem},
	{"**/.ssh", High, logins, FactorSensitive},
	{"**/.gnupg", High, keys, FactorSensitive},
	{"**/.bashrc **/.bash_profile **/.bash_login **/.bash_logout **/.profile **/.zshrc **/.zshenv **/.zprofile", High, startup, FactorSensitive},
	{"**/.zlogin", High, startup, FactorSensitive},
	{"**/.gitconfig **/.git/hooks **/.git/config", High, gitRuns, FactorSensitive},
	{"**/.git-credentials **/.aws **/.azure **/.config/gcloud **/.kube **/.docker/config.json **/.netrc **/.npmrc", Moderate, mutating, FactorSensitive},
	{"**/.pypirc **/_netrc **/.pgpass **/.env **/.envrc **/id_rsa **/id_ecdsa **/id_ed25519", Moderate, mutating, FactorSensitive},
	{"**/id_dsa **/.htpasswd **/.vault-token **/.vault_pass **/.secrets **/.password-store **/.local/share/keyrings **/Library/Keychains **/.config/op **/.config/sops", Moderate, mutating, FactorSensitive},
	// clouds and code hosts
	{"**/.oci **/.aliyun **/.bluemix **/.config/doctl **/.config/hcloud **/.config/linode-cli **/.fly **/.config/scw **/.boto **/.s3cfg **/.config/rclone **/.mc/config.json", Moderate, mutating, FactorSensitive},
	{"**/.config/gh **/.config/glab-cli **/.config/hub **/.config/git/credentials **/.config/github-copilot **/.config/netlify **/.config/configstore **/.config/stripe **/.wrangler/config", Moderate, mutating, FactorSensitive},
	{"**/.terraformrc **/.terraform.d/credentials.tfrc.json **/.databrickscfg **/.snowsql **/.snowflake **/.config/argocd **/.talos **/kubeconfig", Moderate, mutating, FactorSensitive},
	{"**/.pulumi/credentials.json **/.tsh **/.cloudflared **/.ngrok2 **/.config/ngrok **/.railway **/.supabase/access-token **/.config/neonctl **/.config/turso **/.config/planetscale", Moderate, mutating, FactorSensitive},
	{"**/.local/share/com.vercel.cli **/.circleci/cli.yml **/.travis/config.yml **/.sentryclirc **/.config/tea **/.expo/state.json **/.doppler **/.infisical **/.ansible/galaxy_token", Moderate, mutating, FactorSensitive},
	// package managers and registries
	{"**/.yarnrc.yml **/.config/pip/pip.conf **/.pip/pip.conf **/.config/pypoetry/auth.toml **/.cargo/credentials **/.cargo/credentials.toml **/.gem/credentials", Moderate, mutating, FactorSensitive},
	{"**/.m2/settings.xml **/.m2/settings-security.xml **/.gradle/gradle.properties **/.composer/auth.json **/.config/composer/auth.json **/.nuget/NuGet/NuGet.Config", Moderate, mutating, FactorSensitive},
	{"**/.config/containers/auth.json **/.config/helm/registry", Moderate, mutating, FactorSensitive},
	// models and agents
	{"**/.cache/huggingface/token **/.cache/huggingface/stored_tokens **/.huggingface **/.kaggle **/.config/wandb **/.replicate **/.config/openai **/.anthropic **/.config/anthropic", Moderate, mutating, FactorSensitive},
	{"**/.claude/.credentials.json **/.codex/auth.json **/.gemini/oauth_creds.json **/.local/share/opencode/auth.json", Moderate, mutating, FactorSensitive},
	{"**/.claude.json **/.qwen/oauth_creds.json **/.config/io.datasette.llm/keys.json **/.copilot/config.json", Moderate, mutating, FactorSensitive},
	// databases
	{"**/.my.cnf **/.mylogin.cnf **/.pg_service.conf **/.mongorc.js", Moderate, mutating, FactorSensitive},
	// browsers
	{"**/.mozilla **/.config/google-chrome **/.config/chromium **/.config/BraveSoftware **/.config/microsoft-edge **/.config/vivaldi **/.config/opera **/Library/Cookies **/Library/Safari", Moderate, mutating, FactorSensitive},
	// keepers of passwords, mail and shares
	{"**/.config/Bitwarden **/.config/rbw **/.local/share/lpass **/.local/share/kwalletd **/.pki/nssdb **/.thunderbird **/.msmtprc **/.config/msmtp **/.mbsyncrc **/.fetchmailrc **/.authinfo", Moderate, mutating, FactorSensitive},
	{"**/.smbcredentials **/.davfs2/secrets **/.rclone.conf **/.config/borg/keys **/.vnc/passwd **/.Xauthority", Moderate, mutating, FactorSensitive},
	// wallets
	{"**/.bitcoin **/.electrum **/.ethereum/keystore **/.foundry/keystores **/.config/solana/id.json **/.near-credentials", Moderate, mutating, FactorSensitive},
	// what a person typed
	{"**/.bash_history **/.zsh_history **/.history **/.python_history **/.node_repl_history **/.psql_history **/.mysql_history **/.sqlite_history **/.rediscli_history **/.irb_history", Moderate, mutating, FactorSensitive},
	{"**/.local/share/fish/fish_history **/.dbshell **/.lesshst", Moderate, mutating, FactorSensitive},
}

// SensitivePaths returns the names of the sensitive files and directories: those
// that may lie in any directory, and those with an absolute path.
func SensitivePaths() (anywhere, absolute []string) {
	return spotsWhere(func(s *spot) bool { return s.factor == FactorSensitive })
}

// SecretPaths returns those of SensitivePaths that can be withheld from programs. What
// they read as a part of their own work (/etc/passwd, ~/.gitconfig) is not among them: it
// is sensitive because of what a write does.
func SecretPaths() (anywhere, absolute []string) {
	return spotsWhere(func(s *spot) bool {
		switch s.reason {
		case users, onSystem, startup, gitRuns:
			return false
		}
		return s.factor == FactorSensitive
	})
}

func spotsWhere(is func(*spot) bool) (anywhere, absolute []string) {
	for i := range spots {
		if !is(&spots[i]) {
			continue
		}
		for one := range strings.FieldsSeq(spots[i].paths) {
			if name, ok := strings.CutPrefix(one, "**/"); ok {
				anywhere = append(anywhere, name)
			} else if !strings.Contains(one, "*") {
				absolute = append(absolute, one)
			}
		}
	}
	return anywhere, absolute
}

// examples are the parts of the names of files of values that hold none.
var examples = []string{"example", "examples", "sample", "samples", "template", "tmpl", "tpl", "dist", "defaults", "schema", "keep", "baseline"}

// keyFiles are the extensions of files that hold private keys, alone or with
// certificates, or passwords.
var keyFiles = []string{
	".pem", ".key", ".p8", ".p12", ".pfx", ".pkcs12", ".pk8", ".jks", ".jceks", ".bks", ".keystore", ".keytab", ".kdbx", ".kdb", ".ppk", ".agekey", ".ovpn",
}

// valueFiles are the extensions of files of values of which some are secret as a rule:
// variables for a container, the state and the variables of Terraform, access to a
// cluster.
var valueFiles = []string{".env", ".tfstate", ".tfvars", ".kubeconfig"}

// dataFiles are the extensions of files that hold values and not code.
var dataFiles = []string{".json", ".yaml", ".yml", ".toml", ".ini", ".cfg", ".conf", ".properties", ".xml", ".txt", ".csv"}

// holders are the words in the name of a file of values that say that these are
// secrets: at the beginning (secrets.yml, credentials.prod.json), and the plurals also
// at the end (prod-secrets.yaml, gcp_credentials.json).
var holders = []string{"secret", "secrets", "credential", "credentials", "creds"}

// accounts are the beginnings and ends of the names of files with the key of an
// account, as clouds name them for download.
var accounts = []string{"service-account", "service_account", "serviceaccount", "client_secret", "client-secret"}

// keyNames are the beginnings of the names of private keys of ssh.
var keyNames = []string{"id_rsa", "id_dsa", "id_ecdsa", "id_ed25519"}

// publicFiles are the ends of the paths of what the names of keys are about, and which
// hold none: the certificates of public authorities, as packages bring them along, by
// which a program knows the hosts that it reaches. They are told by the directory of the
// package and in this spelling alone.
var publicFiles = []string{
	// Python
	"certifi/cacert.pem", "botocore/cacert.pem", "pip/_vendor/requests/cacert.pem", "grpc/_cython/_credentials/roots.pem",
	// Node, and the sources of gRPC
	"grpc/etc/roots.pem",
	// PHP, Perl, Erlang and Elixir
	"composer/ca-bundle/res/cacert.pem", "rmccue/requests/certificates/cacert.pem", "Mozilla/CA/cacert.pem", "certifi/priv/cacerts.pem", "castore/priv/cacerts.pem",
}

// PublicEnds returns the ends of the paths of public files of which the given path is the
// last part, and not all: by what a directory above it would have to be called for the
// file to be public.
func PublicEnds(part string) []string {
	var ends []string
	for _, end := range publicFiles {
		if strings.HasSuffix(end, "/"+part) {
			ends = append(ends, end)
		}
	}
	return ends
}

// isPublic reports whether a path, or its known end, is that of a public file.
func isPublic(file string) bool {
	return slices.ContainsFunc(publicFiles, func(end string) bool {
		dir, ok := strings.CutSuffix(file, end)
		return ok && (dir == "" || strings.HasSuffix(dir, "/"))
	})
}

// SensitiveName returns the part of a file's name that tells that the file holds
// secrets wherever it lies, in lower case, or "": .env for .env.local, nothing for
// .env.example; the extension of private keys; secrets for secrets.prod.yml. Code is
// no such file (secrets.go). Of the rest of the path only publicFiles are known.
func SensitiveName(file string) string {
	if isPublic(file) {
		return ""
	}
	name := strings.ToLower(file[strings.LastIndexByte(file, '/')+1:])
	if rest, ok := strings.CutPrefix(name, ".env."); ok {
		if slices.Contains(examples, rest[strings.LastIndexByte(rest, '.')+1:]) {
			return ""
		}
		return ".env"
	}
	for _, key := range keyNames {
		if rest, ok := strings.CutPrefix(name, key); ok && rest != "" && (rest[0] == '_' || rest[0] == '-') && !strings.Contains(rest, ".") {
			return key
		}
	}
	if ext := extension(name, keyFiles); ext != "" {
		return ext
	}
	part := cmp.Or(extension(name, valueFiles), holder(name))
	if part != "" && isExample(name) {
		return ""
	}
	return part
}

// SensitiveParts returns what the names begin with, and what they end in, that SensitiveName
// knows.
var SensitiveParts = sync.OnceValues(func() (begins, ends []string) {
	return slices.Concat([]string{".env"}, keyNames, holders, accounts), slices.Concat(keyFiles, valueFiles, dataFiles)
})

// SearchedPaths returns those of SensitivePaths that a project may hold, and no programs
// share: variables and private keys. A search of a directory shows them.
var SearchedPaths = sync.OnceValue(func() []string {
	anywhere, _ := SensitivePaths()
	return slices.DeleteFunc(anywhere, func(name string) bool {
		return !strings.HasPrefix(name, ".env") && !slices.Contains(keyNames, name)
	})
})

// isExample reports whether a part of a name says that the file is an example.
func isExample(name string) bool {
	parts := strings.FieldsFunc(name, func(r rune) bool { return r == '.' || r == '-' || r == '_' })
	return slices.ContainsFunc(parts, func(part string) bool { return slices.Contains(examples, part) })
}

// extension returns the extension among some that a name has, also that of a copy.
func extension(name string, some []string) string {
	for _, ext := range some {
		if at := strings.LastIndex(name, ext); at > 0 && onlyMoved(name[at+len(ext):]) {
			return ext
		}
	}
	return ""
}

// onlyMoved reports whether what follows an extension leaves the kind of the file:
// nothing, .json as Terraform has it, or that of a copy.
func onlyMoved(rest string) bool {
	switch rest {
	case "", ".json", ".backup", ".bak", ".old", ".orig", ".save", "~":
		return true
	}
	return false
}

// holder returns the word in the name of a file of values that says that they are
// secrets, or "".
func holder(name string) string {
	ext := path.Ext(name)
	if !slices.Contains(dataFiles, ext) {
		return ""
	}
	stem := strings.TrimPrefix(strings.TrimSuffix(name, ext), ".")
	if first, _, _ := strings.Cut(stem, "."); slices.Contains(holders, first) {
		return first
	}
	last := stem[strings.LastIndexAny(stem, ".-_")+1:]
	if strings.HasSuffix(last, "s") && slices.Contains(holders, last) {
		return last
	}
	for _, account := range accounts {
		if ext == ".json" && (strings.HasPrefix(stem, account) || strings.HasSuffix(stem, account)) {
			return account
		}
	}
	if ext == ".json" && strings.Contains(stem, "firebase-adminsdk") {
		return "firebase-adminsdk"
	}
	return ""
}

// namedSpot is the index of the spot that a SensitiveName lies in.
var namedSpot = len(spots) - 1

// devices are prefixes of the names of block devices; at least one character has
// to follow.
var devices = []string{
	"/dev/sd", "/dev/hd", "/dev/vd", "/dev/xvd", "/dev/nvme", "/dev/mmcblk", "/dev/md", "/dev/dm-",
	"/dev/loop", "/dev/nbd", "/dev/sr", "/dev/zd", "/dev/drbd", "/dev/rbd", "/dev/disk", "/dev/rdisk",
	"/dev/mapper/", "/dev/disk/by-", "/dev/block/", "/dev/bcache", "/dev/ram", "/dev/zram",
}

// reading returns the finding of a Read.
func reading(a *shell.Action, p Profile, place *Place) Finding {
	f := because(Safe, readOnly, "")
	s := place.known(&a.Path)
	if s == nil {
		return f
	}
	if s.factor == FactorSensitive {
		f.factor(FactorSensitive)
	}
	// A read that needs cover does more than look: the source of a cp, a file
	// that is sent.
	if p == Terminal && a.Need != shell.NeedNone && strings.HasPrefix(s.paths, "/") && s.write == High {
		f.raise(High, string(onSystem), FactorSystem)
	}
	return f
}

// writing returns the finding of a Write.
func writing(a *shell.Action, p Profile, place *Place) Finding {
	if device(&a.Path) {
		return because(Forbidden, disks, FactorDevice)
	}
	s := place.known(&a.Path)
	if s == nil {
		return Finding{Class: Moderate, Reason: "mutating operation: writes " + shown(&a.Path)}
	}
	return s.writing(p)
}

// writing returns the finding of a write to the spot.
func (s *spot) writing(p Profile) Finding {
	f := because(s.write, s.reason, s.factor)
	if p == Terminal && s.reason == users {
		f.Class = Forbidden
	}
	return f
}

// outside reports whether a path is spelled as one outside the workspace. Of a
// path that is only partly known, the directory of the known part counts.
func (p *Place) outside(w *shell.Word) bool {
	text := w.Text
	if len(w.Holes) > 0 {
		text = text[:min(w.Holes[0].At, len(text))]
		text = text[:strings.LastIndexByte(text, '/')+1]
	}
	if p.Workspace == "" || !strings.HasPrefix(text, "/") {
		return false
	}
	text = path.Clean(text)
	in := func(dir string) bool {
		return len(w.Holes) > 0 && holds(text, dir) || // the rest may lead into it
			holds(path.Clean(dir), text)
	}
	return !in(p.Workspace) && !slices.ContainsFunc(p.Roots, in)
}

// outside records that a write leaves the workspace. A write to nothing or to
// the terminal does not.
func (f *Finding) outside() {
	if f.Class > Safe {
		f.factor(FactorOutside)
	}
}

func shown(w *shell.Word) string {
	if w.Known() {
		return w.Text
	}
	return "a path known only when it runs"
}

// known returns the spot that a path lies in, or nil. Of a path that is only
// partly known, the part before the first hole counts, or all of it for a spot
// whose pattern has a *.
func (p *Place) known(w *shell.Word) *spot {
	text := w.Text
	if len(w.Holes) > 0 {
		text = text[:min(w.Holes[0].At, len(text))]
		text = text[:strings.LastIndexByte(text, '/')+1]
	}
	if text == "" {
		return nil
	}
	names, without := spotIndex(), ""
	if p.Owns(superuser, w) {
		without = superuser
	}
	if i := min(names.find(path.Clean(text), without), names.starry(w)); i < len(spots) {
		return &spots[i]
	}
	return nil
}

// superuser is the home of root: sensitive to everybody else, and a home like any other
// to whom it belongs, as in most containers.
const superuser = "/root"

// Owns reports whether a path lies in the spot of this name, and there below the home of
// the user or in the workspace, where the spot is not told: what is sensitive or protected
// there is by names of its own, as in any home. The spot itself is never owned, nor is
// what may be it or all that is in it (/root/*).
func (p *Place) Owns(spot string, w *shell.Word) bool {
	if spot != superuser || !strings.Contains(w.Text, superuser+"/") {
		return false
	}
	text := w.Text
	if len(w.Holes) > 0 {
		text = text[:min(w.Holes[0].At, len(text))]
	}
	if text = path.Clean(text); !strings.HasPrefix(text, superuser+"/") {
		return false
	}
	in := func(dir string) bool { return holds(superuser, dir) && holds(path.Clean(dir), text) }
	return in(p.Home) || in(p.Workspace) || slices.ContainsFunc(p.Roots, in)
}

// spotNames indexes the spots by name, the first spot for each.
type spotNames struct {
	absolute map[string]int
	anywhere map[string][]anywhere // by the first segment of the name
	most     int                   // segments of an absolute name
	stars    []starred
}

// hole marks an unknown part of a path.
const hole = "\x00"

// starred is a spot whose pattern has a * as a segment.
type starred struct {
	segments []string // behind the first slash
	spot     int
}

// starry returns the index of the first starred spot that a path lies in or may
// lie in, or len(spots). An unknown part of the path stands for names or for a
// part of one.
func (n *spotNames) starry(w *shell.Word) int {
	found := len(spots)
	if !strings.HasPrefix(w.Text, "/proc/") {
		return found // there are no others, see TestSpots
	}
	text := path.Clean(w.Filled(hole))
	for _, s := range n.stars {
		if rest := strings.Split(text[1:], "/"); len(rest) >= len(s.segments) && slices.EqualFunc(s.segments, rest[:len(s.segments)], mayBeName) {
			found = min(found, s.spot)
		}
	}
	return found
}

// mayBeName reports whether a segment of a path may equal a name of a spot. Of
// a segment with holes, the beginning and the end are compared.
func mayBeName(name, segment string) bool {
	first := strings.Index(segment, hole)
	if name == "*" || first < 0 {
		return name == "*" || name == segment
	}
	last := strings.LastIndex(segment, hole) + len(hole)
	return strings.HasPrefix(name, segment[:first]) && strings.HasSuffix(name[first:], segment[last:])
}

// anywhere is a spot that may lie in any directory, and the part of its pattern
// behind the first segment, with the slash.
type anywhere struct {
	rest string
	spot int
}

var spotIndex = sync.OnceValue(func() *spotNames {
	n := &spotNames{absolute: map[string]int{}, anywhere: map[string][]anywhere{}}
	for i := range spots {
		for one := range strings.FieldsSeq(spots[i].paths) {
			n.add(one, i)
		}
	}
	return n
})

func (n *spotNames) add(name string, i int) {
	if local, ok := strings.CutPrefix(name, "**/"); ok {
		head, _, _ := strings.Cut(local, "/")
		n.anywhere[head] = append(n.anywhere[head], anywhere{local[len(head):], i})
		return
	}
	if strings.Contains(name, "*") {
		n.stars = append(n.stars, starred{strings.Split(name[1:], "/"), i})
		return
	}
	if _, found := n.absolute[name]; !found {
		n.absolute[name] = i
	}
	n.most = max(n.most, strings.Count(name, "/"))
}

// find returns the index of the first spot that a cleaned path equals or lies
// below, or len(spots). Nothing lies below / alone. The absolute name without does not
// count.
func (n *spotNames) find(text, without string) int {
	found, depth := len(spots), 0
	for at := 0; at < len(text); depth++ {
		end := strings.IndexByte(text[at:], '/') + at
		if end < at {
			end = len(text)
		}
		if end > 0 && text[0] == '/' && depth <= n.most && text[:end] != without {
			found = n.better(found, text[:end])
		}
		for _, a := range n.anywhere[text[at:end]] {
			rest, ok := strings.CutPrefix(text[end:], a.rest)
			if ok && a.spot < found && (rest == "" || rest[0] == '/') {
				found = a.spot
			}
		}
		if end == len(text) && SensitiveName(text) != "" {
			found = min(found, namedSpot)
		}
		at = end + 1
	}
	if text == "/" {
		found = n.better(found, text)
	}
	return found
}

func (n *spotNames) better(found int, name string) int {
	if i, ok := n.absolute[name]; ok {
		return min(i, found)
	}
	return found
}

// device reports whether a path is certainly a block device: its name is known
// except for pathname expansions.
func device(w *shell.Word) bool {
	for _, h := range w.Holes {
		if h.Kind != shell.Glob && h.Kind != shell.Digits {
			return false
		}
	}
	text := path.Clean(w.Text)
	if !strings.HasPrefix(text, "/dev/") {
		return false
	}
	for _, d := range devices {
		if strings.HasPrefix(text, d) && (len(text) > len(d) || len(w.Holes) > 0) {
			return true
		}
	}
	return false
}
