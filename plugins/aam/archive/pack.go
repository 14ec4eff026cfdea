package archive

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/manifest"
	"github.com/bulkhead-mcp/bulkhead/sdk/digest"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// packedTime is the modification time of all members. It is constant, so that Pack creates equal archives from equal
// files.
var packedTime = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

// leftOut contains the names of directories that Pack omits.
var leftOut = []string{".git", ".aam", "node_modules", ".venv", "venv", "__pycache__", ".mypy_cache", ".ruff_cache", ".pytest_cache", "dist", "build"}

// Pack writes an archive of the package in dir, whose manifest is m, to w, and returns a listing of the archive. Equal
// files result in equal archives: aam.yaml comes first, then all files sorted by path. Pack follows symbolic links to
// files inside of dir. It omits symbolic links to directories, .git, .aam, .env*, credentials.yaml, older archives, the
// output and state of tools, and the directories in the argument without. These are absolute paths, for example that of a
// registry inside of the package's directory.
//
// Errors have the code ArchiveInvalid for a file that no archive may contain, ManifestInvalid for an artifact that
// Pack omits, and FilesChanging for a file that other programs keep changing (see IsChanging).
func Pack(s files.System, dir string, m *manifest.Manifest, w io.Writer, limits Limits, without ...string) (*Listing, error) {
	p := packer{system: s, dir: dir, manifest: m, limits: limits, without: without, tree: newTree()}
	if err := p.walk(""); err != nil {
		return nil, err
	}
	slices.SortFunc(p.files, func(a, b packed) int {
		if (a.Path == manifest.FileName) != (b.Path == manifest.FileName) {
			if a.Path == manifest.FileName {
				return -1
			}
			return 1
		}
		return strings.Compare(a.Path, b.Path)
	})
	if _, err := p.listing(); err != nil {
		return nil, err
	}
	sum := digest.New()
	out := &bounded{to: io.MultiWriter(w, sum), limit: limits.Compressed}
	if err := p.write(out); err != nil {
		return nil, err
	}
	listing, err := p.listing() // files may have vanished
	if err != nil {
		return nil, err
	}
	listing.Checksum, listing.Size = "sha256:"+hex.EncodeToString(sum.Sum(nil)), out.n
	return listing, nil
}

// listing returns the listing of the files to pack, or an error if an artifact is not among them.
func (p *packer) listing() (*Listing, error) {
	listing := &Listing{Manifest: p.manifest}
	for _, file := range p.files {
		listing.Files = append(listing.Files, file.File)
	}
	if err := listing.CheckArtifacts(); err != nil {
		return nil, fault.From(fmt.Errorf("%s: %w", p.dir, err)).WithHint("Files that are not packed are .git, .aam, .env*, credentials.yaml, *.aam at the root, symbolic links to directories, and output of tools (" + strings.Join(leftOut[2:], ", ") + ")")
	}
	return listing, nil
}

type packer struct {
	system   files.System
	dir      string
	manifest *manifest.Manifest
	limits   Limits
	without  []string
	tree     *tree
	files    []packed
	total    int64
}

// packed is a file of an archive together with the path from which Pack reads its content.
type packed struct {
	File
	from string
}

// walk collects the files below folder, a directory relative to the package's directory; "" is the package's directory
// itself.
func (p *packer) walk(folder string) error {
	entries, err := p.system.ReadDir(filepath.Join(p.dir, filepath.FromSlash(folder)))
	if folder != "" && filesystem.IsAbsent(err) { // another program has removed it
		return nil
	}
	if err != nil {
		return err
	}
	for _, entry := range entries {
		name := path.Join(folder, entry.Name())
		if skipped(name, entry) || slices.Contains(p.without, filepath.Join(p.dir, filepath.FromSlash(name))) {
			continue
		}
		if entry.IsDir() && isToolState(name, p.manifest) {
			continue
		}
		if entry.IsDir() {
			if strings.Count(name, "/") >= p.limits.Depth {
				return unpackable(p.dir, "directory %.100q is nested more than %d levels deep", name, p.limits.Depth)
			}
			if !utf8.ValidString(name) {
				return unpackable(p.dir, "directory %.100q: the name is not UTF-8", name)
			}
			if err := p.walk(name); err != nil {
				return err
			}
			continue
		}
		if err := p.take(name, entry.Type()); err != nil {
			return err
		}
	}
	return nil
}

