package install

import (
	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/base/userfile"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
)

// configFile is a config to edit.
type configFile struct {
	*userfile.File
	by discovery.By
}

// readConfigFile reads a config, which need not exist.
func readConfigFile(source discovery.Source) (*configFile, error) {
	f, err := userfile.Read(source.File, tomlfile.ReadFile)
	if err != nil {
		return nil, err
	}
	return &configFile{f, source.By}, nil
}

// findConfigFile finds the config that is in force, which need not exist, and reads it.
func findConfigFile(o discovery.Options) (discovery.Source, *configFile, error) {
	source, err := discovery.FindConfig(o)
	if err != nil {
		return source, nil, err
	}
	file, err := readConfigFile(source)
	return source, file, err
}

// replace replaces the file atomically. It refuses if the file has changed since it was read.
func (f *configFile) replace(content []byte) error {
	// Other users must not read a new config: variables in it may have values.
	return f.Replace(content, 0o600)
}
