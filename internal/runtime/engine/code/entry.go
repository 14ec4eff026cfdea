package code

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/bulkhead-mcp/bulkhead/internal/base/ownedpath"
	"github.com/bulkhead-mcp/bulkhead/internal/base/platform"
)

// An entry consists of these files and of wazero's code in a directory that wazero names. sumsFile holds the digests of all
// other files: wazero stores only a checksum, and one flipped byte in a file was seen to crash the process.
const (
	moduleFile   = "module.wasm" // the rewritten module without the bodies of its functions
	factsFile    = "facts.json"  // see facts
	sumsFile     = "sums.json"
	wazeroPrefix = "wazero-"
)

// Limits of a compiler's output: sizes in bytes, and maxItems in entries of a directory.
const (
	maxFacts = 16 << 20
	maxCode  = 1 << 30
	maxSums  = 64 << 10
	maxItems = 4
)

// Code is the verified code of a module.
type Code struct {
	Dir    string // the directory that Load reads
	SHA256 string // digest of the module's file, lower-case hex
	Size   int64  // total size of the files in bytes
	Fresh  bool   // set if the call of Ensure that returned this Code compiled the module
	root   *os.File
}

// Handle returns the open directory Dir, for a confined process. It was opened before the files were verified, so it
// refers to the verified directory even if Dir is replaced.
func (c *Code) Handle() *os.File { return c.root }

// Close releases the handle.
func (c *Code) Close() error { return c.root.Close() }

// openEntry opens a directory and verifies its files.
func openEntry(dir, sum string) (*Code, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	handle, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	if !ownedpath.IsPrivate(handle) { // another user may have replaced a cache directory that was removed
		err = fmt.Errorf("%s %s", dir, ownedpath.NotPrivate)
	} else {
		err = verify(root)
	}
	if err != nil {
		return nil, errors.Join(err, handle.Close())
	}
	return &Code{Dir: dir, SHA256: sum, Size: sizeOf(dir), root: handle}, nil
}

// isIntact reports whether the files of an entry match their digests.
func isIntact(dir string) bool {
	found, err := openEntry(dir, "")
	return err == nil && found.Close() == nil
}

// seal validates a compiler's untrusted output in dir and writes the digests of its files.
func seal(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return storageError(err)
	}
	defer root.Close()
	sums, err := digests(root)
	if err != nil {
		return &Error{Reason: Compiler, Text: "the compiler's output is invalid: " + err.Error(), Err: err}
	}
	data, err := json.Marshal(sums)
	if err != nil {
		return err
	}
	out, err := root.OpenFile(sumsFile, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return storageError(err)
	}
	if _, err = out.Write(data); err != nil {
		return storageError(errors.Join(err, out.Close()))
	}
	if err := out.Close(); err != nil {
		return storageError(err)
	}
	return nil
}

// verify returns an error unless the files of an entry match their digests.
func verify(root *os.Root) error {
	data, err := readBounded(root, sumsFile, maxSums)
	if err != nil {
		return err
	}
	var want map[string]string
	if err := json.Unmarshal(data, &want); err != nil {
		return fmt.Errorf("%s: %w", sumsFile, err)
	}
	have, err := digests(root)
	if err != nil {
		return err
	}
	if len(have) != len(want) {
		return fmt.Errorf("the entry has %d files instead of %d", len(have), len(want))
	}
	for name, sum := range want {
		if have[name] != sum {
			return fmt.Errorf("%s has changed", name)
		}
	}
	return nil
}

// digests returns the digests of all files except sumsFile, by path.
func digests(root *os.Root) (map[string]string, error) {
	names, err := contents(root)
	if err != nil {
		return nil, err
	}
	sums, errs := make([]string, len(names)), make([]error, len(names))
	var work sync.WaitGroup
	for n, name := range names {
		work.Go(func() { sums[n], errs[n] = digest(root, name) })
	}
	work.Wait()
	all := map[string]string{}
	for n, name := range names {
		if errs[n] != nil {
			return nil, errs[n]
		}
		all[name] = sums[n]
	}
	for _, name := range []string{moduleFile, factsFile} {
		if all[name] == "" {
			return nil, fmt.Errorf("%s is missing", name)
		}
	}
	return all, nil
}

// contents lists the files of an entry except sumsFile. Unexpected files are an error.
func contents(root *os.Root) ([]string, error) {
	var names []string
	top, err := list(root, ".")
	if err != nil {
		return nil, err
	}
	for _, item := range top {
		switch name := item.Name(); {
		case item.IsDir() && strings.HasPrefix(name, wazeroPrefix):
			below, err := list(root, name)
			if err != nil {
				return nil, err
			}
			for _, item := range below {
				if !item.Type().IsRegular() {
					return nil, fmt.Errorf("%s/%s is not a regular file", name, item.Name())
				}
				names = append(names, path.Join(name, item.Name()))
			}
		case item.Type().IsRegular() && slices.Contains([]string{moduleFile, factsFile, sumsFile}, name):
			if name != sumsFile {
				names = append(names, name)
			}
		default:
			return nil, fmt.Errorf("unexpected file %s", name)
		}
	}
	return names, nil
}

// list reads a directory, which may have at most maxItems entries.
func list(root *os.Root, name string) ([]fs.DirEntry, error) {
	dir, err := root.OpenFile(name, os.O_RDONLY|platform.Directory, 0)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	items, err := dir.ReadDir(maxItems + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(items) > maxItems {
		return nil, fmt.Errorf("more than %d files in %s", maxItems, name)
	}
	return items, nil
}

func openFile(root *os.Root, name string) (*os.File, error) {
	file, err := root.OpenFile(name, os.O_RDONLY|platform.NonBlock|platform.NoFollow, 0)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil {
		err = checkRegular(name, info)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// maxSize returns the maximum size of a file of an entry.
func maxSize(name string) int64 {
	switch name {
	case moduleFile:
		return 2 * MaxModule
	case factsFile:
		return maxFacts
	}
	return maxCode
}

// digest returns the SHA-256 of a file.
func digest(root *os.Root, name string) (string, error) {
	limit := maxSize(name)
	file, err := openFile(root, name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	sum := sha256.New()
	size, err := io.Copy(sum, io.LimitReader(file, limit+1))
	if err != nil {
		return "", err
	}
	if size > limit {
		return "", fmt.Errorf("%s is larger than %d bytes", name, limit)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

func readBounded(root *os.Root, name string, limit int64) ([]byte, error) {
	file, err := openFile(root, name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("%s is larger than %d bytes", name, limit)
	}
	return data, err
}
