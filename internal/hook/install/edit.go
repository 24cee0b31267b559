package install

import "bytes"

// An editor puts the hook into the text of a file, and takes it out.
type editor interface {
	// add returns the text with the hook, which is the text itself if the hook is in
	// force there, and what is to be remembered for strip.
	add(name string, text []byte) ([]byte, notes, error)
	// strip returns the text without what is ours.
	strip(name string, text []byte, n notes) ([]byte, error)
	// binaries returns the programs that our entries start.
	binaries(name string, text []byte) ([]string, error)
}

// notes are what an editor has to know to take out what it put in.
type notes struct {
	Made []string  `json:"made,omitempty"` // objects and arrays that were made, as paths
	Were []setting `json:"were,omitempty"` // values that were changed
}

// setting is a value that was given to a member.
type setting struct {
	Path []string `json:"path"`
	Was  string   `json:"was,omitempty"` // in JSON; "" if it was not there
	Set  string   `json:"set"`
}

// ownFile is a file that is ours alone.
type ownFile struct {
	contents string
	// ours reports whether a text is ours, of whatever version, and the binary in it.
	ours func(text []byte) (binary string, ok bool)
}

func (f *ownFile) add(name string, text []byte) ([]byte, notes, error) {
	if _, ok := f.ours(text); len(bytes.TrimSpace(text)) > 0 && !ok {
		return nil, notes{}, foreignFile(name)
	}
	return []byte(f.contents), notes{}, nil
}

func (f *ownFile) strip(_ string, text []byte, _ notes) ([]byte, error) {
	if _, ok := f.ours(text); ok {
		return nil, nil
	}
	return text, nil
}

func (f *ownFile) binaries(_ string, text []byte) ([]string, error) {
	if binary, ok := f.ours(text); ok {
		return []string{binary}, nil
	}
	return nil, nil
}
