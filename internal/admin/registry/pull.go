package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/download"
	"github.com/bulkhead-mcp/bulkhead/internal/base/userfile"
)

// Pull returns the plugin of a reference with a tag or digest. A tag is resolved once: everything else is fetched by digest, so that a tag
// that is moved meanwhile has no effect.
func (c *Client) Pull(ctx context.Context, ref Reference) (*Artifact, error) {
	return c.PullKind(ctx, ref, Plugin)
}

// PullKind is Pull for an artifact of a kind.
func (c *Client) PullKind(ctx context.Context, ref Reference, kind Kind) (*Artifact, error) {
	s, err := c.begin(ctx, ref, false)
	if err != nil {
		return nil, err
	}
	a, err := s.pull(ctx, kind)
	return a, s.problem(err)
}

func (s *session) pull(ctx context.Context, kind Kind) (*Artifact, error) {
	text, digest, err := s.manifest(ctx)
	if err != nil {
		return nil, err
	}
	m, content, sig, err := decode(text, kind)
	if err != nil {
		return nil, err
	}
	a := &Artifact{Kind: kind, Digest: digest, Title: m.Annotations[titleAnnotation], Version: m.Annotations[versionAnnotation]}
	if sig.Digest != "" {
		if a.Signature, err = s.blob(ctx, sig); err != nil {
			return nil, err
		}
	}
	if a.Content, err = s.blob(ctx, content); err != nil {
		return nil, err
	}
	return a, nil
}

// manifest returns the manifest of the reference, and its digest.
func (s *session) manifest(ctx context.Context) (content []byte, digest string, err error) {
	name := s.ref.Digest
	if name == "" {
		name = s.ref.Tag
	}
	if name == "" {
		return nil, "", errors.New("it has neither tag nor digest: add :VERSION")
	}
	response, err := s.do(ctx, http.MethodGet, s.ref.api(s.scheme, "manifests/"+name), http.Header{"Accept": {manifestType}}, nil, http.StatusOK)
	if err != nil {
		return nil, "", err
	}
	defer response.Body.Close()
	if got, _, _ := strings.Cut(response.Header.Get("Content-Type"), ";"); got != manifestType {
		return nil, "", fmt.Errorf("it is no image manifest of OCI: its media type is %.100q", got)
	}
	if content, err = download.ReadAll(response.Body, maxManifest); err != nil {
		return nil, "", fmt.Errorf("its manifest: %w", err)
	}
	digest = "sha256:" + userfile.Digest(content)
	for _, want := range []string{s.ref.Digest, response.Header.Get("Docker-Content-Digest")} {
		if want != "" && want != digest {
			return nil, "", fmt.Errorf("the registry sends a manifest with the digest %s in place of %.80s", digest, want)
		}
	}
	return content, digest, nil
}

// blob returns the content that a descriptor describes.
func (s *session) blob(ctx context.Context, d descriptor) ([]byte, error) {
	response, err := s.do(ctx, http.MethodGet, s.ref.api(s.scheme, "blobs/"+d.Digest), nil, nil, http.StatusOK)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if n := response.ContentLength; n >= 0 && n != d.Size {
		return nil, fmt.Errorf("the registry sends %d bytes in place of the %d that the manifest declares", n, d.Size)
	}
	content, err := download.ReadAll(response.Body, d.Size)
	switch {
	case err != nil:
		return nil, err
	case int64(len(content)) != d.Size:
		return nil, fmt.Errorf("the registry sends %d bytes in place of the %d that the manifest declares", len(content), d.Size)
	case "sha256:"+userfile.Digest(content) != d.Digest:
		return nil, fmt.Errorf("the registry sends other bytes than those with the digest %s", d.Digest)
	}
	return content, nil
}

// Bounds of the list of a repository's tags.
const (
	maxTags     = 10_000
	maxTagPages = 100
)

// Tags returns the tags of a repository, in the order of the registry.
func (c *Client) Tags(ctx context.Context, ref Reference) ([]string, error) {
	s, err := c.begin(ctx, ref, false)
	if err != nil {
		return nil, err
	}
	tags, err := s.tags(ctx)
	return tags, s.problem(err)
}

func (s *session) tags(ctx context.Context) ([]string, error) {
	var tags []string
	page := s.ref.api(s.scheme, "tags/list")
	for range maxTagPages {
		response, err := s.do(ctx, http.MethodGet, page, nil, nil, http.StatusOK)
		if err != nil {
			return nil, err
		}
		body, err := download.ReadAll(response.Body, maxManifest)
		if err := errors.Join(err, response.Body.Close()); err != nil {
			return nil, err
		}
		var got struct{ Tags []string }
		if err := json.Unmarshal(body, &got); err != nil {
			return nil, fmt.Errorf("its list of tags is not valid: %w", err)
		}
		tags = append(tags, slices.DeleteFunc(got.Tags, func(tag string) bool { return !isTag(tag) })...)
		if len(tags) > maxTags {
			return nil, fmt.Errorf("it has more than %d tags", maxTags)
		}
		next := nextPage(response.Header.Get("Link"))
		if next == "" {
			return tags, nil
		}
		at, err := page.Parse(next)
		if err != nil {
			return nil, errors.New("its list of tags continues at an address that is not valid")
		}
		if own, err := s.isOwn(at); err != nil || !own {
			return nil, errors.New("its list of tags continues at another host")
		}
		page = &url.URL{Scheme: at.Scheme, Host: at.Host, Path: at.Path, RawQuery: at.RawQuery}
	}
	return nil, fmt.Errorf("its list of tags has more than %d pages", maxTagPages)
}

// nextPage returns the address in a header <ADDRESS>; rel="next".
func nextPage(link string) string {
	address, rel, ok := strings.Cut(strings.TrimPrefix(link, "<"), ">")
	if !ok || !strings.HasPrefix(link, "<") || !strings.Contains(strings.ReplaceAll(rel, `"`, ""), "rel=next") {
		return ""
	}
	return address
}
