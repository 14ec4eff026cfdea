package registry

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/bulkhead-mcp/bulkhead/internal/base/archive"
	"github.com/bulkhead-mcp/bulkhead/internal/base/signature"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/base/userfile"
)

// The media types of an artifact.
const (
	signatureType = "application/vnd.bulkhead.plugin.signature.v1"
	manifestType  = "application/vnd.oci.image.manifest.v1+json"
	emptyType     = "application/vnd.oci.empty.v1+json"
)

// Kind is what an artifact contains.
type Kind int

// The kinds of artifacts.
const (
	Plugin   Kind = iota // the archive of a plugin
	Document             // a signed TOML file, such as a catalogue
)

// MaxDocument is the maximum size of a document, in bytes.
const MaxDocument = tomlfile.MaxSize

// artifactType returns the type of an artifact of this kind.
func (k Kind) artifactType() string {
	if k == Document {
		return "application/vnd.bulkhead.document.v1"
	}
	return "application/vnd.bulkhead.plugin.v1"
}

// content returns the media type of the layer with the content, its maximum size, and the extension of its file.
func (k Kind) content() (mediaType string, limit int64, extension string) {
	if k == Document {
		return "application/vnd.bulkhead.document.content.v1+toml", MaxDocument, ".toml"
	}
	return "application/vnd.bulkhead.plugin.archive.v1.tar", archive.MaxSize, ".tar"
}

func (k Kind) String() string {
	if k == Document {
		return "document"
	}
	return "plugin"
}

// maxManifest is the maximum size of a manifest, in bytes.
const maxManifest = 1 << 20

// emptyConfig is the content of the config of an artifact without one, by the OCI image specification.
var emptyConfig = []byte("{}")

// The annotations of an artifact.
const (
	titleAnnotation   = "org.opencontainers.image.title"
	versionAnnotation = "org.opencontainers.image.version"
)

// Artifact is a plugin or a document in a registry.
type Artifact struct {
	Kind           Kind
	Digest         string // sha256:HEX of the manifest
	Title, Version string // from its publisher; shown, never decided by
	Content        []byte // the archive or document
	Signature      []byte // nil: the content is not signed
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
	contentType, _, extension := a.Kind.content()
	m := imageManifest{
		SchemaVersion: 2, MediaType: manifestType, ArtifactType: a.Kind.artifactType(), Config: describe(emptyType, emptyConfig),
		Layers:      []descriptor{describe(contentType, a.Content)},
		Annotations: map[string]string{titleAnnotation: a.Title, versionAnnotation: a.Version},
	}
	m.Layers[0].Annotations = map[string]string{titleAnnotation: a.Title + extension} // the file name for programs that download layers
	if a.Signature != nil {
		m.Layers = append(m.Layers, describe(signatureType, a.Signature))
		m.Layers[1].Annotations = map[string]string{titleAnnotation: a.Title + extension + signature.Extension}
	}
	return json.Marshal(m)
}

// decode returns what a manifest describes, after checking that it describes an artifact of a kind with content of an acceptable
// size. The layer of a signature that is absent is the zero value.
func decode(text []byte, kind Kind) (m imageManifest, content, sig descriptor, err error) {
	if err := json.Unmarshal(text, &m); err != nil {
		return m, content, sig, fmt.Errorf("its manifest is not valid: %w", err)
	}
	switch {
	case m.SchemaVersion != 2 || m.MediaType != manifestType:
		return m, content, sig, fmt.Errorf("it is no image manifest of OCI: its media type is %.100q", m.MediaType)
	case m.ArtifactType != kind.artifactType():
		return m, content, sig, fmt.Errorf("it is no %s: its artifact type is %.100q", kind, m.ArtifactType)
	}
	contentType, maxContent, _ := kind.content()
	for _, layer := range m.Layers {
		into, limit := &content, maxContent
		switch layer.MediaType {
		case contentType:
		case signatureType:
			into, limit = &sig, signature.MaxSize
		default:
			return m, content, sig, fmt.Errorf("it has a layer of the type %.100q, which a %s does not have", layer.MediaType, kind)
		}
		switch {
		case into.Digest != "":
			return m, content, sig, fmt.Errorf("it has two layers of the type %s", layer.MediaType)
		case !isDigest(layer.Digest):
			return m, content, sig, fmt.Errorf("it has a layer with the digest %.100q, which is not sha256: with 64 hexadecimal digits", layer.Digest)
		case layer.Size <= 0 || layer.Size > limit:
			return m, content, sig, fmt.Errorf("its layer %s would have %d bytes, of at most %d", layer.MediaType, layer.Size, limit)
		}
		*into = layer
	}
	if content.Digest == "" {
		return m, content, sig, errors.New("it has no layer with its content")
	}
	return m, content, sig, nil
}
