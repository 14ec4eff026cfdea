package grant

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// watched is a path that must still resolve to the directory that Resolve opened for it.
type watched struct {
	path   string
	follow bool // path is lexical and contains symbolic links that the user made
	exists bool // whether the path existed when it was resolved; if it did not, it must still be absent
	id     FileID
	mount  int // index of the mount in Set.Mounts; negative for a repository
}

// watch records a granted path and the path to which it resolved. Changed checks both paths, so it also detects that the user
// has redirected a symbolic link.
func (s *Set) watch(granted string, p *place, mount int) {
	one := watched{path: p.path(), exists: len(p.missing) == 0, mount: mount}
	if one.exists {
		one.id = p.id()
	}
	s.watched = append(s.watched, one)
	if granted = filepath.Clean(granted); granted != one.path {
		one.path, one.follow = granted, true
		s.watched = append(s.watched, one)
	}
}

// Changed reports whether the grant has to be resolved again, and names the path that is the reason. Such a path resolves to a
// different directory than before, has appeared or disappeared, or could not be created by Create because a directory was moved.
// Changed takes one system call for each path, and two for a path with symbolic links.
//
// Changed examines whole paths. Examining a name beneath a handle of its parent would not reveal that the parent was renamed and
// replaced.
func (s *Set) Changed() (bool, string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.watched {
		w := &s.watched[i]
		if what := w.changed(s.staged[w.mount]); what != "" {
			return true, w.path + " " + what
		}
	}
	return false, ""
}

func (w *watched) changed(st *staged) string {
	id, err := identify(w.path, w.follow)
	created := st != nil && st.created
	switch {
	case st != nil && st.moved:
		return "could not be created, since a directory above it was moved"
	case err == syscall.ENOENT && !w.exists && !created:
		return ""
	case err == syscall.ENOENT:
		return "no longer exists"
	case err != nil:
		return fmt.Sprintf("cannot be examined: %v", os.NewSyscallError("fstatat", err))
	case created && id == st.id:
		return ""
	case !w.exists && !created:
		return "exists now"
	case id != w.id:
		return "was replaced by another file or directory"
	}
	return ""
}
