// Package tree holds a module's files in memory, by path.
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

// maxBytes is how much the files of one tree may hold together.
const maxTreeBytes = 32 << 20

// Tree is a module's files; the paths are relative to its root, with slashes.
type Tree map[string][]byte

// Paths returns the paths in order.
func (t Tree) Paths() []string { return slices.Sorted(maps.Keys(t)) }

// Hash is the sum of the whole tree, in hexadecimal: of each file's path, sum and size, in order.
func (t Tree) Hash() string {
	whole := sha256.New()
	for _, path := range t.Paths() {
		fmt.Fprintf(whole, "%s\n%x\n%d\n", path, sha256.Sum256(t[path]), len(t[path]))
	}
	return hex.EncodeToString(whole.Sum(nil))
}

// Read returns the files below a folder, without those of git and of agentpack itself. A link to a file
// stands for that file; one to a folder is an error. Neither the folder nor a link in it may lead out of the
// folder bound: what is in a repo comes from others, and a link in it could show any file of the user's.
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
		// Manifests, records and journals are JSON, in which such a name would come out as that of another file.
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
		return fmt.Errorf("follow the link %s: %w", link, err)
	}
	if info.IsDir() {
		return fmt.Errorf("%s is a link to a folder; only links to files can be in a module", link)
	}
	return nil
}
