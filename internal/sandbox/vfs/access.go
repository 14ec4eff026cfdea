package vfs

import (
	"errors"
	"path"
	"slices"
)

// Access is what a module may do with a path. The system may still refuse it.
type Access struct {
	Path    string // resolved as far as the path exists and its components are granted
	Mount   string // path of the innermost mount that contains Path; empty if there is none
	Virtual bool   // Path is an ancestor of mounts, which is only listed
	Hidden  bool   // the policy hides Path
	Read    bool
	Write   bool // whether the file may be changed; never without Read
	Git     bool // Path belongs to git, so nothing in it may be changed
}

// Access decides on an absolute path by the walk that all operations begin with. It changes nothing.
func (f *FS) Access(name string) (Access, error) {
	parts, _, err := split(name)
	if err != nil {
		return Access{}, err
	}
	w := &walk{fs: f, mode: walkMode{follow: true, write: true}, rest: parts}
	w.place.path = "/"
	err = w.run()
	defer w.place.close()
	p := &w.place
	if err == nil && p.isVirtual() {
		return Access{Path: p.path, Virtual: true}, nil
	}
	a := Access{Path: p.path}
	m := p.mount
	_, refused := errors.AsType[refusal](err)
	if err != nil {
		a.Path = w.next
		if !refused { // the rest does not exist, so it has no symbolic links, and no parent directory
			if i := slices.Index(w.rest, ".."); i >= 0 {
				w.rest = w.rest[:i]
			}
			a.Path = path.Join(slices.Insert(w.rest, 0, w.next)...)
		}
		m = f.config.Mounts.containing(a.Path)
	}
	if m == nil {
		return a, nil
	}
	a.Mount, a.Hidden = m.Path, f.isHidden(a.Path)
	a.Git = p.viaGit || p.inGit || m.InGit || InGit(a.Path)
	a.Read = !a.Hidden && !refused
	a.Write = a.Read && m.Write && !a.Git
	return a, nil
}
