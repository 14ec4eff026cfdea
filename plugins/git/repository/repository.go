// Package repository reads a granted repository through the host: its state, objects and revisions. Start with Open.
package repository

import (
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
)

// maxFile is the size in bytes of the largest file and object that is read.
const maxFile = 8 << 20

// Repository is an open repository.
type Repository struct {
	State
	host Host
}

// Open opens the repository whose top level, or .git directory, is dir. It does not search the parents of dir.
func Open(host Host, dir string) (*Repository, error) {
	at := dir
	if !path.IsAbs(at) {
		cwd, err := os.Getwd()
		if err != nil {
			return nil, err
		}
		at = path.Join(cwd, at)
	}
	at = path.Clean(at)
	if path.Base(at) == ".git" {
		at = path.Dir(at)
	}
	state, err := host.State(at)
	if err != nil {
		return nil, err
	}
	if !state.Found || state.TopLevel != at {
		return nil, errors.New(dir) // the text of the server that this plugin replaces
	}
	return &Repository{state, host}, nil
}

// Objects returns the contents of objects of one type, keyed by hash.
func (r *Repository) Objects(kind string, hashes []string) (map[string][]byte, error) {
	all := map[string][]byte{}
	err := r.host.Objects(r.TopLevel, func(o Object) error {
		if o.Type != kind {
			return fmt.Errorf("%s: missing from the repository, or not a %s", o.Hash, kind)
		}
		all[o.Hash] = o.Content
		return nil
	}, hashes...)
	return all, err
}

// Object returns an object. Its type is empty if it does not exist.
func (r *Repository) Object(hash string) (object Object, err error) {
	err = r.host.Objects(r.TopLevel, func(o Object) error {
		object = o
		return nil
	}, hash)
	return object, err
}

// ReadCommit reads a commit.
func (r *Repository) ReadCommit(hash string) (Commit, error) {
	contents, err := r.Objects("commit", []string{hash})
	if err != nil {
		return Commit{}, err
	}
	return ParseCommit(hash, contents[hash])
}

// WorktreeFile returns the content of a file of the working tree. That of a symbolic link is its target.
func (r *Repository) WorktreeFile(name string) ([]byte, error) {
	file := path.Join(r.TopLevel, name)
	info, err := os.Lstat(file)
	if err != nil {
		return nil, err
	}
	if info.Mode()&os.ModeSymlink != 0 {
		target, err := os.Readlink(file)
		return []byte(target), err
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(content) > maxFile {
		err = fmt.Errorf("%s: larger than %d bytes", file, maxFile)
	}
	return content, err
}

// HashBlob returns the hash of a blob.
func HashBlob(content []byte) string {
	h := sha1.New()
	_, _ = fmt.Fprintf(h, "blob %d\x00", len(content))
	_, _ = h.Write(content)
	return hex.EncodeToString(h.Sum(nil))
}

// TreeEntry is an entry of a tree.
type TreeEntry struct{ Mode, Name, Hash string }

// IsTree reports whether the entry is a directory.
func (e TreeEntry) IsTree() bool { return strings.TrimLeft(e.Mode, "0") == "40000" }

// ParseTree parses the content of a tree.
func ParseTree(content []byte) ([]TreeEntry, error) {
	var all []TreeEntry
	for text := string(content); text != ""; {
		head, rest, ok := strings.Cut(text, "\x00")
		mode, name, spaced := strings.Cut(head, " ")
		if !ok || !spaced || len(rest) < sha1.Size {
			return nil, errors.New("a tree is damaged: an entry is truncated")
		}
		all = append(all, TreeEntry{mode, name, hex.EncodeToString([]byte(rest[:sha1.Size]))})
		text = rest[sha1.Size:]
	}
	return all, nil
}
