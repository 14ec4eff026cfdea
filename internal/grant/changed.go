package grant

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// watched is a path that has to resolve to the directory that was opened.
type watched struct {
	path   string
	follow bool // path is the lexical one and contains symbolic links of the user
	exists bool // if not, it must not exist
	id     FileID
	mount  int // its index; negative for a repository
}

// watch records a granted path and the path that it resolved to. Changed checks both, so that it also notices when the
// user redirects a symbolic link.
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

// Changed reports whether a granted path resolves to another directory than when it was resolved, has appeared or
// disappeared, or Create found a directory moved; and which path. The grant has to be resolved again then. It takes one
// system call for each path, two for one with links.
//
// It checks the whole path instead of the name beneath a handle of the parent, which would not notice that the parent
// was renamed and replaced.
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
	case err == unix.ENOENT && !w.exists && !created:
		return ""
	case err == unix.ENOENT:
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
