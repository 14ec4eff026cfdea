package disk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"syscall"
	"unicode/utf8"

	"github.com/bulkhead-mcp/bulkhead/plugins/filesystem/edit"
	"github.com/bulkhead-mcp/bulkhead/plugins/filesystem/text"
	"github.com/bulkhead-mcp/bulkhead/sdk/atomicfile"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

var errHeadAndTail = refuse("Cannot specify both head and tail parameters simultaneously")

// temporary is the pattern of the names of temporary files.
const temporary = ".filesystem-*.tmp"

// madeTemporary matches the names that package atomicfile makes of the pattern.
var madeTemporary = regexp.MustCompile(`^\.filesystem-[0-9a-f]{16}\.tmp$`)

// Write makes content the content of a file, atomically. The file keeps its permission bits.
func (d Disk) Write(requested, content string) error {
	at, err := d.resolve(requested)
	if err != nil {
		return err
	}
	return d.replace(at, content)
}

func (d Disk) replace(at, content string) error {
	switch info, err := os.Stat(at); {
	case err == nil && info.IsDir():
		return failure(syscall.EISDIR, "open", at)
	case err != nil && !filesystem.IsAbsent(err):
		return failure(err, "open", at)
	}
	file, err := d.temporaryFile(at)
	if err != nil {
		return failure(err, "open", at)
	}
	if _, err = io.WriteString(file, content); err != nil {
		return failure(errors.Join(err, file.Discard()), "write")
	}
	return failure(file.Replace(), "open", at)
}

// maxSwept bounds the entries of a directory that a write reads to find temporary files that killed calls have left there.
const maxSwept = 1000

// temporaryFile creates the temporary file for the file at, and removes old ones.
func (d Disk) temporaryFile(at string) (*atomicfile.File, error) {
	options := d.options()
	if dir, err := os.Open(path.Dir(at)); err == nil {
		entries, _ := dir.ReadDir(maxSwept)
		_ = dir.Close()
		// What the user made may match the pattern, too, and a directory would be removed with its files.
		entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return !e.Type().IsRegular() || !madeTemporary.MatchString(e.Name()) })
		_ = atomicfile.SweepEntries(dir.Name(), entries, atomicfile.LongestWrite, options) // those that cannot be removed do no harm
	}
	return atomicfile.New(at, options)
}

func (d Disk) options() atomicfile.Options {
	copyMode := func(from, to string) error {
		if _, err := os.Stat(from); err != nil {
			return err // matches fs.ErrNotExist, which an error of the host would not
		}
		return d.CopyMode(from, to)
	}
	return atomicfile.Options{FS: filesystem.OS{Modes: copyMode}, Pattern: temporary}
}

// Edit makes edits in a file, and returns them as a patch. A dry run changes nothing.
func (d Disk) Edit(requested string, edits []edit.Edit, dryRun bool) (string, error) {
	at, err := d.resolve(requested)
	if err != nil {
		return "", err
	}
	raw, err := filesystem.ReadFile(filesystem.OS{}, at, MaxFile)
	if err != nil {
		return "", readFailure(err, at)
	}
	if !utf8.Valid(raw) {
		return "", fmt.Errorf("%s is not text in UTF-8: an edit would damage the bytes that are not", at)
	}
	before := text.Normalize(string(raw))
	after, err := edit.Apply(before, edits)
	if err != nil {
		return "", err
	}
	diff := edit.Diff(at, before, after)
	if dryRun {
		return diff, nil
	}
	return diff, d.replace(at, after)
}

// MakeDirectory creates a directory with its parents. It may exist.
func (d Disk) MakeDirectory(requested string) error {
	at, err := d.resolve(requested)
	if err != nil {
		return err
	}
	if info, err := os.Stat(at); err == nil && !info.IsDir() {
		return failure(syscall.EEXIST, "mkdir", at)
	}
	return failure(os.MkdirAll(at, 0o777), "mkdir", at)
}

// Move renames a file or directory. The destination must not exist.
func (d Disk) Move(source, destination string) error {
	from, err := d.resolve(source)
	if err != nil {
		return err
	}
	to, err := d.resolve(destination)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(to); err == nil {
		return refuse("Destination already exists: %s", to)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return failure(err, "lstat", to)
	}
	move := os.Rename
	if d.directory(from) != d.directory(to) { // the sandbox renames within a granted directory only
		move = d.copy
	}
	return failure(move(from, to), "rename", from, to)
}

// copy moves a regular file to another granted directory.
func (d Disk) copy(from, to string) error {
	info, err := os.Lstat(from)
	if err != nil || !info.Mode().IsRegular() {
		return errors.Join(err, syscall.EXDEV)
	}
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	file, err := d.temporaryFile(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, source)
	if err == nil {
		err = d.CopyMode(from, file.Name())
	}
	if err != nil {
		return errors.Join(err, file.Discard())
	}
	if err := file.Create(); err != nil {
		return err
	}
	return errors.Join(os.Remove(from), filesystem.OS{}.SyncDir(path.Dir(from)))
}
