//go:build manuals

package manuals

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// enough is the minimum number of programs to compare, not counting
// subcommands.
const enough = 100

// TestManuals compares the catalogue with the manual pages of Debian packages.
// They are downloaded and unpacked into a directory of the test; nothing is
// installed, and none of their programs is run.
func TestManuals(t *testing.T) {
	if _, err := exec.LookPath("apt-get"); err != nil {
		t.Skip("there is no apt-get: the pages come from Debian's packages")
	}
	c := comparison{programs: map[string]bool{}, quirks: map[string]bool{}}
	for _, pkg := range slices.Sorted(maps.Keys(pages)) {
		version, files, err := fetch(t.Context(), pkg, t.TempDir())
		if err != nil {
			t.Errorf("%s: %v", pkg, err)
			continue
		}
		for _, file := range files {
			c.page(t, pkg, version, file)
		}
	}
	t.Logf("manuals: %d programs, %d pages, %d options read, %d unknown", len(c.programs), c.pages, c.options, c.faults)
	if len(c.programs) < enough {
		t.Errorf("%d programs compared, want %d", len(c.programs), enough)
	}
	c.leftOver(t)
}

// comparison counts what was compared.
type comparison struct {
	programs, quirks       map[string]bool
	pages, options, faults int
}

// page compares one page.
func (c *comparison) page(t *testing.T, pkg, version, file string) {
	name := strings.TrimSuffix(filepath.Base(file), ".gz")
	name = name[:strings.LastIndexByte(name, '.')]
	entry, ok := Find(name)
	if !ok || !wanted(pkg, name) || entry.bare() {
		return
	}
	text, err := gunzip(file)
	if err != nil {
		t.Errorf("%s: %v", file, err)
		return
	}
	options := Options(text)
	unknown := 0
	for _, f := range entry.Check(options) {
		if explained(name, f) != "" {
			c.quirks[name+" "+f.Option] = true
			continue
		}
		unknown++
		t.Errorf("%s: %s", strings.Join(entry.Words, " "), f)
	}
	c.programs[entry.Words[0]] = c.programs[entry.Words[0]] || len(options) > 0
	c.pages, c.options, c.faults = c.pages+1, c.options+len(options), c.faults+unknown
	t.Logf("%s (%s %s): %d options, %d unknown", strings.Join(entry.Words, " "), pkg, version, len(options), unknown)
}

// leftOver reports pages that were not found or have no options, and unused
// quirks.
func (c *comparison) leftOver(t *testing.T) {
	for name, read := range c.programs {
		if !read {
			t.Errorf("%s: no option was found in its page", name)
		}
	}
	for _, list := range pages {
		for name := range strings.FieldsSeq(list) {
			if entry, _ := Find(name); !strings.HasSuffix(name, "*") && !c.programs[entry.Words[0]] {
				t.Errorf("%s: no page was compared", name)
			}
		}
	}
	for _, q := range quirks {
		for name, options := range q.pages {
			for option := range strings.FieldsSeq(options) {
				if !c.quirks[name+" "+option] {
					t.Errorf("%s %s is explained in quirks.go and is no fault", name, option)
				}
			}
		}
	}
}

// bare reports whether the page is about a subcommand for which the catalogue
// lists no options, so that a missing one means nothing.
func (e Entry) bare() bool {
	last := e.Chain[len(e.Chain)-1]
	return len(e.Chain) > 1 && len(last.Options)+len(last.Shared) == 0
}

// fetch downloads a package and unpacks it into a directory. It returns the
// package's version and its manual pages.
func fetch(ctx context.Context, pkg, dir string) (version string, files []string, err error) {
	if err := run(ctx, dir, "apt-get", "download", "-qq", pkg); err != nil {
		return "", nil, err
	}
	debs, _ := filepath.Glob(filepath.Join(dir, "*.deb"))
	if len(debs) != 1 {
		return "", nil, os.ErrNotExist
	}
	if err := run(ctx, dir, "dpkg-deb", "-x", debs[0], "."); err != nil {
		return "", nil, err
	}
	version = strings.Split(filepath.Base(debs[0]), "_")[1]
	files, err = filepath.Glob(filepath.Join(dir, "usr/share/man/man[18]/*.gz"))
	return strings.ReplaceAll(version, "%3a", ":"), files, err
}

func run(ctx context.Context, dir, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Run(); err != nil {
		return &failure{name, err, strings.TrimSpace(said.String())}
	}
	return nil
}

type failure struct {
	name string
	err  error
	said string
}

func (f *failure) Error() string { return f.name + ": " + f.err.Error() + ": " + f.said }

func gunzip(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return "", err
	}
	data, err := io.ReadAll(z)
	return string(data), err
}
