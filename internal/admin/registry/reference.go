// Package registry pulls plugins and signed documents from OCI registries, and pushes them: an image manifest with the content as a layer, and its
// signature as a second one. Start with Parse, then Client.Pull or Client.Push.
//
// A registry is not trusted. What is pulled has the size and digest that its manifest declares, the manifest has the digest of the
// reference if that has one, and nothing is believed about the archive but its bytes: its signature, and the digest that the config pins,
// are checked by the caller.
package registry

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/download"
	"github.com/bulkhead-mcp/bulkhead/internal/base/origin"
	"github.com/bulkhead-mcp/bulkhead/internal/base/userfile"
)

// Scheme begins references to artifacts of registries.
const Scheme = "oci://"

// Reference names an artifact, or a repository if it has neither tag nor digest.
type Reference struct {
	Registry   string // host, with a port if it has one
	Repository string
	Tag        string
	Digest     string // sha256:HEX of the artifact's manifest
}

const dockerHub = "docker.io"

// Bounds of names by the specification of OCI registries.
const (
	maxRepository = 255
	maxTag        = 128
)

// Parse parses oci://REGISTRY/REPOSITORY[:TAG][@sha256:DIGEST].
func Parse(text string) (Reference, error) {
	rest, ok := strings.CutPrefix(text, Scheme)
	if !ok {
		return Reference{}, errors.New("does not begin with " + Scheme)
	}
	host, path, ok := strings.Cut(rest, "/")
	if !ok {
		return Reference{}, errors.New("has no repository: write " + Scheme + "REGISTRY/NAME:TAG")
	}
	r := Reference{Registry: host}
	path, r.Digest, ok = strings.Cut(path, "@")
	if ok && !isDigest(r.Digest) {
		return Reference{}, errors.New("has a digest that is not sha256: with 64 hexadecimal digits in lower case")
	}
	r.Repository, r.Tag, ok = strings.Cut(path, ":")
	if ok && !isTag(r.Tag) {
		return Reference{}, fmt.Errorf("has a tag that is not valid: letters, digits, _, - and ., at most %d", maxTag)
	}
	if !isRepository(r.Repository) {
		return Reference{}, errors.New("has a repository that is not valid: lower-case letters and digits, separated by ., _, - and /")
	}
	if o, err := origin.Parse("https://" + host); err != nil || o.Authority() != host {
		return Reference{}, errors.New("has a registry that is not a host in lower case, with a port if it needs one")
	}
	if r.Registry == dockerHub && !strings.Contains(r.Repository, "/") {
		r.Repository = "library/" + r.Repository
	}
	return r, nil
}

func (r Reference) String() string {
	text := Scheme + r.Registry + "/" + r.Repository
	if r.Tag != "" {
		text += ":" + r.Tag
	}
	if r.Digest != "" {
		text += "@" + r.Digest
	}
	return text
}

// TagOf returns the tag for a version. Tags cannot contain the + of a semantic version.
func TagOf(version string) string { return strings.ReplaceAll(version, "+", "_") }

// VersionOf returns the version for a tag that TagOf returned, also if a v was put before it.
func VersionOf(tag string) string {
	return strings.TrimPrefix(strings.ReplaceAll(tag, "_", "+"), "v")
}

// api returns the URL of a resource of the repository.
func (r Reference) api(scheme, resource string) *url.URL {
	host := r.Registry
	if host == dockerHub {
		host = "registry-1.docker.io"
	}
	return &url.URL{Scheme: scheme, Host: host, Path: "/v2/" + r.Repository + "/" + resource}
}

// IsLoopback reports whether the registry may be reached by plain HTTP.
func (r Reference) IsLoopback() bool {
	o, err := origin.Parse("https://" + r.Registry)
	return err == nil && download.IsLoopback(o.Host)
}

func isDigest(text string) bool {
	sum, ok := strings.CutPrefix(text, "sha256:")
	return ok && userfile.IsDigest(sum)
}

func isTag(text string) bool {
	if text == "" || len(text) > maxTag || text[0] == '.' || text[0] == '-' {
		return false
	}
	for _, c := range []byte(text) {
		if !isLowerAlnum(c) && (c < 'A' || c > 'Z') && c != '_' && c != '.' && c != '-' {
			return false
		}
	}
	return true
}

func isRepository(text string) bool {
	if len(text) > maxRepository {
		return false
	}
	for name := range strings.SplitSeq(text, "/") {
		if !isComponent(name) {
			return false
		}
	}
	return true
}

// isComponent reports whether name consists of lower-case letters and digits with single separators between them: a dot, one or two
// underscores, or hyphens.
func isComponent(name string) bool {
	for i := 0; ; {
		start := i
		for i < len(name) && isLowerAlnum(name[i]) {
			i++
		}
		if i == start {
			return false
		}
		if i == len(name) {
			return true
		}
		start = i
		for i < len(name) && !isLowerAlnum(name[i]) {
			i++
		}
		separator := name[start:i]
		if separator != "." && separator != "_" && separator != "__" && strings.Trim(separator, "-") != "" {
			return false
		}
	}
}

func isLowerAlnum(c byte) bool { return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' }
