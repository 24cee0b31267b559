// Command sessions counts how often an agent's work is interrupted under the
// policy that "agent-wrapper init" writes. It drives recorded sessions through
// the engine, in a project of the kind that they belong to, and prints for each
// project what became of the uses that should run, be asked about, or be denied:
//
//	go run ./internal/test/sessions
//	go run ./internal/test/sessions -causes    # and what is asked about needlessly, by cause
//	go run ./internal/test/sessions -uses      # each use with its decision
//	go run ./internal/test/sessions -sandbox   # with a sandbox around the commands
//	go run ./internal/test/sessions -attacks   # the attacks of the corpora that run
//	go run ./internal/test/sessions -real      # recorded sessions of real agents, through decide
//	go run ./internal/test/sessions -real -run -decide "--sandbox=on --applies-input"
//
// The person who is asked says "for this session" where that can be said, with
// the second rung of the ladder if there is one, so that a question which an
// answer can settle is counted once in a session.
//
// It runs nothing, but with -run: the lines of the sessions are only decided about.
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

func main() {
	log.SetFlags(0)
	cases := flag.String("cases", "testdata/cases", "the `directory` with sessions.jsonl and everyday.jsonl")
	projects := flag.String("projects", "internal/test/sessions/testdata", "the `directory` with the projects, one txtar file each")
	causes := flag.Bool("causes", false, "list what is asked about needlessly, by cause")
	uses := flag.Bool("uses", false, "list every use with its decision")
	flag.BoolVar(&sandboxed, "sandbox", false, "decide with a sandbox around the commands")
	hostile := flag.Bool("attacks", false, "list the rows of bypass.jsonl and redteam.jsonl that the policy of init lets run, and nothing else")
	recorded := flag.Bool("real", false, "drive the sessions of -sessions through decide --stdio, and nothing else")
	sessions := flag.String("sessions", "testdata/cases/real-sessions.jsonl", "the `file` of -real")
	r := &real{}
	flag.StringVar(&r.program, "program", "", "the `program` of -real (default: built from this tree)")
	flag.BoolVar(&r.runs, "run", false, "with -real, write what is written and run what is answered for the sandbox, and count a refused start as a question")
	flags := flag.String("decide", "", "with -real, further `flags` of decide")
	show := flag.Int("show", 0, "with -real, list the `number` of most frequent causes")
	flag.Parse()
	r.projects, r.flags = *projects, strings.Fields(*flags)
	dir, err := tempDir()
	if err != nil {
		log.Fatal(err)
	}
	var text string
	if *recorded {
		text, err = r.report(*sessions, dir, *show)
	} else {
		text, err = report(*cases, *projects, dir, *hostile, *causes, *uses)
	}
	if err := os.RemoveAll(dir); err != nil {
		log.Print(err)
	}
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(text)
}

// sandboxed is set if the commands of the sessions run inside the sandbox.
var sandboxed bool

// report measures in projects below dir and returns what the flags ask for.
func report(cases, projects, dir string, hostile, causes, uses bool) (string, error) {
	if hostile {
		all, err := attacks(cases, projects, dir)
		return allowedAttacks(all), err
	}
	outcomes, err := measure(cases, projects, dir)
	text := table(outcomes)
	if causes {
		text += "\n" + needless(outcomes)
	}
	if uses {
		text += "\n" + list(outcomes)
	}
	return text, err
}

// report drives the sessions of a file in projects below dir and returns the figures.
func (r *real) report(file, dir string, causes int) (string, error) {
	uses, err := readRows[recordedUse](file)
	if err != nil {
		return "", err
	}
	if r.program == "" {
		r.program = filepath.Join(dir, "agent-wrapper")
		if out, err := exec.Command("go", "build", "-o", r.program, "./cmd/agent-wrapper").CombinedOutput(); err != nil {
			return "", fmt.Errorf("%w: %s", err, out)
		}
	}
	err = r.measure(uses, dir)
	return r.figures(causes), err
}
