package publish

import (
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/build"
	"github.com/bulkhead-mcp/bulkhead/internal/base/archive"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/base/userfile"
	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// Names of the files that are made for the archive.
const (
	sbomFile    = "sbom.cdx.json"
	sourcesFile = "sources.sha256"
)

// Bounds of the sources that are listed.
const (
	maxSources     = 10_000
	maxSourcesSize = 1 << 30 // bytes
)

// pack returns the files of the archive: those of the built plugin, a bill of materials, and the digests of the sources in dir if that is
// another directory. What is in the directory out, to which plugins are published, is no source.
func pack(m *manifest.Manifest, dir, out string) ([]archive.File, error) {
	entries, err := os.ReadDir(m.Dir)
	if err != nil {
		return nil, err
	}
	names := []string{manifest.FileName, filepath.ToSlash(m.Module.File)}
	for _, e := range entries {
		if build.IsText(e.Name()) && e.Type().IsRegular() && !slices.Contains(names, e.Name()) {
			names = append(names, e.Name())
		}
	}
	var files []archive.File
	for _, name := range names {
		data, err := filesystem.ReadFile(filesystem.OS{}, filepath.Join(m.Dir, filepath.FromSlash(name)), archive.MaxFile)
		if err != nil {
			return nil, usage.Errorf("%s: %w", name, usage.Cause(err))
		}
		files = append(files, archive.File{Name: name, Data: data})
	}
	// Both were read after the check: what is packed must be what was checked.
	if userfile.Digest(files[0].Data) != m.Digest || userfile.Digest(files[1].Data) != m.Module.SHA256 {
		return nil, usage.Errorf("%s has changed while it was packed: try again", m.Dir)
	}
	bom, err := billOfMaterials(m, files[1].Data)
	if err != nil {
		return nil, err
	}
	files = append(files, archive.File{Name: sbomFile, Data: bom})
	source, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if same, err := sameDirectory(source, m.Dir); err != nil || same {
		return files, err
	}
	sums, err := sourceDigests(source, out, filepath.ToSlash(m.Module.File))
	if err != nil {
		return nil, err
	}
	return append(files, archive.File{Name: sourcesFile, Data: sums}), nil
}

func sameDirectory(a, b string) (bool, error) {
	infoA, err := os.Stat(a)
	if err != nil {
		return false, err
	}
	infoB, err := os.Stat(b)
	return err == nil && os.SameFile(infoA, infoB), err
}

// sourceDigests returns the SHA-256 of each file below dir in the format of sha256sum, sorted by name. Hidden files, the module, the
// directory out and the usual directories of build output are left out.
func sourceDigests(dir, out, module string) ([]byte, error) {
	var lines []string
	total := int64(0)
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		local, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		name := filepath.ToSlash(local)
		switch {
		case e.IsDir() && (strings.HasPrefix(e.Name(), ".") || build.IsOutput(e.Name()) || path == out):
			return filepath.SkipDir
		case e.IsDir(), strings.HasPrefix(e.Name(), "."), name == module:
			return nil
		case !e.Type().IsRegular():
			return usage.Errorf("%s is no regular file, so its digest cannot be published: replace it by its content, or give it a name with a leading dot", path)
		case !visible.Only(name) || strings.Contains(name, `\`):
			return usage.Errorf("%s has a name that the list of digests cannot contain: rename it", visible.Quote(path))
		case len(lines) == maxSources:
			return usage.Errorf("%s has more than %d files: name the directory of the plugin alone", dir, maxSources)
		}
		sum, size, err := digestFile(path)
		if err != nil {
			return err
		}
		if total += size; total > maxSourcesSize {
			return usage.Errorf("the sources in %s have more than %d MiB: move what is no source elsewhere", dir, maxSourcesSize>>20)
		}
		lines = append(lines, name+"\x00"+sum)
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.Sort(lines) // by bytes of the name, on every system
	var list strings.Builder
	for _, line := range lines {
		name, sum, _ := strings.Cut(line, "\x00")
		fmt.Fprintf(&list, "%s  %s\n", sum, name)
	}
	return []byte(list.String()), nil
}

func digestFile(path string) (sum string, size int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	hash := sha256.New()
	size, err = io.Copy(hash, io.LimitReader(f, maxSourcesSize+1))
	return fmt.Sprintf("%x", hash.Sum(nil)), size, err
}
