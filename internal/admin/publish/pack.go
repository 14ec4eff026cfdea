package publish

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/build"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/scaffold"
	"github.com/bulkhead-mcp/bulkhead/internal/base/archive"
	"github.com/bulkhead-mcp/bulkhead/internal/base/signature"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
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
// another directory.
func pack(m *manifest.Manifest, dir string) ([]archive.File, error) {
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
	digests, err := build.SkillFiles(m, func(path string, content []byte) error {
		files = append(files, archive.File{Name: path, Data: content})
		return nil
	})
	if err != nil {
		return nil, usage.Errorf("%w", err)
	}
	for i, s := range m.Skills {
		if s.SHA256 != digests[i] {
			return nil, usage.Errorf("the skill %s has the digest %s, and %s has %s: build the plugin again", s.Path, digests[i], manifest.FileName, cmp.Or(s.SHA256, "none"))
		}
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
	sums, err := sourceDigests(source, filepath.ToSlash(m.Module.File))
	if err != nil {
		return nil, err
	}
	return append(files, archive.File{Name: sourcesFile, Data: sums}), nil
}

// warnings says what of the packed files is still that of the template, and whether a licence is missing.
func warnings(m *manifest.Manifest, files []archive.File) []string {
	readme, licensed := "", m.License != ""
	for _, f := range files {
		if f.Name == "README.md" {
			readme = string(f.Data)
		}
		licensed = licensed || strings.HasPrefix(f.Name, "LICENSE")
	}
	all := scaffold.Leftovers(m.Description, readme)
	if !licensed {
		all = append(all, "nothing says under which licence the plugin may be used: write license into [plugin] of plugin.toml, or add a file LICENSE")
	}
	return all
}

func sameDirectory(a, b string) (bool, error) {
	infoA, err := os.Stat(a)
	if err != nil {
		return false, err
	}
	infoB, err := os.Stat(b)
	return err == nil && os.SameFile(infoA, infoB), err
}

// sourceDigests returns the SHA-256 of each file below dir in the format of sha256sum, sorted by name. Hidden files, the module, what
// was published and signed, and the usual directories of build output are left out, wherever this is published to: the same plugin gives the same list.
func sourceDigests(dir, module string) ([]byte, error) {
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
		case e.IsDir() && (strings.HasPrefix(e.Name(), ".") || build.IsOutput(e.Name())):
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
		if published, err := isPublished(path); err != nil || published {
			return err
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

// minisignStart begins each file of minisign: signatures, and public and private keys.
const minisignStart = "untrusted comment:"

// isPublished reports whether a file was written by publishing or revoking: an archive, a catalogue, a list of revoked plugins, a signature
// or a key. The first push leaves them beside the sources, where a second one must not take them for sources.
func isPublished(path string) (bool, error) {
	if strings.HasSuffix(path, archiveExtension) || strings.HasSuffix(path, signature.Extension) {
		return true, nil
	}
	if isList, err := isSignedList(path); err != nil || isList {
		return isList, err
	}
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	start := make([]byte, len(minisignStart))
	n, err := io.ReadFull(f, start)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return string(start[:n]) == minisignStart, err
}

// isSignedList reports whether a file is a catalogue or a list of revoked plugins. Its signature may have been removed to edit it.
func isSignedList(path string) (bool, error) {
	if !strings.HasSuffix(path, ".toml") {
		if _, err := os.Stat(path + signature.Extension); err != nil {
			return false, filesystem.IgnoreAbsent(err)
		}
	}
	text, err := filesystem.ReadFile(filesystem.OS{}, path, tomlfile.MaxSize)
	if errors.Is(err, filesystem.ErrTooLarge) { // a list has at most that size
		return false, nil
	}
	if err != nil {
		return false, err
	}
	doc, _ := tomlfile.Parse(path, text)
	if doc == nil {
		return false, nil
	}
	root := doc.Root()
	return root.Has("serial") && (root.Has("catalogue") || root.Has("revocations")), nil
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
