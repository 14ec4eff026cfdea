package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/yaml11"
)

// maxValue is the maximum length of the value of a setting, in bytes.
const maxValue = 4096

// Set changes one setting in the configuration file of a home directory, and creates the file if the file does not
// exist. If the file is invalid, Set does not change it, and the error has the code Internal. For an invalid key or
// value, the error has the code InvalidArgument.
func Set(s files.System, home, key, value string) error {
	parsed, err := parse(key, value)
	if err != nil {
		return err
	}
	return change(s, home, func(doc *yaml11.Document) error {
		return doc.Set(parsed, strings.Split(key, ".")...)
	})
}

// parse parses the text value as a new value of the setting key.
func parse(key, value string) (any, error) {
	kind, ok := kindOf(key)
	if !ok || kind == shown {
		why := "unknown configuration key %.100q"
		if ok {
			why = "configuration key %q cannot be set with aam_config_set"
		}
		return nil, fault.New(fault.InvalidArgument, why+"; settable keys are: %s", key, strings.Join(Keys(true), ", "))
	}
	if len(value) > maxValue || strings.Contains(value, "\x00") {
		return nil, fault.New(fault.InvalidArgument, "%s: the value has more than %d bytes or contains a NUL byte", key, maxValue)
	}
	switch kind {
	case flag:
		return parseFlag(key, value)
	case texts:
		list := []string{}
		for _, part := range strings.Split(value, ",") {
			if part = strings.TrimSpace(part); part != "" {
				list = append(list, part)
			}
		}
		return list, nil
	}
	return value, nil
}

func parseFlag(key, value string) (any, error) {
	switch word := strings.ToLower(strings.TrimSpace(value)); {
	case slices.Contains([]string{"true", "1", "yes", "on"}, word):
		return true, nil
	case slices.Contains([]string{"false", "0", "no", "off"}, word):
		return false, nil
	}
	return nil, fault.New(fault.InvalidArgument, "%s must be true, 1, yes, on, false, 0, no or off", key)
}

// AddRegistry appends a registry to the configuration file of a home directory, and creates the file if the file does
// not exist. If makeDefault is set, the added registry becomes the only default registry. The caller must have checked
// that no other registry has the same name.
func AddRegistry(s files.System, home string, added Registry, makeDefault bool) error {
	return change(s, home, func(doc *yaml11.Document) error {
		entry := yaml11.Map{
			{Key: "name", Value: added.Name}, {Key: "url", Value: added.URL}, {Key: "type", Value: added.Type}, {Key: "default", Value: makeDefault},
		}
		list := doc.Root().Field("registries").Items() // registries is a list or has no value, because the file is valid
		if len(list) == 0 {
			return doc.Set([]any{entry}, "registries")
		}
		if makeDefault {
			if err := clearDefaults(doc, list); err != nil {
				return err
			}
		}
		return doc.Set(entry, "registries", strconv.Itoa(len(list)))
	})
}

func clearDefaults(doc *yaml11.Document, registries []yaml11.Value) error {
	var r yaml11.Reader
	for i, item := range registries {
		if !r.Bool(item.Field("default"), false) {
			continue
		}
		if err := doc.Set(false, "registries", strconv.Itoa(i), "default"); err != nil {
			return err
		}
	}
	return nil
}

// change edits the configuration file of a home directory with the function edit. If the result would be invalid,
// change returns an error and does not write the file.
func change(s files.System, home string, edit func(*yaml11.Document) error) error {
	layer, err := checked(ReadGlobal(s, home))
	if err != nil {
		return err
	}
	path := layer.Path
	if kind := layer.root().Kind(); kind != yaml11.Mapping && kind != yaml11.Absent && kind != yaml11.Null {
		return broken(path, fmt.Errorf("the file must be a mapping, not %s; it was not changed", kind))
	}
	if layer.doc == nil {
		layer.doc = &yaml11.Document{}
	}
	if err := edit(layer.doc); err != nil {
		return broken(path, err)
	}
	data := layer.doc.Bytes()
	if changed, err := parseLayer(path, data); err != nil {
		return broken(path, err)
	} else if err := changed.Check(); err != nil {
		return broken(path, err)
	}
	return save(s, path, data)
}
