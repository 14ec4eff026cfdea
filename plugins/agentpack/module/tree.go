package module

import (
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"unicode/utf8"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/disk"
	"github.com/bulkhead-mcp/bulkhead/sdk/digest"
)

// maxTreeBytes is the maximum total size of the files in a tree, in bytes.
const maxTreeBytes = 32 << 20

// Tree holds the contents of a module's files. The keys are paths relative to the module's root, with slashes.
type Tree map[string][]byte

// Paths returns the sorted paths of the files in the tree.
func (t Tree) Paths() []string { return slices.Sorted(maps.Keys(t)) }

// Hash returns the hash of the tree as the lockfile format defines it: the SHA-256 of the path, SHA-256 and size of
// each file, in the order of paths.
func (t Tree) Hash() string {
	whole := digest.New()
	for _, path := range t.Paths() {
		fmt.Fprintf(whole, "%s\n%x\n%d\n", path, digest.Sum256(t[path]), len(t[path]))
	}
	return hex.EncodeToString(whole.Sum(nil))
}

// ReadTree reads the files below the directory root, except those of git and agentpack. It follows symbolic links to
// files; a symbolic link to a directory is an error. The directory and all symbolic links must resolve to paths inside
// bound, because a repository is untrusted, and a symbolic link in it could disclose any file of the user. ReadTree skips a
// file whose name is not UTF-8, with a warning.
func ReadTree(root string, bound disk.Bound) (files Tree, warnings []string, err error) {
	if root != bound.Root() {
		if err := bound.RequireInside(root); err != nil {
			return nil, nil, err
		}
	}
	items, err := disk.ListFiles(root)
	if err != nil {
		return nil, nil, err
	}
	return readEntries(root, items, bound)
}

// readEntries returns the contents of the files in items, which disk.ListFiles has listed below root.
func readEntries(root string, items []disk.Entry, bound disk.Bound) (files Tree, warnings []string, err error) {
	size := 0
	files = make(Tree, len(items))
	for _, item := range items {
		// JSON cannot represent such a name, so manifests and journals would contain the name of another file.
		if !utf8.ValidString(item.Path) {
			warnings = append(warnings, fmt.Sprintf("%s: the file %q is left out, because its name is not UTF-8: rename it", root, item.Path))
			continue
		}
		path := filepath.Join(root, filepath.FromSlash(item.Path))
		if item.Link {
			if err := requireFileLink(path, bound); err != nil {
				return nil, nil, err
			}
		}
		content := item.Content
		if content == nil {
			if content, err = disk.Read(path, disk.MaxFile); err != nil {
				return nil, nil, err
			}
		}
		if size += len(content); size > maxTreeBytes {
			return nil, nil, fmt.Errorf("the files in %s exceed %d MiB in total", root, maxTreeBytes>>20)
		}
		files[item.Path] = content
	}
	return files, warnings, nil
}

func requireFileLink(link string, bound disk.Bound) error {
	if err := bound.RequireInside(link); err != nil {
		return err
	}
	info, err := os.Stat(link)
	if err != nil {
		return fmt.Errorf("cannot follow the symbolic link %s: %w", link, err)
	}
	if info.IsDir() {
		return fmt.Errorf("%s is a symbolic link to a directory; a module may contain only symbolic links to files", link)
	}
	return nil
}
