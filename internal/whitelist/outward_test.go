package whitelist

import (
	"strings"
	"testing"
)

// TestOff: what publishes or deploys stands apart, and does not pass.
func TestOff(t *testing.T) {
	const ci = `
jobs:
  test:
    steps:
      - run: npm ci
      - run: cargo build --release
      - run: docker buildx build .
      - {name: Push the image, run: ./image.sh}
  publish-all:
    steps:
      - run: npm ci
      - run: npm config get registry
  other:
    steps:
      - run: npm publish --access public
      - run: docker buildx build --push .
      - run: git push origin main
      - run: make release
      - run: ./scripts/deploy.sh prod
      - run: twine upload dist/x
      - run: ls target/release/x
`
	lines, err := Lines("ci.yml", []byte(ci))
	if err != nil {
		t.Fatal(err)
	}
	scripts, err := Lines("package.json", []byte(`{"scripts":{"deploy:web":"./web.sh","build":"tsc"}}`))
	if err != nil {
		t.Fatal(err)
	}
	start, err := Starting(append(lines, scripts...), false)
	if err != nil {
		t.Fatal(err)
	}
	l := parse(t, string(start.Text))
	for _, line := range []string{"npm ci", "cargo build --release", "docker buildx build .", "ls target/release/x", "npm run build", "tsc"} {
		if e := l.Validate(line, analyze(line)); e != nil {
			t.Errorf("%s: %v", line, e)
		}
	}
	for _, line := range []string{
		"./image.sh", "npm config get registry", "npm publish --access public", "git push origin main", "make release",
		"./scripts/deploy.sh prod", "twine upload dist/x", "npm run deploy:web", "./web.sh",
	} {
		e := l.Validate(line, analyze(line))
		if e == nil || e.Reason != NotWhitelisted || !strings.Contains(e.Detail, "is listed under off") {
			t.Errorf("%s: %v", line, e)
		}
	}
	if e := l.Validate("docker buildx build --push .", analyze("docker buildx build --push .")); e == nil || e.Reason != DangerousArgs {
		t.Errorf("--push: %v", e)
	}
	if strings.Contains(string(start.Text), `"off"`) && start.Off < 9 {
		t.Errorf("%d are off\n%s", start.Off, start.Text)
	}
	none, err := Starting([]Line{{Text: "npm ci", Source: "f"}, {Text: "npm ci", Source: "f", Outward: true}}, true)
	if err != nil || strings.Contains(string(none.Text), `"off"`) {
		t.Errorf("what is listed is off as well: %v\n%s", err, none.Text)
	}
}

// TestOffIsChecked: an entry that is off has the form of one that passes.
func TestOffIsChecked(t *testing.T) {
	for text, want := range map[string]string{
		`{"version":"1.0.0","mode":"strict","off":{"defaults":{"npm":{"commands":[]}}}}`: "off.defaults.npm: commands is missing or empty",
		`{"version":"1.0.0","mode":"strict","off":{"custom":{"x":{}}}}`:                  "off.custom.x: binary is missing",
		`{"version":"1.0.0","mode":"strict","off":{"npm":{}}}`:                           `unknown key`,
	} {
		if _, err := Parse([]byte(text), "f"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
