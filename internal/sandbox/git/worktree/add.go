package worktree

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/beneath"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/internal/hosterror"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/objects"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/repo"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/worktree/attributes"
)

const (
	maxAddFile  = 32 << 20  // most bytes of a file that is added
	maxAddTotal = 256 << 20 // most bytes of the files that one operation adds
)

// Files opens files of working trees as the module may: subject to its grants of directories and to its deny list.
type Files interface {
	// Identify returns the identity of a file or symbolic link. The error is fs.ErrPermission if the module may not read it.
	Identify(path string) (beneath.FileID, error)
	// Open opens a regular file.
	Open(path string) (io.ReadCloser, beneath.FileID, error)
}

// AddOptions are what Add needs besides the repository.
type AddOptions struct {
	Files                            Files
	SystemAttributes, UserAttributes []byte // contents of the system's and of the user's own file of attributes
	AutoCRLF                         bool   // whether core.autocrlf is true or input
	IgnoreCase                       bool   // value of core.ignoreCase
	NoLinks                          bool   // whether core.symlinks is false
}

// Added is the result of Add.
type Added struct {
	Changed bool     // whether an entry of the index changes
	Skipped int      // number of files below directories that were named which the module may not read
	Names   []string // some of these files
}

// adder adds files to the index.
type adder struct {
	*Staging
	store      *objects.Store
	options    AddOptions
	attributes *attributes.Matcher
	total      int64
	added      Added
}

// Add stages files as git add does: new, changed and deleted ones. The paths are files or directories, relative to the top level or absolute.
// Blobs are written at once, the index by Write. What git would convert or run a program for is refused by name, and so are nested
// repositories.
func (s *Staging) Add(store *objects.Store, paths []string, options AddOptions) (Added, error) {
	w := s.walk
	a := &adder{Staging: s, store: store, options: options}
	var specs []*pathspec
	for _, p := range paths {
		spec, err := a.parsePath(p)
		if err != nil {
			return Added{}, err
		}
		specs = append(specs, spec)
	}
	w.wanted = func(dir string) bool {
		return slices.ContainsFunc(specs, func(p *pathspec) bool { return p.covers(dir) || p.isBelow(dir) })
	}
	w.expand, w.limit = true, objects.MaxFiles
	if err := w.dir("", w.ignore.Top()); err != nil {
		return Added{}, err
	}
	var err error
	a.attributes, err = attributes.New(w.ctx, w.repo, options.IgnoreCase, options.SystemAttributes, options.UserAttributes, a.indexed)
	if err != nil {
		return Added{}, err
	}
	for i := range w.index.entries {
		if covered, named := match(specs, w.index.entries[i].name); covered {
			if err := a.tracked(i, named); err != nil {
				return Added{}, err
			}
		}
	}
	for _, name := range w.untracked {
		if covered, named := match(specs, name); covered {
			if err := a.file(name, nil, named); err != nil {
				return Added{}, err
			}
		}
	}
	for _, spec := range specs {
		if err := a.checkMatched(spec); err != nil {
			return Added{}, err
		}
	}
	return a.added, a.checkCase()
}

// indexed returns the content of a file of attributes that only the index has.
func (a *adder) indexed(name string) ([]byte, error) {
	i, ok := a.walk.index.find(name)
	if !ok || a.walk.index.entries[i].stage != 0 || a.walk.index.entries[i].intent {
		return nil, nil
	}
	data, err := a.store.Get(a.walk.index.entries[i].hash, plumbing.BlobObject, maxAddFile)
	return append([]byte{}, data...), err
}

// pathspec is a path of a request: a file or directory, or "." for the whole working tree.
type pathspec struct {
	name    string
	exists  bool
	isFile  bool // whether it is not a directory
	matched bool // whether it names a tracked file or one to add
}

// covers reports whether the path is name, or a directory above it.
func (p *pathspec) covers(name string) bool {
	return p.name == "." || p.name == name || strings.HasPrefix(name, p.name+"/")
}

// isBelow reports whether the path is below the directory dir.
func (p *pathspec) isBelow(dir string) bool { return strings.HasPrefix(p.name, dir+"/") }

// match marks the paths that cover a file. It reports whether there is one, and whether one is that of the file itself.
func match(specs []*pathspec, name string) (covered, named bool) {
	for _, p := range specs {
		if p.covers(name) {
			p.matched, covered, named = true, true, named || p.name == name
		}
	}
	return covered, named
}

