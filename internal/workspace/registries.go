package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/internal/text/subpath"
)

// Pins are the hosts that a person has said may be asked.
type Pins struct {
	// Host reports whether a policy names a host. It may be nil.
	Host func(host string) bool
	// File reports whether a person trusts what a file names, a line each. It may be nil.
	File func(path string, lines []string) bool
}

// Hosts returns the hosts, and the variables that are sent, which the files of a registry
// name for a program that runs in dir, and further files that its words name. They are
// looked for in dir and above it, up to the person's home directory. Those that the person's
// or the machine's configuration names, or Pins has, are left out. Not ok: a file cannot be
// read, which is then the only one named, and any host may be asked.
func (e Env) Hosts(r *program.Registry, dir string, files []string) (named []shell.Named, ok bool) {
	h := hostReader{env: e, registry: r}
	if err := h.read(dir, files); err != nil {
		return []shell.Named{{File: h.shown(h.at)}}, false
	}
	if len(h.found) == 0 {
		return nil, true
	}
	own := h.own()
	return slices.DeleteFunc(h.found, func(n shell.Named) bool {
		return slices.Contains(own, n.Host) && n.Host != "" || e.Pins.Host != nil && n.Host != "" && e.Pins.Host(n.Host)
	}), true
}

// FileHosts returns what a file of a project names, whatever is pinned, a line each, sorted,
// and whether it is such a file.
func FileHosts(name string) (lines []string, is bool, err error) {
	for _, r := range program.AllRegistries() {
		for _, row := range r.Files {
			f := parseRow(row)
			if !strings.HasSuffix(filepath.ToSlash(name), "/"+f.name) {
				continue
			}
			h := hostReader{registry: r}
			if err := h.file(name, f, 0); err != nil {
				return nil, true, err
			}
			is = true
			lines = append(lines, linesOf(h.found)...)
		}
	}
	if ext := filepath.Ext(name); !is && (ext == ".txt" || ext == ".in") {
		h := hostReader{registry: program.RegistryOf("pip")}
		err, is = h.file(name, row{name: name, format: requirements}, 0), true
		lines = linesOf(h.found)
	}
	slices.Sort(lines)
	return slices.Compact(lines), is, err
}

// requirements is the format of files that words name.
const requirements = "requirements"

func linesOf(named []shell.Named) []string {
	var lines []string
	for _, n := range named {
		lines = append(lines, n.Line())
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}

// hostReader collects what the files of a registry name.
type hostReader struct {
	env      Env
	registry *program.Registry
	at       string // the file that is read
	found    []shell.Named
}

// row is a row of program.Registry.Files.
type row struct {
	name, format string
	keys         []string
}

func parseRow(text string) row {
	f := strings.Fields(text)
	return row{f[0], f[1], f[2:]}
}

// read reads the files that the program finds from dir on, and those that it is told.
func (h *hostReader) read(dir string, files []string) error {
	real, err := realDir(dir)
	if err != nil {
		h.at = dir
		return err
	}
	home, err := filepath.EvalSymlinks(h.env.Place.Home)
	if err != nil {
		home = h.env.Place.Home
	}
	for at := real; at != home; at = filepath.Dir(at) {
		for _, text := range h.registry.Files {
			f := parseRow(text)
			if strings.HasPrefix(f.name, "$") {
				continue
			}
			if err := h.pinned(filepath.Join(at, f.name), f); err != nil {
				return err
			}
		}
		if at == filepath.Dir(at) {
			break
		}
	}
	for _, text := range h.registry.Files {
		if f := parseRow(text); strings.HasPrefix(f.name, "$") {
			if name := h.variable(f.name); name != "" && h.within(name) {
				if err := h.pinned(name, f); err != nil {
					return err
				}
			}
		}
	}
	for _, name := range files {
		if !filepath.IsAbs(name) {
			name = filepath.Join(real, name)
		}
		if err := h.pinned(name, row{name: name, format: requirements}); err != nil {
			return err
		}
	}
	return nil
}

// pinned reads a file, unless a person trusts what it names.
func (h *hostReader) pinned(name string, f row) error {
	from := len(h.found)
	if err := h.file(name, f, 0); err != nil || len(h.found) == from {
		return err
	}
	if trusted := h.env.Pins.File; trusted != nil {
		if real, err := filepath.EvalSymlinks(name); err == nil && real == filepath.Clean(name) {
			if lines, is, err := FileHosts(name); is && err == nil && trusted(name, lines) {
				h.found = h.found[:from]
			}
		}
	}
	return nil
}

// file reads a file, if it is there, and those that it includes.
func (h *hostReader) file(name string, f row, depth int) error {
	h.at = name
	text, err := readRegular(name, maxConfig)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil
	}
	if err != nil {
		return err
	}
	settings, err := readSettings(f.format, text, name)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	for _, s := range settings {
		if s.Key != includes {
			continue
		}
		if depth == maxIncludes {
			return fmt.Errorf("%s: files nested too deep", name)
		}
		below := s.Value
		if !filepath.IsAbs(below) {
			below = filepath.Join(filepath.Dir(name), below)
		}
		if err := h.file(below, f, depth+1); err != nil {
			return err
		}
		h.at = name
	}
	h.found = append(h.found, shell.NamedHosts(h.registry, h.shown(name), f.keys, settings)...)
	return nil
}

// shown returns the name of a file as people know it.
func (h *hostReader) shown(name string) string {
	if rest, ok := strings.CutPrefix(name, strings.TrimSuffix(h.env.Place.Workspace, "/")+"/"); ok {
		return rest
	}
	return name
}

// variable returns the path that a row $NAME/x names, "" if there is no such variable.
func (h *hostReader) variable(text string) string {
	name, rest, _ := strings.Cut(text[1:], "/")
	value := os.Getenv(name)
	if !filepath.IsAbs(value) {
		return ""
	}
	return filepath.Join(value, rest)
}

// within reports whether a file is one of the workspace.
func (h *hostReader) within(name string) bool {
	return slices.ContainsFunc(append([]string{h.env.Place.Workspace}, h.env.Place.Roots...), func(root string) bool { return root != "" && subpath.BelowFold(name, root) })
}

// own returns the hosts that the person's and the machine's configuration names. What
// cannot be read names none.
func (h *hostReader) own() []string {
	var hosts []string
	for _, text := range h.registry.Own {
		f, mine := parseRow(text), hostReader{registry: h.registry}
		name := f.name
		rest, inHome := strings.CutPrefix(name, "~/")
		switch {
		case inHome && h.env.Place.Home == "":
			continue
		case inHome:
			name = filepath.Join(h.env.Place.Home, rest)
		case strings.HasPrefix(name, "$"):
			if name = h.variable(name); name == "" || h.within(name) {
				continue
			}
		}
		if mine.file(name, f, 0) == nil {
			for _, n := range mine.found {
				if n.Host != shell.UnknownHost {
					hosts = append(hosts, n.Host)
				}
			}
		}
	}
	return hosts
}

// realDir returns where a directory really is; one that is not there yet lies in the
// nearest that is.
func realDir(dir string) (string, error) {
	for at := dir; ; at = filepath.Dir(at) {
		real, err := filepath.EvalSymlinks(at)
		if err == nil {
			return real, nil
		}
		if !errors.Is(err, fs.ErrNotExist) || at == filepath.Dir(at) {
			return "", err
		}
	}
}
