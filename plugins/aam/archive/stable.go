package archive

import (
	"archive/tar"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/manifest"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// Other programs may change the project while it is packed. A file that has vanished is omitted, and one that changes is read again, so that
// only a file that keeps changing fails the call, with the code FilesChanging.

const (
	// maxReread is the size up to which a file is read before its header is written, in bytes, so that it can be read again. A larger file is
	// streamed, and if it changes, the whole archive has to be written again.
	maxReread = 4 << 20
	// readAttempts is how often a file is read until it is the same before and after.
	readAttempts = 5
)

// errVanished means that a file does not exist any more.
var errVanished = errors.New("the file has vanished")

// changing returns the error for a file that other programs keep changing.
func changing(path string) error {
	return fault.New(fault.FilesChanging, "%s was changed while it was packed", path).WithHint("Try again when no other program changes the project's files")
}

// IsChanging reports whether Pack failed because other programs changed the files, so that packing them again may succeed.
func IsChanging(err error) bool {
	failure := (*fault.Error)(nil)
	return errors.As(err, &failure) && failure.Code == fault.FilesChanging
}

// toolState are directories at the root of a project in which other tools keep their own state. They change whenever these tools are used, and
// are not part of a package, unless its manifest names an artifact there.
var toolState = []string{".agentpack", ".chant", ".mcpkg", "openspec"}

// isToolState reports whether a directory of the package holds the state of another tool.
func isToolState(name string, m *manifest.Manifest) bool {
	return slices.Contains(toolState, name) && !slices.ContainsFunc(m.Artifacts, func(a manifest.Artifact) bool {
		return strings.HasPrefix(path.Clean(a.Path)+"/", name+"/")
	})
}

// append adds a file to the archive, and returns the size that it has there. The error is errVanished if the file does not exist any more.
func (p *packer) append(out *tar.Writer, file packed) (int64, error) {
	for range readAttempts {
		size, err := p.attempt(out, file)
		if !errors.Is(err, errRepeat) {
			return size, err
		}
	}
	return 0, changing(file.from)
}

// errRepeat means that a file was changed while it was read, and nothing was written.
var errRepeat = errors.New("the file was changed")

func (p *packer) attempt(out *tar.Writer, file packed) (int64, error) {
	before, err := p.system.Stat(file.from)
	switch {
	case filesystem.IsAbsent(err):
		return 0, errVanished
	case err != nil:
		return 0, err
	case !before.Mode().IsRegular():
		return 0, errRepeat // replaced by something else, which is an error if it stays
	}
	if p.total+before.Size()-file.Size > p.limits.Inflated {
		return 0, p.tooLarge()
	}
	if before.Size() > maxReread {
		return before.Size(), p.stream(out, file, before)
	}
	content, err := files.Read(p.system, file.from, before.Size())
	switch {
	case filesystem.IsAbsent(err):
		return 0, errVanished
	case errors.Is(err, files.ErrTooLarge):
		return 0, errRepeat
	case err != nil:
		return 0, err
	}
	if int64(len(content)) != before.Size() || !p.isSame(file, before) {
		return 0, errRepeat
	}
	if err := out.WriteHeader(file.header(before.Size())); err != nil {
		return 0, err
	}
	_, err = out.Write(content)
	return before.Size(), err
}

// stream copies a large file.
func (p *packer) stream(out *tar.Writer, file packed, before fs.FileInfo) error {
	in, err := files.OpenRegular(p.system, file.from)
	if filesystem.IsAbsent(err) {
		return errVanished
	}
	if err != nil {
		return err
	}
	defer in.Close()
	if err := out.WriteHeader(file.header(before.Size())); err != nil {
		return err
	}
	n, err := io.Copy(out, in)
	if err == nil && (n != before.Size() || !p.isSame(file, before)) || errors.Is(err, tar.ErrWriteTooLong) {
		return changing(file.from)
	}
	return err
}

// isSame reports whether a file has not changed since Stat returned before.
func (p *packer) isSame(file packed, before fs.FileInfo) bool {
	after, err := p.system.Stat(file.from)
	return err == nil && after.Size() == before.Size() && after.ModTime().Equal(before.ModTime())
}

func (f packed) header(size int64) *tar.Header {
	header := &tar.Header{Typeflag: tar.TypeReg, Name: f.Path, Size: size, Mode: 0o644, ModTime: packedTime}
	if f.Executable {
		header.Mode = 0o755
	}
	return header
}

func (p *packer) tooLarge() error {
	return unpackable(p.dir, "its files have more than %d bytes in total", p.limits.Inflated)
}