// parsePath parses a path of a request.
func (a *adder) parsePath(requested string) (*pathspec, error) {
	name, isDir, err := relativePath(a.walk.repo, requested)
	if err != nil {
		return nil, err
	}
	p := &pathspec{name: name}
	if name == "." {
		p.exists = true
		return p, nil
	}
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if err := a.checkParent(requested, dir); err != nil {
			return nil, err
		}
	}
	info, err := a.walk.repo.Work.Handle.Lstat(path.Join(a.walk.repo.Top, name))
	switch {
	case err == nil:
		if p.exists, p.isFile = true, !info.IsDir(); isDir && p.isFile {
			return nil, noMatch(requested)
		}
	case !repo.IsAbsent(err):
		return nil, a.walk.repo.Work.Explain(name, err)
	case a.walk.index.tracks(name):
	case name[0] == ':' || strings.ContainsAny(name, `*?[`):
		return nil, hosterror.Failed("%s: patterns and other pathspecs of git are not supported: name files or directories", hosterror.Truncate(name))
	default:
		return nil, noMatch(requested)
	}
	if p.exists && !p.isFile {
		return p, a.checkNested(name)
	}
	return p, nil
}

func noMatch(name string) error {
	return hosterror.Failed("pathspec '%s' did not match any files", hosterror.Truncate(name))
}

// checkParent refuses a path whose parent dir is a symbolic link or a repository of its own.
func (a *adder) checkParent(name, dir string) error {
	info, err := a.walk.repo.Work.Handle.Lstat(path.Join(a.walk.repo.Top, dir))
	if err == nil && info.IsLink() {
		return hosterror.Failed("pathspec '%s' is beyond a symbolic link", hosterror.Truncate(name))
	}
	return a.checkNested(dir)
}

// checkNested refuses a directory that is a submodule or a repository of its own.
func (a *adder) checkNested(dir string) error {
	if i, ok := a.walk.index.find(dir); ok && a.walk.index.entries[i].mode == objects.ModeSubmodule {
		return fmt.Errorf("%s: a submodule, whose changes are not supported: run git yourself", hosterror.Truncate(dir))
	}
	if a.walk.isRepository(dir) {
		return errNested(dir)
	}
	return nil
}

func errNested(dir string) error {
	return fmt.Errorf("%s: a repository of its own, which git would add as a submodule: run git yourself, or let it be ignored", hosterror.Truncate(dir))
}

// checkMatched returns an error for a path that names nothing to add: one that is ignored, or does not exist.
func (a *adder) checkMatched(p *pathspec) error {
	if p.matched || p.name == "." {
		return nil
	}
	if !p.exists {
		return noMatch(p.name)
	}
	ignored, err := a.walk.ignore.IgnoresPath(p.name, !p.isFile)
	if err == nil && ignored {
		return hosterror.Failed("%s: ignored by a .gitignore file: change that, or run git add --force yourself", hosterror.Truncate(p.name))
	}
	if err == nil && p.isFile {
		return fmt.Errorf("%s: can only add regular files and symbolic links", hosterror.Truncate(p.name))
	}
	return err
}

// tracked stages the file of an entry of the index, if it has changed. named is as in file.
func (a *adder) tracked(i int, named bool) error {
	w := a.walk
	e := &w.index.entries[i]
	if i > 0 && w.index.entries[i-1].name == e.name || e.skipped || e.assumed {
		return nil // a further side of a conflict, or a file that git does not look at
	}
	code := w.code(i)
	if e.stage != 0 {
		code = 'M'
		if w.codes[i] != unchanged {
			code = 'D'
		}
	}
	switch {
	case code == 0:
		return nil
	case e.mode == objects.ModeSubmodule && code == 'D':
		return fmt.Errorf("%s: a submodule, whose changes are not supported: run git yourself", hosterror.Truncate(e.name))
	case e.mode == objects.ModeSubmodule:
		return a.checkNested(e.name)
	case code == 'D':
		return a.remove(e.name)
	}
	return a.file(e.name, e, named)
}

// remove stages the deletion of a file.
func (a *adder) remove(name string) error {
	info, err := a.walk.repo.Work.Handle.Lstat(path.Join(a.walk.repo.Top, name))
	switch {
	case err == nil && !info.IsDir() && !a.walk.beyondLink(name): // the file system ignores case, or the file was created in between
		return fmt.Errorf("%s: the working tree has this file by another name, or has changed in between: run git yourself, or try again", hosterror.Truncate(name))
	case err != nil && !repo.IsAbsent(err):
		return a.walk.repo.Work.Explain(name, err)
	}
	a.changes[name] = nil
	a.added.Changed = true
	return nil
}

