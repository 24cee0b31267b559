package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/test/pg"
)

// The versions of tools that are not in go.mod.
const (
	staticcheck = "honnef.co/go/tools/cmd/staticcheck@v0.8.2"
	govulncheck = "golang.org/x/vuln/cmd/govulncheck@v1.8.0"
)

// step is one group of checks.
type step struct {
	name string
	lane lane
	run  func(*runner)
}

// steps holds the steps in the order in which those of a lane begin. Of those that compute,
// what takes both processors comes last: the others have ended by then.
var steps = []step{
	{"install", alone, install},
	{"lint", computes, lint},
	{"vuln", computes, vuln},
	{"release", computes, release},
	{"whitelist", computes, whitelist},
	{"differential", computes, differential},
	{"effects", computes, effects},
	{"mutants", computes, mutants},
	{"unit", computes, unit},
	{"race", computes, race},
	{"audit", computes, audit},
	{"store", computes, store},
	{"execute", computes, execute},
	{"programs", computes, programs},
	{"hooks", computes, hooks},
	{"manuals", computes, manuals},
	{"e2e", waits, e2e},
	{"page", waits, page},
	{"sandbox", waits, sandbox},
	{"machine", waits, machine},
	{"postgres", waits, postgres},
	{"nvim", waits, nvim},
	{"serve", waits, serve},
	{"clients", waits, clients},
	{"fuzz", waits, fuzz},
	{"within", waits, within}, // last: its lines have limits of time
}

// debian holds the programs with which tests compare, and their packages.
var debian = map[string]string{
	"bash": "bash", "dash": "dash", "zsh": "zsh", "mypy": "mypy", "chromium": "chromium", "cc": "build-essential", "node": "nodejs", "npm": "npm", "unshare": "util-linux", "ip": "iproute2",
	// programs that the effects test runs
	"awk": "gawk", "gawk": "gawk", "mawk": "mawk", "bc": "bc", "bzip2": "bzip2", "cal": "ncal", "column": "bsdextrautils", "cpio": "cpio", "diff": "diffutils",
	"ed": "ed", "fdfind": "fd-find", "file": "file", "find": "findutils", "git": "git", "jq": "jq", "less": "less", "look": "bsdextrautils", "luacheck": "lua-check",
	"lz4": "lz4", "patch": "patch", "rg": "ripgrep", "rsync": "rsync", "sqlite3": "sqlite3", "strings": "binutils", "tree": "tree",
	"nvim": "neovim", "unzip": "unzip", "xxd": "xxd", "xz": "xz-utils", "zip": "zip", "zstd": "zstd",
}

// install installs what the tests need: Debian packages if root, and npm
// packages.
func install(r *runner) {
	var missing []string
	for program, pkg := range debian {
		if _, err := exec.LookPath(program); err != nil {
			missing = append(missing, pkg)
		}
	}
	if len(missing) > 0 {
		r.installDebian(missing)
	}
	r.installPostgres()
	r.installNeovim()
	r.installNPM("e2e")
	r.installNPM("clients/typescript", "--omit=optional") // the agent CLI is that of e2e
	r.installNPM("internal/serve/server/page/test")
}

func (r *runner) installNPM(dir string, flags ...string) {
	if newer(dir+"/node_modules/.package-lock.json", dir+"/package-lock.json") {
		r.printf("ok   npm packages of %s are there\n", dir)
		r.Pass()
		return
	}
	args := append([]string{"ci", "--prefix", dir, "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"}, flags...)
	r.check("npm packages of "+dir, "npm", args...)
}

// neovims is where the releases of Neovim are that the tests drive besides the one on
// PATH.
const neovims = ".cache/neovim"

// installNeovim unpacks a newer Neovim than Debian 12 has.
func (r *runner) installNeovim() {
	if _, err := os.Stat(neovims + "/debian13"); err == nil {
		r.printf("ok   Neovim of Debian 13 is there\n")
		r.Pass()
		return
	}
	r.check("Neovim of Debian 13", "internal/test/neovim/install.sh", neovims)
}

