package module

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"unicode/utf8"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/disk"
)

// maxTreeBytes is the size limit of all files of a tree.
const maxTreeBytes = 32 << 20

// Tree holds a module's files by path, relative to its root, with slashes.
type Tree map[string][]byte

// Paths returns the sorted paths.
func (t Tree) Paths() []string { return slices.Sorted(maps.Keys(t)) }

// Hash returns the tree hash of the lockfile format: the SHA-256 of each file's path, sum and size, in order.
func (t Tree) Hash() string {
	whole := sha256.New()
	for _, path := range t.Paths() {
		fmt.Fprintf(whole, "%s\n%x\n%d\n", path, sha256.Sum256(t[path]), len(t[path]))
	}
	return hex.EncodeToString(whole.Sum(nil))
}

// ReadTree reads the files below a directory, except those of git and agentpack. A symbolic link to a file is
// read as that file; one to a directory is an error. Neither the directory nor its symbolic links may leave
// bound: a repo is untrusted, and a link in it could expose any of the user's files.
func ReadTree(root string, bound disk.Bound) (Tree, error) {
	if root != bound.Root() {
		if err := bound.RequireInside(root); err != nil {
			return nil, err
		}
	}
	items, err := disk.ListFiles(root)
	if err != nil {
		return nil, err
	}
	files, size := make(Tree, len(items)), 0
	for _, item := range items {
		// JSON cannot represent the name: manifests and journals would name another file.
		if !utf8.ValidString(item.Path) {
			return nil, fmt.Errorf("%s: the name of the file %q is not UTF-8: rename it", root, item.Path)
		}
		path := filepath.Join(root, filepath.FromSlash(item.Path))
		if item.Link {
			if err := requireFileLink(path, bound); err != nil {
				return nil, err
			}
		}
		content, err := disk.Read(path, disk.MaxFile)
		if err != nil {
			return nil, err
		}
		if size += len(content); size > maxTreeBytes {
			return nil, fmt.Errorf("the files in %s are larger than %d MiB together", root, maxTreeBytes>>20)
		}
		files[item.Path] = content
	}
	return files, nil
}

func requireFileLink(link string, bound disk.Bound) error {
	if err := bound.RequireInside(link); err != nil {
		return err
	}
	info, err := os.Stat(link)
	if err != nil {
		return fmt.Errorf("follow the symbolic link %s: %w", link, err)
	}
	if info.IsDir() {
		return fmt.Errorf("%s is a symbolic link to a directory; only links to files can be in a module", link)
	}
	return nil
}
