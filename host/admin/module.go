package admin

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/bulkhead-mcp/bulkhead/host/engine/code"
	"github.com/bulkhead-mcp/bulkhead/host/manifest"
)

var errNoModule = errors.New("is not there")

// moduleDigest is the SHA-256 of a module's file. Its errors are predicates, whose subject is the file.
func moduleDigest(m *manifest.Manifest) (string, error) {
	// A FIFO in the module's place must not be waited for.
	f, err := os.OpenFile(m.ModuleFile(), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return "", errNoModule
	}
	if err != nil {
		return "", fmt.Errorf("cannot be read: %w", cause(err))
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", fmt.Errorf("cannot be read: %w", cause(err))
	}
	if !info.Mode().IsRegular() {
		return "", errors.New("is not a regular file")
	}
	sum := sha256.New()
	n, err := io.Copy(sum, io.LimitReader(f, code.MaxModule+1))
	if err != nil {
		return "", fmt.Errorf("cannot be read: %w", cause(err))
	}
	if n > code.MaxModule {
		return "", fmt.Errorf("is larger than %d MiB", code.MaxModule>>20)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// checkModule tells why the module is not the one that the manifest names, with what to do.
func checkModule(m *manifest.Manifest) error {
	sum, err := moduleDigest(m)
	switch {
	case errors.Is(err, errNoModule):
		return usage("there is no module at %s: build the plugin with `bulkhead plugin build`, and name the folder that it is built to", m.ModuleFile())
	case err != nil:
		return usage("%s %w", m.ModuleFile(), err)
	case m.Module.SHA256 == "":
		return usage("%s does not have the module's SHA-256, so nothing would pin the module: build the plugin with `bulkhead plugin build`, and name the folder that it is built to", m.File)
	case sum != m.Module.SHA256:
		return usage("%s has the SHA-256 %s, and %s was built for %s: build the plugin again, or find out who changed the file", m.ModuleFile(), sum, manifest.FileName, m.Module.SHA256)
	}
	return nil
}
