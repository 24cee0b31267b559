// Command decisiondiff decides everything in the corpora in many ways, and prints a hash
// of all that comes out: each field of each decision, and the texts that people see. With
// two builds it prints the differences between them.
//
//	go run ./internal/test/decisiondiff             # this tree: the counts, and the hash
//	go run ./internal/test/decisiondiff HEAD~20     # that revision, and this tree
//	go run ./internal/test/decisiondiff OLD NEW     # revisions, or built programs
//
// What is decided (see tasks):
//
//   - check: each row under its own policy, under some common ones and under that of init,
//     with risk on and off; rows have links and file systems of their own;
//   - explain: each tool use in a project on disk under the policy of init, with a sandbox and
//     without;
//   - session: the recorded sessions, with their memory, and a person who answers each
//     question: for the session, always, never, once; with a sandbox and without.
//
// A difference is looser, stricter, of other fields, or of words only. -rename names a
// file with lines "OLD<tab>NEW": names that differ on purpose. The exit code is 1 if
// something is looser, or with -same if anything differs.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/test/client"
)

func main() {
	log.SetFlags(0)
	o := &options{out: os.Stdout}
	flag.StringVar(&o.cases, "cases", "testdata/cases", "the `directory` of the corpora")
	flag.StringVar(&o.projects, "projects", "internal/test/sessions/testdata", "the `directory` of the projects, one txtar file each")
	flag.StringVar(&o.rows, "rows", "", "a `file` with further rows, as go test -tags oracle -run TestRows ./internal/test/effects -args -rows FILE writes them")
	flag.StringVar(&o.renames, "rename", "", "a `file` of names that differ on purpose")
	flag.StringVar(&o.dump, "o", "", "write each decision of the last build to this `file`")
	flag.StringVar(&o.only, "only", "", "decide only the tasks whose names contain this `text`")
	flag.IntVar(&o.show, "show", 20, "show the first `number` of differences of each kind but looser, of which all are shown")
	flag.BoolVar(&o.same, "same", false, "exit with 1 if anything differs")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code, err := o.run(ctx, flag.Args())
	stop()
	if err != nil {
		log.Print("decisiondiff: ", err)
		code = 2
	}
	os.Exit(code)
}

type options struct {
	cases, projects, rows, renames, dump, only string
	show                                       int
	same                                       bool
	out                                        io.Writer
}

// run decides with the builds that the arguments name, and returns the exit code.
func (o *options) run(ctx context.Context, builds []string) (int, error) {
	if len(builds) > 2 {
		return 0, fmt.Errorf("two builds at most, not %d", len(builds))
	}
	if len(builds) < 2 {
		builds = append(builds, ".") // this tree
	}
	dir, err := client.TempDir()
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	var programs []string
	for i, b := range builds {
		path, err := program(ctx, b, filepath.Join(dir, fmt.Sprint("build", i)))
		if err != nil {
			return 0, err
		}
		programs = append(programs, path)
	}
	began := time.Now()
	report, err := o.compare(ctx, programs, dir)
	if err != nil {
		return 0, err
	}
	report.write(o.out, builds, o.show)
	fmt.Fprintf(o.out, "took %s\n", time.Since(began).Round(time.Second))
	return report.code(o.same), nil
}

// program returns the path of agent-wrapper as a build: a program, a revision, or "." for
// this tree. What it builds lies below dir.
func program(ctx context.Context, build, dir string) (string, error) {
	if info, err := os.Stat(build); err == nil && info.Mode().IsRegular() {
		return filepath.Abs(build)
	}
	tree := "."
	if build != "." {
		tree = filepath.Join(dir, "tree")
		if err := execute(ctx, ".", "git", "clone", "-q", "--shared", "--no-checkout", ".", tree); err != nil {
			return "", err
		}
		revision, err := exec.CommandContext(ctx, "git", "rev-parse", "--verify", "--quiet", build+"^{commit}").Output()
		if err != nil {
			return "", fmt.Errorf("%s is no program and no revision", build)
		}
		if err := execute(ctx, tree, "git", "checkout", "-q", "--detach", strings.TrimSpace(string(revision))); err != nil {
			return "", err
		}
	}
	// A name of its own: texts name the program by it.
	path := filepath.Join(dir, "bin", "agent-wrapper")
	return path, execute(ctx, tree, "go", "build", "-buildvcs=false", "-o", path, "./cmd/agent-wrapper")
}

func execute(ctx context.Context, dir, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, bytes.TrimSpace(out))
	}
	return nil
}

// compare runs each task with each program, as many at a time as there are processors.
func (o *options) compare(ctx context.Context, programs []string, dir string) (*report, error) {
	renamed, err := readRenames(o.renames)
	if err != nil {
		return nil, err
	}
	tasks, err := o.tasks()
	if err != nil {
		return nil, err
	}
	var dump io.Writer = io.Discard
	if o.dump != "" {
		file, err := os.Create(o.dump)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		dump = file
	}
	tasks = slices.DeleteFunc(tasks, func(t task) bool { return !strings.Contains(t.name, o.only) })
	return runAll(ctx, tasks, programs, dir, newReport(len(programs), renamed, dump))
}

// runAll runs the tasks and adds what comes out to the report, in the order of the tasks.
func runAll(ctx context.Context, tasks []task, programs []string, dir string, rep *report) (*report, error) {
	done := make([]chan []outcome, len(tasks))
	slots := make(chan struct{}, runtime.NumCPU())
	for i := range tasks {
		done[i] = make(chan []outcome, 1)
	}
	go func() {
		for i, t := range tasks {
			slots <- struct{}{}
			go func() {
				defer func() { <-slots }()
				var sides []outcome
				for n, p := range programs {
					// A directory with a name of the same length for each side.
					sides = append(sides, t.decide(ctx, p, filepath.Join(dir, fmt.Sprintf("t%02d-%d", i, n))))
				}
				done[i] <- sides
			}()
		}
	}()
	for i, t := range tasks {
		if err := rep.add(t.name, <-done[i]); err != nil {
			return nil, err
		}
	}
	return rep, ctx.Err()
}
