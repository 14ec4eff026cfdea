// Package publish packs a plugin into an archive, signs it, and pushes it to a registry or writes it to a directory. Start with Publish.
//
// The archive depends only on the built plugin and its sources, the signature only on the archive and the key: publishing twice gives the
// same bytes.
package publish

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/registry"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/build"
	"github.com/bulkhead-mcp/bulkhead/internal/base/archive"
	"github.com/bulkhead-mcp/bulkhead/internal/base/signature"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/base/userfile"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/store"
	"github.com/bulkhead-mcp/bulkhead/sdk/atomicfile"
)

// filePrefix begins references to directories.
const filePrefix = "file:"

// archiveExtension is that of an archive in a directory.
const archiveExtension = ".plugin.tar"

// Options say what is published, and where.
type Options struct {
	Dir string // directory of the plugin's source, or of a built plugin
	// Ref is oci://REGISTRY/REPOSITORY with or without a tag, or file:DIRECTORY.
	Ref string
	// Key is the file with the private key, which is made if it does not exist.
	Key string
	// Catalogue is the file or oci:// reference of a catalogue to which what is published is added; empty: none.
	Catalogue string
	// Password asks for the password of the key. It is called if the key is encrypted.
	Password func() (string, error)
	Build    build.Options
	Client   *registry.Client
}

// Published is what was published.
type Published struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	// From is the reference by which it can be fetched: that of an artifact by digest, or of a file.
	From     string   `json:"from"`
	Manifest string   `json:"sha256"`  // SHA-256 of plugin.toml, which a config pins
	Archive  string   `json:"archive"` // SHA-256 of the archive
	Size     int      `json:"size"`    // bytes of the archive
	Signer   string   `json:"signer"`  // public key
	KeyFile  string   `json:"key_file"`
	NewKey   bool     `json:"new_key"` // whether the key was made
	Files    []string `json:"files"`   // names in the archive
	// Entry is the table of a catalogue for this version. Catalogue is the address of the one to which it was added, with Serial; empty: none.
	Entry     string `json:"entry"`
	Catalogue string `json:"catalogue,omitempty"`
	Serial    int64  `json:"serial,omitempty"`
	// NewCatalogue says that there was no catalogue. Replaced is the table for this version that the catalogue had, if the archive or its signer
	// was another one; empty: it had none.
	NewCatalogue bool   `json:"new_catalogue,omitempty"`
	Replaced     string `json:"replaced,omitempty"`
	// Warnings say what is still that of the template, or missing for those who are to use the plugin.
	Warnings []string `json:"warnings,omitempty"`
}

// Publish builds the plugin if necessary, checks it, packs and signs it, and pushes it.
func Publish(ctx context.Context, o Options) (*Published, error) {
	to, err := parseTarget(o.Ref)
	if err != nil {
		return nil, err
	}
	if o.Key, err = filepath.Abs(o.Key); err != nil {
		return nil, err
	}
	built, err := build.Current(ctx, o.Dir, o.Build)
	if err != nil {
		return nil, err
	}
	if err := build.Check(ctx, built, o.Build).Err(); err != nil {
		return nil, err
	}
	m, problems := manifest.Load(built)
	if problems.Err() != nil {
		return nil, problems.Err()
	}
	if m.Module.SHA256 == "" {
		return nil, usage.Errorf("%s does not contain the digest of its module: build the plugin with `bulkhead plugin build`", m.File)
	}
	if err := to.setVersion(m.Version); err != nil {
		return nil, err
	}
	files, err := pack(m, o.Dir)
	if err != nil {
		return nil, err
	}
	data, err := archive.Encode(files)
	if err != nil {
		return nil, usage.Errorf("%s cannot be packed: %w", built, err)
	}
	key, made, err := openKey(o.Key, o.Password)
	if err != nil {
		return nil, err
	}
	var list *book
	if o.Catalogue != "" {
		if list, err = openBook(ctx, o.Catalogue, key.Public(), o.Client); err == nil {
			err = list.check(m)
		}
		if err != nil {
			return nil, err
		}
	}
	text, err := key.Sign(bytes.NewReader(data), store.SignedComment(m))
	if err != nil {
		return nil, err
	}
	p := &Published{Warnings: warnings(m, files), Name: m.Name, Version: m.Version, Manifest: m.Digest, Archive: userfile.Digest(data), Size: len(data), Signer: key.Public().String(), KeyFile: o.Key, NewKey: made}
	for _, f := range files {
		p.Files = append(p.Files, f.Name)
	}
	if p.From, err = to.store(ctx, o.Client, m, data, text); err != nil {
		return nil, err
	}
	e := newEntry(p, m, key.Public())
	p.Entry = e.TOML()
	if list != nil {
		if err := list.add(ctx, e, key); err != nil {
			return nil, fmt.Errorf("%s %s was pushed, and is not in the catalogue: %w", p.Name, p.Version, err)
		}
		p.Catalogue, p.Serial, p.NewCatalogue, p.Replaced = list.at.Address(), list.content.Serial, list.isNew, list.replaced
	}
	return p, nil
}

