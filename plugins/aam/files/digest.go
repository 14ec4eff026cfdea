package files

import (
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/sdk/digest"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// maxDigested is the maximum number of bytes that Digest reads.
const maxDigested = 256 << 20

// derived contains the names of files and directories that the operating system or an interpreter creates.
var derived = []string{".DS_Store", "Thumbs.db", "__pycache__"}

// TextDigest returns the digest that Digest returns for a file with the content text.
func TextDigest(text string) string {
	sum := digest.Sum256([]byte(text))
	return fileDigest(sum[:])
}

func fileDigest(sum []byte) string { return "sha256:" + hex.EncodeToString(sum) }

// Digest returns a digest of the names and the contents of the files at path. It ignores permission bits, empty
// directories, and files that the operating system or an interpreter creates. If root is not "", Digest follows
// symbolic links inside of root as CopyTree does. If root is "", it uses the target of a symbolic link as the content
// of the link.
func Digest(s System, root, path string) (string, error) {
	d := digester{system: s, root: root, entries: maxCopied, bytes: maxDigested}
	info, real, err := d.stat(path)
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		return d.leaf(real, info)
	}
	sum := digest.New()
	if err := d.directory(sum, path, "", 0); err != nil {
		return "", err
	}
	return treeDigest(sum.Sum(nil)), nil
}

// FolderDigest returns the digest that Digest returns for a directory that contains only the file at path.
func FolderDigest(s System, root, path string) (string, error) {
	one, err := Digest(s, root, path)
	if err != nil {
		return "", err
	}
	sum := digest.New()
	_, _ = fmt.Fprintf(sum, "%q %s\n", filepath.Base(path), one)
	return treeDigest(sum.Sum(nil)), nil
}

func treeDigest(sum []byte) string { return "tree:" + hex.EncodeToString(sum) }

type digester struct {
	system  System
	root    string
	entries int   // number of entries that may still be read
	bytes   int64 // number of bytes that may still be read
}

// stat returns the FileInfo of path, and the path from which the content must be read.
func (d *digester) stat(path string) (fs.FileInfo, string, error) {
	if d.root == "" {
		info, err := d.system.Lstat(path)
		return info, path, err
	}
	real, err := Inside(d.system, d.root, path)
	if err != nil {
		return nil, "", err
	}
	info, err := d.system.Stat(real)
	return info, real, err
}

func (d *digester) directory(out io.Writer, path, relative string, depth int) error {
	_, real, err := d.stat(path)
	if err != nil {
		return err
	}
	entries, err := d.system.ReadDir(real)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if slices.Contains(derived, entry.Name()) {
			continue
		}
		if d.entries--; d.entries < 0 || depth == maxDepth {
			return fmt.Errorf("%s: %w", path, ErrTooLarge)
		}
		below, name := filepath.Join(path, entry.Name()), filepath.ToSlash(filepath.Join(relative, entry.Name()))
		info, real, err := d.stat(below)
		if err != nil {
			return err
		}
		if info.IsDir() {
			err = d.directory(out, below, name, depth+1)
		} else {
			var one string
			if one, err = d.leaf(real, info); err == nil {
				_, err = fmt.Fprintf(out, "%q %s\n", name, one)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// leaf returns the digest of a file or symbolic link, which is any path that is not a directory.
func (d *digester) leaf(path string, info fs.FileInfo) (string, error) {
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := d.system.Readlink(path)
		return "link:" + target, err
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("%s: %w", path, filesystem.ErrNotRegular)
	}
	file, err := d.system.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	sum := digest.New()
	n, err := io.Copy(sum, io.LimitReader(file, d.bytes+1))
	if d.bytes -= n; err == nil && d.bytes < 0 {
		err = fmt.Errorf("%s: %w", path, ErrTooLarge)
	}
	if err != nil {
		return "", err
	}
	return fileDigest(sum.Sum(nil)), nil
}
