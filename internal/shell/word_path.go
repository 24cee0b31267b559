package shell

import (
	"path"
	"slices"
	"strings"
)

// free holds the files that a redirection may name without any cover.
var free = set("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin")

// devFD reports whether a word is a descriptor of the command itself.
func devFD(target *Word) bool {
	n, ok := strings.CutPrefix(target.Text, "/dev/fd/")
	return ok && target.Known() && n != "" && strings.Trim(n, "0123456789") == ""
}

func standardInput(name string) bool {
	return name == "-" || name == "" || strings.HasPrefix(name, "/dev/") || strings.HasPrefix(name, "/proc/")
}

// standardPath reports whether a name certainly is the program that the catalogue
// has: a bare name, or one in a system directory.
func standardPath(name string) bool {
	cut := strings.LastIndexByte(name, '/')
	if cut < 0 {
		return true
	}
	switch path.Clean(name[:cut+1]) {
	case "/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin":
		return true
	}
	return false
}

// beneath returns a path as seen from each of the directories.
func beneath(dirs []Word, path Word) []Word {
	if !relative(&path) {
		return []Word{path}
	}
	out := make([]Word, len(dirs))
	for i, d := range dirs {
		out[i] = joinPath(d, path)
	}
	return out
}

// relative reports whether a word certainly is a path relative to the directory. A
// word that begins with unknown text is not.
func relative(w *Word) bool {
	if strings.HasPrefix(w.Text, "/") && (len(w.Holes) == 0 || w.Holes[0].At > 0) {
		return false
	}
	return len(w.Holes) == 0 || w.Holes[0].At > 0 || w.Holes[0].Kind == Glob || w.Holes[0].Kind == Pattern
}

func pathClean(p string) string { return path.Clean(p) }

func joinPath(dir, path Word) Word {
	if path.Text == "." && path.Known() {
		return dir
	}
	out := Word{
		Text: dir.Text + "/" + path.Text, Holes: slices.Clone(dir.Holes),
		Split: path.Split, Pos: path.Pos, End: path.End, matched: path.matched,
	}
	if dir.Text == "/" && dir.Known() {
		out.Text = "/" + path.Text
	}
	shift := len(out.Text) - len(path.Text)
	for _, h := range path.Holes {
		out.Holes = append(out.Holes, Hole{At: h.At + shift, Kind: h.Kind})
	}
	return out
}

// slashed reports whether a word ends in a slash.
func slashed(w *Word) bool {
	n := len(w.Text)
	return strings.HasSuffix(w.Text, "/") && (len(w.Holes) == 0 || w.Holes[len(w.Holes)-1].At < n)
}

// last returns the last path element of a word.
func last(w Word) Word {
	text := strings.TrimRight(w.Text, "/")
	cut := strings.LastIndexByte(text, '/') + 1
	out := Word{Text: text[cut:], Pos: w.Pos, End: w.End}
	for _, h := range w.Holes {
		if h.At >= cut && h.At <= len(text) {
			out.Holes = append(out.Holes, Hole{At: h.At - cut, Kind: h.Kind})
		}
	}
	return out
}

// beside returns an unknown name in the directory of the path.
func beside(w Word) Word {
	cut := strings.LastIndexByte(strings.TrimRight(w.Text, "/"), '/') + 1
	out := Word{Text: w.Text[:cut], Pos: w.Pos, End: w.End}
	for _, h := range w.Holes {
		if h.Kind == AnyText || h.At < cut {
			out.Holes = append(out.Holes, Hole{At: min(h.At, cut), Kind: h.Kind})
		}
	}
	out.Holes = append(out.Holes, Hole{At: cut, Kind: Glob})
	return out
}

// opens reports whether a hole stands at the end of the word.
func (w *Word) opens() bool { return len(w.Holes) > 0 && w.Holes[len(w.Holes)-1].At == len(w.Text) }

// renamed returns the word with another ending of its name, whose case does not count: gzip
// takes .GZ for .gz. One of which only a part is known may end so: it is known up to its last
// hole.
func (w Word) renamed(from, to string) (Word, bool) {
	hole := -1
	if n := len(w.Holes); n > 0 {
		hole = w.Holes[n-1].At
	}
	name := strings.LastIndexByte(w.Text, '/') + 1
	tail := w.Text[max(name, hole):]
	stem := max(0, len(w.Text)-len(from))
	switch cut := strings.EqualFold(w.Text[stem:], from); {
	case cut && (hole >= name && len(tail) == len(from) || len(tail) > len(from)):
		w.Text = w.Text[:stem] + to
		return w, true
	case hole >= name && len(tail) < len(from) && strings.EqualFold(from[len(from)-len(tail):], tail):
		w.Text = w.Text[:hole]
		return w, true
	}
	return w, false
}

// clean resolves . and .. lexically, as cd does. A directory with a path longer than
// any system opens becomes unknown.
func clean(dirs []Word) []Word {
	for i := range dirs {
		if dirs[i].Known() {
			dirs[i].Text = pathClean(dirs[i].Text)
		}
		if len(dirs[i].Text) > maxPath {
			dirs[i] = unknown()
		}
		dirs[i].Pos, dirs[i].End = 0, 0
	}
	return dirs
}

// endOf returns an unknown directory that ends in the known names at the end of a
// word: /.git for "$x/.git".
func endOf(word Word) Word {
	dir, from := unknown(), 0
	text, shift := word.Text, 0
	if !word.holeAt(0) {
		text, shift = "/"+text, 1
	}
	if up := strings.LastIndex(text, ".."); up >= 0 {
		from = up + len("..")
	}
	dir.Text = text[from:]
	for _, h := range word.Holes {
		if at := h.At + shift - from; at > 0 {
			dir.Holes = append(dir.Holes, Hole{At: at, Kind: AnyText})
		}
	}
	return dir
}

// NamesFile reports whether the value of an option for a module is a file or an address.
func NamesFile(plugin string) bool {
	if plugin != "" && strings.IndexByte("./~", plugin[0]) >= 0 {
		return true
	}
	scheme, _, found := strings.Cut(strings.ToLower(plugin), ":")
	return found && moduleSchemes.has(scheme)
}

// moduleSchemes are those of addresses from which interpreters load modules (nodejs.org/api/esm).
var moduleSchemes = set("file", "data", "http", "https", "blob")
