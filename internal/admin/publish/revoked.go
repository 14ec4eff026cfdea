package publish

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/source"
	"github.com/bulkhead-mcp/bulkhead/internal/base/signature"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/base/userfile"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/revocation"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/store"
)

// revoked returns the entry for one of the Plugins. A file or directory of the same name comes before a version of the catalogue.
func (o RevokeOptions) revoked(ctx context.Context, plugin string, key func() (signature.Private, error)) (revocation.Revoked, error) {
	if digest := strings.ToLower(plugin); userfile.IsDigest(digest) {
		return revocation.Revoked{SHA256: digest}, nil
	}
	at, err := source.Parse(plugin, "")
	if err != nil {
		return revocation.Revoked{}, err
	}
	m := &manifest.Manifest{}
	if at.Kind == source.Directory {
		name, version, isVersion := strings.Cut(plugin, "@")
		_, err := os.Stat(plugin)
		switch {
		case err == nil:
			m, err = builtManifest(plugin)
		case isVersion && manifest.IsPluginName(name) && manifest.IsVersion(version):
			return o.published(ctx, name, version, key)
		default:
			err = usage.Errorf("%s is neither a file nor the SHA-256 of a plugin.toml: %w; name the directory of the built plugin (dist/plugins/NAME), its archive or oci:// reference, "+
				"NAME@VERSION with --catalogue, or the SHA-256 that `bulkhead plugin push` prints as \"manifest\" and that configs and catalogues have as sha256", tomlfile.Quote(plugin), usage.Cause(err))
		}
		if err != nil {
			return revocation.Revoked{}, err
		}
	} else {
		if at.Kind == source.File { // Parse leaves the path as it is without a directory
			if at.Path, err = filepath.Abs(at.Path); err != nil {
				return revocation.Revoked{}, err
			}
		}
		got, err := (&source.Fetcher{Credential: o.Client.Credential}).Fetch(ctx, at)
		if err != nil {
			return revocation.Revoked{}, err
		}
		p, err := store.Open(got.Archive)
		if err != nil {
			return revocation.Revoked{}, usage.Errorf("%s: %w", at.Label(), err)
		}
		m = p.Manifest
	}
	return revocation.Revoked{SHA256: m.Digest, Plugin: m.Name + " " + m.Version}, nil
}

// builtManifest returns the manifest of a built plugin. That of a source has another digest than what is published and served.
func builtManifest(dir string) (*manifest.Manifest, error) {
	m, problems := manifest.Load(dir)
	if m == nil || problems.Err() != nil {
		return nil, &usage.Error{Err: problems.Err()}
	}
	if m.Module.SHA256 == "" {
		return nil, usage.Errorf("%s does not contain the digest of its module, so that this is the source of a plugin, which is not served: name the directory of the built one, such as %s",
			m.File, filepath.Join(dir, "dist", "plugins", m.Name))
	}
	return m, nil
}

// published returns the entry for a version in the catalogue.
func (o RevokeOptions) published(ctx context.Context, name, version string, key func() (signature.Private, error)) (revocation.Revoked, error) {
	if o.Catalogue == "" {
		return revocation.Revoked{}, usage.Errorf("%s@%s is looked for in a catalogue: name it with --catalogue FILE or oci://REGISTRY/NAME:TAG", name, version)
	}
	private, err := key()
	if err != nil {
		return revocation.Revoked{}, err
	}
	b, err := openBook(ctx, o.Catalogue, private.Public(), o.Client)
	if err != nil {
		return revocation.Revoked{}, err
	}
	var versions []string
	for _, e := range b.content.Entries {
		if e.Name == name && e.Version == version {
			return revocation.Revoked{SHA256: e.SHA256, Plugin: name + " " + version}, nil
		}
		if e.Name == name {
			versions = append(versions, e.Version)
		}
	}
	if len(versions) == 0 {
		return revocation.Revoked{}, usage.Errorf("%s has no plugin %s", b.at.Address(), name)
	}
	return revocation.Revoked{}, usage.Errorf("%s has no version %s of %s: there are %s", b.at.Address(), version, name, strings.Join(versions, ", "))
}
