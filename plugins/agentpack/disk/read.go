// Package disk reads files and directories with size limits, and checks whether paths are inside a directory. It writes
// nothing.
package disk

import (
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/sdk/digest"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// MaxFile is the maximum size in bytes of a file of a module, and of a deployed file.
const MaxFile = 8 << 20

const (
	maxItems = 20_000 // maximum number of files and directories in one tree
	maxDepth = 64     // maximum number of levels of nested directories
)

// Read returns the content of a regular file. It follows symbolic links. It returns an error for a file of more than
// limit bytes.
func Read(path string, limit int64) ([]byte, error) {
	return filesystem.ReadFile(filesystem.OS{}, path, limit)
}

// SumFile returns the SHA-256 of a regular file of any size, in hexadecimal. It follows symbolic links.
func SumFile(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s: %w", path, filesystem.ErrNotRegular)
	}
	sum := digest.New()
	// LimitReader ends the copy even if another process keeps appending to the file.
	whole := io.LimitReader(file, info.Size()+1)
	if _, err := io.Copy(sum, whole); err != nil {
		return "", fmt.Errorf("cannot read %s: %w", path, err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// Entry is a file or symbolic link in a directory tree.
type Entry struct {
	Path string // relative to the root of the tree, with slashes
	Link bool   // the entry is a symbolic link; ListFiles does not follow symbolic links
	// Content is the content of a regular file if Children has read the entry; otherwise Content is nil.
	Content []byte
}

// IsReservedName reports whether a directory with this name belongs to git or agentpack, so that files in it are never
// deployed. It ignores case, because some file systems ignore case.
func IsReservedName(name string) bool {
	return strings.EqualFold(name, ".git") || strings.EqualFold(name, ".agentpack")
}

// ListFiles returns the files and symbolic links below the directory root, sorted by path. It omits devices, sockets,
// pipes, and directories with reserved names.
func ListFiles(root string) ([]Entry, error) {
	lister := lister{root: root}
	if err := lister.visit("", 0); err != nil {
		return nil, err
	}
	slices.SortFunc(lister.entries, compareEntries)
	return lister.entries, nil
}

func compareEntries(a, b Entry) int { return strings.Compare(a.Path, b.Path) }

type lister struct {
	root    string
	seen    int
	entries []Entry
}

func (l *lister) visit(dir string, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("%s: directories are nested more than %d levels deep", filepath.Join(l.root, dir), maxDepth)
	}
	entries, err := os.ReadDir(filepath.Join(l.root, dir))
	if err != nil {
		return err
	}
	if l.seen += len(entries); l.seen > maxItems {
		return fmt.Errorf("%s contains more than %d files and directories", l.root, maxItems)
	}
	for _, entry := range entries {
		if IsReservedName(entry.Name()) {
			continue
		}
		path := entry.Name()
		if dir != "" {
			path = dir + "/" + entry.Name()
		}
		switch {
		case entry.IsDir():
			if err := l.visit(path, depth+1); err != nil {
				return err
			}
		case entry.Type().IsRegular(), entry.Type()&fs.ModeSymlink != 0:
			l.entries = append(l.entries, Entry{Path: path, Link: entry.Type()&fs.ModeSymlink != 0})
		}
	}
	return nil
}

// Kind is the kind of file that exists at a path.
type Kind int

// The kinds of files. A symbolic link has the kind of its target.
const (
	Absent Kind = iota
	File
	Directory
	Other // a device, pipe or socket
)

// Stat returns the kind of the file at path. It returns Absent for a dangling symbolic link.
func Stat(path string) (Kind, error) {
	info, err := os.Stat(path)
	switch {
	case filesystem.IsAbsent(err):
		return Absent, nil
	case err != nil:
		return Absent, err
	case info.IsDir():
		return Directory, nil
	case info.Mode().IsRegular():
		return File, nil
	}
	return Other, nil
}