// newer reports whether the file a exists and is not older than b.
func newer(a, b string) bool {
	x, errA := os.Stat(a)
	y, errB := os.Stat(b)
	return errA == nil && errB == nil && !x.ModTime().Before(y.ModTime())
}

func (r *runner) installDebian(packages []string) {
	name := "Debian packages " + strings.Join(packages, " ")
	if os.Geteuid() != 0 {
		r.Skip(name, "not root; install them by hand")
		return
	}
	if !r.quiet("apt-get", append([]string{"install", "-y", "--no-install-recommends"}, packages...)...) {
		r.quiet("apt-get", "update")
		r.check(name, "apt-get", append([]string{"install", "-y", "--no-install-recommends"}, packages...)...)
		return
	}
	r.Pass()
}

// installPostgres installs PostgreSQL. Its programs are not on PATH. If the package
// starts a cluster, that is stopped: the tests use their own.
func (r *runner) installPostgres() {
	if pg.Bin() != "" {
		r.printf("ok   PostgreSQL is there\n")
		r.Pass()
		return
	}
	r.installDebian([]string{"postgresql"})
	clusters, _ := r.output("pg_lsclusters", "--no-header")
	for line := range strings.Lines(clusters) {
		if f := strings.Fields(line); len(f) > 3 && f[3] == "online" {
			r.quiet("pg_ctlcluster", f[0], f[1], "stop")
		}
	}
}

// behind are the tags of the tests behind go test ./..., none of which leaves a file out.
const behind = "e2e,nvim,oracle,mutants,manuals,postgres,serve,release,sandbox,machine,hosts"

func lint(r *runner) {
	r.checkEmpty("gofmt", "gofmt", "-l", ".")
	r.check("go mod tidy", "go", "mod", "tidy", "-diff")
	r.check("go vet", "go", "vet", "-tags", behind, "./...")
	r.check("staticcheck", "go", "run", staticcheck, "./...")
}

// vuln looks for known vulnerabilities in what is linked. If their database
// cannot be reached, it reports that and counts nothing.
func vuln(r *runner) {
	out, err := r.output("go", "run", govulncheck, "./...")
	switch {
	case err == nil:
		r.Pass()
	case strings.Contains(out, "fetching vulnerabilities"):
		r.printf("govulncheck: its database cannot be reached from here, nothing was looked up\n")
	default:
		r.printf("%s", out)
		r.Fail("govulncheck")
	}
}

// release builds this platform's release twice and compares the bytes, and type-checks
// everything for another system of each kind. In the long form it builds, compiles and vets
// for all platforms, and installs a tagged version from a module proxy.
func release(r *runner) {
	args := []string{"-count=1", "-tags", "release", "-timeout", "2h", "./internal/release"}
	if r.long {
		args = append(args, "-args", "-all")
	} else {
		args = append(args, "-skip", "^TestInstall$") // which compiles everything once more
	}
	r.Verbose = true
	r.goTest(args...)
}

// unit runs the tests of go test ./.... In the short form it leaves those to race that
// race runs.
func unit(r *runner) {
	if r.long {
		r.goTest("-timeout", "30m", "./...")
		return
	}
	packages, err := r.withoutRace()
	if err != nil {
		r.Fail("the packages: " + err.Error())
		return
	}
	r.goTest(append([]string{"-timeout", "30m"}, packages...)...)
	for _, pkg := range slices.Sorted(maps.Keys(sequential)) {
		r.goTest("-run", only(sequential[pkg]), pkg)
	}
}

