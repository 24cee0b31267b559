//go:build unix

// Command startup measures the cost of starting agent-wrapper: the time and the
// page faults of the process `agent-wrapper version`. For comparison it
// measures an empty Go program, a program that only imports the libraries that
// agent-wrapper imports (their initialization is the lower bound), the hook of Claude Code
// about a command that is allowed, in a session that goes on, with policies of 100 and of
// 10,000 rules, by agent-wrapper-hook and by agent-wrapper, and other builds named as
// arguments.
//
//	go run ./internal/test/startup [-n RUNS] [PROGRAM ...]
//
// It must be run in the root of the module.
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

const module = "github.com/agent-wrapper/agent-wrapper/"

func main() {
	log.SetFlags(0)
	runs := flag.Int("n", 100, "the `number` of runs of each program")
	flag.Parse()
	dir, err := os.MkdirTemp("", "startup")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	programs, err := build(dir)
	if err != nil {
		log.Fatal(err)
	}
	for _, name := range []string{"agent-wrapper-hook", "agent-wrapper"} {
		for _, rules := range []int{100, 10_000} {
			hook, err := hookOf(filepath.Join(dir, name), dir, rules)
			if err != nil {
				log.Fatal(err)
			}
			programs = append(programs, hook)
		}
	}
	for _, path := range flag.Args() {
		programs = append(programs, &program{name: path, path: path, args: []string{"version"}})
	}
	if err := measure(programs, *runs); err != nil {
		log.Fatal(err)
	}
	write(programs)
}

// program is a program that is started, with the cost of its runs.
type program struct {
	name, path string
	args, env  []string
	stdin      string
	times      []time.Duration
	faults     []int64 // pages that were mapped without reading a disk
}

// build builds into a directory the programs that every measurement includes.
func build(dir string) ([]*program, error) {
	libraries, err := libraries()
	if err != nil {
		return nil, err
	}
	var programs []*program
	for _, p := range []struct{ name, source string }{
		{"empty", "package main\n\nfunc main() {}\n"},
		{"libraries", "package main\n\nimport (\n\t_ \"" + strings.Join(libraries, "\"\n\t_ \"") + "\"\n)\n\nfunc main() {}\n"},
		{"agent-wrapper", ""},
		{"agent-wrapper-hook", ""},
	} {
		from := "./cmd/" + p.name
		if p.source != "" {
			from = filepath.Join(dir, p.name+".go")
			if err := os.WriteFile(from, []byte(p.source), 0o600); err != nil {
				return nil, err
			}
		}
		to := filepath.Join(dir, p.name)
		cmd := exec.Command("go", "build", "-o", to, from)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("go build %s: %w\n%s", from, err, out)
		}
		if p.name != "agent-wrapper-hook" { // which answers nothing but hooks
			programs = append(programs, &program{name: p.name, path: to, args: []string{"version"}})
		}
	}
	return programs, nil
}

// hookOf returns the hook of a person whose policy has a number of rules.
func hookOf(path, dir string, rules int) (*program, error) {
	home := filepath.Join(dir, fmt.Sprint(filepath.Base(path), "-home", rules))
	var policy strings.Builder
	policy.WriteString("allow = [\"Bash(ls)\"")
	for i := range rules - 1 {
		fmt.Fprintf(&policy, ", \"Bash(t%d:*)\"", i)
	}
	policy.WriteString("]\n")
	for name, text := range map[string]string{".config/agent-wrapper/agent-wrapper.toml": policy.String(), "repo/README": ""} {
		file := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return nil, err
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	return &program{
		name: fmt.Sprintf("%s, %d", filepath.Base(path), rules), path: path, args: []string{"hook", "claude", "--audit-sync", "none"},
		env:   []string{"HOME=" + home, "CLAUDE_PROJECT_DIR=" + home + "/repo"},
		stdin: fmt.Sprintf(`{"session_id":"s","transcript_path":"/t","cwd":%q,"permission_mode":"default","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls"},"tool_use_id":"u"}`, home+"/repo"),
	}, nil
}

// libraries returns the packages outside the project that are imported by its
// packages in agent-wrapper.
func libraries() ([]string, error) {
	out, err := exec.Command("go", "list", "-deps", "-f", `{{.ImportPath}} {{join .Imports " "}}`, "./cmd/agent-wrapper").Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var all []string
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		if strings.HasPrefix(words[0], module) {
			all = append(all, words[1:]...)
		}
	}
	slices.Sort(all)
	own := func(path string) bool { return strings.HasPrefix(path, module) }
	return slices.DeleteFunc(slices.Compact(all), own), nil
}

// measure runs the programs in turn, so that other load on the machine affects
// all of them. The first round, which fills caches, is not counted.
func measure(programs []*program, runs int) error {
	for n := range runs + 1 {
		for _, p := range programs {
			took, faults, err := p.start()
			if err != nil {
				return err
			}
			if n > 0 {
				p.times, p.faults = append(p.times, took), append(p.faults, faults)
			}
		}
	}
	return nil
}

// start runs the program to completion.
func (p *program) start() (time.Duration, int64, error) {
	cmd := exec.Command(p.path, p.args...)
	cmd.Stdin = strings.NewReader(p.stdin)
	if p.env != nil {
		cmd.Env = p.env
	}
	begin := time.Now()
	err := cmd.Run()
	took := time.Since(begin)
	if err != nil {
		return 0, 0, fmt.Errorf("%s: %w", p.name, err)
	}
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0, 0, fmt.Errorf("%s: the system says nothing of its page faults", p.name)
	}
	return took, int64(usage.Minflt), nil
}

// write writes a row for each program, with ratios to the first.
func write(programs []*program) {
	least, middle := programs[0].fastest()
	fmt.Println("program, rules            fastest          median           page faults")
	for _, p := range programs {
		fast, median := p.fastest()
		fmt.Printf("%-25s %6.2f ms %4.2f x %6.2f ms %4.2f x %5d\n", p.name,
			milliseconds(fast), float64(fast)/float64(least), milliseconds(median), float64(median)/float64(middle), p.faults[len(p.faults)/2])
	}
}

// fastest returns the fastest and the median run. It sorts the runs.
func (p *program) fastest() (fast, median time.Duration) {
	slices.Sort(p.times)
	slices.Sort(p.faults)
	return p.times[0], p.times[len(p.times)/2]
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
