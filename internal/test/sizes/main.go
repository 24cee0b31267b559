// Command sizes prints the sizes of the tree as a Markdown table, a row for each folder at the
// top and below internal: lines of code without tests and generated files, exported names, and
// the lengths of functions. Below it stands how many lines the programs in cmd reach, in any
// module but the standard library, without blank lines, comments and generated files.
//
//	go run ./internal/test/sizes
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// size is the size of a package.
type size struct {
	lines, exported int
	functions       []int // lengths in lines
}

func main() {
	log.SetFlags(0)
	sizes, err := measure(".")
	if err != nil {
		log.Fatal(err)
	}
	var names []string
	all := &size{}
	for name, s := range sizes {
		names = append(names, name)
		all.add(s)
	}
	slices.Sort(names)
	fmt.Println("| package | lines | exported | functions: median, 90 %, longest |\n|---|--:|--:|---|")
	small := &size{}
	for _, name := range names {
		if s := sizes[name]; s.lines >= 1000 {
			s.print(name)
		} else {
			small.add(s)
		}
	}
	small.print("others")
	all.print("all")
	reached, err := reach("./cmd/...")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("\ncmd reaches %d lines of code here and %d of other modules\n", reached[true], reached[false])
}

// reach counts the lines with code that packages and all that they import have: true those
// of this module.
func reach(packages string) (map[bool]int, error) {
	cmd := exec.Command("go", "list", "-deps", "-json=Dir,GoFiles,Standard,Module", packages)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	lines := map[bool]int{}
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		var p struct {
			Dir      string
			GoFiles  []string
			Standard bool
			Module   *struct{ Main bool }
		}
		if err := d.Decode(&p); err != nil {
			return nil, err
		}
		for _, name := range p.GoFiles {
			if p.Standard {
				continue
			}
			n, err := codeLines(filepath.Join(p.Dir, name))
			if err != nil {
				return nil, err
			}
			lines[p.Module.Main] += n
		}
	}
	return lines, nil
}

// codeLines counts the lines of a file on which a token stands, none if it is generated.
func codeLines(path string) (n int, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	files := token.NewFileSet()
	tree, err := parser.ParseFile(files, path, text, parser.PackageClauseOnly|parser.ParseComments)
	if err != nil || ast.IsGenerated(tree) {
		return 0, err
	}
	var s scanner.Scanner
	file := files.AddFile(path, -1, len(text))
	s.Init(file, text, nil, 0)
	seen := 0
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			return n, nil
		}
		first := file.Line(pos)
		last := first + strings.Count(strings.TrimSuffix(lit, "\n"), "\n")
		n += last - max(first, seen+1) + 1
		seen = max(seen, last)
	}
}

func (s *size) add(other *size) {
	s.lines += other.lines
	s.exported += other.exported
	s.functions = append(s.functions, other.functions...)
}

func (s *size) print(name string) {
	slices.Sort(s.functions)
	at := func(percent int) int {
		if len(s.functions) == 0 {
			return 0
		}
		return s.functions[(len(s.functions)-1)*percent/100]
	}
	fmt.Printf("| %s | %d | %d | %d, %d, %d |\n", name, s.lines, s.exported, at(50), at(90), at(100))
}

// measure reads the Go files of a tree that are neither tests nor generated.
func measure(root string) (map[string]*size, error) {
	sizes := map[string]*size{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules" || d.Name() == "testdata") {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		return add(sizes, path)
	})
	return sizes, err
}

func add(sizes map[string]*size, path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, text, parser.ParseComments)
	if err != nil || ast.IsGenerated(file) {
		return err
	}
	name := group(filepath.ToSlash(filepath.Dir(path)))
	if sizes[name] == nil {
		sizes[name] = &size{}
	}
	s := sizes[name]
	s.lines += bytes.Count(text, []byte("\n"))
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			s.functions = append(s.functions, files.Position(d.End()).Line-files.Position(d.Pos()).Line+1)
			s.count(d.Name)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					s.count(spec.Name)
				case *ast.ValueSpec:
					s.count(spec.Names...)
				}
			}
		}
	}
	return nil
}

// group returns the folder at the top or below internal in which a package is.
func group(dir string) string {
	parts := strings.Split(dir, "/")
	if parts[0] == "internal" && len(parts) > 1 {
		return "internal/" + parts[1]
	}
	return parts[0]
}

func (s *size) count(names ...*ast.Ident) {
	for _, n := range names {
		if n.IsExported() {
			s.exported++
		}
	}
}
