// Command cataloggen compiles internal/program/catalog/*.toml (see package catalogfile)
// into a table of text in Go. Run it with go generate in the directory program.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/agent-wrapper/agent-wrapper/internal/program/catalogfile"
)

func main() {
	in := flag.String("in", "catalog", "folder of the TOML files")
	out := flag.String("out", "catalog_gen.go", "Go file to write")
	flag.Parse()
	if err := run(*in, *out); err != nil {
		fmt.Fprintln(os.Stderr, "cataloggen:", err)
		os.Exit(1)
	}
}

func run(in, out string) error {
	code, err := generate(in)
	if err != nil {
		return err
	}
	return os.WriteFile(out, code, 0o644)
}

// generate returns the Go source for the TOML files of a directory.
func generate(dir string) ([]byte, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.toml"))
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("%s: no TOML files", dir)
	}
	var book catalogfile.Book
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		if err := addFile(&book, filepath.Base(path), string(data)); err != nil {
			return nil, err
		}
	}
	programs, err := book.Resolve()
	if err != nil {
		return nil, err
	}
	for _, e := range programs {
		if !e.SaysRisk() {
			return nil, e.Errorf("", `what it risks is missing: risk is rows, a group's, or "unknown"`)
		}
	}
	return source(programs, book.Groups(), book.Registries())
}

// addFile adds a file to the book. It decodes into maps, because for structs
// the library ignores the case of keys and drops unknown ones.
func addFile(book *catalogfile.Book, file, text string) error {
	var tables map[string]any
	if _, err := toml.Decode(text, &tables); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return book.Read(tables, func(table []string, key, in string) string {
		return fmt.Sprintf("%s:%d", file, line(text, table, cmp.Or(in, key)))
	})
}

// line returns the line of a key, or of its table if the key is not found.
func line(text string, table []string, key string) int {
	header := regexp.MustCompile(`^\[\s*` + headerPattern(table) + `\s*\]`)
	at := 0
	for i, line := range strings.Split(text, "\n") {
		switch {
		case at == 0 && header.MatchString(line):
			at = i + 1
		case at > 0 && strings.HasPrefix(line, "["):
			return at
		case at > 0 && key != "" && strings.Contains(line, key):
			return i + 1
		}
	}
	return max(at, 1)
}

func headerPattern(table []string) string {
	var parts []string
	for _, name := range table {
		parts = append(parts, `["']?`+regexp.QuoteMeta(name)+`["']?`)
	}
	return strings.Join(parts, `\s*\.\s*`)
}
