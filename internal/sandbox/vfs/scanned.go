package vfs

import (
	"errors"
	"io/fs"
	"os"

	"github.com/tetratelabs/wazero/experimental/sys"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/beneath"
)

// Scanned is an entry that a scan visits. It is valid until visit returns.
type Scanned struct {
	Dir  string // directory of the entry, relative to the scanned directory: empty, or ending in a slash
	Name string
	// Kind has the bits of fs.ModeType. If Linked is set, they are those of the symbolic link's target.
	Kind fs.FileMode
	// Stat is zero for a virtual directory, and for a file that cannot be described.
	Stat beneath.Stat
	// Linked means that the entry is a symbolic link, and that Kind and Stat describe its target.
	Linked bool
	// Unreadable means that the file cannot be described, or that the entries of a directory cannot be listed as requested.
	Unreadable bool

	dir     *scannedDir
	mount   *mount // the mount, if the entry is the directory of a mount
	virtual bool   // whether the entry is a virtual directory above mounts
	target  *place // target of a followed symbolic link
}

func (e *Scanned) close() {
	if e.target != nil {
		e.target.close()
		e.target = nil
	}
}

// describe sets Kind and Stat by the rules of walk.step.
func (e *Scanned) describe() error {
	e.close()
	e.Kind, e.Stat, e.Linked, e.mount, e.virtual = 0, beneath.Stat{}, false, nil, false
	if len(e.dir.path)+1+len(e.Name) > maxPath {
		return sys.ENAMETOOLONG
	}
	if e.dir.mounts {
		if done, err := e.describeMount(); done || err != nil {
			return err
		}
	}
	st, err := e.dir.dir.Lstat(e.Name)
	if err != nil {
		return err
	}
	if st.IsLink() && e.dir.mounts && e.dir.scan.fs.config.Mounts.at(e.dir.at(e.Name)) != nil {
		return sys.EACCES // the grant is for a directory, not for the target of a symbolic link in its place
	}
	e.Kind, e.Stat = st.Mode.Type(), st
	if st.IsLink() && e.dir.scan.Follow {
		e.follow()
	}
	return nil
}

// describeMount describes a mount, or a virtual directory above mounts; done is false for any other entry.
func (e *Scanned) describeMount() (done bool, err error) {
	tree, at := e.dir.scan.fs, e.dir.at(e.Name)
	above := e.dir.file == nil
	m := tree.config.Mounts.at(at)
	if m == nil && (above || tree.isHidden(at)) {
		m, above = tree.config.Mounts.aliases[at], true
	}
	var dir *beneath.Dir
	if m != nil {
		dir = m.dir()
	}
	switch {
	case dir != nil:
		e.mount = m
		e.Stat, err = dir.Stat()
	case above && m == nil && tree.config.Mounts.hasBelow(at):
		e.virtual = true
	case above:
		return true, sys.EACCES // the entry is an absent mount
	default:
		return false, nil
	}
	e.Kind = fs.ModeDir
	return true, err
}

// follow replaces the description of a symbolic link with the description of its target, if the module can access the target.
func (e *Scanned) follow() {
	p, err := e.dir.scan.fs.resolve(e.dir.at(e.Name), walkMode{follow: true})
	if err != nil {
		return
	}
	e.target = p
	switch {
	case p.checkExists() != nil:
	case p.isVirtual():
		e.Kind, e.Stat, e.Linked = fs.ModeDir, beneath.Stat{}, true
	case p.info.IsDir() || p.info.Mode.IsRegular():
		e.Kind, e.Stat, e.Linked = p.info.Mode.Type(), *p.info, true
	}
}

// IsRegular reports whether the entry is a regular file, or a followed symbolic link to one.
func (e *Scanned) IsRegular() bool { return !e.Unreadable && e.Kind.IsRegular() }

// Append appends the content of a regular file to buf. It fails with beneath.ErrChanged if the file is not the one that
// Stat describes, or is changed during the read.
func (e *Scanned) Append(buf []byte) ([]byte, error) {
	switch {
	case !e.IsRegular():
		return buf, sys.EISDIR
	case e.Linked:
		return e.target.dir.Append(buf, e.target.name, e.Stat)
	}
	return e.dir.dir.Append(buf, e.Name, e.Stat)
}

// Open opens a regular file for reading. The name may now refer to a different file than the one that Stat describes.
func (e *Scanned) Open() (file *os.File, err error) {
	switch {
	case !e.IsRegular():
		return nil, sys.EISDIR
	case e.Linked:
		file, _, err = e.target.dir.Open(e.target.name, os.O_RDONLY, 0)
	default:
		file, _, err = e.dir.dir.Open(e.Name, os.O_RDONLY, 0)
	}
	return file, err
}

// Refresh describes a file again, after Append has failed with ErrChanged. If the name no longer refers to a regular file, the
// entry becomes Unreadable.
func (e *Scanned) Refresh() {
	old := *e
	if err := e.describe(); err != nil || !e.IsRegular() {
		e.Kind, e.Stat, e.Linked, e.Unreadable = old.Kind, old.Stat, old.Linked, true
	}
}

// IsChanged reports whether err means that a file was changed, replaced or removed while it was read.
func IsChanged(err error) bool {
	return errors.Is(err, beneath.ErrChanged) || errors.Is(err, fs.ErrNotExist)
}
