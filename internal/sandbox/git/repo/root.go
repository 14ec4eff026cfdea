package repo

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"syscall"

	"github.com/bulkhead-mcp/bulkhead/internal/base/platform"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/beneath"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/internal/hosterror"
)

// MaxNames is the maximum number of entries of one directory.
const MaxNames = 64 << 10

const (
	maxLinks  = 40   // most symbolic links that are resolved in one path, as on Linux
	listBatch = 1024 // number of directory entries that are read at a time
)

// Root is a granted directory. Names are slash-separated paths relative to that directory; "." is the directory itself. It is the trust
// boundary: nothing outside of it can be opened, whatever symbolic links a repository contains. Relative symbolic links that stay inside
// are followed.
type Root struct {
	// Handle opens files below the directory. The method Explain turns the errors of Handle into refusals.
	Handle *beneath.Dir
	Other  OtherRoots // the other granted directories; nil if there are none
	Access Access     // access that the operation needs
	Above  string     // top level of the repository that contains the directory, if it is above the directory; otherwise empty
	path   string     // absolute path that modules use for the directory
	real   string     // path of the directory with symbolic links resolved
}

// OtherRoots returns the root of the granted directory that contains an absolute path; nil if there is none. A .git file and alternates may
// refer to that directory. Only directories with at least that access are considered.
type OtherRoots func(path string, need Access) *Root

// Access is what an operation does to a repository. Each value permits those before it.
type Access int

const (
	Reads    Access = iota
	Branches        // creates a branch
	Commits         // changes the index, HEAD or a branch that exists
)

// String returns the value of the key access in manifests and configs.
func (a Access) String() string { return [...]string{"r", "rw", "commit"}[a] }

// NewRoot returns the Root of an open directory. path is the absolute path that modules use for the directory. real is path with its symbolic
// links resolved, which is the form that git writes into repositories.
func NewRoot(handle *beneath.Dir, path, real string) *Root {
	return &Root{Handle: handle, path: path, real: real}
}

// Abs returns the absolute path of a name, for messages and answers. No file is opened by this path.
func (r *Root) Abs(name string) string { return path.Join(r.path, name) }

// rel converts an absolute path to a path relative to the root. If the path is outside of the root, the result is not local.
func (r *Root) rel(abs string) (string, error) {
	name, err := filepath.Rel(r.path, filepath.Clean(abs))
	if err == nil && !filepath.IsLocal(name) {
		name, err = filepath.Rel(r.real, filepath.Clean(abs))
	}
	return filepath.ToSlash(name), err
}

// Resolved returns the absolute path of a name with its symbolic links resolved, for comparisons. No file is opened by this path.
func (r *Root) Resolved(name string) (string, error) {
	name = path.Clean(name)
	for range maxLinks {
		next, _, _, found := r.followFirst(name)
		if !found {
			return path.Join(r.real, name), nil
		}
		if !filepath.IsLocal(next) {
			return "", r.Explain(name, beneath.ErrEscapes)
		}
		name = next
	}
	return "", fmt.Errorf("%s: %w", r.Abs(name), syscall.ELOOP)
}

// followFirst resolves the first symbolic link in a name: link, which refers to target. The bool is false if there is none.
func (r *Root) followFirst(name string) (next, link, target string, found bool) {
	for end := range len(name) + 1 {
		if end < len(name) && name[end] != '/' {
			continue
		}
		link = name[:end]
		target, err := r.Handle.Readlink(link)
		if err != nil {
			continue
		}
		to := filepath.ToSlash(target)
		if !path.IsAbs(to) {
			to = path.Join(path.Dir(link), to)
		}
		return path.Join(to, name[end:]), link, target, true
	}
	return name, "", "", false
}

// Open opens a regular file for reading. It fails for any other type of file: a repository could contain a device, or a named pipe, the
// opening of which blocks.
func (r *Root) Open(name string) (*os.File, error) {
	f, st, err := r.Handle.Open(name, os.O_RDONLY, 0)
	if errors.Is(err, beneath.ErrSpecial) {
		return nil, fmt.Errorf("%s: not a regular file", r.Abs(name))
	}
	if err != nil {
		return nil, r.Explain(name, err)
	}
	if st.IsDir() {
		_ = f.Close() // a failed close loses no data, since the handle wrote none
		return nil, fmt.Errorf("%s: %w", r.Abs(name), syscall.EISDIR)
	}
	return f, nil
}

// Read returns the content of a file. It fails if the file is larger than limit bytes.
func (r *Root) Read(name string, limit int64) ([]byte, error) {
	f, err := r.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.Abs(name), err)
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("%s: larger than %d bytes", r.Abs(name), limit)
	}
	return data, nil
}

