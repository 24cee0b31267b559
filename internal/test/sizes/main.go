// Command sizes prints the sizes of the packages of the tree as a Markdown
// table: lines of code without tests, exported names, and the lengths of
// functions.
//
//	go run ./internal/test/sizes
package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"log"
	"os"
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
		all.lines += s.lines
		all.exported += s.exported
		all.functions = append(all.functions, s.functions...)
	}
	slices.Sort(names)
	fmt.Println("| package | lines | exported | functions: median, 90 %, longest |\n|---|--:|--:|---|")
	for _, name := range names {
		sizes[name].print(name)
	}
	all.print("all")
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
	name := filepath.ToSlash(filepath.Dir(path))
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

func (s *size) count(names ...*ast.Ident) {
	for _, n := range names {
		if n.IsExported() {
			s.exported++
		}
	}
}
