package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// containerUser is the id of the user and the group of the container.
const containerUser = 65532

// makeImage writes the container image of all Linux platforms, as a tar file of an OCI image layout.
func (r *release) makeImage(context.Context) error {
	base, err := r.baseLayer()
	if err != nil {
		return err
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	images := 0
	for _, p := range r.platforms {
		if p.os != "linux" {
			continue
		}
		progress("packing the container image for %s", p)
		image, err := r.image(p, base)
		if err != nil {
			return err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: p.os, Architecture: p.arch}}})
		images++
	}
	if images == 0 {
		return errors.New("the container image needs a Linux platform: pass one to --platforms, or leave the image out with --without image")
	}
	dir := filepath.Join(r.stage, "oci")
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	// The tag is what skopeo and the OCI specification expect. podman and Docker load an image under the name of containerd.
	names := map[string]string{"org.opencontainers.image.ref.name": r.number(), "io.containerd.image.name": "localhost/bulkhead:" + r.number()}
	if err := path.AppendIndex(index, layout.WithAnnotations(names)); err != nil {
		return err
	}
	if err := normalize(dir, r.date); err != nil {
		return err
	}
	return createFile(filepath.Join(r.files, r.imageFile()), func(w io.Writer) error { return writeTar(w, dir, ".", r.date) })
}

// imageFile returns the name of the file with the image.
func (r *release) imageFile() string { return "bulkhead_" + r.number() + "_oci.tar" }

// image returns the image of a platform.
func (r *release) image(p platform, base v1.Layer) (v1.Image, error) {
	program, err := layerOf(func(w io.Writer) error { return writeTar(w, r.tree(p), "opt/bulkhead", r.date) })
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	if image, err = mutate.AppendLayers(image, base, program); err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = p.os, p.arch, v1.Time{Time: r.date}
	config.Config = v1.Config{
		User: fmt.Sprintf("%d:%[1]d", containerUser), WorkingDir: "/project",
		Entrypoint: []string{"/opt/bulkhead/bulkhead"}, Cmd: []string{"serve"},
		Env:    []string{"PATH=/opt/bulkhead", "HOME=/home/bulkhead"},
		Labels: r.labels(),
	}
	return mutate.ConfigFile(image, config)
}

// labels describe the image in the terms of the OCI image specification.
func (r *release) labels() map[string]string {
	labels := map[string]string{
		"org.opencontainers.image.title":    "bulkhead",
		"org.opencontainers.image.version":  r.number(),
		"org.opencontainers.image.revision": r.commit,
		"org.opencontainers.image.created":  r.date.Format(time.RFC3339),
		"org.opencontainers.image.licenses": "Apache-2.0",
	}
	if r.homepage != "" {
		labels["org.opencontainers.image.url"] = r.homepage
	}
	return labels
}

// baseLayer returns what the program needs beside its own files: certificates for https, a user, and directories that
// belong to it.
func (r *release) baseLayer() (v1.Layer, error) {
	user := fmt.Sprintf("bulkhead:x:%d:%[1]d::/home/bulkhead:/sbin/nologin\n", containerUser)
	group := fmt.Sprintf("bulkhead:x:%d:\n", containerUser)
	entries := []struct {
		name    string
		mode    int64
		owner   int
		content string // of a file; a directory's name ends with a slash
	}{
		{"etc/", 0o755, 0, ""},
		{"etc/passwd", 0o644, 0, "root:x:0:0::/:/sbin/nologin\n" + user},
		{"etc/group", 0o644, 0, "root:x:0:\n" + group},
		{"etc/ssl/", 0o755, 0, ""},
		{"etc/ssl/certs/", 0o755, 0, ""},
		{"etc/ssl/certs/ca-certificates.crt", 0o644, 0, certificates()},
		{"home/", 0o755, 0, ""},
		{"home/bulkhead/", 0o700, containerUser, ""},
		{"opt/", 0o755, 0, ""},
		{"project/", 0o755, containerUser, ""},
		{"tmp/", 0o1777, 0, ""},
	}
	return layerOf(func(w io.Writer) error {
		out := tar.NewWriter(w)
		for _, e := range entries {
			header := &tar.Header{Name: e.name, Typeflag: tar.TypeReg, Mode: e.mode, Uid: e.owner, Gid: e.owner, Size: int64(len(e.content)), ModTime: r.date, Format: tar.FormatUSTAR}
			if strings.HasSuffix(e.name, "/") {
				header.Typeflag = tar.TypeDir
			}
			if err := out.WriteHeader(header); err != nil {
				return err
			}
			if _, err := io.WriteString(out, e.content); err != nil {
				return err
			}
		}
		return out.Close()
	})
}

// certificates returns the root certificates of Mozilla's list as PEM. Those with constraints are left out, because PEM
// cannot express the constraints.
func certificates() string {
	var text strings.Builder
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			_ = pem.Encode(&text, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}) // a Builder does not fail
		}
	}
	return text.String()
}

// layerOf returns the layer with the tar file that write writes.
func layerOf(write func(io.Writer) error) (v1.Layer, error) {
	var content bytes.Buffer
	if err := write(&content); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content.Bytes())), nil },
		tarball.WithMediaType(types.OCILayer), tarball.WithCompressionLevel(gzip.BestCompression))
}
