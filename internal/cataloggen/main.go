// Command cataloggen compiles shell/catalog/*.toml into Go tables. It is run
// by go generate in the folder shell.
//
// A file holds one table a program:
//
//	[sort]
//	operands = "reads"
//	options = ["-r --reverse", "-k --key=", "-o --output= : write", "--debug?"]
//
// An option is its names, and behind " : " what it makes the program do. The
// last name ends in = if the option takes a value, in ? if it takes one only
// attached, in == if it takes two words. A second effect "pattern" says that
// the option also takes the place of the operand that would be the pattern or
// script, and "ends" that what follows its value are operands. "--[no-]x" is the two options --x and --no-x, of which the second
// takes no value.
//
// The keys of a table are those of shell.Program in small letters: style,
// operands, skip, inherit, ends, safe, plain, workdir, here, beside, named, assigns,
// stdin, special. names are further names of the same program, use takes over the
// options of [group.NAME], and [NAME.sub.SUB] is a subcommand, which has the
// style, workdir and special of its program unless it says otherwise.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
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

// generate returns the Go source for the TOML files of a folder.
func generate(dir string) ([]byte, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.toml"))
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("%s: no TOML files", dir)
	}
	var c catalog
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		if err := c.read(filepath.Base(path), string(data)); err != nil {
			return nil, err
		}
	}
	if err := c.resolve(); err != nil {
		return nil, err
	}
	return c.print()
}
