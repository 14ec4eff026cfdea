package main

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// pluginTag returns the reference of the artifact of a plugin below the registry.
func (r *release) pluginTag(p *plugin) string {
	return r.registry + "/plugins/" + p.name + ":" + strings.ReplaceAll(p.version, "+", "_")
}

// artifact is what is pushed to one tag.
type artifact struct {
	tag  name.Tag
	what remote.Taggable
}

// push stores the container image and the plugins of a signed release in a registry. Versions that are there are not replaced: all are looked
// up before the first is stored.
func (r *release) push(ctx context.Context) error {
	if err := r.checkFiles(); err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	all, err := r.artifacts(work)
	if err != nil {
		return err
	}
	options := []remote.Option{remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)}
	var missing []artifact
	for _, a := range all {
		digest, err := digestOf(a.what)
		if err != nil {
			return err
		}
		has, err := remote.Get(a.tag, options...)
		var status *transport.Error
		switch {
		case errors.As(err, &status) && status.StatusCode == http.StatusNotFound:
			missing = append(missing, a)
		case err != nil:
			return fmt.Errorf("%s: %w", a.tag, err)
		case has.Digest != digest:
			return fmt.Errorf("the registry has %s with the digest %s, and this release has %s: nothing was pushed. Versions are not replaced: raise the version", a.tag, has.Digest, digest)
		default:
			progress("%s@%s is there already", a.tag, digest)
		}
	}
	for _, a := range missing {
		if err := remote.Push(a.tag, a.what, options...); err != nil {
			return fmt.Errorf("%s: %w", a.tag, err)
		}
		digest, err := digestOf(a.what)
		if err != nil {
			return err
		}
		fmt.Printf("%s@%s\n", a.tag, digest)
	}
	return nil
}

// artifacts returns what is pushed. The image is unpacked into the directory work.
func (r *release) artifacts(work string) ([]artifact, error) {
	plugins, err := r.loadPlugins()
	if err != nil {
		return nil, err
	}
	var all []artifact
	for _, p := range plugins {
		if p.signature, err = os.ReadFile(filepath.Join(r.files, p.file+signatureExtension)); errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s is not signed: run `release sign %s` first", p.file, r.version)
		} else if err != nil {
			return nil, err
		}
		tag, err := name.NewTag(r.pluginTag(p))
		if err != nil {
			return nil, err
		}
		image, err := p.artifact()
		if err != nil {
			return nil, err
		}
		all = append(all, artifact{tag, image})
	}
	file := filepath.Join(r.files, r.imageFile())
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		progress("this release has no container image")
		return all, nil
	}
	index, err := readImage(file, work)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	tag, err := name.NewTag(r.registry + ":" + r.number())
	return append(all, artifact{tag, index}), err
}

func digestOf(what remote.Taggable) (v1.Hash, error) {
	text, err := what.RawManifest()
	if err != nil {
		return v1.Hash{}, err
	}
	digest, _, err := v1.SHA256(strings.NewReader(string(text)))
	return digest, err
}

// readImage unpacks an OCI layout that makeImage has packed, and returns its only index.
func readImage(file, dir string) (v1.ImageIndex, error) {
	in, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	for archive := tar.NewReader(in); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil && !filepath.IsLocal(header.Name) {
			err = fmt.Errorf("it contains %q", header.Name)
		}
		if err != nil {
			return nil, err
		}
		path := filepath.Join(dir, header.Name)
		if header.Typeflag == tar.TypeDir {
			err = os.MkdirAll(path, 0o755)
		} else {
			err = createFile(path, func(w io.Writer) error {
				_, err := io.Copy(w, archive)
				return err
			})
		}
		if err != nil {
			return nil, err
		}
	}
	top, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		return nil, err
	}
	manifest, err := top.IndexManifest()
	if err != nil {
		return nil, err
	}
	if len(manifest.Manifests) != 1 {
		return nil, fmt.Errorf("it contains %d images", len(manifest.Manifests))
	}
	return top.ImageIndex(manifest.Manifests[0].Digest)
}
