package config

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/yaml11"
)

// maxFile bounds a configuration file, in bytes.
const maxFile = 1 << 20

// Layer is what one file says. The zero value says nothing.
type Layer struct {
	Path  string
	Empty bool // the file is there and has no value
	Found bool // the file is there
	doc   *yaml11.Document
	raw   []byte
}

// Path returns the file of the layer of a folder: the user's home, or the project.
func Path(folder string) string { return filepath.Join(folder, ".aam", "config.yaml") }

// ReadLayer reads the file at path. One that is not there says nothing, as does an empty path. The error is a
// *yaml11.SyntaxError where it is not YAML.
func ReadLayer(s files.System, path string) (Layer, error) {
	layer := Layer{Path: path}
	if path == "" {
		return layer, nil
	}
	data, err := files.Read(s, path, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return layer, nil
	}
	if err != nil {
		return layer, err
	}
	return parseLayer(path, data)
}

func parseLayer(path string, data []byte) (Layer, error) {
	layer := Layer{Path: path, Found: true, raw: data}
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

// Check says what is wrong with the layer by itself: yaml11.Problems, or nil.
func (l Layer) Check() error {
	_, err := Merge(l, Layer{})
	return err
}

// Layers are both files.
type Layers struct{ Global, Project Layer }

// Load reads and merges the files of a home folder, which may be "" for none, and of a project. An error has the
// code Internal or PermissionDenied and names the file at fault.
func Load(s files.System, home, project string) (Config, Layers, error) {
	var layers Layers
	var err error
	if home != "" {
		if layers.Global, err = load(s, Path(home)); err != nil {
			return Config{}, Layers{}, err
		}
	}
	// In the home folder both would be the same file.
	if home != project {
		if layers.Project, err = load(s, Path(project)); err != nil {
			return Config{}, Layers{}, err
		}
	}
	c, err := Merge(layers.Global, layers.Project)
	if err != nil {
		return Config{}, Layers{}, broken(Path(project), err)
	}
	return c, layers, nil
}

// load reads a layer that has to be right by itself.
func load(s files.System, path string) (Layer, error) {
	layer, err := ReadLayer(s, path)
	if err == nil {
		err = layer.Check()
	}
	if err != nil {
		return Layer{}, broken(path, err)
	}
	return layer, nil
}

func broken(path string, err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("configuration %s: %w", path, err)
	}
	return fault.New(fault.Internal, "configuration %s: %w", path, err).WithHint("aam_doctor says more")
}
