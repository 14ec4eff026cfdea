package discovery

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/ownedpath"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// maxSecret is the maximum size of a credential's file, in bytes.
const maxSecret = 8 << 10

// Secret reads the value of a credential from the source that the config names. No error contains it.
func Secret(s System, c *config.Credential) (string, error) {
	if c.Env != "" {
		value, ok := LookupEnv(s)(c.Env)
		if !ok {
			return "", fmt.Errorf("the variable %s is not set", c.Env)
		}
		return value, nil
	}
	value, err := SecretFile(c.File, maxSecret)
	if errors.Is(err, filesystem.ErrTooLarge) {
		return "", errors.New("its file is larger than 8 KiB: store only the secret in it")
	}
	if err != nil {
		return "", err
	}
	text, _ := strings.CutSuffix(string(value), "\n")
	return strings.TrimSuffix(text, "\r"), nil
}

// SecretFile reads a file with a secret: a regular file of at most limit bytes, which no user but the host's and root can change or
// replace. Such a user would choose who may call, or as whom the host calls others.
func SecretFile(path string, limit int64) ([]byte, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if err := ownedpath.CheckFile(path, os.Geteuid()); err != nil {
		return nil, errors.New(ownedpath.Explain(err))
	}
	return filesystem.ReadFile(filesystem.OS{}, path, limit)
}
