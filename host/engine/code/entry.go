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
	"syscall"
)

// An entry has these files, and one with wazero's code in a directory of wazero's. sumsFile holds the digests of all
// others: wazero itself keeps only a checksum, and one flipped byte in a file was seen to end the process.
const (
	moduleFile   = "module.wasm" // rewritten
	factsFile    = "facts.json"  // what a host must know of it
	sumsFile     = "sums.json"
	wazeroPrefix = "wazero-"
)

// What a compiler may leave.
const (
	maxFacts = 16 << 20
	maxCode  = 1 << 30
	maxSums  = 64 << 10
	maxItems = 4 // of a directory
)

// Code is the verified code of a module.
type Code struct {
	Dir    string // what Load reads
	SHA256 string // of the module's file, lower-case hex
	Size   int64  // of all files, in bytes
	Fresh  bool   // it was compiled for the one who has this
	root   *os.File
}

// Handle is the directory Dir, opened before its files were verified, for a process that is to see nothing else.
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
	if err := verify(root); err != nil {
		return nil, errors.Join(err, handle.Close())
	}
	return &Code{Dir: dir, SHA256: sum, Size: sizeOf(dir), root: handle}, nil
}

// sound tells whether an entry is as it was written.
func sound(dir string) bool {
	found, err := openEntry(dir, "")
	return err == nil && found.Close() == nil
}

// seal checks what a compiler has left in dir, which may be anything, and writes the digests of it.
func seal(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return storage(err)
	}
	defer root.Close()
	sums, err := digests(root)
	if err != nil {
		return &Error{Reason: Compiler, Text: "the compiler left " + err.Error(), Err: err}
	}
	data, err := json.Marshal(sums)
	if err != nil {
		return err
	}
	out, err := root.OpenFile(sumsFile, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return storage(err)
	}
	if _, err = out.Write(data); err != nil {
		return storage(errors.Join(err, out.Close()))
	}
	if err := out.Close(); err != nil {
		return storage(err)
	}
	return nil
}

// verify tells how an entry differs from what was sealed.
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
		return fmt.Errorf("there are %d files, and there were %d", len(have), len(want))
	}
	for name, sum := range want {
		if have[name] != sum {
			return fmt.Errorf("%s has changed", name)
		}
	}
	return nil
}

// digests are those of all files but sumsFile, by path. The error, a predicate's object, names what must not be there.
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
			return nil, fmt.Errorf("no %s", name)
		}
	}
	return all, nil
}

// contents lists the files of an entry but sumsFile.
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
					return nil, fmt.Errorf("%s/%s, which is not a regular file", name, item.Name())
				}
				names = append(names, path.Join(name, item.Name()))
			}
		case item.Type().IsRegular() && slices.Contains([]string{moduleFile, factsFile, sumsFile}, name):
			if name != sumsFile {
				names = append(names, name)
			}
		default:
			return nil, fmt.Errorf("%s, which does not belong there", name)
		}
	}
	return names, nil
}

// list reads a directory of at most maxItems items.
func list(root *os.Root, name string) ([]fs.DirEntry, error) {
	dir, err := root.OpenFile(name, os.O_RDONLY|syscall.O_DIRECTORY, 0)
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
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil {
		err = regular(name, info)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// maxSize bounds a file of an entry.
func maxSize(name string) int64 {
	switch name {
	case moduleFile:
		return 2 * MaxModule
	case factsFile:
		return maxFacts
	}
	return maxCode
}

// digest is the SHA-256 of a file.
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
		return "", fmt.Errorf("%s, which has more than %d bytes", name, limit)
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
		err = fmt.Errorf("%s has more than %d bytes", name, limit)
	}
	return data, err
}
