package store

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/archive"
	"github.com/bulkhead-mcp/bulkhead/internal/base/userfile"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

// Plugin is the content of a plugin's archive, which is valid.
type Plugin struct {
	Manifest *manifest.Manifest // as if it were in the directory "."
	Archive  string             // SHA-256 of the archive in lower-case hex
	Size     int64              // bytes of the archive

	files []archive.File
}

// Open checks the archive of a plugin: its encoding, the manifest, and the digests of the module and the skills. The content is not trusted by this: the
// digest of the manifest is what a config pins.
func Open(data []byte) (*Plugin, error) {
	files, err := archive.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("it is not the archive of a plugin: %w", err)
	}
	content := func(name string) ([]byte, bool) {
		at := slices.IndexFunc(files, func(f archive.File) bool { return f.Name == name })
		if at < 0 {
			return nil, false
		}
		return files[at].Data, true
	}
	text, ok := content(manifest.FileName)
	if !ok {
		return nil, errors.New("the archive has no " + manifest.FileName)
	}
	for _, f := range files { // also on systems that ignore case
		if first, _, _ := strings.Cut(f.Name, "/"); strings.EqualFold(first, originName) {
			return nil, fmt.Errorf("the archive has a file %s, and the store uses the name %s itself", f.Name, originName)
		}
	}
	m, problems := manifest.Parse(manifest.FileName, text)
	if err := problems.Err(); err != nil {
		return nil, fmt.Errorf("its manifest is invalid: %w", err)
	}
	if m.Module.SHA256 == "" {
		return nil, errors.New("its manifest does not contain the module's SHA-256, so the module cannot be pinned")
	}
	module, ok := content(filepath.ToSlash(m.Module.File))
	if !ok {
		return nil, fmt.Errorf("the archive has no %s, the module that the manifest names", m.Module.File)
	}
	if sum := userfile.Digest(module); sum != m.Module.SHA256 {
		return nil, fmt.Errorf("its module %s has the SHA-256 %s, and the manifest names %s", m.Module.File, sum, m.Module.SHA256)
	}
	for _, s := range m.Skills {
		if sum := skillDigest(files, s.Path+"/"); sum != s.SHA256 {
			return nil, fmt.Errorf("its skill %s has the digest %s, and the manifest names %s", s.Path, sum, cmp.Or(s.SHA256, "none"))
		}
	}
	return &Plugin{Manifest: m, Archive: userfile.Digest(data), Size: int64(len(data)), files: files}, nil
}

// skillDigest returns the digest of a skill, whose files are those below a directory.
func skillDigest(files []archive.File, dir string) string {
	return userfile.DigestOfFiles(func(yield func(path, sum string) bool) {
		for _, f := range files { // sorted by name
			if path, in := strings.CutPrefix(f.Name, dir); in && !yield(path, userfile.Digest(f.Data)) {
				return
			}
		}
	})
}
