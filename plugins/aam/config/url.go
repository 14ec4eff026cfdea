package config

import (
	"path/filepath"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/redact"
)

// The types of registries. This plugin can read and write only registries of the type Local.
const (
	Local = "local"
	HTTP  = "http"
)

const fileScheme = "file://"

// Root returns the directory of a local registry. It returns false for a registry of another type, and for a URL
// without a path. Of a file URL it uses only the path, without percent-decoding.
func (r Registry) Root() (string, bool) {
	if r.Type != Local {
		return "", false
	}
	path, isFile := strings.CutPrefix(r.URL, fileScheme)
	switch {
	case isFile:
		at := strings.IndexByte(path, '/')
		if at < 0 {
			return "", false
		}
		path = path[at:] // remove the host before the path
		if end := strings.IndexAny(path, "?#"); end >= 0 {
			path = path[:end]
		}
	case strings.Contains(path, "://"):
		return "", false
	}
	if !filepath.IsAbs(path) {
		return "", false
	}
	return filepath.Clean(path), true
}

// Shown returns the URL of the registry with secrets redacted.
func (r Registry) Shown() string { return redact.URL(r.URL) }

// Place returns the directory of a local registry for display. If the URL contains a secret, the directory contains the
// secret, too, and Place returns the redacted URL instead.
func (r Registry) Place() string {
	if root, ok := r.Root(); ok && r.Shown() == r.URL {
		return root
	}
	return r.Shown()
}

// NewRegistry returns a registry for a URL or a path. It resolves a relative path from the directory project, and
// converts the path to a file URL, because the aam program supports only URLs. Errors have the code InvalidArgument.
func NewRegistry(name, url, project string) (Registry, error) {
	if err := checkName(name); err != nil {
		return Registry{}, err
	}
	path, isFile := strings.CutPrefix(url, fileScheme)
	if host, below, found := strings.Cut(path, "/"); isFile && found && strings.EqualFold(host, "localhost") {
		path = "/" + below
	}
	scheme, _, hasScheme := strings.Cut(url, "://")
	switch {
	case len(url) > maxValue:
		return Registry{}, fault.New(fault.InvalidArgument, "url is longer than %d bytes", maxValue)
	case unprintable(url) || strings.TrimSpace(url) == "":
		return Registry{}, fault.New(fault.InvalidArgument, "url is blank or has control characters")
	case !isFile && hasScheme && (scheme == "http" || scheme == "https"):
		return Registry{Name: name, URL: url, Type: HTTP}, nil
	case !isFile && hasScheme:
		return Registry{}, fault.New(fault.InvalidArgument, "url has an unsupported scheme: write the path of a directory, or a file://, http:// or https:// URL")
	case isFile && !filepath.IsAbs(path):
		return Registry{}, fault.New(fault.InvalidArgument, "url has no absolute local path: write file:///path/to/registry")
	case strings.ContainsAny(path, "?#"):
		return Registry{}, fault.New(fault.InvalidArgument, "url has a ? or #, which file URLs of registries do not support: rename the directory")
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(project, path)
	}
	return Registry{Name: name, URL: fileScheme + filepath.Clean(path), Type: Local}, nil
}

// maxName is the maximum length of the name of a registry, in bytes.
const maxName = 128

func checkName(name string) error {
	switch {
	case strings.TrimSpace(name) == "":
		return fault.New(fault.InvalidArgument, "name is blank")
	case len(name) > maxName:
		return fault.New(fault.InvalidArgument, "name is longer than %d bytes", maxName)
	case unprintable(name):
		return fault.New(fault.InvalidArgument, "name has control characters")
	}
	return nil
}

func unprintable(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 })
}