// withoutRace lists the packages that are not among the concurrent ones.
func (r *runner) withoutRace() ([]string, error) {
	raced, err := r.output("go", append([]string{"list"}, concurrent...)...)
	if err != nil {
		return nil, errors.New(raced)
	}
	all, err := r.output("go", "list", "./...")
	if err != nil {
		return nil, errors.New(all)
	}
	return slices.DeleteFunc(strings.Fields(all), func(p string) bool {
		return slices.Contains(strings.Fields(raced), p)
	}), nil
}

// only returns the pattern that matches just these tests.
func only(tests []string) string { return "^(" + strings.Join(tests, "|") + ")$" }

// concurrent lists the packages that start goroutines or are used concurrently. ./cmd, whose
// tests mostly start the program again, takes longer than all of them together: it is in the
// long form.
var concurrent = []string{"./permission", "./internal/audit", "./internal/run/process", "./internal/run/execution", "./internal/run/gates", "./internal/whitelist", "./internal/workspace", "./wrapper/...", "./internal/ask", "./internal/run/engine", "./internal/ask/desk", "./internal/serve/decide", "./internal/hook", "./internal/serve/store/..."}

func race(r *runner) {
	if r.long {
		r.goRace("./...")
		return
	}
	r.goRace(append([]string{"-skip", only(slices.Concat(slices.Collect(maps.Values(sequential))...))}, concurrent...)...)
}

// sequential lists the tests of those packages that start no goroutine and take long: in the
// short form the race detector, which could find nothing, does not slow them down: unit
// runs them.
var sequential = map[string][]string{
	"./internal/audit":     {"TestScanBack", "TestEveryLine", "TestEveryByte", "TestSampledBytes", "TestTorn", "TestKilledWriter"},
	"./internal/hook":      {"TestKilled"},
	"./internal/workspace": {"TestHidden", "TestMemoryIsBounded"},
	"./permission":         {"TestSessionsReachNoTier3", "TestInnerPrograms", "TestSpots"},
	"./internal/whitelist": {"TestDetection", "TestFalsePositives", "TestCorpora", "TestMonotone"},
}

// goRace is goTest with the race detector, which needs cgo. It does not look into SQLite,
// whose C was translated: that would take half of the time of the tests of the store.
func (r *runner) goRace(args ...string) {
	r.env = append(r.env, "CGO_ENABLED=1")
	r.goTest(append([]string{"-race", "-gcflags=modernc.org/...=-race=false", "-timeout", "1h"}, args...)...)
}

// audit alters, truncates and interrupts the audit log in many ways,
// and measures its speed. The short forms are among the unit tests.
func audit(r *runner) {
	if !r.long {
		r.printf("audit: every change, cut and kill in the long form only\n")
		return
	}
	r.Verbose = true
	r.goTest("-count=1", "-timeout", "1h", "-run", "Every|Sampled|TwoProcesses|Kill|Full|ReadOnly|Planted", "./internal/audit", "-args", "-every", "-rapid.checks=20000")
	r.goTest("-run", "^$", "-bench", "Durability|Verify", "-benchtime", "2000x", "-count", "3", "./internal/audit")
}

// store lets 100 people decide 1,000 requests at the same time, and kills servers that
// write. The short forms are among the unit tests.
func store(r *runner) {
	if !r.long {
		r.printf("store: every request and kill in the long form only\n")
		return
	}
	r.goRace("-count=1", "-run", "Race|Kill", "./internal/serve/store/sqlite", "-args", "-every")
}

// execute kills the runner of plans while it runs, and compares each program
// that ran with the decision before it. The short form is among the unit tests.
func execute(r *runner) {
	if !r.long {
		r.printf("execute and exec: 200 kills each in the long form only\n")
		return
	}
	r.Verbose = true
	r.goTest("-count=1", "-timeout", "1h", "-run", "Unauthorised|SameBytes|PlanRefused|KilledExecute", "./cmd/agent-wrapper", "-args", "-execute-kills", "200")
	r.goTest("-count=1", "-timeout", "1h", "-run", "KilledExec$|TestExec[A-Z]", "./cmd/agent-wrapper", "-args", "-exec-kills", "200")
}

