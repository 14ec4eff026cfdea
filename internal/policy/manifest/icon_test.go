package manifest_test

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

// pngURI returns the data URI of a PNG. With noise its pixels are random, so that they cannot be compressed; otherwise it is blank.
func pngURI(t *testing.T, width, height int, noise bool) string {
	t.Helper()
	picture := image.NewGray(image.Rect(0, 0, width, height))
	random := rand.New(rand.NewPCG(1, 2))
	for i := range picture.Pix {
		if noise {
			picture.Pix[i] = color.Gray{uint8(random.Uint32())}.Y
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, picture); err != nil {
		t.Fatal(err)
	}
	return "data:image/png;base64," + base64.StdEncoding.EncodeToString(b.Bytes())
}

func TestIcon(t *testing.T) {
	good := pngURI(t, 48, 32, false)
	for name, c := range map[string]struct{ uri, want string }{
		"a PNG":             {good, ""},
		"none":              {"", ""},
		"the smallest":      {pngURI(t, 16, 16, false), ""},
		"the largest":       {pngURI(t, 256, 256, false), ""},
		"a URL":             {"https://example.com/icon.png", "is not the data URI of a PNG"},
		"a file":            {"icon.png", "is not the data URI of a PNG"},
		"an SVG":            {"data:image/svg+xml;base64,PHN2Zy8+", "is not the data URI of a PNG"},
		"another format":    {"data:image/png;base64," + base64.StdEncoding.EncodeToString([]byte("GIF89a")), "is not a PNG"},
		"no base64":         {"data:image/png;base64,%", "is not valid base64"},
		"a line break":      {strings.Replace(good, "base64,iVBO", `base64,iV\nBO`, 1), "is not valid base64"},
		"too small":         {pngURI(t, 15, 48, false), "has 15 × 48 pixels"},
		"too large":         {pngURI(t, 48, 257, false), "has 48 × 257 pixels"},
		"too many bytes":    {pngURI(t, 70, 70, true), "bytes"},
		"an invisible rune": {good + "\u200b", "is not valid base64"},
	} {
		m, ps := manifest.Parse("plugin.toml", []byte(strings.Replace(small, "[plugin]", "[plugin]\nicon = \""+c.uri+"\"", 1)))
		switch err := ps.Err(); {
		case c.want == "" && (err != nil || m.Icon.URI != c.uri):
			t.Errorf("%s: %v, %+v", name, err, m.Icon)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), "plugin.toml:") || !strings.Contains(err.Error(), "plugin.icon: "+c.want) && !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		case c.want != "" && m != nil && m.Icon.URI != "":
			t.Errorf("%s: the icon is kept", name)
		}
	}
	m, _ := manifest.Parse("plugin.toml", []byte(strings.Replace(small, "[plugin]", "[plugin]\nicon = \""+good+"\"", 1)))
	if m.Icon.Width != 48 || m.Icon.Height != 32 {
		t.Errorf("the size is %d × %d", m.Icon.Width, m.Icon.Height)
	}
}

func TestIconCheckDecodesImage(t *testing.T) {
	good := pngURI(t, 48, 32, true)
	data, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(good, "data:image/png;base64,"))
	if err != nil {
		t.Fatal(err)
	}
	encode := func(data []byte) string { return "data:image/png;base64," + base64.StdEncoding.EncodeToString(data) }
	damaged := bytes.Clone(data)
	damaged[len(data)/2] ^= 1
	for name, c := range map[string]struct {
		uri  string
		want bool
	}{
		"none":          {"", true},
		"complete":      {good, true},
		"only a header": {encode(data[:33]), false},
		"truncated":     {encode(data[:len(data)-20]), false},
		"damaged":       {encode(damaged), false},
	} {
		if err := (manifest.Icon{URI: c.uri}).Check(); (err == nil) != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}
