package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/registry"
	"github.com/bulkhead-mcp/bulkhead/internal/base/signature"
	"github.com/bulkhead-mcp/bulkhead/internal/base/signedfile"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// Verify returns the key that signed content: signer if that is set, which it is an error not to be, else the one that the
// signature names, and the zero value for content that is not signed. A signature that does not fit is always an error.
func Verify(content, text []byte, signer signature.Key) (signature.Key, error) {
	if text == nil {
		if !signer.IsZero() {
			return signature.Key{}, fmt.Errorf("it is not signed, and must be signed with the key %s", signer)
		}
		return signature.Key{}, nil
	}
	s, err := signature.Parse(text)
	if err != nil {
		return signature.Key{}, fmt.Errorf("its signature cannot be used: %w", err)
	}
	key := signer
	if key.IsZero() {
		var ok bool
		if key, ok = s.ClaimedKey(); !ok {
			return signature.Key{}, fmt.Errorf("it is signed with the key %s, whose public key is not in the signature: pass --signer KEY with the one that the author publishes", s.KeyID())
		}
	}
	_, err = s.Verify(bytes.NewReader(content), key)
	switch claimed, ok := s.ClaimedKey(); {
	case errors.Is(err, signature.ErrOtherKey) && ok && claimed != key:
		return signature.Key{}, fmt.Errorf("it is signed with another key, which calls itself %s, and must be signed with %s", claimed, key)
	case errors.Is(err, signature.ErrOtherKey):
		return signature.Key{}, fmt.Errorf("it is signed with another key, with the identifier %s, and must be signed with %s", s.KeyID(), key)
	case err != nil:
		return signature.Key{}, err
	}
	return key, nil
}

// Document returns the signed file of at most tomlfile.MaxSize bytes at a path, https://HOST/PATH or oci://REGISTRY/NAME:TAG, which must be
// signed with the key.
func (f *Fetcher) Document(ctx context.Context, from string, key signature.Key) (*signedfile.File, error) {
	defer f.Task.Done("")
	r, err := ParseDocument(from)
	if err != nil {
		return nil, err
	}
	d := &signedfile.File{}
	switch r.Kind {
	case OCI:
		var a *registry.Artifact
		f.Task.Step("fetching from %s", r.OCI.Registry)
		if a, err = f.registry().PullKind(ctx, r.OCI, registry.Document); err != nil {
			return nil, usage.Errorf("%w", err)
		}
		d.Content, d.Signature = a.Content, a.Signature
	case HTTPS:
		d.Content, err = f.get(ctx, r.URL, tomlfile.MaxSize)
	default:
		d.Content, err = filesystem.ReadFile(filesystem.OS{}, r.Path, tomlfile.MaxSize)
	}
	if err == nil && r.Kind != OCI {
		d.Signature, err = f.signature(ctx, r)
	}
	if err == nil && key.IsZero() {
		err = errors.New("there is no key with which it must be signed")
	}
	if err == nil {
		_, err = Verify(d.Content, d.Signature, key)
	}
	if err != nil {
		return nil, usage.Errorf("%s: %w", r.Address(), usage.Cause(err))
	}
	return d, nil
}

// Address returns the address of a document for messages, without what can be a secret.
func (r Reference) Address() string {
	if r.Kind == File {
		return r.Path
	}
	return r.Label()
}

// ParseDocument parses the address of a document. A path must be absolute, and is that of a File.
func ParseDocument(from string) (Reference, error) {
	scheme, _, isURL := strings.Cut(from, "://")
	switch {
	case isURL && scheme == "oci":
		return parseOCI(from)
	case isURL:
		u, err := url.Parse(from)
		if err != nil {
			return Reference{}, usage.Errorf("the address is not a URL: %w", withoutURL(err))
		}
		if u.Fragment != "" {
			return Reference{}, usage.Errorf("https://%s%s has a fragment, which has no meaning here: remove it", u.Host, u.Path)
		}
		return Reference{Kind: HTTPS, URL: u}, checkURL(u)
	}
	return Reference{Kind: File, Path: from}, nil
}
