package config

import (
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/yamldoc"
)

// Options are the settings of one target. Unknown settings are ignored.
type Options struct{ values map[string]yamldoc.Value }

func newOptions(fields []yamldoc.Field) Options {
	options := Options{map[string]yamldoc.Value{}}
	for _, field := range fields {
		options.values[field.Key] = field.Value
	}
	return options
}

// Bool returns the value of a boolean setting: a YAML boolean, or one of the strings true, yes, 1, false, no, 0. For
// any other value, and for an absent setting, it returns otherwise.
func (o Options) Bool(key string, otherwise bool) bool {
	value := o.values[key]
	if on, err := value.AsBool(); err == nil {
		return on
	}
	text, err := value.AsString()
	if err != nil {
		return otherwise
	}
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "true", "yes", "1":
		return true
	case "false", "no", "0":
		return false
	}
	return otherwise
}

// Text returns a string without surrounding white space; "" if it is absent.
func (o Options) Text(key string) string {
	text, err := o.values[key].AsString()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(text)
}
