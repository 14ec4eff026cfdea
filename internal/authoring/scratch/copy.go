package scratch

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Bounds of the files in a temporary directory: of those that Copy copies, and for those who read them.
const (
	MaxFiles = 100_000
	MaxBytes = 1 << 30
)

// Copy copies the content of a directory into an existing one: directories, regular files with their permissions, and symbolic links,
// which it does not follow. Other files are left out.
func Copy(to string, source *os.Root) error {
	dest, err := os.OpenRoot(to)
	if err != nil {
		return err
	}
	defer dest.Close()
	files, size := 0, int64(0)
	return fs.WalkDir(source.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if files++; files > MaxFiles {
			return fmt.Errorf("%s contains more than %d files: name a smaller directory", source.Name(), MaxFiles)
		}
		switch kind := entry.Type(); {
		case kind.IsDir():
			return dest.MkdirAll(name, 0o755)
		case kind&fs.ModeSymlink != 0:
			link, err := source.Readlink(name)
			if err != nil {
				return err
			}
			return dest.Symlink(link, name)
		case !kind.IsRegular():
			return nil
		}
		n, err := copyFile(dest, source, name, MaxBytes-size)
		if size += n; err == nil && size >= MaxBytes {
			return fmt.Errorf("the files in %s have %d MiB or more: name a smaller directory", source.Name(), MaxBytes>>20)
		}
		return err
	})
}

func copyFile(dest, source *os.Root, name string, most int64) (int64, error) {
	in, err := source.Open(name)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return 0, err
	}
	out, err := dest.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, info.Mode().Perm()|0o600)
	if err != nil {
		return 0, err
	}
	n, err := io.Copy(out, io.LimitReader(in, most))
	return n, errors.Join(err, out.Close())
}
