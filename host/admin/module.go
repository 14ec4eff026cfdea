package admin

import (
	"errors"
	"io/fs"

	"github.com/bulkhead-mcp/bulkhead/host/engine/code"
	"github.com/bulkhead-mcp/bulkhead/host/manifest"
)

// checkModule tells why the module is not the one that the manifest names, with what to do.
func checkModule(m *manifest.Manifest) error {
	sum, err := code.DigestOf(m.ModuleFile())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return usage("there is no module at %s: build the plugin with `bulkhead plugin build`, and name the folder that it is built to", m.ModuleFile())
	case err != nil:
		return usage("%s: %w", m.ModuleFile(), err)
	case m.Module.SHA256 == "":
		return usage("%s does not have the module's SHA-256, so nothing would pin the module: build the plugin with `bulkhead plugin build`, and name the folder that it is built to", m.File)
	case sum != m.Module.SHA256:
		return usage("%s has the SHA-256 %s, and %s was built for %s: build the plugin again, or find out who changed the file", m.ModuleFile(), sum, manifest.FileName, m.Module.SHA256)
	}
	return nil
}
