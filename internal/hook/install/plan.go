package install

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/atomicfile"
)

// Plan is what would be changed for a host. Nothing is written before Apply.
type Plan struct {
	Host    string
	Scope   Scope
	Changes []Change // none if all is as it should be

	m       *Machine
	host    *host
	record  record
	known   bool // there is a record
	backups [][]byte
	removes bool
}

// Change is a change of a file.
type Change struct {
	Path    string
	Target  string // what Path leads to through symbolic links
	Before  []byte
	After   []byte
	Existed bool // there is such a file
	Removed bool // it is removed
	shared  bool
	dirs    []string // the directories that are made, the innermost first
}

// now is a file as it is.
type now struct {
	target  string
	text    []byte
	existed bool
}

// read reads a file of a host.
func read(path string) (n now, err error) {
	if n.target, err = atomicfile.Target(path); err != nil {
		return n, err
	}
	n.text, err = os.ReadFile(n.target)
	if errors.Is(err, fs.ErrNotExist) {
		return n, nil
	}
	n.existed = err == nil
	return n, err
}

// Install plans to put the hook of a host in force.
func (m *Machine) Install(name string, scope Scope, o Options) (*Plan, error) {
	h, err := m.host(name, scope)
	if err != nil {
		return nil, err
	}
	if err := m.here(h); err != nil {
		return nil, err
	}
	p, err := m.plan(h, scope)
	if err != nil {
		return nil, err
	}
	p.record.Options.NoAutoMode = p.record.Options.NoAutoMode || o.NoAutoMode
	p.record.Options.NoWebSearch = p.record.Options.NoWebSearch || o.NoWebSearch
	for _, f := range h.files(m, scope, p.record.Options) {
		if err := p.add(&f); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// plan begins a plan with what is remembered.
func (m *Machine) plan(h *host, scope Scope) (*Plan, error) {
	p := &Plan{Host: h.name, Scope: scope, m: m, host: h}
	var err error
	p.record, p.known, err = m.record(h, scope)
	return p, err
}

// add plans to put the hook into a file.
func (p *Plan) add(f *file) error {
	is, err := read(f.path)
	if err != nil {
		return err
	}
	after, n, err := f.add(f.path, is.text)
	if err != nil {
		return err
	}
	if is.existed && bytes.Equal(after, is.text) {
		return nil
	}
	if err := p.remember(f, &is, after, n); err != nil {
		return err
	}
	dirs := missing(filepath.Dir(is.target))
	p.record.file(f.path).Dirs = append(p.record.file(f.path).Dirs, dirs...)
	p.Changes = append(p.Changes, Change{
		Path: f.path, Target: is.target, Before: is.text, After: after, Existed: is.existed, shared: f.shared, dirs: dirs,
	})
	return nil
}

// remember records a file that will be written. What is kept is its text without
// anything of ours, so that a hook of an earlier installation never comes back.
func (p *Plan) remember(f *file, is *now, after []byte, n notes) error {
	old := p.record.file(f.path)
	r := fileRecord{Path: f.path}
	if old != nil {
		r = *old
	}
	if old == nil || digest(is.text) != old.After {
		base, err := f.strip(f.path, is.text, r.Notes)
		if err != nil {
			return err
		}
		r.Existed = is.existed && (old == nil || old.Existed || !empty(base)) && base != nil
		r.Before = ""
		if r.Existed {
			r.Before = digest(base)
			p.backups = append(p.backups, base)
		}
	}
	r.Notes.Made = append(r.Notes.Made, n.Made...)
	r.Notes.Were = append(r.Notes.Were, n.Were...)
	r.After = digest(after)
	p.record.put(r)
	return nil
}

// empty reports whether nothing is left in a file.
func empty(text []byte) bool {
	switch strings.Join(strings.Fields(string(text)), "") {
	case "", "{}":
		return true
	}
	return false
}

// missing returns the directories of a path that do not exist, the innermost first.
func missing(dir string) (dirs []string) {
	for !exists(dir) && filepath.Dir(dir) != dir {
		dirs = append(dirs, dir)
		dir = filepath.Dir(dir)
	}
	return dirs
}

// Remove plans to take the hook of a host out.
func (m *Machine) Remove(name string, scope Scope) (*Plan, error) {
	h, err := m.host(name, scope)
	if err != nil {
		return nil, err
	}
	p, err := m.plan(h, scope)
	if err != nil {
		return nil, err
	}
	p.removes = true
	for _, f := range p.files() {
		if err := p.takeOut(&f); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// files returns the files in which the hook may stand: those of now, and those of the
// record, which are others if a variable has moved the configuration since.
func (p *Plan) files() []file {
	files := p.host.files(p.m, p.Scope, p.record.Options)
	all := files
	for _, r := range p.record.Files {
		known := false
		for _, f := range files {
			known = known || f.path == r.Path
		}
		for _, f := range files {
			if !known && filepath.Base(f.path) == filepath.Base(r.Path) {
				f.path = r.Path
				all = append(all, f)
				break
			}
		}
	}
	return all
}

// takeOut plans to take the hook out of a file.
func (p *Plan) takeOut(f *file) error {
	is, err := read(f.path)
	if err != nil || !is.existed {
		return err
	}
	after, err := p.without(f, &is)
	if err != nil {
		return err
	}
	if after != nil && bytes.Equal(after, is.text) {
		return nil
	}
	c := Change{Path: f.path, Target: is.target, Before: is.text, After: after, Existed: true, Removed: after == nil, shared: f.shared}
	if r := p.record.file(f.path); r != nil && c.Removed {
		c.dirs = r.Dirs
	}
	p.Changes = append(p.Changes, c)
	return nil
}

// without returns the text of a file without the hook, nil if there was no file: what
// was there before, if nobody has changed it since.
func (p *Plan) without(f *file, is *now) ([]byte, error) {
	r := p.record.file(f.path)
	if r == nil {
		return f.strip(f.path, is.text, notes{})
	}
	if digest(is.text) == r.After {
		if !r.Existed {
			return nil, nil
		}
		if text, ok := p.m.backup(p.host, p.Scope, r); ok {
			return text, nil
		}
	}
	text, err := f.strip(f.path, is.text, r.Notes)
	if err == nil && !r.Existed && empty(text) {
		return nil, nil
	}
	return text, err
}

// Apply writes what was planned. A process that is killed in between leaves each file
// either as it was or as planned, and the plan can be made again.
func (p *Plan) Apply() error {
	if len(p.Changes) == 0 && !(p.removes && p.known) {
		return nil
	}
	dir := p.m.installedDir()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	unlock, err := atomicfile.Lock(dir)
	if err != nil {
		return err
	}
	defer unlock()
	for _, c := range p.Changes {
		if err := c.unchanged(); err != nil {
			return err
		}
	}
	if p.removes {
		return p.applyRemoval()
	}
	if err := p.m.writeRecord(p.host, &p.record, p.backups); err != nil {
		return err
	}
	for _, c := range p.Changes {
		if err := p.m.apply(&c); err != nil {
			return err
		}
	}
	return p.m.removeBackups(p.host, p.Scope, &p.record)
}

// applyRemoval writes the files first: while there is a record, removing goes on.
func (p *Plan) applyRemoval() error {
	for _, c := range p.Changes {
		if err := p.m.apply(&c); err != nil {
			return err
		}
	}
	return p.m.removeRecord(p.host, p.Scope)
}

// unchanged reports that a file was changed since the plan was made.
func (c *Change) unchanged() error {
	is, err := read(c.Path)
	if err != nil {
		return err
	}
	if is.existed != c.Existed || is.target != c.Target || !bytes.Equal(is.text, c.Before) {
		return fmt.Errorf("%s was changed in the meantime: nothing was written: run the command again", c.Path)
	}
	return nil
}

// apply writes a file.
func (m *Machine) apply(c *Change) error {
	if c.Removed {
		return m.remove(c)
	}
	dirPerm, perm := fs.FileMode(0o700), fs.FileMode(0o600)
	if c.shared {
		dirPerm, perm = 0o755, 0o644
	}
	if err := os.MkdirAll(filepath.Dir(c.Target), dirPerm); err != nil {
		return err
	}
	return m.write(c.Target, c.After, perm)
}

// remove removes a file, and the directories that were made for it if they are empty.
func (m *Machine) remove(c *Change) error {
	if err := m.before("remove " + c.Target); err != nil {
		return err
	}
	if err := os.Remove(c.Target); err != nil {
		return err
	}
	for _, dir := range c.dirs {
		if os.Remove(dir) != nil {
			break // something else is in it
		}
	}
	return nil
}
