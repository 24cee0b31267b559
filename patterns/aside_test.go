package patterns

import "testing"

// TestAside checks that an allow rule sees through the options that say where and
// how the same is done, and through nothing else.
func TestAside(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		rule    string
		covers  []string
		refuses []string
	}{
		{
			rule: "Bash(pnpm run test:*)",
			covers: []string{
				"pnpm test", "pnpm -r test", "pnpm --recursive --parallel run test", "pnpm run -r test", "pnpm -rs test", "pnpm --filter web test", "pnpm --filter=web test -- --run x",
				"pnpm -F web -F @acme/ui run test --coverage", "pnpm -C sub test", "pnpm --dir=sub run test", "pnpm --filter '...[origin/main]' test", "pnpm run --if-present test",
			},
			refuses: []string{
				"pnpm tests", "pnpm --filter test deploy", "pnpm --filter web deploy", "pnpm -c test", "pnpm -rc test", "pnpm --script-shell=x test", "pnpm --node-options=x test",
				"pnpm -g test", "pnpm --frob test", "pnpm --filter $X test", "pnpm $X test", "pnpm -C /tmp test", "pnpm --dir=.. test", "pnpm -r", "pnpm run", "pnpm exec test", "pnpm dlx test",
				"npm test", "npm run test", "pnpm -- test", "./pnpm test", "X=1 pnpm -r test", "pnpm --pnpmfile x test", "pnpm add test", "pnpm ./test",
			},
		},
		{
			rule:    "Bash(pnpm run docs:build)", // an exact rule means these words alone
			refuses: []string{"pnpm docs:build", "pnpm -w docs:build", "pnpm run docs:build x"},
		},
		{
			rule:    "Bash(pnpm exec:*)",
			covers:  []string{"pnpm --filter web exec tsc", "pnpm -r exec tsc -b"},
			refuses: []string{"pnpm --filter exec dlx tsc", "pnpm dlx tsc"},
		},
		{
			rule:    "Bash(npm run test:*)",
			covers:  []string{"npm test", "npm -w web test", "npm test -w web", "npm --prefix sub run test", "npm run -s test"},
			refuses: []string{"npm --prefix /tmp run test", "npm --prefix=.. test", "npm -g test", "npm exec test", "npm --script-shell x test", "npm x test", "npm run-script test", "npm tests"},
		},
		{rule: "Bash(npm test:*)", covers: []string{"npm run test", "npm -s run test -- x"}, refuses: []string{"npm run tests", "npm run", "npm start"}},
		{
			rule:    "Bash(yarn run build:*)",
			covers:  []string{"yarn build", "yarn -s build", "yarn workspace web build", "yarn workspace web run build", "yarn --cwd sub build"},
			refuses: []string{"yarn workspace build deploy", "yarn workspace web deploy", "yarn workspace web workspace build", "yarn --cwd /tmp build", "yarn add build", "yarn dlx build"},
		},
		{
			rule:    "Bash(bun run lint:*)",
			covers:  []string{"bun lint", "bun --cwd sub lint", "bun run --filter x lint", "bun --silent run lint"},
			refuses: []string{"bun ./lint", "bun lint.ts", "bun -e lint", "bun --preload x lint", "bun x lint", "bun --cwd .. lint"},
		},
		{rule: "Bash(bun test:*)", covers: []string{"bun test"}, refuses: []string{"bun run test"}},
		{rule: "Bash(bun run test:*)", covers: []string{"bun run test"}, refuses: []string{"bun test"}},
		{
			rule:    "Bash(git status:*)",
			covers:  []string{"git --no-pager status", "git -P --no-optional-locks status -s"},
			refuses: []string{"git -C sub status", "git --no-pager -C sub status", "git -C .. status", "git -c a.b=c status", "git --git-dir=x status", "git -p status", "git -C status log", "git --no-pager", "git -C $X status", "git --exec-path=x status"},
		},
		{rule: "Bash(git log)", refuses: []string{"git --no-pager log"}},
		{
			rule:    "Bash(uv run pytest:*)",
			covers:  []string{"uv run --frozen pytest -q", "uv --quiet run pytest", "uv run --group dev pytest"},
			refuses: []string{"uv run --with x pytest", "uv run --with pytest x", "uv run python pytest", "uv --directory .. run pytest", "uv run --index-url x pytest", "uvx pytest"},
		},
	} {
		r := rule(t, test.rule, Allow)
		for _, line := range test.covers {
			if m := first(t, r, line); m != Yes {
				t.Errorf("%s does not cover %q", test.rule, line)
			}
		}
		for _, line := range test.refuses {
			if m := first(t, r, line); m != No {
				t.Errorf("%s covers %q", test.rule, line)
			}
		}
	}
}