// whitelist measures how many good commands of public projects a list made by
// whitelist init rejects and how many wrong ones it accepts, and kills
// processes that count hallucinated commands. It shows the figures.
func whitelist(r *runner) {
	kills := "10"
	if r.long {
		kills = "200"
	}
	r.Verbose = true
	r.goTest("-count=1", "-run", "FalsePositives|Detection|SeedRows|TestKill$", "./internal/whitelist", "-args", "-kills", kills)
}

// programs kills, cuts off and starves clients of decide, editors and their agents at
// random moments, and measures our share of the tool uses that they ask about. The
// short form is among the unit tests.
func programs(r *runner) {
	if !r.long {
		r.printf("programs that ask: 200 faults of each kind in the long form only\n")
		return
	}
	r.Verbose = true
	r.goTest("-count=1", "-timeout", "1h", "-run", "TestDecide|TestEditor", "./cmd/agent-wrapper")
	r.goTest("-count=1", "-run", "TestConversation", "./internal/serve/decide")
	r.goTest("-run", "^$", "-bench", "Use", "-benchtime", "10000x", "-count", "3", "./internal/serve/decide")
	r.goTest("-run", "^$", "-bench", "Share", "-benchtime", "5000x", "-count", "3", "./wrapper/claude")
}

// hooks feeds 10,000 mutated payloads to the hook of each host and 10,000 long lines to
// one, runs 200 hooks of one session at once, and kills 200. The short forms are among the
// unit tests.
func hooks(r *runner) {
	if !r.long {
		r.printf("hooks: 10,000 mutated payloads a host, 200 at once and 200 kills in the long form only\n")
		return
	}
	r.Verbose = true
	r.goTest("-count=1", "-timeout", "1h", "-run", "Mutated|AtOnce|Killed", "./internal/hook")
}

// sandbox tries to get out of the sandbox, with each layer and without it, as root and as
// others; it does real work inside, kills it, and shows what it costs. Where the machine can
// build no sandbox, it is skipped.
func sandbox(r *runner) {
	if why := noSandbox(); why != "" {
		r.Skip("sandbox", why)
		return
	}
	kills, turns := "10", "10"
	if r.long {
		kills, turns = "200", "100"
	}
	r.Verbose = true
	r.needProgram()
	r.goTest("-count=1", "-tags", "sandbox", "-timeout", "30m", "./internal/sandbox/kernel")
	r.goTest("-count=1", "-tags", "sandbox", "-timeout", "1h", "./internal/test/sandbox", "-args", "-kills", kills, "-turns", turns, "-seed", fmt.Sprint(r.seed))
}

// machine runs the tests of internal/sandbox/kernel on emulated machines, of arm64 too and with an
// older kernel. It runs in the long form only: such a machine is ten times as slow.
func machine(r *runner) {
	if !r.long {
		r.printf("machine: the sandbox is tested on emulated machines in the long form only\n")
		return
	}
	r.Verbose = true
	r.installDebian([]string{"qemu-system-arm", "qemu-system-x86", "e2fsprogs", "cpio"})
	r.goTest("-count=1", "-timeout", "3h", "-tags", "machine", "./internal/test/machine")
}

// noSandbox returns why this machine can build no sandbox, "" if it can.
func noSandbox() string {
	out, err := exec.Command("unshare", "--user", "--map-root-user", "--mount", "--pid", "--net", "--ipc", "--fork", "--mount-proc", "true").CombinedOutput()
	if err != nil {
		return fmt.Sprintf("namespaces cannot be made: %v %s", err, strings.TrimSpace(string(out)))
	}
	return ""
}

