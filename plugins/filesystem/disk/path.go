// Package disk has the operations of the plugin filesystem on files, with the results and error texts of the server that it replaces.
//
// The paths of a call are resolved only to know how that server names a file or why it refuses one. What a call can reach is decided by the
// sandbox, which resolves the paths again when it opens them.
package disk

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// MaxFile is the size of the largest file that is read whole, in bytes: the text is in the answer twice.
const MaxFile = 16 << 20

const maxLinks = 40 // symbolic links that are followed in one path

// Disk is the file system with what the host tells about it.
type Disk struct {
	Allowed []Directory // the directories that are granted, by all of their paths
	Home    string      // replaces a tilde at the beginning of a path; empty if it is not known
	// Mode returns the permission bits of a file, and when it was created.
	Mode func(path string) (mode fs.FileMode, created time.Time, err error)
	// CopyMode gives the file at the path to the permission bits of the file at the path from, which exists.
	CopyMode func(from, to string) error
}

// Directory is a path of a granted directory.
type Directory struct {
	Path string // absolute
	Real string // the same path without symbolic links
}

// Names returns the paths of the granted directories.
func (d Disk) Names() []string {
	var all []string
	for _, dir := range d.Allowed {
		all = append(all, dir.Path)
	}
	return all
}

var windowsPath = regexp.MustCompile(`^[A-Za-z]:([\\/]|$)`)

// resolve returns the path of a file without symbolic links. The file need not exist.
func (d Disk) resolve(requested string) (string, error) {
	at := requested
	if d.Home != "" && (at == "~" || strings.HasPrefix(at, "~/")) {
		at = path.Join(d.Home, at[1:])
	}
	if windowsPath.MatchString(at) {
		return "", refuse("Access denied - Windows-style path received on a POSIX host: %s", requested)
	}
	absolute := path.Clean(at)
	if !path.IsAbs(at) {
		absolute = d.absolute(at)
	}
	if strings.ContainsRune(at, 0) || !d.allows(absolute) {
		return "", d.denied("path outside", absolute)
	}
	r := resolution{Disk: d, asked: absolute}
	return r.run(absolute, false)
}

// absolute returns the path in the first granted directory that contains it.
func (d Disk) absolute(relative string) string {
	for _, dir := range d.Allowed {
		if at := path.Join(dir.Path, relative); d.allows(at) {
			return at
		}
	}
	if len(d.Allowed) == 0 {
		return path.Join("/", relative)
	}
	return path.Join(d.Allowed[0].Path, relative)
}

func (d Disk) allows(absolute string) bool { return d.directory(absolute).Path != "" }

// directory returns the innermost granted directory that contains a path; the zero value if there is none.
func (d Disk) directory(absolute string) Directory {
	var best Directory
	for _, dir := range d.Allowed {
		if (absolute == dir.Path || strings.HasPrefix(absolute, strings.TrimSuffix(dir.Path, "/")+"/")) && len(dir.Path) > len(best.Path) {
			best = dir
		}
	}
	return best
}

// denied returns the error of a path outside of the granted directories. The sandbox is asked for the path too, so that it records the refusal.
func (d Disk) denied(what, at string) error {
	_, _ = os.Stat(at) // the result does not matter: ancestors of granted directories exist
	return refuse("Access denied - %s allowed directories: %s not in %s", what, at, strings.Join(d.Names(), ", "))
}

// resolution is the resolution of one path.
type resolution struct {
	Disk
	asked string // the path of the call, absolute
	links int
}

// run resolves an absolute path in a granted directory. The target of a symbolic link must exist.
func (r *resolution) run(absolute string, mustExist bool) (string, error) {
	top := r.directory(absolute)
	return r.walk(top.Real, split(absolute[len(top.Path):]), mustExist)
}

// walk resolves names below a resolved directory.
func (r *resolution) walk(current string, names []string, mustExist bool) (string, error) {
	for i, name := range names {
		if name == "." || name == ".." { // in the target of a link
			if current = path.Join(current, name); !r.allows(current) {
				return "", r.denied("symlink target outside", current)
			}
			continue
		}
		next := path.Join(current, name)
		info, err := os.Lstat(next)
		if errors.Is(err, fs.ErrNotExist) {
			same, lerr := equivalents(current, name)
			switch {
			case lerr != nil:
				return "", failure(lerr, "scandir", current)
			case len(same) > 1:
				return "", refuse("Ambiguous Unicode path component: %s", name)
			case len(same) == 0 && mustExist:
				return "", refuse("Parent directory does not exist: %s", path.Dir(r.asked))
			case len(same) == 0:
				return path.Join(append([]string{current}, names[i:]...)...), nil
			}
			next = path.Join(current, same[0])
			info, err = os.Lstat(next)
		}
		if err == nil && info.Mode()&fs.ModeSymlink != 0 {
			if next, err = r.follow(current, next, names[i+1:]); err != nil {
				return "", err
			}
			info, err = os.Lstat(next)
		}
		switch {
		case err != nil:
			return "", failure(err, "realpath", r.asked)
		case !info.IsDir() && i < len(names)-1:
			return "", failure(syscall.ENOTDIR, "realpath", r.asked)
		}
		current = next
	}
	return current, nil
}

// follow resolves a symbolic link in the directory dir. rest are the names after it, which only an error shows.
func (r *resolution) follow(dir, link string, rest []string) (string, error) {
	if r.links++; r.links > maxLinks {
		return "", failure(syscall.ELOOP, "realpath", r.asked)
	}
	target, err := os.Readlink(link)
	if err != nil {
		return "", failure(err, "realpath", r.asked)
	}
	absolute := path.Clean(target)
	if !path.IsAbs(target) {
		absolute = path.Join(dir, target)
	}
	switch {
	case !r.allows(absolute):
		return "", r.denied("symlink target outside", path.Join(append([]string{absolute}, rest...)...))
	case path.IsAbs(target):
		return r.run(absolute, true)
	}
	return r.walk(dir, split(target), true)
}

func split(names string) []string {
	return strings.FieldsFunc(names, func(c rune) bool { return c == '/' })
}

// equivalents returns the names of entries of a directory that are the same Unicode text as a name, in another form.
func equivalents(dir, name string) ([]string, error) {
	if !hasForms(name) {
		return nil, nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var same []string
	for _, e := range entries {
		if norm.NFC.String(e.Name()) == norm.NFC.String(name) {
			same = append(same, e.Name())
		}
	}
	slices.SortFunc(same, cmp.Compare)
	return same, nil
}

// hasForms reports whether a name can have several forms. Of ASCII, only a few characters have.
func hasForms(name string) bool {
	return strings.ContainsAny(name, "K;`") || strings.ContainsFunc(name, func(r rune) bool { return r >= utf8.RuneSelf })
}
