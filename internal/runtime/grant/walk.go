package grant

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

const (
	maxLinks = 40   // most symbolic links that are followed in one path
	maxPath  = 4096 // most bytes of a path, both lexical and resolved
	maxWalks = 4    // most attempts to resolve a path whose directories are being moved
)

// ErrMoved reports that a directory was moved while a path through that directory was being resolved. A later Resolve may succeed.
var ErrMoved = errors.New("a directory on the path is being moved: try again")

// entry is an entry of a directory: a directory or a symbolic link.
type entry struct {
	id     FileID
	file   *os.File // handle of the directory; nil for a symbolic link
	target string   // target of the symbolic link; empty for a directory
	other  int      // user ID of the owner of the symbolic link if that user is neither root nor the host's; else 0
}

// walker resolves paths. Below guarded directories it refuses symbolic links.
type walker struct {
	own bool // whether symbolic links of other users are refused
	// The guarded directories, below which a plugin or a repository may have created symbolic links, with the reason why they are guarded.
	ids   map[FileID]string
	paths map[string]string // keyed by foldedPath
}

// The reasons.
const (
	whyProject  = "below the project"
	whyWritable = "below a directory that a plugin may write"
)

// newWalker returns a walker that refuses symbolic links of other users, as the kernel does in directories with the sticky bit where
// fs.protected_symlinks is set, and that guards the project, the writable directories and the directories to which mounts resolve. It
// recognizes a guarded directory by path and by identity, so that neither an alias nor a rename evades the guard.
func newWalker(places config.Places, writable []string, mounts []config.Mount) *walker {
	w := &walker{own: true, ids: map[FileID]string{}, paths: map[string]string{}}
	for _, path := range writable {
		w.guard(path, whyWritable, false)
	}
	if places.Project != "" {
		w.guard(places.Project, whyProject, true)
	}
	w.guardMounts(places, mounts)
	return w
}

func (w *walker) guard(path, why string, follow bool) {
	path = filepath.Clean(path)
	w.paths[foldedPath(path)] = why
	if id, err := identify(path, follow); err == nil {
		w.ids[id] = why
	}
}

// guardMounts guards the writable mounts and returns their resolved paths. It resolves mounts without symbolic links first, so that a
// link in one of these, which a plugin may have made, cannot redirect the other mounts.
func (w *walker) guardMounts(places config.Places, mounts []config.Mount) []string {
	var out []string
	linked := []config.Mount{}
	for _, m := range mounts {
		if m.Access != manifest.ReadWrite {
			continue
		}
		if path := filepath.Clean(m.Path); Resolved(path) == path {
			w.guard(path, whyWritable, false)
			out = append(out, path)
		} else {
			linked = append(linked, m)
		}
	}
	for _, m := range linked {
		by := w
		if m.State {
			by = newStateWalker(places)
		}
		if p, err := by.resolve(Directory, m.Path, places, m.Within); err == nil {
			p.close()
			w.guard(p.path(), whyWritable, false)
			out = append(out, p.path())
		}
	}
	return out
}

// guards returns the reason why the directory at path is guarded; empty if it is not. A walk asks for each directory that it enters, and extends the
// answer to those below, so that no path has to be compared with all of the guarded ones.
func (w *walker) guards(path string, id FileID) string {
	return cmp.Or(w.paths[foldedPath(path)], w.ids[id])
}

