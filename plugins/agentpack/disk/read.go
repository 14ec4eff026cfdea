// Package disk reads files and folders within bounds, and proves where a path leads. Nothing in it writes.
package disk

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// MaxFile is the largest file of a module, or in the place of one, that is read, in bytes.
const MaxFile = 8 << 20

const (
	maxItems = 20_000 // of one tree
	maxDepth = 64     // of folders in one another
)

// Read returns the content of the regular file that path leads to. A missing one is fs.ErrNotExist, one of
// more than limit bytes an error.
func Read(path string, limit int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file but %s", path, describe(info))
	}
	content := make([]byte, 0, min(info.Size(), limit)+1)
	content, err = appendAll(content, io.LimitReader(file, limit+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if int64(len(content)) > limit {
		return nil, fmt.Errorf("%s is larger than %d bytes", path, limit)
	}
	return content, nil
}

// Sum returns the SHA-256, in hexadecimal, of the regular file that path leads to, of whatever size. A missing
// one is fs.ErrNotExist.
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
		return "", fmt.Errorf("%s is not a regular file but %s", path, describe(info))
	}
	sum := sha256.New()
	// The bound is for a file that somebody goes on writing to.
	whole := io.LimitReader(file, info.Size()+1)
	if _, err := io.CopyBuffer(sum, whole, make([]byte, min(info.Size()+1, 32<<10))); err != nil {
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// SumBytes returns the SHA-256 of content, in hexadecimal.
func SumBytes(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

func appendAll(content []byte, from io.Reader) ([]byte, error) {
	for {
		if len(content) == cap(content) {
			content = slices.Grow(content, 512)
		}
		n, err := from.Read(content[len(content):cap(content)])
		content = content[:len(content)+n]
		if errors.Is(err, io.EOF) {
			return content, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

func describe(info fs.FileInfo) string {
	if info.IsDir() {
		return "a folder"
	}
	return "something else (" + info.Mode().Type().String() + ")"
}

// Item is one thing in a tree that is no folder.
type Entry struct {
	Path string // relative to the tree's root, with slashes
	Link bool   // a symbolic link, which was not followed
}

// IsOwn tells whether a folder's name says that it belongs to git or agentpack and holds nothing to deploy, in
// whatever letters, since to some systems they are all one.
func IsReservedName(name string) bool {
	return strings.EqualFold(name, ".git") || strings.EqualFold(name, ".agentpack")
}

// List returns the files and links below a folder, by path. What is called .git or .agentpack is left out with
// all that it holds; devices, sockets and pipes are left out too. A missing folder is fs.ErrNotExist.
func ListFiles(root string) ([]Entry, error) {
	lister := lister{root: root}
	if err := lister.visit("", 0); err != nil {
		return nil, err
	}
	slices.SortFunc(lister.entries, func(a, b Entry) int { return strings.Compare(a.Path, b.Path) })
	return lister.entries, nil
}

type lister struct {
	root    string
	seen    int
	entries []Entry
}

func (l *lister) visit(folder string, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("%s: folders are nested more than %d deep", filepath.Join(l.root, folder), maxDepth)
	}
	entries, err := os.ReadDir(filepath.Join(l.root, folder))
	if err != nil {
		return err
	}
	if l.seen += len(entries); l.seen > maxItems {
		return fmt.Errorf("%s holds more than %d files and folders", l.root, maxItems)
	}
	for _, entry := range entries {
		if IsReservedName(entry.Name()) {
			continue
		}
		path := entry.Name()
		if folder != "" {
			path = folder + "/" + entry.Name()
		}
		switch {
		case entry.IsDir():
			if err := l.visit(path, depth+1); err != nil {
				return err
			}
		case entry.Type().IsRegular(), entry.Type()&fs.ModeSymlink != 0:
			l.entries = append(l.entries, Entry{path, entry.Type()&fs.ModeSymlink != 0})
		}
	}
	return nil
}

// State is what there is at a path.
type Kind int

// What there can be at a path, links followed.
const (
	Absent Kind = iota
	File
	Directory
	Other // a device, pipe or socket
)

// Look tells what path leads to. A link that leads nowhere is nothing.
func Stat(path string) (Kind, error) {
	info, err := os.Stat(path)
	switch {
	case IsMissing(err):
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

// Blocked tells whether an error says that there is a file where a folder would have to be.
func IsBlocked(err error) bool { return errors.Is(err, errNotDirectory) }

// Missing tells whether an error says that there is nothing at a path: no such file, or a file where a
// folder would have to be.
func IsMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) || IsBlocked(err) }