// differential runs generated command lines in real bash, dash and zsh, and
// compares the programs that they would run and the variables that they print
// with the analysis. It also runs git in generated repositories whose configuration
// names programs. It shows the figures.
func differential(r *runner) {
	bash, dash, zsh, shown, repositories := "1000", "300", "500", "300", "80"
	tests := "(Runs|Show)NothingUnseen$|^TestVariables$"
	if r.long {
		bash, dash, zsh, shown, repositories = "100000", "50000", "50000", "20000", "5000"
		tests += "|^TestObeyedByGit$"
	}
	r.Verbose = true
	r.goTest("-count=1", "-tags", "oracle", "./internal/test/realshell")
	r.goTest("-count=1", "-timeout", "2h", "-tags", "oracle", "-run", tests, "./internal/shell",
		"-args", "-bash", bash, "-dash", dash, "-zsh", zsh, "-shown", shown, "-seed", fmt.Sprint(r.seed))
	r.goTest("-count=1", "-timeout", "1h", "-tags", "oracle", "-run", "^TestRepositoriesOfOthers$", "./internal/policy", "-args", "-repositories", repositories, "-seed", fmt.Sprint(r.seed))
}

// effects runs generated command lines that are allowed in a disposable root,
// and checks that the rules cover their effects. So it does with programs that the
// catalogue calls safe, given words that they may run or write. It shows the figures.
func effects(r *runner) {
	lines, harmless := "500", "500"
	if r.long {
		lines, harmless = "100000", "20000"
	}
	r.Verbose = true
	r.goTest("-count=1", "-tags", "oracle", "./internal/test/effectbox")
	r.goTest("-count=1", "-timeout", "2h", "-tags", "oracle", "-run", "^TestEffects$", "./internal/test/effects",
		"-args", "-lines", lines, "-seed", fmt.Sprint(r.seed))
	r.goTest("-count=1", "-timeout", "1h", "-tags", "oracle", "-run", "^TestHarmless$", "./internal/test/effects",
		"-args", "-lines", harmless, "-seed", fmt.Sprint(r.seed))
	if r.long {
		r.goTest("-count=1", "-timeout", "2h", "-tags", "oracle", "-run", "^TestUses", "./internal/test/effects",
			"-args", "-uses", "200000", "-seed", fmt.Sprint(r.seed))
	}
}

// within runs generated command lines that are allowed inside the sandbox, with real programs
// in a disposable root, as an ordinary user and as root, and looks from outside for what
// they did: changes, secrets that were read, packets, processes. It runs the uses of the
// sessions that nobody should allow, and other harm, in the same way. It shows that each of
// these is seen without a sandbox.
func within(r *runner) {
	if why := noSandbox(); why != "" {
		r.Skip("within", why)
		return
	}
	args := []string{"-within", "150"}
	if r.long {
		args = []string{"-within", "200000", "-every"}
	}
	defer func(before bool) { r.Verbose = before }(r.Verbose)
	r.Verbose = true
	r.goTest(append([]string{"-count=1", "-timeout", "24h", "-tags", "oracle", "-run", "^(TestWithin|TestHarm$)", "./internal/test/effects", "-args", "-seed", fmt.Sprint(r.seed)}, args...)...)
}

// mutants makes mistakes in the packages that decide and checks that a test then fails: a
// sample of 300, always the same, or in the long form all 25,000.
func mutants(r *runner) {
	r.Verbose = true
	r.goTest("-count=1", "-timeout", "72h", "-tags", "mutants", "-run", "^TestMutants$", "./internal/test/mutants")
}

// manuals compares the catalogue with the manual pages of Debian packages,
// which it downloads and unpacks. It runs in the long form only.
func manuals(r *runner) {
	if !r.long {
		r.printf("manuals: compared in the long form only\n")
		return
	}
	r.Verbose = true
	r.quiet("apt-get", "update") // as root; otherwise the present lists are used
	r.goTest("-count=1", "-timeout", "30m", "-tags", "manuals", "-run", "^TestManuals$", "./internal/test/manuals")
}

