package host

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/config"
)

// ownPaths are the host's own files and folders: a plugin that could write there would grant itself
// whatever it likes, and read what others keep. A grant that names one, or something in it, gives it all the
// same.
func ownPaths(s System, places config.Places, f found) []string {
	// A config that is not there yet would be obeyed at the next start.
	own := []string{cacheDir(s), places.State, stateDir(s), f.config, s.absolute(config.FileName)}
	if places.Project != "" {
		own = append(own, filepath.Join(places.Project, config.FileName))
	}
	if a := f.audit; a != nil {
		own = append(own, a.File, a.File+".key")
		for n := range a.Keep {
			own = append(own, fmt.Sprintf("%s.%d", a.File, n+1))
		}
	}
	for _, c := range f.credentials {
		own = append(own, c.File)
	}
	own = append(own, f.folders...)
	var set []string
	for _, path := range own {
		if path != "" {
			set = append(set, path)
		}
	}
	return set
}

// maxSecret bounds the file of a credential, in bytes.
const maxSecret = 8 << 10

// secret reads the value of a credential from where the config says.
func (s System) secret(c *config.Credential) (string, error) {
	if c.Env != "" {
		value, ok := s.LookupEnv(c.Env)
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
		return "", errors.New("its file is larger than 8 KiB")
	}
	text, _ := strings.CutSuffix(string(value), "\n")
	return strings.TrimSuffix(text, "\r"), nil
}