// Create writes a new file and syncs it to disk. It fails if the file exists. If the file cannot be written completely, Create removes it.
func (r *Root) Create(name string, content []byte, mode fs.FileMode) error {
	f, _, err := r.Handle.Open(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return r.Explain(name, err)
	}
	_, err = f.Write(content)
	err = errors.Join(err, f.Sync(), f.Close())
	if err != nil {
		_ = r.Handle.Unlink(name)
		return fmt.Errorf("%s: %w", r.Abs(name), err)
	}
	return nil
}

// IsDir reports whether name is a directory, or a symbolic link to a directory.
func (r *Root) IsDir(name string) (bool, error) {
	info, err := r.Stat(name)
	if IsAbsent(err) {
		return false, nil
	}
	return err == nil && info.IsDir(), err
}

// nearestDir returns name if it is a directory, and otherwise its nearest ancestor that is a directory.
func (r *Root) nearestDir(name string) (string, error) {
	for ; name != "."; name = path.Dir(name) {
		if ok, err := r.IsDir(name); ok || err != nil {
			return name, err
		}
	}
	return name, nil
}

// Stat describes the file at name. It follows symbolic links that stay inside of the root.
func (r *Root) Stat(name string) (beneath.Stat, error) {
	st, err := r.Handle.StatName(name)
	if err != nil {
		return beneath.Stat{}, r.Explain(name, err)
	}
	return st, nil
}

// List returns the names in a directory. It returns none if the directory is absent, and fails if there are more than MaxNames.
func (r *Root) List(name string) ([]string, error) {
	if ok, err := r.IsDir(name); !ok {
		return nil, err
	}
	f, _, err := r.Handle.Open(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, r.Explain(name, err)
	}
	defer f.Close()
	var names []string
	for l := beneath.List(f); ; {
		entries, err := l.Read(listBatch)
		if err == io.EOF {
			return names, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.Abs(name), err)
		}
		for _, e := range entries {
			names = append(names, e.Name)
		}
		if len(names) > MaxNames {
			return nil, fmt.Errorf("%s: contains more than %d files", r.Abs(name), MaxNames)
		}
	}
}

// resolvePointer resolves a path that a file of the repository contains: .git, commondir or alternates. The path may be relative to the
// directory base. The returned name is relative to the returned root. That root is r or, if the path is outside of r, the granted directory
// that other returns for it. Any other path is denied: otherwise a repository could name any repository of the machine as its own. other may
// be nil; need is the access that the operation needs there.
func (r *Root) resolvePointer(file, base, pointer string, other OtherRoots, need Access) (*Root, string, error) {
	name, target := path.Join(base, filepath.ToSlash(pointer)), platform.TreePath(pointer)
	if path.IsAbs(target) {
		name = ".."
		if rel, err := r.rel(target); err == nil && filepath.IsLocal(rel) {
			name = rel
		}
	} else {
		target = path.Join(r.real, name)
	}
	if filepath.IsLocal(name) {
		return r, name, nil
	}
	if other == nil {
		return nil, "", hosterror.Denied("%s points to %q, which is outside of the granted directory %s; grant a directory that contains both, "+
			"for example with --project", r.Abs(file), pointer, r.path)
	}
	if root := other(path.Clean(target), need); root != nil {
		name, err := root.rel(target)
		return root, name, err
	}
	return nil, "", hosterror.Denied("%s points to %q, which is outside of the granted directory %s; grant that repository too, by adding "+
		"{ repo = %q, access = %q } to the plugin's key git, or grant a directory that contains both, for example with --project",
		r.Abs(file), pointer, r.path, ownerOf(path.Clean(target)), need)
}

// Explain returns err, unless err is about a symbolic link that leaves the root. Then it returns a refusal that names the link.
func (r *Root) Explain(name string, err error) error {
	if !errors.Is(err, beneath.ErrEscapes) {
		return err
	}
	link, target := r.escapingLink(name)
	return hosterror.Denied("%s is a symbolic link to %q; a link that is absolute or leaves the granted directory %s is not followed; "+
		"make it relative or grant a directory that contains both, for example with --project", r.Abs(link), target, r.path)
}

// escapingLink finds the symbolic link that keeps name from being opened. The result is used only in a message, since the link may have
// changed after the refusal.
func (r *Root) escapingLink(name string) (link, target string) {
	name = path.Clean(name)
	for range maxLinks {
		next, link, target, found := r.followFirst(name)
		if !found {
			break
		}
		if !filepath.IsLocal(next) {
			return link, target
		}
		name = next
	}
	return name, ""
}

// IsAbsent reports whether an error means that a file does not exist, or that its name cannot exist.
func IsAbsent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, beneath.ErrNotDir) || errors.Is(err, syscall.ENAMETOOLONG)
}
