package permission

import "testing"

// The paths changed by a patch, a stash or a reset occur in no word: an ask or
// deny rule for a path asks, but a change of the policy's own file is not
// assumed.
func TestUnnamedWrites(t *testing.T) {
	s := spec{allow: "Bash(git:*)", deny: "Edit(f)"}
	for _, line := range []string{
		"git apply x.patch", "git am x.patch", "git stash pop", "git stash apply", "git stash branch b", "git reset --hard",
		"git reset --keep HEAD~1", "git apply --check --apply x.patch",
	} {
		check(t, s, row{"Bash: " + line, "ask deny-list Edit(f) held"})
	}
	for _, line := range []string{"git checkout -- f", "git restore f", "git checkout HEAD~1 f"} {
		check(t, s, row{"Bash: " + line, "deny deny-list Edit(f)"})
	}
	for _, line := range []string{
		"git apply --check x.patch", "git apply --cached x.patch", "git apply --stat x.patch", "git stash", "git stash drop",
		"git stash list", "git reset", "git reset --soft HEAD~1", "git restore g",
	} {
		check(t, s, row{"Bash: " + line, "allow default Bash(git:*)"})
	}
	for _, free := range []spec{{allow: "Bash(git:*)"}, {allow: "Bash(git:*)", mode: "acceptEdits"}, {allow: "Bash(git:*)", mode: "bypassPermissions"}} {
		for _, line := range []string{"git apply x.patch", "git stash pop", "git reset --hard"} {
			if d := free.decideOn(t, using("Bash", line)); d.Behavior != Allow {
				t.Errorf("%s in mode %q: %s", line, free.mode, outcome(d))
			}
		}
	}
}
