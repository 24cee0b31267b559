package patterns

import (
	"strings"
	"testing"
)

// TestRefspecs checks every form of a refspec between every form of other words: a rule
// about main meets the command for certain if one of the refs that it writes is main, may
// meet it if one depends on the repository, and does not meet it otherwise.
func TestRefspecs(t *testing.T) {
	t.Parallel()
	type spec struct {
		text  string
		match Match
	}
	var specs []spec
	for _, sign := range []string{"", "+"} {
		for _, from := range []string{"", "HEAD", "feat", "main", "refs/heads/feat", "@{-1}", "v1^{}", "\"$A\""} {
			for _, prefix := range []string{"", "refs/heads/", "heads/"} {
				specs = append(specs, spec{sign + from + ":" + prefix + "main", Yes}, spec{sign + from + ":" + prefix + "mainly", No}, spec{sign + from + ":" + prefix + "feat/main", No})
			}
			specs = append(specs, spec{sign + from + ":refs/for/main", No}, spec{sign + from + ":\"$B\"", Maybe}, spec{sign + from + ":\"$B/main\"", Maybe}, spec{sign + from + ":\"x$B\"", No})
		}
		specs = append(specs, spec{sign + "main", Yes}, spec{sign + "refs/heads/main", Yes}, spec{sign + "dev", No}, spec{sign + "HEAD", Maybe},
			spec{sign + "@", Maybe}, spec{sign + ":", Maybe}, spec{sign + "'refs/heads/*:refs/heads/*'", Maybe}, spec{sign + "'rel/*'", No})
	}
	for _, text := range []string{"Bash(git push origin main:*)", "Bash(git push * main)"} {
		r := rule(t, text, Deny)
		for _, s := range specs {
			for _, line := range []string{
				"git push origin SPEC", "git push -u origin SPEC", "git -C a push --force-with-lease origin SPEC", "git push origin a:b SPEC c",
				"git push origin SPEC --no-verify", "git push -o ci.skip origin SPEC x:y", "/usr/bin/git push origin -- SPEC",
			} {
				line = strings.Replace(line, "SPEC", s.text, 1)
				if m := first(t, r, line); m < s.match || m == Yes && s.match != Yes {
					t.Errorf("%s: %s: %v, want %v", text, line, m, s.match)
				}
			}
		}
	}
}

// TestFetchedSource checks that a rule about a branch meets a fetch of it, whatever branch
// it is kept as.
func TestFetchedSource(t *testing.T) {
	t.Parallel()
	r := rule(t, "Bash(git fetch origin main)", Deny)
	for line, want := range map[string]Match{"git fetch origin main:x": Yes, `git fetch origin main:"x$B"`: Yes, `git fetch origin "main$B":x`: Maybe, `git fetch origin mainly:"x$B"`: No} {
		if m := first(t, r, line); m != want {
			t.Errorf("%s: %v, want %v", line, m, want)
		}
	}
}

// TestPushToAddress checks that a rule about a branch of a remote may meet a push of that
// branch to an address, which may be the remote's, and no push of another branch.
func TestPushToAddress(t *testing.T) {
	t.Parallel()
	r := rule(t, "Bash(git push origin main:*)", Deny)
	for line, want := range map[string]Match{
		"git push https://example.com/me/x main": Maybe, "git push git@example.com:me/x.git HEAD:main": Maybe, "git push ../x +main": Maybe,
		"git push --force git@example.com:me/x.git main": Maybe, "git push git@example.com:me/x.git main --no-verify": Maybe,
		"git push git@example.com:me/x.git": Maybe, "git push --all https://example.com/me/x": Maybe, "git -C a push ssh://h/x main": Maybe,
		"git push https://example.com/me/x feat": No, "git push upstream main": No, "git push -o a:b upstream main": No, "git push origin main": Yes,
	} {
		if m := first(t, r, line); m != want {
			t.Errorf("%s: %v, want %v", line, m, want)
		}
	}
}
