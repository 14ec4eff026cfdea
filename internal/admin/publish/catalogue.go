package publish

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/catalogue"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/registry"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/source"
	"github.com/bulkhead-mcp/bulkhead/internal/base/signature"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// maxDescription bounds the description of a plugin in a catalogue, in bytes.
const maxDescription = 500

// newEntry returns the entry of a catalogue for what was published.
func newEntry(p *Published, m *manifest.Manifest, signer signature.Key) catalogue.Entry {
	description := visible.Truncate(visible.Text(strings.Join(strings.Fields(m.Description), " ")), maxDescription)
	return catalogue.Entry{Name: p.Name, Version: p.Version, Description: description, From: p.From, SHA256: p.Manifest, Signer: signer, Size: int64(p.Size)}
}

// book is a catalogue to which what is published is added.
type book struct {
	at      source.Reference
	client  *registry.Client
	content *catalogue.Catalogue
	isNew   bool // whether there was none
	// replaced is the table of the version that was added, if it named another archive or signer before; empty: there was none.
	replaced string
	signed   bool // whether what was read is signed with the key; otherwise it is written in any case
}

// openBook reads the catalogue, which need not exist, in a file or a registry. It must be signed with the key, or be a file without signature.
func openBook(ctx context.Context, named string, key signature.Key, client *registry.Client) (*book, error) {
	if !strings.HasPrefix(named, registry.Scheme) {
		if strings.Contains(named, "://") {
			return nil, usage.Errorf("--catalogue: %q is neither a file nor oci://REGISTRY/NAME:TAG", named)
		}
		path, err := filepath.Abs(named)
		if err != nil {
			return nil, err
		}
		named = path
	}
	at, err := source.ParseDocument(named)
	if err != nil {
		return nil, fmt.Errorf("--catalogue: %w", err)
	}
	b := &book{at: at, client: client, content: &catalogue.Catalogue{}}
	content, text, err := b.read(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		b.isNew = true
		return b, nil
	}
	if err == nil && (text != nil || at.Kind == source.OCI) {
		b.signed = true
		if _, err = source.Verify(content, text, key); err != nil {
			err = fmt.Errorf("%w: use the key that signs it, with --key", err)
			if at.Kind == source.File {
				err = fmt.Errorf("%w; or, if you have changed it yourself, remove %s, and it is signed as it is", err, at.Path+signature.Extension)
			}
		}
	}
	if err != nil {
		return nil, usage.Errorf("--catalogue: %s: %w", at.Address(), usage.Cause(err))
	}
	var problems tomlfile.Problems
	if b.content, problems = catalogue.Parse(at, content); problems.Err() != nil {
		return nil, &usage.Error{Err: problems.Err()}
	}
	return b, nil
}

// read returns the file of the catalogue and its signature, nil if it is not signed. The error matches fs.ErrNotExist if there is none.
func (b *book) read(ctx context.Context) (content, text []byte, err error) {
	if b.at.Kind == source.OCI {
		return pullDocument(ctx, b.client, b.at.OCI)
	}
	if content, err = filesystem.ReadFile(filesystem.OS{}, b.at.Path, tomlfile.MaxSize); err != nil {
		return nil, nil, err
	}
	text, err = filesystem.ReadFile(filesystem.OS{}, b.at.Path+signature.Extension, signature.MaxSize)
	return content, text, filesystem.IgnoreAbsent(err)
}

// pullDocument returns a document and its signature, nil if it is not signed. The error matches fs.ErrNotExist if the registry has none.
func pullDocument(ctx context.Context, client *registry.Client, at registry.Reference) (content, text []byte, err error) {
	a, err := client.Current(ctx, at, registry.Document)
	if err == nil && a == nil {
		err = fs.ErrNotExist
	}
	if err != nil {
		return nil, nil, err
	}
	return a.Content, a.Signature, nil
}

// check returns an error if the catalogue has the version of a plugin with another manifest.
func (b *book) check(m *manifest.Manifest) error {
	for _, have := range b.content.Entries {
		if have.Name == m.Name && have.Version == m.Version && have.SHA256 != m.Digest {
			return usage.Errorf("%s has %s %s with the SHA-256 %s already: a version is final, so change the version in plugin.toml", b.at.Address(), m.Name, m.Version, have.SHA256)
		}
	}
	return nil
}

// add adds a version, and writes and signs the catalogue, unless it has the same entry already.
func (b *book) add(ctx context.Context, e catalogue.Entry, key signature.Private) error {
	e.From = b.relative(e.From)
	if b.signed && slices.ContainsFunc(b.content.Entries, func(have catalogue.Entry) bool { return have.TOML() == e.TOML() }) {
		return nil
	}
	for _, have := range b.content.Entries {
		if have.Name == e.Name && have.Version == e.Version && (have.From != e.From || have.Signer != e.Signer) {
			b.replaced = have.TOML()
		}
	}
	b.content.Entries = slices.DeleteFunc(b.content.Entries, func(have catalogue.Entry) bool { return have.Name == e.Name && have.Version == e.Version })
	b.content.Entries = append(b.content.Entries, e)
	b.content.Serial++
	content := b.content.Encode()
	if _, problems := catalogue.Parse(b.at, content); problems.Err() != nil {
		return &usage.Error{Err: problems.Err()}
	}
	text, err := key.Sign(bytes.NewReader(content), fmt.Sprintf("catalogue serial %d", b.content.Serial))
	if err != nil {
		return err
	}
	if b.at.Kind == source.OCI {
		_, err := b.client.Push(ctx, b.at.OCI, registry.Artifact{Kind: registry.Document, Title: "catalogue", Version: fmt.Sprint(b.content.Serial), Content: content, Signature: text})
		return err
	}
	if err := os.MkdirAll(filepath.Dir(b.at.Path), 0o777); err != nil {
		return usage.Errorf("%w", err)
	}
	return writeSigned(b.at.Path, content, text)
}

// relative returns the reference of an archive below the directory of the catalogue as a relative one, so that the directory can be moved to a
// web server as it is.
func (b *book) relative(from string) string {
	path, fragment, ok := strings.Cut(strings.TrimPrefix(from, filePrefix), "#")
	if b.at.Kind != source.File || !strings.HasPrefix(from, filePrefix) || !ok {
		return from
	}
	rel, err := filepath.Rel(filepath.Dir(b.at.Path), filepath.FromSlash(path))
	if err != nil || !filepath.IsLocal(rel) {
		return from
	}
	return filepath.ToSlash(rel) + "#" + fragment
}