// fuzz runs every fuzz target for a while, or in the short form every eighth one, by the
// seed. Minimizing an interesting input could take a minute by default, during which
// nothing else is tried.
func fuzz(r *runner) {
	for i, target := range r.fuzzTargets() {
		if !r.long && (int64(i)+r.seed)%8 != 0 {
			continue
		}
		args := []string{"-run", "^$", "-fuzz", "^" + target.name + "$", "-fuzztime", r.fuzztime.String(), "-fuzzminimizetime", "10x", target.pkg}
		if !r.long {
			args = append([]string{"-parallel", "1"}, args...) // other steps need the processors
		}
		r.again(2, endedByTheClock, func() {
			r.goTest(args...)
		})
	}
}

// endedByTheClock reports whether the only failure in the output of go test -fuzz is
// the end of its time. The coordinator of internal/fuzz (Go 1.26) fails with it if the
// deadline falls between the end of its context and that of the workers'; no input
// failed then, and none was written.
func endedByTheClock(output string) bool {
	_, after, failed := strings.Cut(output, "--- FAIL: ")
	lines := strings.Split(strings.TrimSpace(after), "\n")
	return failed && len(lines) >= 2 && strings.TrimSpace(lines[1]) == "context deadline exceeded" &&
		!strings.Contains(after, "--- FAIL: ") && !strings.Contains(output, "Failing input")
}

// nvim tests the Neovim client in real Neovims. Its tests mostly wait.
func nvim(r *runner) {
	r.needProgram()
	r.check("luacheck", "luacheck", "--config", "editors/nvim/.luacheckrc", "editors/nvim")
	r.goTest("-count=1", "-tags", "nvim", "-parallel", "8", "./internal/test/neovim")
}

// postgres tests what needs a PostgreSQL with real ones, each of its own.
func postgres(r *runner) {
	if pg.Bin() == "" {
		r.Skip("postgres", "PostgreSQL is not installed")
		return
	}
	r.goTest("-count=1", "-tags", "postgres", "-timeout", "1h", "./internal/test/pg", "./internal/test/serve", "./internal/serve/store/postgres")
	r.goTest("-count=1", "-tags", "postgres", "-timeout", "1h", "-run", "WithPostgres$", "./internal/serve/terminal")
}

// serve kills servers with agents and people at work, and judges what is left; so it
// does with two servers on one PostgreSQL, which crashes too. It shows the figures.
func serve(r *runner) {
	kills, tags := "10", "serve"
	if r.long {
		kills = "200"
	}
	if pg.Bin() != "" {
		tags += ",postgres"
	} else {
		r.Skip("serve with PostgreSQL", "it is not installed")
	}
	r.needProgram()
	r.Verbose = true
	r.goTest("-count=1", "-tags", tags, "-timeout", "1h", "./internal/test/serve", "-args", "-kills", kills, "-seed", fmt.Sprint(r.seed))
}

// e2e tests with the real agent CLI.
func e2e(r *runner) {
	r.needProgram()
	r.goTest("-count=1", "-tags", "e2e", "-timeout", "2h", "-parallel", "3", "./e2e")
}

type target struct{ pkg, name string }

// fuzzTargets finds the fuzz targets in the source of all packages.
func (r *runner) fuzzTargets() []target {
	var found []target
	filepath.WalkDir(".", func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() && (d.Name() == "node_modules" || strings.HasPrefix(d.Name(), ".") && path != ".") {
			return filepath.SkipDir
		}
		if err == nil && strings.HasSuffix(path, "_test.go") {
			for _, name := range fuzzNames(path) {
				found = append(found, target{"./" + filepath.Dir(path), name})
			}
		}
		return nil
	})
	return found
}

// fuzzNames lists the fuzz targets that a file declares.
func fuzzNames(path string) []string {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	var names []string
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, "func Fuzz"); ok && strings.Contains(rest, "*testing.F)") {
			names = append(names, "Fuzz"+rest[:strings.Index(rest, "(")])
		}
	}
	return names
}
