package grant

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// watched is a path that has to lead to the directory that was opened.
type watched struct {
	path   string
	follow bool // links: path is the one that is granted, and has links of the user's
	exists bool // else it must not exist
	id     FileID
	mount  int // its index; negative: it is a repository
}

// watch remembers a granted path and where it led. Both are looked at, so that a link of the user's that is
// turned to another directory is noticed too.
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

// Changed tells whether a granted path leads to another directory than when it was resolved, or appeared or
// vanished, and which; or that Create found a directory moved. The grant is then to be resolved anew, by the same rules. It takes one system call
// for each path, two for one with links.
//
// The whole path is looked at rather than the name in a handle of its parent: that would not notice that the
// parent was moved and another one made.
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
		return "was not created: it has to be prepared again"
	case err == unix.ENOENT && !w.exists && !created:
		return ""
	case err == unix.ENOENT:
		return "does not exist any more"
	case err != nil:
		return fmt.Sprintf("cannot be looked at: %v", os.NewSyscallError("fstatat", err))
	case created && id == st.id:
		return ""
	case !w.exists && !created:
		return "exists now"
	case id != w.id:
		return "is another file or directory now"
	}
	return ""
}
