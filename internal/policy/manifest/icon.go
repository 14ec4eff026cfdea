package manifest

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image/png"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
)

// Icon is the plugin's icon. The zero value means that the plugin has no icon.
type Icon struct {
	URI           string // data URI of the PNG
	Width, Height int
}

// Bounds of an icon. They are low because each tool in tools/list repeats the icon.
const (
	maxIcon  = 4 << 10 // most bytes of the decoded PNG
	minPixel = 16
	maxPixel = 256
)

const pngURI = "data:image/png;base64,"

// readIcon returns the icon at key icon of t. The icon is a data URI, so that the digest of the manifest covers it. The icon is a PNG,
// because a PNG cannot contain scripts, and all clients that show icons support PNG.
func readIcon(t *tomlfile.Table) Icon {
	uri := t.String("icon")
	if !t.Has("icon") || uri == "" {
		return Icon{}
	}
	fault := func(what string) Icon {
		t.Fault("icon", what, fmt.Sprintf("write %q and the base64 form of a PNG of at most %d bytes and %d to %d pixels, or leave it out", pngURI, maxIcon, minPixel, maxPixel))
		return Icon{}
	}
	encoded, ok := strings.CutPrefix(uri, pngURI)
	if !ok {
		return fault("is not the data URI of a PNG")
	}
	data, err := base64.StdEncoding.Strict().DecodeString(encoded)
	if err != nil || strings.ContainsAny(encoded, "\r\n") {
		return fault("is not valid base64")
	}
	if len(data) > maxIcon {
		return fault(fmt.Sprintf("has %d bytes", len(data)))
	}
	config, err := png.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return fault("is not a PNG: " + err.Error())
	}
	if min(config.Width, config.Height) < minPixel || max(config.Width, config.Height) > maxPixel {
		return fault(fmt.Sprintf("has %d × %d pixels", config.Width, config.Height))
	}
	return Icon{URI: uri, Width: config.Width, Height: config.Height}
}

// Check decodes the whole image. The parser of manifests reads only its header.
func (i Icon) Check() error {
	data, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(i.URI, pngURI))
	if err == nil && i.URI != "" {
		_, err = png.Decode(bytes.NewReader(data)) // the cost is bounded, since the image has at most maxPixel² pixels
	}
	return err
}