// file stages the content of a file. old is its entry in the index; nil if there is none. If the file itself is named, that the module may
// not read it is an error.
func (a *adder) file(name string, old *indexEntry, named bool) error {
	if old == nil {
		if strings.HasSuffix(name, "/") {
			return errNested(strings.TrimSuffix(name, "/"))
		}
		if reserved := objects.ReservedName(name); reserved != "" && reserved != ".gitmodules" {
			return fmt.Errorf("%s: some file systems resolve this path into .git or a parent directory", hosterror.Truncate(name))
		}
		if err := objects.CheckPath(name); err != nil {
			return err
		}
	}
	info, err := a.walk.repo.Work.Handle.Lstat(path.Join(a.walk.repo.Top, name))
	if err != nil {
		return fmt.Errorf("%s: %w", hosterror.Truncate(name), err)
	}
	content, err := a.read(name, info)
	if errors.Is(err, fs.ErrPermission) && !named {
		if a.added.Skipped++; a.added.Skipped <= maxNamed {
			a.added.Names = append(a.added.Names, name)
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", hosterror.Truncate(name), err)
	}
	if a.options.NoLinks && old != nil && old.mode == objects.ModeLink { // git writes the target to a file
		if old.hash == objects.HashOf(plumbing.BlobObject, content) {
			return nil
		}
		return fmt.Errorf("%s: a symbolic link that core.symlinks = false makes a file: run git yourself", hosterror.Truncate(name))
	}
	if !info.IsLink() {
		if err := a.checkConversion(name, content, old); err != nil {
			return err
		}
	}
	batch := a.store.NewBatch()
	e := &indexEntry{name: name, stat: statOf(info), hash: batch.Add(plumbing.BlobObject, content)}
	if err := batch.Write(); err != nil {
		return err
	}
	before := &indexEntry{}
	if old != nil {
		before = old
	}
	e.mode = a.walk.modeOf(before, info)
	a.changes[name] = e
	if old == nil || old.stage != 0 || old.intent || old.mode != e.mode || old.hash != e.hash {
		a.added.Changed = true
	}
	return nil
}

// read reads a file as the module may, or the target of a symbolic link. The file must be the one that info describes, and must not change
// in between.
func (a *adder) read(name string, info beneath.Stat) ([]byte, error) {
	w := a.walk
	at := path.Join(w.repo.Top, name)
	errChanged := errors.New("the file has changed in between: try again")
	if info.IsLink() {
		id, err := a.options.Files.Identify(w.repo.Work.Abs(at))
		if err != nil {
			return nil, err
		}
		target, err := w.repo.Work.Handle.Readlink(at)
		if err == nil && id != info.FileID {
			err = errChanged
		}
		return []byte(target), err
	}
	if !info.Mode.IsRegular() {
		return nil, errors.New("can only add regular files and symbolic links")
	}
	if a.total += info.Size; info.Size > maxAddFile || a.total > maxAddTotal {
		return nil, fmt.Errorf("files of more than %d bytes, or %d bytes together, cannot be added: run git yourself", maxAddFile, int64(maxAddTotal))
	}
	f, id, err := a.options.Files.Open(w.repo.Work.Abs(at))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if id != info.FileID {
		return nil, errChanged
	}
	content, err := io.ReadAll(io.LimitReader(f, info.Size+1))
	if err != nil {
		return nil, err
	}
	after, err := w.repo.Work.Handle.Lstat(at)
	if err != nil || int64(len(content)) != info.Size || statOf(after) != statOf(info) {
		return nil, errors.Join(err, errChanged)
	}
	return content, w.ctx.Err()
}

// checkCase refuses a new file whose name differs from that of a tracked file only in case, where git ignores case: git would keep the old
// name.
func (a *adder) checkCase() error {
	if !a.options.IgnoreCase {
		return nil
	}
	known := map[string]string{}
	for _, e := range a.walk.index.entries {
		known[strings.ToLower(e.name)] = e.name
	}
	for name, e := range a.changes {
		if old, found := known[strings.ToLower(name)]; e != nil && found && old != name {
			return fmt.Errorf("%s: differs from the tracked file %s only in case: run git mv yourself", hosterror.Truncate(name), hosterror.Truncate(old))
		}
	}
	return nil
}
