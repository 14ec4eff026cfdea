package output

import "github.com/bulkhead-mcp/bulkhead/sdk/derive"

// parsed is the result of ParseManifest for the target that the manifest itself names, in the form that the host
// caches.
type parsed struct {
	valid bool
	Manifest
}

var manifests = derive.New(func(text []byte) parsed {
	manifest, err := ParseManifest(text, "")
	if err != nil {
		return parsed{}
	}
	return parsed{true, *manifest}
})

// Fields implements derive.Fielder.
func (p *parsed) Fields(c *derive.Codec) {
	c.Bool(&p.valid)
	c.Int(&p.SchemaVersion)
	c.String(&p.GeneratedAt)
	c.String(&p.Tool)
	c.String(&p.SnapshotID)
	derive.List(c, &p.Manifest.Files)
}

// Fields implements derive.Fielder.
func (e *ManifestEntry) Fields(c *derive.Codec) {
	c.String(&e.Path)
	c.String(&e.SHA256)
	c.Strings(&e.Modules)
}