// target is where a plugin is published.
type target struct {
	ref registry.Reference
	dir string // for file:, in place of ref
}

func parseTarget(text string) (*target, error) {
	if dir, ok := strings.CutPrefix(text, filePrefix); ok {
		if dir == "" || strings.HasPrefix(dir, "//") {
			return nil, usage.Errorf("%s: write file:DIRECTORY", text)
		}
		dir, err := filepath.Abs(filepath.FromSlash(dir))
		return &target{dir: dir}, err
	}
	if !strings.HasPrefix(text, registry.Scheme) {
		return nil, usage.Errorf("%q is neither oci://REGISTRY/NAME nor file:DIRECTORY, where plugins can be pushed to", text)
	}
	ref, err := registry.Parse(text)
	if err == nil && ref.Digest != "" {
		err = errors.New("names a digest, which follows from the content")
	}
	if err != nil {
		return nil, usage.Errorf("%s %w", text, err)
	}
	return &target{ref: ref}, nil
}

// setVersion makes the version the tag, unless the reference has another tag that is no version.
func (t *target) setVersion(version string) error {
	if t.dir != "" {
		return nil
	}
	tag := registry.TagOf(version)
	if t.ref.Tag == "" {
		t.ref.Tag = tag
	}
	if registry.IsVersion(t.ref.Tag) && t.ref.Tag != tag && t.ref.Tag != "v"+tag {
		return usage.Errorf("%s names another version than plugin.toml, which has %s", t.ref, version)
	}
	return nil
}

// store stores the archive and its signature, and returns the reference by which they are fetched.
func (t *target) store(ctx context.Context, client *registry.Client, m *manifest.Manifest, data, text []byte) (string, error) {
	if t.dir == "" {
		ref := t.ref
		var err error
		ref.Digest, err = client.Push(ctx, ref, registry.Artifact{Title: m.Name, Version: m.Version, Content: data, Signature: text})
		if taken := (*registry.TakenError)(nil); errors.As(err, &taken) {
			return "", fmt.Errorf("%w%s", err, t.difference(ctx, client, taken.Digest, data))
		}
		return ref.String(), err
	}
	if err := os.MkdirAll(t.dir, 0o777); err != nil {
		return "", usage.Errorf("%w", err)
	}
	file := filepath.Join(t.dir, m.Name+"-"+m.Version+archiveExtension)
	if err := writeSigned(file, data, text); err != nil {
		return "", err
	}
	return filePrefix + filepath.ToSlash(file) + "#sha256=" + userfile.Digest(data), nil
}

// difference says, for an error, what distinguishes the archive from the published one with a digest.
func (t *target) difference(ctx context.Context, client *registry.Client, digest string, data []byte) string {
	ref := t.ref
	ref.Digest = digest
	have, err := client.Pull(ctx, ref)
	if err != nil {
		return fmt.Sprintf("\n  what differs is not known: %v", err)
	}
	all := differences(have.Content, data)
	if len(all) == 0 {
		return "\n  the archive is the same, and is signed with another key there"
	}
	return "\n  compared with what is published:\n  " + strings.Join(all, "\n  ")
}

// writeSigned writes a file and its signature, which is first: a reader that finds the file finds its signature.
func writeSigned(file string, data, text []byte) error {
	for _, f := range []struct {
		name string
		data []byte
	}{{file + signature.Extension, text}, {file, data}} {
		if err := atomicfile.Replace(f.name, f.data, atomicfile.Options{Mode: 0o666, Pattern: ".bulkhead-*.tmp", SweepAge: atomicfile.LongestWrite}); err != nil {
			return usage.Errorf("%s cannot be written: %w", f.name, usage.Cause(err))
		}
	}
	return nil
}

// openKey reads the private key, or makes one.
func openKey(file string, password func() (string, error)) (key signature.Private, made bool, err error) {
	key, err = signature.ReadPrivate(file, password)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, false, err
	}
	if key, err = signature.Generate(); err != nil {
		return key, false, err
	}
	switch err = key.Create(file); {
	case errors.Is(err, fs.ErrExist): // another process has made one
		key, err = signature.ReadPrivate(file, password)
		return key, false, err
	case err != nil:
		return key, false, err
	}
	return key, true, nil
}
