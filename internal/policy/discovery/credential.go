package discovery

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
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
	file, err := os.Open(c.File)
	if err != nil {
		return "", err
	}
	defer file.Close()
	value, err := io.ReadAll(io.LimitReader(file, maxSecret+1))
	if err != nil {
		return "", err
	}
	if len(value) > maxSecret {
		return "", errors.New("its file is larger than 8 KiB: store only the secret in it")
	}
	text, _ := strings.CutSuffix(string(value), "\n")
	return strings.TrimSuffix(text, "\r"), nil
}
