package config

import (
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/yamldoc"
)

// Options are the settings of one target in the manifest. Unknown settings are ignored.
type Options struct{ values []option }

// option is one setting, whose value is a boolean or a string. A setting with any other value is ignored.
type option struct {
	key  string
	kind kind
	text string // the value, if the value is a string
}

type kind int

const (
	isFalse kind = iota
	isTrue
	isString
)

func newOptions(fields []yamldoc.Field) Options {
	var options Options
	for _, field := range fields {
		if on, err := field.Value.AsBool(); err == nil {
			options.values = append(options.values, option{key: field.Key, kind: kindOf(on)})
		} else if text, err := field.Value.AsString(); err == nil {
			options.values = append(options.values, option{field.Key, isString, text})
		}
	}
	return options
}

func kindOf(on bool) kind {
	if on {
		return isTrue
	}
	return isFalse
}

func (o Options) value(key string) (option, bool) {
	i := slices.IndexFunc(o.values, func(value option) bool { return value.key == key })
	if i < 0 {
		return option{}, false
	}
	return o.values[i], true
}

// Bool returns the value of a boolean setting, which is a YAML boolean or one of the strings true, yes, 1, false, no,
// 0. For any other value, and for an absent setting, Bool returns the argument "otherwise".
func (o Options) Bool(key string, otherwise bool) bool {
	value, ok := o.value(key)
	if !ok {
		return otherwise
	}
	if value.kind != isString {
		return value.kind == isTrue
	}
	switch strings.ToLower(strings.TrimSpace(value.text)) {
	case "true", "yes", "1":
		return true
	case "false", "no", "0":
		return false
	}
	return otherwise
}

// Text returns the string value of a setting without surrounding white space; "" if the setting is absent.
func (o Options) Text(key string) string {
	value, _ := o.value(key)
	return strings.TrimSpace(value.text)
}
