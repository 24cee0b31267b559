package main

import (
	"regexp"
	"strconv"
	"strings"
)

// clients tests the clients in other languages with a built agent-wrapper. The agent
// SDKs of npm are real, with scripted models, in a network namespace that has only
// loopback; those of Python are not to be had everywhere, and have stand-ins.
func clients(r *runner) {
	r.needProgram()
	r.check("tsc", "npm", "--prefix", "clients/typescript", "run", "pretest")
	if namespace, why := r.namespace(); why != "" {
		r.Skip("clients/typescript", why)
	} else {
		test := "cd clients/typescript && ip link set lo up && exec node --test --test-timeout=120000 --test-reporter=tap build/test/*.test.js"
		r.counted("clients/typescript", tapCounts, append(namespace, "sh", "-c", test)...)
	}
	r.check("mypy", "sh", "-c", "cd clients/python && exec mypy")
	r.counted("clients/python", unittestCounts, "sh", "-c", "cd clients/python && exec timeout 120 python3 -m unittest")
}

// page tests the page of serve in a real Chromium, in a network namespace that has only
// loopback.
func page(r *runner) {
	r.needProgram()
	namespace, why := r.namespace()
	if why != "" {
		r.Skip("internal/serve/server/page", why)
		return
	}
	test := "cd internal/serve/server/page/test && ip link set lo up && exec node --test --test-concurrency=2 --test-timeout=300000 --test-reporter=tap *.test.mjs"
	r.counted("internal/serve/server/page", tapCounts, append(namespace, "sh", "-c", test)...)
}

// namespace returns the command that starts another in a network namespace of its own,
// or why there is none.
func (r *runner) namespace() (command []string, why string) {
	for _, command := range [][]string{{"unshare", "-n"}, {"unshare", "-rn"}} {
		if r.quiet(command[0], command[1], "ip", "link", "set", "lo", "up") {
			return command, ""
		}
	}
	return nil, "no network namespace can be made here: run it as root, or allow unprivileged user namespaces"
}

// counts are the tests of a run of another test runner.
type counts struct{ passed, failed, skipped int }

// counted runs the tests of another test runner, and counts them as its summary does.
// The output is shown if not all of them passed.
func (r *runner) counted(what string, read func(output string) counts, command ...string) {
	out, err := r.output(command[0], command[1:]...)
	c := read(out)
	r.Passed += c.passed
	if c.skipped > 0 {
		r.Skip(what, strconv.Itoa(c.skipped)+" skipped")
	}
	for range c.failed {
		r.Fail(what)
	}
	switch {
	case err != nil && c.failed == 0:
		r.Fail(what + ": " + err.Error())
	case c.passed == 0 && c.failed == 0:
		r.Fail(what + ": no test ran")
	}
	if err != nil || c.failed+c.skipped > 0 || r.Verbose {
		r.printf("%s\n", strings.TrimSpace(out))
	}
	r.printf("ran  %s (%d passed, %d failed, %d skipped)\n", what, c.passed, c.failed, c.skipped)
}

// tapCounts reads the summary of node's test runner.
func tapCounts(out string) counts {
	return counts{last(out, `(?m)^# pass (\d+)$`), last(out, `(?m)^# (?:fail|cancelled) (\d+)$`), last(out, `(?m)^# (?:skipped|todo) (\d+)$`)}
}

// unittestCounts reads the summary of Python's test runner.
func unittestCounts(out string) counts {
	c := counts{
		failed:  last(out, `(?m)^FAILED \(.*\bfailures=(\d+)`) + last(out, `(?m)^FAILED \(.*\berrors=(\d+)`),
		skipped: last(out, `(?m)^(?:OK|FAILED) \(.*\bskipped=(\d+)`),
	}
	c.passed = max(last(out, `(?m)^Ran (\d+) tests? in `)-c.failed-c.skipped, 0)
	return c
}

// last adds up the numbers that a pattern finds in the last lines of an output, where
// the summary is.
func last(out, pattern string) int {
	sum := 0
	for _, found := range regexp.MustCompile(pattern).FindAllStringSubmatch(out[max(0, len(out)-500):], -1) {
		n, err := strconv.Atoi(found[1])
		if err == nil {
			sum += n
		}
	}
	return sum
}
