package sandbox

import (
	"maps"
	"path"
	"slices"
)

// walked is what was seen of a directory.
type walked struct {
	listing *Listing
	kept    bool
}

// sees notes what is seen of a directory, and reports whether what is in it is to be looked
// at: when looking again, not if nothing has changed.
func (k *maker) sees(dir string, now *Listing, kept bool) bool {
	if k.walked == nil {
		k.walked = map[string]*walked{}
	}
	was := k.walked[dir]
	k.walked[dir] = &walked{now, kept}
	switch {
	case was == nil:
		k.moved = true
	case was.listing == now || was.listing.Of == now.Of && slices.Equal(was.listing.Entries, now.Entries):
		return !k.again
	default:
		k.moved = true
		k.left += len(was.listing.Entries)
	}
	return true
}

// maxRounds is how often a workspace is looked at that changes all the time.
const maxRounds = 10

// settled looks again at the directories that have changed since they were looked at: a
// command that runs beside can move one to where somebody has already looked, or exchange
// two, so that one of them is seen twice and the other not at all.
func (k *maker) settled() error {
	k.again = true
	defer func() { k.again = false }()
	for range maxRounds {
		k.moved = k.twice()
		for _, dir := range slices.Sorted(maps.Keys(k.walked)) {
			if w := k.walked[dir]; w != nil {
				if err := k.walk(dir, w.kept); err != nil {
					return err
				}
			}
		}
		if !k.moved && !k.twice() {
			return nil
		}
	}
	return nil
}

// twice reports whether a directory was seen at two paths. One that is mounted at both is.
func (k *maker) twice() bool {
	seen := map[Inode]bool{}
	for _, w := range k.walked {
		if of := w.listing.Of; of != (Inode{}) {
			if seen[of] {
				return true
			}
			seen[of] = true
		}
	}
	return false
}

// found notes what was at the paths that cannot be read.
func (k *maker) found() {
	for _, p := range slices.Concat(k.plan.Denied, k.plan.Empty) {
		f := Found{Path: []byte(p.Path), Is: k.files.Inode(p.Path)}
		if w := k.walked[path.Dir(p.Path)]; w != nil {
			f.In = w.listing.Of
		}
		if f.Is != (Inode{}) || f.In != (Inode{}) {
			k.plan.Found = append(k.plan.Found, f)
		}
	}
}
