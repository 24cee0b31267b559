package catalogfile

import (
	"slices"
	"strings"
)

// registryTable is the name of the table whose tables are registries, not programs.
const registryTable = "registry"

// Formats are the forms of the files in which hosts are named.
var Formats = []string{"ini", "cfg", "toml", "yaml", "xml", "yarnrc", "gemfile", "requirements", "json"}

// Registry is a table [registry.NAME]; see program.Registry.
type Registry struct {
	Name  string
	Lists map[string][]string // by the keys of RegistryKeys
}

// RegistryKeys are the keys of a registry, in the order of the fields of program.Registry.
var RegistryKeys = []string{"public", "files", "own", "hosts", "secrets", "elsewhere", "quiet", "options"}

// Registries returns the registries, sorted by name.
func (c *Book) Registries() []*Registry {
	slices.SortFunc(c.registries, func(a, b *Registry) int { return strings.Compare(a.Name, b.Name) })
	return c.registries
}

// readRegistries reads the tables of registries.
func (c *Book) readRegistries(w where, tables map[string]any) error {
	for _, name := range sorted(tables) {
		w := w.sub(name)
		table, ok := tables[name].(map[string]any)
		if !ok || c.registry(name) != nil {
			return w.errorf("", "registry %s is no table, or stands twice", name)
		}
		r := &Registry{Name: name, Lists: map[string][]string{}}
		for _, key := range sorted(table) {
			if !slices.Contains(RegistryKeys, key) {
				return w.errorf(key, "a registry has %s only, not %s", strings.Join(RegistryKeys, ", "), key)
			}
			list, err := (&Entry{where: w}).words(key, table[key])
			if err != nil {
				return err
			}
			r.Lists[key] = list
		}
		for _, row := range slices.Concat(r.Lists["files"], r.Lists["own"]) {
			if f := strings.Fields(row); len(f) < 2 || !slices.Contains(Formats, f[1]) {
				return w.fault("files", row, "file "+row+": NAME FORMAT [KEYS…], with a format of "+strings.Join(Formats, ", "))
			}
		}
		c.registries = append(c.registries, r)
	}
	return nil
}

func (c *Book) registry(name string) *Registry {
	for _, r := range c.registries {
		if r.Name == name {
			return r
		}
	}
	return nil
}

// hasRegistries checks that there are the registries that a program names.
func (c *Book) hasRegistries(e *Entry) error {
	for name := range strings.FieldsSeq(e.Text("registry")) {
		name, _, _ = strings.Cut(name, ":")
		if c.registry(name) == nil {
			return e.where.errorf("registry", "there is no registry %q", name)
		}
	}
	return nil
}
