// Package source fetches the archives of plugins, and signed documents, by the references that people and configs write. Start with Parse and Fetch. What is
// fetched is untrusted: the bounds of its size and of the time are checked here, its content by package store.
package source

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/registry"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/base/userfile"
	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
)

// Kind is how a reference is fetched.
type Kind int

// The kinds of references.
const (
	Directory Kind = iota // a built plugin, which is not fetched
	File                  // an archive in a file
	HTTPS                 // an archive on a web server, with its digest
	OCI                   // an artifact of a registry
)

// Reference says where a plugin is.
type Reference struct {
	Kind   Kind
	Path   string   // of a Directory or File; absolute
	URL    *url.URL // of HTTPS, without fragment
	OCI    registry.Reference
	SHA256 string // digest of the archive in lower-case hex; empty if the reference does not have it
}

const (
	filePrefix   = "file:"
	digestPrefix = "sha256="
)

// Parse parses a reference: a path of a directory or an archive, "file:PATH", "https://HOST/PATH#sha256=DIGEST", or
// "oci://REGISTRY/NAME:TAG". Relative paths are those of the directory dir.
func Parse(text, dir string) (Reference, error) {
	if !visible.Only(text) || text == "" {
		return Reference{}, usage.Errorf("the reference %s is empty or contains invisible characters", visible.Quote(text))
	}
	scheme, rest, found := strings.Cut(text, ":")
	switch {
	case found && scheme == "file":
		return parseFile(rest, dir)
	case found && (scheme == "https" || scheme == "http"):
		return parseURL(text)
	case found && scheme == "oci":
		return parseOCI(text)
	case found && strings.HasPrefix(rest, "//"):
		return Reference{}, usage.Errorf("%s: references with %s:// are not supported: name a directory, file:PATH, https://HOST/PATH#sha256=DIGEST or oci://REGISTRY/NAME:TAG", text, scheme)
	}
	r := Reference{Kind: Directory, Path: absolute(text, dir)}
	if info, err := os.Stat(r.Path); err == nil && info.Mode().IsRegular() {
		r.Kind = File
	}
	return r, nil
}

func parseOCI(text string) (Reference, error) {
	ref, err := registry.Parse(text)
	if err == nil && ref.Tag == "" && ref.Digest == "" {
		err = errors.New("has neither tag nor digest: append :VERSION")
	}
	if err != nil {
		return Reference{}, usage.Errorf("%s %w", text, err)
	}
	return Reference{Kind: OCI, OCI: ref}, nil
}

func absolute(path, dir string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

func parseFile(rest, dir string) (Reference, error) {
	path, fragment, hasFragment := strings.Cut(rest, "#")
	if local, ok := strings.CutPrefix(path, "//"); ok {
		if !strings.HasPrefix(local, "/") {
			return Reference{}, usage.Errorf("%s%s names a host: write file:PATH", filePrefix, rest)
		}
		path = local
	}
	if path == "" {
		return Reference{}, usage.Errorf("%s%s has no path", filePrefix, rest)
	}
	r := Reference{Kind: File, Path: absolute(filepath.FromSlash(path), dir)}
	return r, r.setDigest(fragment, hasFragment)
}

// setDigest reads the fragment of a reference.
func (r *Reference) setDigest(fragment string, has bool) error {
	if !has {
		return nil
	}
	sum, ok := strings.CutPrefix(fragment, digestPrefix)
	if sum = strings.ToLower(sum); !ok || !userfile.IsDigest(sum) {
		return usage.Errorf("#%s is not the digest of an archive: write #%s and 64 hexadecimal digits", fragment, digestPrefix)
	}
	r.SHA256 = sum
	return nil
}

// String returns the reference as a config contains it. It is absolute.
func (r Reference) String() string {
	text := r.Path
	switch r.Kind {
	case File:
		text = filePrefix + filepath.ToSlash(r.Path)
	case HTTPS:
		text = r.URL.String()
	case OCI:
		text = r.OCI.String()
	}
	if r.SHA256 != "" {
		text += "#" + digestPrefix + r.SHA256
	}
	return text
}

// Label returns the reference for messages: without digest, and without the query of a URL, which can contain a secret.
func (r Reference) Label() string {
	r.SHA256, r.OCI.Digest = "", ""
	if r.Kind == HTTPS {
		without := *r.URL
		without.RawQuery = ""
		r.URL = &without
	}
	return r.String()
}

// Label returns the Label of a reference in a config; text itself if that is none.
func Label(text string) string {
	r, err := Parse(text, "/")
	if err != nil {
		return text
	}
	return r.Label()
}

// checkDigest compares the digest of an archive with that of the reference.
func (r Reference) checkDigest(sum string) error {
	if r.SHA256 != "" && r.SHA256 != sum {
		return fmt.Errorf("the archive has the SHA-256 %s, and the reference names %s", sum, r.SHA256)
	}
	return nil
}
