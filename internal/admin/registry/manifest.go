package registry

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/bulkhead-mcp/bulkhead/internal/base/archive"
	"github.com/bulkhead-mcp/bulkhead/internal/base/signature"
	"github.com/bulkhead-mcp/bulkhead/internal/base/userfile"
)

// The media types of an artifact.
const (
	artifactType  = "application/vnd.bulkhead.plugin.v1"
	archiveType   = "application/vnd.bulkhead.plugin.archive.v1.tar"
	signatureType = "application/vnd.bulkhead.plugin.signature.v1"
	manifestType  = "application/vnd.oci.image.manifest.v1+json"
	emptyType     = "application/vnd.oci.empty.v1+json"
)

// maxManifest is the maximum size of a manifest, in bytes.
const maxManifest = 1 << 20

// emptyConfig is the content of the config of an artifact without one, by the OCI image specification.
var emptyConfig = []byte("{}")

// The annotations of an artifact.
const (
	titleAnnotation   = "org.opencontainers.image.title"
	versionAnnotation = "org.opencontainers.image.version"
)

// Artifact is a plugin in a registry.
type Artifact struct {
	Digest         string // sha256:HEX of the manifest
	Title, Version string // what whoever pushed it says; shown, never decided by
	Archive        []byte
	Signature      []byte // nil: the archive is not signed
}

// descriptor describes a blob. The order of fields is that of the manifest's bytes.
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int64             `json:"size"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type imageManifest struct {
	SchemaVersion int               `json:"schemaVersion"`
	MediaType     string            `json:"mediaType"`
	ArtifactType  string            `json:"artifactType"`
	Config        descriptor        `json:"config"`
	Layers        []descriptor      `json:"layers"`
	Annotations   map[string]string `json:"annotations,omitempty"`
}

func describe(mediaType string, content []byte) descriptor {
	return descriptor{MediaType: mediaType, Digest: "sha256:" + userfile.Digest(content), Size: int64(len(content))}
}

// encode returns the manifest of an artifact, whose bytes depend on its content only.
func encode(a Artifact) ([]byte, error) {
	m := imageManifest{
		SchemaVersion: 2, MediaType: manifestType, ArtifactType: artifactType, Config: describe(emptyType, emptyConfig),
		Layers:      []descriptor{describe(archiveType, a.Archive)},
		Annotations: map[string]string{titleAnnotation: a.Title, versionAnnotation: a.Version},
	}
	m.Layers[0].Annotations = map[string]string{titleAnnotation: a.Title + ".tar"} // the file name for programs that download layers
	if a.Signature != nil {
		m.Layers = append(m.Layers, describe(signatureType, a.Signature))
		m.Layers[1].Annotations = map[string]string{titleAnnotation: a.Title + ".tar" + signature.Extension}
	}
	return json.Marshal(m)
}

// decode returns what a manifest describes, after checking that it describes an artifact of this package with content of an acceptable
// size. The layer of a signature that is absent is the zero value.
func decode(content []byte) (m imageManifest, tar, sig descriptor, err error) {
	if err := json.Unmarshal(content, &m); err != nil {
		return m, tar, sig, fmt.Errorf("its manifest is not valid: %w", err)
	}
	switch {
	case m.SchemaVersion != 2 || m.MediaType != manifestType:
		return m, tar, sig, fmt.Errorf("it is no image manifest of OCI: its media type is %.100q", m.MediaType)
	case m.ArtifactType != artifactType:
		return m, tar, sig, fmt.Errorf("it is no plugin: its artifact type is %.100q", m.ArtifactType)
	}
	for _, layer := range m.Layers {
		into, limit := &tar, int64(archive.MaxSize)
		switch layer.MediaType {
		case archiveType:
		case signatureType:
			into, limit = &sig, signature.MaxSize
		default:
			return m, tar, sig, fmt.Errorf("it has a layer of the type %.100q, which plugins do not have", layer.MediaType)
		}
		switch {
		case into.Digest != "":
			return m, tar, sig, fmt.Errorf("it has two layers of the type %s", layer.MediaType)
		case !isDigest(layer.Digest):
			return m, tar, sig, fmt.Errorf("it has a layer with the digest %.100q, which is not sha256: with 64 hexadecimal digits", layer.Digest)
		case layer.Size <= 0 || layer.Size > limit:
			return m, tar, sig, fmt.Errorf("its layer %s would have %d bytes, of at most %d", layer.MediaType, layer.Size, limit)
		}
		*into = layer
	}
	if tar.Digest == "" {
		return m, tar, sig, errors.New("it has no layer with an archive")
	}
	return m, tar, sig, nil
}
