package policy

import "testing"

// TestInstalled checks which rules a program of the project's own environment is
// covered by, and what activates the environment.
func TestInstalled(t *testing.T) {
	const policy = `allow = ["Bash(pytest:*)", "Bash(ruff check:*)", "Bash(python *.py)", "Bash(pip list:*)", "Bash(eslint:*)", "Bash(cat:*)", "Bash(rm:*)",
		"Bash(source .venv/bin/activate)", "Edit"]
		ask = ["Bash(pip install:*)"]`
	for _, tt := range []struct{ line, want string }{
		{".venv/bin/cat x", "ask"},
		{".venv/bin/rm x", "ask"},
		{".venv/bin/ruff format x", "ask"},
		{".venv/bin/pip install x", "ask"},
		{"bin/pytest", "ask"},
		{"./pytest", "ask"},
		{"/tmp/.venv/bin/pytest", "ask"},
		{"../.venv/bin/pytest", "ask"},
		{"x/../../.venv/bin/pytest", "ask"},
		{".venv/bin/../../x/bin/pytest", "ask"},
		{".venv/bin/sub/pytest", "ask"},
		{"$x/.venv/bin/pytest", "ask"},
		{"cd /tmp && .venv/bin/pytest", "ask"},
		{".venv/bin/pytest /tmp/x/t.py", "ask"},
		{"PYTHONPATH=/tmp .venv/bin/pytest", "ask"},
		{"source activate", "ask"},
		{"source /tmp/.venv/bin/activate", "ask"},
		{"source .venv/bin/activate x", "ask"},
		{"source venv/bin/activate", "ask"},
		{"source .venv/bin/activate.sh", "ask"},
		{"source .venv/bin/x", "ask"},
		{"cd backend && ../.venv/bin/pytest", "ask"}, // backend may be a link
		{"cd sub && source ../../.venv/bin/activate", "ask"},
		{"echo x > .venv/bin/activate; source .venv/bin/activate", "ask"},
		{"cp x .venv/bin/activate", "ask"},
		{"tee .venv/bin/activate < x; source .venv/bin/activate", "ask"},

		{".venv/bin/pytest -q", "allow"},
		{"/home/dev/proj/.venv/bin/pytest tests", "allow"},
		{"backend/venv/bin/ruff check .", "allow"},
		{".venv/bin/python scripts/x.py", "allow"},
		{"./node_modules/.bin/eslint src", "allow"},
		{".venv/bin/pip list", "allow"},
		{"source .venv/bin/activate && pytest -q", "allow"},
	} {
		check(t, []Source{sourceOf(t, User, true, ""), sourceOf(t, Project, true, policy)}, "Bash("+tt.line+")", tt.want)
	}
	// What another script does may be what is denied.
	scripts := sourceOf(t, Project, true, `allow = ["Bash(source .venv/bin/x)", "Bash(source .venv/bin/activate)"]
		deny = ["Bash(git push:*)"]`)
	check(t, []Source{sourceOf(t, User, true, ""), scripts}, "Bash(source .venv/bin/x)", "ask")
	check(t, []Source{sourceOf(t, User, true, ""), scripts}, "Bash(source .venv/bin/activate)", "allow")
	check(t, []Source{sourceOf(t, User, true, ""), sourceOf(t, Project, true, `deny = ["Bash(pytest:*)"]`)}, "Bash(.venv/bin/pytest)", "deny")
}
