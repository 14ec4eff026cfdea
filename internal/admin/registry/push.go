package registry

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"golang.org/x/mod/semver"

	"github.com/bulkhead-mcp/bulkhead/internal/base/download"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/base/userfile"
)

// Push stores an artifact under the tag of a reference, and returns the digest of its manifest. A tag that is a version is not moved to
// another artifact: those who have pinned that version would get an error, and others something else. Pushing the same again is no error.
func (c *Client) Push(ctx context.Context, ref Reference, a Artifact) (string, error) {
	if ref.Tag == "" || ref.Digest != "" {
		return "", usage.Errorf("%s: an artifact is pushed to a tag, and not to a digest", ref)
	}
	s, err := c.begin(ctx, ref, true)
	if err != nil {
		return "", err
	}
	digest, err := s.push(ctx, a)
	return digest, s.problem(err)
}

// Current returns the artifact of a kind that a push to the tag would replace, nil if there is none. It asks for the access of a push, without which
// some registries do not say that they have no such repository.
func (c *Client) Current(ctx context.Context, ref Reference, kind Kind) (*Artifact, error) {
	s, err := c.begin(ctx, ref, true)
	if err != nil {
		return nil, err
	}
	digest, err := s.resolve(ctx)
	if err != nil || digest == "" {
		return nil, s.problem(err)
	}
	s.ref.Digest = digest
	a, err := s.pull(ctx, kind)
	return a, s.problem(err)
}

func (s *session) push(ctx context.Context, a Artifact) (string, error) {
	content, err := encode(a)
	if err != nil {
		return "", err
	}
	digest := "sha256:" + userfile.Digest(content)
	have, err := s.resolve(ctx)
	if err != nil || have == digest {
		return digest, err
	}
	if have != "" && IsVersion(s.ref.Tag) {
		return "", &usage.Error{Err: &TakenError{Digest: have}}
	}
	for _, blob := range [][]byte{emptyConfig, a.Signature, a.Content} {
		if blob == nil {
			continue
		}
		if err := s.upload(ctx, blob); err != nil {
			return "", err
		}
	}
	to := s.ref.api(s.scheme, "manifests/"+s.ref.Tag)
	response, err := s.do(ctx, http.MethodPut, to, http.Header{"Content-Type": {manifestType}}, content, http.StatusCreated)
	if err != nil {
		return "", err
	}
	if got := response.Header.Get("Docker-Content-Digest"); got != "" && got != digest {
		err = fmt.Errorf("the registry stored a manifest with the digest %.80s in place of %s", got, digest)
	}
	return digest, errors.Join(err, response.Body.Close())
}

// TakenError says that the registry has another artifact under a version.
type TakenError struct {
	Digest string // of the artifact that the registry has
}

func (e *TakenError) Error() string {
	return fmt.Sprintf("the registry has another artifact under this version, with the digest %s: change the version in plugin.toml", e.Digest)
}

// IsVersion reports whether a tag is that of a full version, as TagOf returns it. Tags such as 1.2 move by custom.
func IsVersion(tag string) bool {
	v := "v" + VersionOf(tag)
	return semver.IsValid(v) && semver.Canonical(v)+semver.Build(v) == v
}

// resolve returns the digest that the tag has; empty if there is no such tag.
func (s *session) resolve(ctx context.Context) (string, error) {
	_, digest, err := s.manifest(ctx)
	if status := (*StatusError)(nil); errors.As(err, &status) && status.Status == http.StatusNotFound {
		return "", nil
	}
	return digest, err
}

// upload stores a blob, unless the registry has it.
func (s *session) upload(ctx context.Context, content []byte) error {
	d := describe("", content)
	response, err := s.do(ctx, http.MethodHead, s.ref.api(s.scheme, "blobs/"+d.Digest), nil, nil, http.StatusOK, http.StatusNotFound)
	if err != nil {
		return err
	}
	if err := response.Body.Close(); err != nil || response.StatusCode == http.StatusOK {
		return err
	}
	response, err = s.do(ctx, http.MethodPost, s.ref.api(s.scheme, "blobs/uploads/"), nil, nil, http.StatusAccepted)
	if err != nil {
		return err
	}
	if err := response.Body.Close(); err != nil {
		return err
	}
	at, err := s.ref.api(s.scheme, "blobs/uploads/").Parse(response.Header.Get("Location"))
	if err != nil || response.Header.Get("Location") == "" {
		return errors.New("the registry names no valid address for the upload")
	}
	query := at.Query()
	query.Set("digest", d.Digest)
	at.RawQuery, at.Fragment = query.Encode(), ""
	if _, err := download.Origin(at); err != nil {
		return fmt.Errorf("the registry names an address for the upload that is not used: %w", err)
	}
	response, err = s.do(ctx, http.MethodPut, at, http.Header{"Content-Type": {"application/octet-stream"}}, content, http.StatusCreated)
	if err != nil {
		return err
	}
	return response.Body.Close()
}
