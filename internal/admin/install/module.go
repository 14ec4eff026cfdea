package install

import (
	"errors"
	"io/fs"

	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/code"
)

// checkBuilt checks that the module and the skills have the digests of the manifest.
func checkBuilt(m *manifest.Manifest) error {
	sum, err := code.DigestOf(m.ModuleFile())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return usage.Errorf("%s", m.MissingModule())
	case err != nil:
		return usage.Errorf("%s: %w", m.ModuleFile(), err)
	case m.Module.SHA256 == "":
		return usage.Errorf("%s does not contain the module's SHA-256, so the module cannot be pinned: build the plugin with `bulkhead plugin build`, and name its output directory", m.File)
	case sum != m.Module.SHA256:
		return usage.Errorf("%s has the SHA-256 %s, and %s was built for %s: build the plugin again, or find out who changed the file", m.ModuleFile(), sum, manifest.FileName, m.Module.SHA256)
	}
	for _, s := range m.Skills {
		if pin := verifySkill(m.Name, m, s); pin.State != Matches {
			return usage.Errorf("%s: %s", pin.File, pin.Remedy)
		}
	}
	return nil
}