func skipped(name string, entry fs.DirEntry) bool {
	base := entry.Name()
	switch {
	case private(base), files.IsTemp(base):
		return true
	case entry.IsDir():
		return slices.Contains(leftOut, base)
	}
	return name == base && strings.HasSuffix(base, ".aam")
}

// private reports whether a file or directory called base may contain secrets. It ignores case, because some file
// systems ignore case.
func private(base string) bool {
	folded := fold(base)
	return folded == fold(".git") || folded == fold("credentials.yaml") || strings.HasPrefix(folded, fold(".env"))
}

// NeverPacked reports whether an element of the slash-separated path name is never packed. These elements are .git,
// credentials.yaml and .env*.
func NeverPacked(name string) bool { return slices.ContainsFunc(strings.Split(name, "/"), private) }

// take adds a file to the list of files to pack.
func (p *packer) take(name string, kind fs.FileMode) error {
	if _, err := cleanMember(name, p.limits); err != nil {
		return unpackable(p.dir, "%w", err)
	}
	from := filepath.Join(p.dir, filepath.FromSlash(name))
	if kind&fs.ModeSymlink != 0 {
		real, err := files.Inside(p.system, p.dir, from)
		if err != nil {
			return unpackable(p.dir, "%q is a symbolic link that cannot be packed: %w", name, err)
		}
		if NeverPacked(filepath.ToSlash(strings.TrimPrefix(real, p.dir))) {
			return unpackable(p.dir, "%q is a symbolic link to a file that is never packed", name)
		}
		from = real
	}
	info, err := p.system.Stat(from)
	switch {
	case filesystem.IsAbsent(err) && kind&fs.ModeSymlink != 0:
		return unpackable(p.dir, "%q is a dangling symbolic link", name)
	case filesystem.IsAbsent(err): // another program has removed it
		return nil
	case err != nil:
		return err
	case info.IsDir():
		return nil
	case !info.Mode().IsRegular():
		return unpackable(p.dir, "%q is neither a file nor a directory", name)
	}
	if err := p.tree.add(name, file); err != nil {
		return unpackable(p.dir, "%w", err)
	}
	mode, err := p.system.Mode(from)
	if err != nil && !filesystem.IsAbsent(err) { // append omits a file that has vanished
		return err
	}
	if len(p.files) >= p.limits.Members {
		return unpackable(p.dir, "the package has more than %d files", p.limits.Members)
	}
	if p.total += info.Size(); p.total > p.limits.Inflated {
		return p.tooLarge()
	}
	p.files = append(p.files, packed{File{Path: name, Size: info.Size(), Executable: mode&0o100 != 0}, from})
	return nil
}

// writeSize is the size of the write buffer, in bytes. The compressor emits a few hundred bytes at a time, and in a
// WebAssembly module each write is a call to the host.
const writeSize = 64 << 10

func (p *packer) write(w io.Writer) error {
	buffered := bufio.NewWriterSize(w, writeSize)
	compressed := gzip.NewWriter(buffered)
	out := tar.NewWriter(compressed)
	all := p.files
	p.files = nil
	for _, file := range all {
		size, err := p.append(out, file)
		if errors.Is(err, errVanished) {
			p.total -= file.Size
			continue
		}
		if err != nil {
			return p.failed(err)
		}
		p.total += size - file.Size
		file.Size = size
		p.files = append(p.files, file)
	}
	if err := out.Close(); err != nil {
		return p.failed(err)
	}
	if err := compressed.Close(); err != nil {
		return p.failed(err)
	}
	return p.failed(buffered.Flush())
}

func (p *packer) failed(err error) error {
	if err == errPackTooLarge {
		return unpackable(p.dir, "the archive would have more than %d bytes", p.limits.Compressed)
	}
	return err
}

func unpackable(dir, format string, args ...any) error {
	return fault.New(fault.ArchiveInvalid, "package %s cannot be packed: %w", dir, fmt.Errorf(format, args...))
}

var errPackTooLarge = fmt.Errorf("archive %w", errTooLarge)

// bounded is a writer that returns an error after more than limit bytes.
type bounded struct {
	to       io.Writer
	n, limit int64
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.n+int64(len(p)) > b.limit {
		return 0, errPackTooLarge
	}
	n, err := b.to.Write(p)
	b.n += int64(n)
	return n, err
}
