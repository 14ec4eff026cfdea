package main

import (
	"encoding/json"
	"errors"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	oci "github.com/opencontainers/image-spec/specs-go/v1"
)

// The media types of the artifact of a plugin, which are those of `bulkhead plugin push`.
const (
	artifactType  = "application/vnd.bulkhead.plugin.v1"
	archiveType   = "application/vnd.bulkhead.plugin.archive.v1.tar"
	signatureType = "application/vnd.bulkhead.plugin.signature.v1"
)

// artifact returns the image of a signed plugin: the bytes that `bulkhead plugin push` stores in a registry.
func (p *plugin) artifact() (v1.Image, error) {
	manifest := oci.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: oci.MediaTypeImageManifest, ArtifactType: artifactType, Config: describe(oci.MediaTypeEmptyJSON, "", oci.DescriptorEmptyJSON.Data),
		Layers:      []oci.Descriptor{describe(archiveType, p.name+".tar", p.archive), describe(signatureType, p.name+".tar"+signatureExtension, p.signature)},
		Annotations: map[string]string{oci.AnnotationTitle: p.name, oci.AnnotationVersion: p.version},
	}
	text, err := json.Marshal(manifest)
	if err != nil {
		return nil, err
	}
	return partial.CompressedToImage(&artifactImage{text, []v1.Layer{static.NewLayer(p.archive, archiveType), static.NewLayer(p.signature, signatureType)}})
}

func describe(mediaType, title string, content []byte) oci.Descriptor {
	d := oci.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(content), Size: int64(len(content))}
	if title != "" {
		d.Annotations = map[string]string{oci.AnnotationTitle: title}
	}
	return d
}

// artifactImage is an image of layers that are stored as they are.
type artifactImage struct {
	manifest []byte
	layers   []v1.Layer
}

func (a *artifactImage) MediaType() (types.MediaType, error) { return types.OCIManifestSchema1, nil }
func (a *artifactImage) RawManifest() ([]byte, error)        { return a.manifest, nil }
func (a *artifactImage) RawConfigFile() ([]byte, error)      { return oci.DescriptorEmptyJSON.Data, nil }

func (a *artifactImage) LayerByDigest(hash v1.Hash) (partial.CompressedLayer, error) {
	for _, layer := range a.layers {
		if digest, err := layer.Digest(); err != nil || digest == hash {
			return layer, err
		}
	}
	return nil, errors.New("no layer has the digest " + hash.String())
}
