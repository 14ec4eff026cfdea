package config

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/yaml11"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// maxFile is the maximum size of a configuration file, in bytes.
const maxFile = 1 << 20

// Layer is the content of one configuration file. The zero value has no settings.
type Layer struct {
	Path  string
	Empty bool // the file exists, but has no value
	Found bool // the file exists
	doc   *yaml11.Document
}

// Path returns the path of the configuration file in folder, which is a home or project directory.
func Path(folder string) string { return filepath.Join(folder, ".aam", "config.yaml") }

// ReadGlobal reads the configuration file of a home directory. If the file does not exist, the layer has no settings.
// If the file is not YAML, the error is a *yaml11.SyntaxError. The file may be a symbolic link to any path, because the
// user has created the link.
func ReadGlobal(s files.System, home string) (Layer, error) {
	return readLayer(Path(home), func(path string) ([]byte, error) { return files.Read(s, path, maxFile) })
}

// ReadProject reads the configuration file of a project as ReadGlobal does. A project is untrusted, so a symbolic link
// out of the project is an error.
func ReadProject(s files.System, project string) (Layer, error) {
	return readLayer(Path(project), func(path string) ([]byte, error) { return files.ReadInside(s, project, path, maxFile) })
}

func readLayer(path string, read func(path string) ([]byte, error)) (Layer, error) {
	layer := Layer{Path: path}
	data, err := read(path)
	if filesystem.IsAbsent(err) {
		return layer, nil
	}
	if err != nil {
		return layer, err
	}
	return parseLayer(path, data)
}

func parseLayer(path string, data []byte) (Layer, error) {
	layer := Layer{Path: path, Found: true}
	doc, err := yaml11.Parse(data, maxFile)
	if err != nil {
		return layer, err
	}
	layer.doc = doc
	root := doc.Root()
	layer.Empty = root.Kind() == yaml11.Absent || root.Kind() == yaml11.Null
	return layer, nil
}

func (l Layer) root() yaml11.Value {
	if l.doc == nil {
		return yaml11.Value{}
	}
	return l.doc.Root()
}

// Check validates the layer on its own. The error is of the type yaml11.Problems.
func (l Layer) Check() error {
	_, err := Merge(l, Layer{})
	return err
}

// Layers holds the layer of the user's file and that of the project's file.
type Layers struct{ Global, Project Layer }

// Load reads and merges the configuration files of a home directory and a project. The argument home is "" if the home
// directory is unknown. Errors have the code Internal or PermissionDenied, and name the file.
func Load(s files.System, home, project string) (Config, Layers, error) {
	var layers Layers
	var err error
	if home != "" {
		if layers.Global, err = checked(ReadGlobal(s, home)); err != nil {
			return Config{}, Layers{}, err
		}
	}
	// If the project is the home directory, both layers would be read from the same file.
	if home != project {
		if layers.Project, err = checked(ReadProject(s, project)); err != nil {
			return Config{}, Layers{}, err
		}
	}
	c, err := Merge(layers.Global, layers.Project)
	if err != nil {
		return Config{}, Layers{}, broken(Path(project), err)
	}
	return c, layers, nil
}

// checked validates a layer. It adds the path of the file to err, the error of reading the layer, or to the error of
// the validation.
func checked(layer Layer, err error) (Layer, error) {
	if err == nil {
		err = layer.Check()
	}
	if err != nil {
		return Layer{}, broken(layer.Path, err)
	}
	return layer, nil
}

func broken(path string, err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("configuration %s: %w", path, err)
	}
	return fault.New(fault.Internal, "configuration %s: %w", path, err).WithHint("aam_doctor reports the details")
}