// foldedPath returns the same text for the paths that the system does not distinguish by their text alone.
func foldedPath(path string) string {
	if runtime.GOOS == "windows" {
		return strings.TrimRight(strings.ToLower(path), `\`) // the root of a share is written with and without a backslash at its end
	}
	return path
}

// place is a resolved path: an existing directory, and the names of absent path components below that directory.
type place struct {
	root    string   // path of the root directory
	dir     *os.File // handle of the place, or of its nearest existing ancestor; nil after take
	steps   []step   // the directories from root to dir
	missing []string // absent path components below dir
	anchors []FileID
}

type step struct {
	name  string // name of the directory; empty for the root
	id    FileID
	guard string // the reason why links in the directory are refused; empty if they are followed
}

// existing returns the path of the directory dir.
func (p *place) existing() string {
	var b strings.Builder
	b.WriteString(p.root)
	for i, s := range p.steps[1:] {
		if i > 0 {
			b.WriteByte(filepath.Separator)
		}
		b.WriteString(s.name)
	}
	return b.String()
}

func (p *place) path() string { return filepath.Join(append([]string{p.existing()}, p.missing...)...) }

// id returns the identity of the directory dir.
func (p *place) id() FileID { return p.steps[len(p.steps)-1].id }

// take returns the handle dir and removes it from p. The caller has to close the handle.
func (p *place) take() *os.File {
	f := p.dir
	p.dir = nil
	return f
}

func (p *place) close() {
	_ = closeFile(p.dir) // a failed close loses no data, since the handle wrote none
	p.dir = nil
}

// linkError reports a symbolic link that is not followed, since a plugin, a repository or another user may have created it.
type linkError struct {
	link, target string // absolute; symbolic links in target are not resolved
	why          string
}

func (e *linkError) Error() string {
	return fmt.Sprintf("%q is a symbolic link to %q, %s", e.link, e.target, e.why)
}

// walk resolves an absolute path. The caller must close the returned place.
func (w *walker) walk(path string) (*place, error) {
	for range maxWalks {
		p, err := w.walkOnce(path)
		if !errors.Is(err, ErrMoved) {
			return p, err
		}
	}
	return nil, ErrMoved
}

// pending is a path component that is not resolved yet. link is the symbolic link whose target contains the component; empty if none
// does.
type pending struct{ name, link string }

func (w *walker) walkOnce(path string) (_ *place, err error) {
	switch {
	case !filepath.IsAbs(path):
		return nil, errors.New("is not an absolute path")
	case len(path) > maxPath:
		return nil, fmt.Errorf("is longer than %d bytes", maxPath)
	}
	at := rootOf(path)
	root, err := openEntry(nil, at)
	if err != nil {
		return nil, err
	}
	p := &place{root: at, dir: root.file, steps: []step{{id: root.id, guard: w.guards(at, root.id)}}, anchors: []FileID{root.id}}
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	todo := names(filepath.Clean(path), "")
	for links := 0; len(todo) > 0; {
		next := todo[0]
		todo = todo[1:]
		if next.name == ".." {
			if err := p.up(); err != nil {
				return nil, err
			}
			continue
		}
		at := filepath.Join(p.existing(), next.name)
		e, err := openEntry(p.dir, next.name)
		switch {
		case errors.Is(err, syscall.ENOENT) && next.link != "":
			return nil, fmt.Errorf("%q is a dangling symbolic link: create its target, or correct the link", next.link)
		case errors.Is(err, syscall.ENOENT):
			p.missing = append([]string{next.name}, plain(todo)...)
			return p, nil
		case err != nil:
			return nil, fmt.Errorf("%q: %w", at, err)
		}
		p.anchors = append(p.anchors, e.id)
		if e.file != nil {
			if err := p.down(w, canonicalName(e, next.name), e); err != nil {
				return nil, err
			}
			continue
		}
		if why := p.steps[len(p.steps)-1].guard; why != "" {
			return nil, &linkError{link: at, target: target(p.existing(), e.target), why: why}
		}
		if w.own && e.other != 0 {
			return nil, &linkError{link: at, target: target(p.existing(), e.target), why: fmt.Sprintf("which belongs to another user (user id %d)", e.other)}
		}
		if links++; links > maxLinks {
			return nil, fmt.Errorf("has more than %d symbolic links", maxLinks)
		}
		to := linkTarget(p.existing(), e.target)
		if err := p.follow(w, to); err != nil {
			return nil, err
		}
		if todo = append(names(to, at), todo...); len(todo) > maxPath {
			return nil, fmt.Errorf("is longer than %d bytes after its symbolic links are resolved", maxPath)
		}
	}
	return p, nil
}

// down moves p into the directory e, its entry called name.
func (p *place) down(w *walker, name string, e entry) error {
	path := filepath.Join(p.existing(), name)
	if len(path) > maxPath {
		_ = e.file.Close() // a failed close loses no data, since the handle wrote none
		return fmt.Errorf("is longer than %d bytes after its symbolic links are resolved", maxPath)
	}
	guard := p.steps[len(p.steps)-1].guard
	if guard == "" {
		guard = w.guards(path, e.id)
	}
	p.enter(e.file)
	p.steps = append(p.steps, step{name, e.id, guard})
	return nil
}

// follow moves p to the directory to which target, the target of a symbolic link, is relative.
func (p *place) follow(w *walker, target string) error {
	if !filepath.IsAbs(target) {
		return nil
	}
	at := rootOf(target)
	root, err := openEntry(nil, at)
	if err != nil {
		return err
	}
	p.enter(root.file)
	p.root, p.steps = at, []step{{id: root.id, guard: w.guards(at, root.id)}}
	return nil
}

// up moves p to its parent directory. It fails if that is not the directory through which the walk came.
func (p *place) up() error {
	if len(p.steps) == 1 {
		return nil // the root is its own parent
	}
	e, err := openEntry(p.dir, "..")
	if err != nil {
		return err
	}
	if parent := p.steps[len(p.steps)-2]; e.id != parent.id {
		_ = closeFile(e.file) // a failed close loses no data, since the handle wrote none
		return ErrMoved
	}
	p.enter(e.file)
	p.steps = p.steps[:len(p.steps)-1]
	return nil
}

func (p *place) enter(dir *os.File) {
	_ = p.dir.Close() // a failed close loses no data, since the handle wrote none
	p.dir = dir
}

// names splits a path into components. If the path is the target of a symbolic link, link is that link.
func names(path, link string) []pending {
	var out []pending
	for name := range strings.SplitSeq(filepath.ToSlash(path[len(filepath.VolumeName(path)):]), "/") {
		if name != "" && name != "." {
			out = append(out, pending{name, link})
		}
	}
	return out
}

func plain(todo []pending) []string {
	var out []string
	for _, t := range todo {
		out = append(out, t.name)
	}
	return out
}

// target returns the absolute lexical path to which a symbolic link in dir points. text is the content of the link.
func target(dir, text string) string {
	if filepath.IsAbs(text) {
		return filepath.Clean(text)
	}
	return filepath.Join(dir, text)
}

// Resolved resolves the symbolic links of path as far as possible. The result is for comparison with other paths.
func Resolved(path string) string {
	p, err := (&walker{}).walk(path)
	if err != nil {
		return filepath.Clean(path)
	}
	defer p.close()
	return p.path()
}
