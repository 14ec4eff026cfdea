package archive

import (
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files"
)

// Extract writes the files of an archive to the directory dir, which must not exist. The listing must be the result of
// Check for the same archive. If the archive has changed since Check, Extract returns an error. After an error it
// removes the directory, if possible.
func Extract(s files.System, archive, dir string, listing *Listing, limits Limits) error {
	if err := s.Mkdir(dir, 0o755); err != nil {
		return err
	}
	err := extract(s, archive, dir, listing, limits)
	if err != nil {
		if removing := files.RemoveAll(s, dir); removing != nil {
			return fmt.Errorf("%w (and %s could not be removed: %w)", err, dir, removing)
		}
	}
	return err
}

func extract(s files.System, archive, dir string, listing *Listing, limits Limits) error {
	a, err := reopen(s, archive, limits, listing)
	if err != nil {
		return err
	}
	defer a.file.Close()
	x := extractor{stream: a, system: s, dir: dir, folders: map[string]bool{".": true}, byMember: map[int]File{}}
	for _, file := range listing.Files {
		if file.copyOf == "" {
			x.byMember[file.member] = file
		}
	}
	if err := x.members(); err != nil {
		return err
	}
	if err := a.finish(); err != nil {
		return err
	}
	if listing.tar == nil && a.checksum() != listing.Checksum {
		return x.changed()
	}
	for _, file := range listing.Files {
		if file.copyOf != "" {
			if err := x.copy(file); err != nil {
				return err
			}
		}
	}
	return nil
}

type extractor struct {
	*stream
	system   files.System
	dir      string
	folders  map[string]bool // directories that exist already; the keys are paths
	byMember map[int]File    // the files to write; the key is the index of the member, and of several members with one path only the last is included
}

func (x *extractor) changed() error {
	return invalid(x.path, "the archive was changed while it was read")
}

func (x *extractor) members() error {
	written := 0
	for {
		name, _, err := x.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		file, ok := x.byMember[x.member]
		if !ok {
			continue
		}
		if name != file.Path || x.header.Size != file.Size {
			return x.changed()
		}
		if err := x.write(file); err != nil {
			return err
		}
		written++
	}
	if written != len(x.byMember) {
		return x.changed()
	}
	return nil
}

// write writes the content of the current member to the file.
func (x *extractor) write(file File) error {
	to, err := x.place(file)
	if err != nil {
		return err
	}
	out, err := x.system.Create(to, 0o644)
	if err != nil {
		return err
	}
	n, err := io.Copy(out, x.tar)
	switch {
	case err != nil:
		err = x.broken(err)
	case n != file.Size:
		err = x.changed()
	default:
		if err = x.mode(to, file); err == nil {
			err = out.Sync()
		}
	}
	if closing := out.Close(); err == nil {
		err = closing
	}
	return err
}

// copy writes a file that is a link in the archive, as a copy of the link's target.
func (x *extractor) copy(file File) error {
	to, err := x.place(file)
	if err != nil {
		return err
	}
	return files.CopyFile(x.system, filepath.Join(x.dir, filepath.FromSlash(file.copyOf)), to)
}

// place returns the path at which to write a file, and creates the parent directories of that path.
func (x *extractor) place(file File) (string, error) {
	if err := x.folder(path.Dir(file.Path)); err != nil {
		return "", err
	}
	return filepath.Join(x.dir, filepath.FromSlash(file.Path)), nil
}

func (x *extractor) folder(name string) error {
	if x.folders[name] {
		return nil
	}
	if err := x.folder(path.Dir(name)); err != nil {
		return err
	}
	x.folders[name] = true
	return x.system.Mkdir(filepath.Join(x.dir, filepath.FromSlash(name)), 0o755)
}

// mode sets the owner's executable bit of the file at the path "to", if the bit is set in the archive. It ignores all
// other mode bits.
func (x *extractor) mode(to string, file File) error {
	if !file.Executable {
		return nil
	}
	return x.system.SetMode(to, 0o755)
}
