package git

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/bulkhead-mcp/bulkhead/host/sandbox/beneath"
)

// maxLinks is how many links are followed to find the one that leads out, as many as Linux follows.
const maxLinks = 40

// listAtOnce is how many entries of a directory are read at a time.
const listAtOnce = 1024

// root is a granted directory. Names are relative to it and slash-separated; "." is the directory itself.
// Nothing outside of it can be opened, whatever links it holds: relative ones that stay inside are followed.
type root struct {
	dir   *beneath.Dir
	grant string // as it was granted: the path that the module knows, free of links; git writes absolute paths so
}

// abs is how a name reads in an error.
func (r *root) abs(name string) string { return filepath.Join(r.grant, filepath.FromSlash(name)) }

// open opens a regular file, and nothing else.
func (r *root) open(name string) (*os.File, error) {
	f, st, err := r.dir.Open(name, os.O_RDONLY, 0)
	if errors.Is(err, beneath.ErrSpecial) {
		return nil, fmt.Errorf("%s: not a regular file", r.abs(name))
	}
	if err != nil {
		return nil, r.explain(name, err)
	}
	if st.IsDir() {
		_ = f.Close() // nothing was written to it
		return nil, fmt.Errorf("%s: %w", r.abs(name), syscall.EISDIR)
	}
	return f, nil
}

// read gives a small file's content, at most limit bytes.
func (r *root) read(name string, limit int64) ([]byte, error) {
	f, err := r.open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.abs(name), err)
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("%s: over %d bytes", r.abs(name), limit)
	}
	return data, nil
}

// isDir reports whether there is a folder, or a link to one.
func (r *root) isDir(name string) (bool, error) {
	info, err := r.stat(name)
	if absent(err) {
		return false, nil
	}
	return err == nil && info.IsDir(), err
}

// nearestFolder gives the folder that a path is, or the nearest one above it that is there.
func (r *root) nearestFolder(file string) (string, error) {
	name, err := filepath.Rel(r.grant, filepath.Clean(file))
	if err != nil {
		return "", err
	}
	for name = filepath.ToSlash(name); name != "."; name = path.Dir(name) {
		if ok, err := r.isDir(name); ok || err != nil {
			return name, err
		}
	}
	return name, nil
}

func (r *root) stat(name string) (beneath.Stat, error) {
	st, err := r.dir.StatName(name)
	if err != nil {
		return beneath.Stat{}, r.explain(name, err)
	}
	return st, nil
}

// list gives the names in a folder, at most limit; an absent folder is empty.
func (r *root) list(name string, limit int) ([]string, error) {
	if ok, err := r.isDir(name); !ok {
		return nil, err
	}
	f, _, err := r.dir.Open(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, r.explain(name, err)
	}
	defer f.Close()
	var names []string
	for l := beneath.List(f); ; {
		entries, err := l.Read(listAtOnce)
		if err == io.EOF {
			return names, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.abs(name), err)
		}
		for _, e := range entries {
			names = append(names, e.Name)
		}
		if len(names) > limit {
			return nil, fmt.Errorf("%s: over %d files", r.abs(name), limit)
		}
	}
}

// follow resolves a pointer that the named file holds, relative to the folder base: to a name inside of
// the grant, or to a refusal.
func (r *root) follow(file, base, pointer string) (string, error) {
	name := path.Join(base, filepath.ToSlash(pointer))
	if filepath.IsAbs(pointer) {
		name = ".."
		if rel, err := filepath.Rel(r.grant, pointer); err == nil && filepath.IsLocal(rel) {
			name = filepath.ToSlash(rel)
		}
	}
	if !filepath.IsLocal(name) {
		return "", denied("%s points to %q, which is outside of the granted folder %s; grant a folder that holds both "+
			"(--project names one)", r.abs(file), pointer, r.grant)
	}
	return name, nil
}

// explain turns the error of a link that leads out into a refusal that names the link.
func (r *root) explain(name string, err error) error {
	if !errors.Is(err, beneath.ErrEscapes) {
		return err
	}
	link, target := r.leadingOut(name)
	return denied("%s is a link to %q; a link that is absolute or leads out of the granted folder %s is not followed; "+
		"make it a relative link or grant a folder that holds both (--project names one)", r.abs(link), target, r.grant)
}

// leadingOut finds the link because of which a name cannot be opened.
func (r *root) leadingOut(name string) (link, target string) {
	for range maxLinks {
		parts := strings.Split(path.Clean(name), "/")
		for i := range parts {
			link = path.Join(parts[:i+1]...)
			var err error
			if target, err = r.dir.Readlink(link); err != nil {
				continue
			}
			to := path.Join(path.Dir(link), filepath.ToSlash(target))
			if filepath.IsAbs(target) || !filepath.IsLocal(to) {
				return link, target
			}
			name = path.Join(append([]string{to}, parts[i+1:]...)...)
			break
		}
	}
	return name, target
}

// absent reports whether an error says that there is no such file. A name that no file can have is
// that of none.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ENAMETOOLONG)
}
