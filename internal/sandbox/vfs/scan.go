package vfs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tetratelabs/wazero/experimental/sys"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/beneath"
)

// A scan describes and reads a directory with all files and directories below it, for the host operation fs/scan. It shows what
// readdir, stat and open show. These walk from the mount for each file, whereas a scan opens each directory once and uses names in
// it, so an entry costs one system call. Only symbolic links are resolved from their mounts.

// Scan is the walk that FS.Scan performs.
type Scan struct {
	Depth  int                    // levels of directories to list; 1 lists only the directory itself
	Enter  func(name string) bool // reports whether directories with this name are listed; nil lists all of them
	Follow bool                   // whether a symbolic link is described by the file or directory that it refers to
	After  string                 // relative path, which need not exist; the scan begins with the entry that follows it
	Omit   func()                 // called for each entry that is left out because of its name; may be nil
}

// Scan visits the entries of a directory, and of the directories below it, until visit returns false. A directory comes
// before its entries, which are in byte order of their names. Names that are not UTF-8 are left out, since no operation
// accepts them.
func (f *FS) Scan(name string, o Scan, visit func(*Scanned) bool) sys.Errno {
	err := f.scan(name, o, visit)
	if err == errStopped {
		err = nil
	}
	return f.fail("scan", name, err)
}

// errStopped ends a scan after visit has returned false.
var errStopped = errors.New("stopped")

func (f *FS) scan(name string, o Scan, visit func(*Scanned) bool) error {
	p, err := f.resolve(name, walkMode{follow: true})
	if err != nil {
		return err
	}
	defer p.close()
	if err := p.checkExists(); err != nil {
		return err
	}
	s := &scan{fs: f, Scan: o, visit: visit}
	dir := &scannedDir{scan: s, path: p.path, level: 1}
	defer dir.close()
	if !p.isVirtual() {
		if !p.info.IsDir() {
			return sys.ENOTDIR
		}
		if err := dir.use(p.openSame(os.O_RDONLY | beneath.Directory)); err != nil {
			return err
		}
	}
	if err := dir.read(); err != nil {
		return err
	}
	return dir.list(components(o.After))
}

// scan is the state of a walk.
type scan struct {
	Scan
	fs    *FS
	visit func(*Scanned) bool
	held  int // size in bytes of the listings of all directories on the path
}

// scannedDir is a directory on the path of a walk.
type scannedDir struct {
	scan    *scan
	path    string // resolved, absolute
	rel     string // path relative to the scanned directory: "", or ending in a slash
	level   int
	mounts  bool // whether there may be mounts below path
	file    *os.File
	dir     *beneath.Dir // nil for a virtual directory
	entries []beneath.Entry
	size    int
}

// use stores the opened directory, or returns the error of opening it.
func (d *scannedDir) use(file *os.File, err error) error {
	if err != nil {
		return err
	}
	d.file = file
	d.dir, err = beneath.New(file)
	return err
}

func (d *scannedDir) close() {
	if d.file != nil {
		_ = d.file.Close() // the directory is only read, so no data is lost
	}
	d.scan.held -= d.size
	d.file, d.entries, d.size = nil, nil, 0
}

// listedSize is the memory of an entry without its name, in a slice of which half may be unused.
const listedSize = 64

// read reads and sorts the names. It fails with errListings if all listings of the scan exceed maxListed.
func (d *scannedDir) read() error {
	d.mounts = d.scan.fs.config.Mounts.hasBelow(d.path)
	if d.file == nil {
		for _, name := range d.scan.fs.config.Mounts.children(d.path) {
			d.entries = append(d.entries, beneath.Entry{Name: name, Type: fs.ModeDir})
		}
		return nil
	}
	for list := beneath.List(d.file); ; {
		entries, err := list.Read(chargeEach)
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		d.scan.fs.config.Charge(len(entries))
		if err := d.scan.fs.config.Context().Err(); err != nil {
			return err
		}
		for _, e := range entries {
			if d.scan.fs.hidesEntry(d.at(e.Name)) {
				continue
			}
			if !utf8.ValidString(e.Name) {
				if d.scan.Omit != nil {
					d.scan.Omit()
				}
				continue
			}
			d.entries = append(d.entries, e)
			d.size += listedSize + len(e.Name)
			if d.scan.held += listedSize + len(e.Name); d.scan.held > maxListed {
				return errListings
			}
		}
	}
	slices.SortFunc(d.entries, func(a, b beneath.Entry) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

// at returns the resolved path of an entry that is not a symbolic link.
func (d *scannedDir) at(name string) string {
	if d.path == "/" {
		return "/" + name
	}
	return d.path + "/" + name
}

// list visits the entries that follow the relative path "after".
func (d *scannedDir) list(after []string) error {
	for _, e := range d.entries {
		if err := d.scan.fs.config.Context().Err(); err != nil {
			return err
		}
		var below []string
		visited := false
		if len(after) > 0 {
			order := strings.Compare(e.Name, after[0])
			if order < 0 {
				continue
			}
			if visited = order == 0; visited {
				below = after[1:]
			}
		}
		if err := d.entry(e, visited, below); err != nil {
			return err
		}
	}
	return nil
}

// entry visits an entry and what is below it, unless a previous scan has visited the entry.
func (d *scannedDir) entry(listed beneath.Entry, visited bool, after []string) error {
	e := &Scanned{Dir: d.rel, Name: listed.Name, dir: d}
	defer e.close()
	if err := e.describe(); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // the file was removed after it had been listed
		}
		e.Kind, e.Unreadable = listed.Type, true
	}
	s := d.scan
	var below *scannedDir
	if e.Kind.IsDir() && !e.Linked && !e.Unreadable && d.level < s.Depth && (s.Enter == nil || s.Enter(e.Name)) {
		below = &scannedDir{scan: s, rel: d.rel + e.Name + "/", level: d.level + 1}
		defer below.close()
		err := below.open(e)
		if err == nil {
			err = below.read()
		}
		if ended := s.fs.config.Context().Err(); ended != nil {
			return ended
		}
		if errors.Is(err, errListings) {
			return err
		}
		if err != nil {
			e.Unreadable, below = true, nil
		}
	}
	if !visited && !s.visit(e) {
		return errStopped
	}
	if below == nil {
		return nil
	}
	return below.list(after)
}

// open opens the directory that e describes.
func (d *scannedDir) open(e *Scanned) error {
	switch {
	case e.mount != nil:
		d.path = e.mount.Path
		d.scan.fs.config.Reading(e.mount.Path)
		file, _, err := e.mount.dir().Open(".", os.O_RDONLY|beneath.Directory, 0)
		return d.use(file, err)
	case e.virtual:
		d.path = e.dir.at(e.Name)
		return nil
	}
	d.path = e.dir.at(e.Name)
	file, _, err := e.dir.dir.Open(e.Name, os.O_RDONLY|beneath.Directory, 0)
	return d.use(file, err)
}
