package store

import (
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"io/fs"
	"os"

	"github.com/bulkhead-mcp/bulkhead/sdk/atomicfile"
)

// ErrChanged is the error for a file that another program changed after this call had read it.
var ErrChanged = errors.New("was changed by another program during this call; nothing was written, try again")

// options make the names of temporary files not end in .md, so that Specs ignores these files.
var options = atomicfile.Options{Pattern: ".chant-*.tmp"}

// Replace atomically replaces the content of the file at path. The error is ErrChanged if the Sum of the current
// content differs from before.
func Replace(path string, before Sum, content string) error {
	return replace(path, before, content, options)
}

func replace(path string, before Sum, content string, o atomicfile.Options) error {
	file, err := atomicfile.New(path, o)
	if err != nil {
		return err
	}
	_, err = io.WriteString(file, content)
	if err == nil {
		err = file.Sync()
	}
	if err == nil {
		err = unchanged(path, before)
	}
	if err != nil {
		return errors.Join(err, file.Discard())
	}
	return file.Replace()
}

func unchanged(path string, before Sum) error {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s %w", path, ErrChanged)
	}
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	var hash maphash.Hash
	hash.SetSeed(sumSeed)
	// LimitReader ends the copy if another program keeps appending to the file.
	if _, err := io.Copy(&hash, io.LimitReader(file, info.Size()+1)); err != nil {
		return err
	}
	if Sum(hash.Sum64()) != before {
		return fmt.Errorf("%s %w", path, ErrChanged)
	}
	return nil
}

// Create atomically creates the file at path. The error is fs.ErrExist if a file already exists there.
func Create(path, content string) error { return atomicfile.Create(path, []byte(content), options) }
