package policy

import (
	"path/filepath"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/golden"
)

// TestGolden runs the project's own tables of decisions: the examples of the
// seed and every row of the tables in the design. The expectations were written
// by hand from these texts.
func TestGolden(t *testing.T) {
	dir := filepath.Join("..", "..", "testdata", "golden")
	report, err := RunTests(dir, TestOptions{Update: golden.Updating()})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range report.Failed() {
		t.Errorf("%s:%d: %s\n%sreason: %s", f.File, f.Line, f.Name, f.Diff, f.Reason)
	}
	for _, item := range report.Untouched {
		t.Errorf("%s:%d: no case touches %s", item.Source.Name, item.Source.Line, item.Text)
	}
	if len(report.Results) < 250 {
		t.Errorf("only %d cases", len(report.Results))
	}
}
