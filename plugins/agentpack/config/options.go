package config

import (
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/yamldoc"
)

// Options are a target's own settings. What nobody asks for is ignored.
type Options struct{ values map[string]yamldoc.Value }

func newOptions(fields []yamldoc.Field) Options {
	options := Options{map[string]yamldoc.Value{}}
	for _, field := range fields {
		options.values[field.Key] = field.Value
	}
	return options
}

// Bool returns a switch: true or false, or one of the words true, yes, 1, false, no, 0. Anything else is as
// good as nothing, for which there is a default.
func (o Options) Bool(key string, otherwise bool) bool {
	value := o.values[key]
	if on, err := value.Bool(); err == nil {
		return on
	}
	text, err := value.String()
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

// Text returns a text without blanks around it; "" if there is none.
func (o Options) Text(key string) string {
	text, err := o.values[key].String()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(text)
}
