package tomlfile

import (
	"errors"
	"fmt"
	"strings"

	"github.com/BurntSushi/toml"
)

// decode decodes data with the TOML decoder. The decoder panics on states that it assumes to be impossible. decode
// returns such panics as errors, because a file must not crash the process.
func decode(data []byte) (values map[string]any, serr *syntaxError) {
	defer func() {
		if r := recover(); r != nil {
			values, serr = nil, &syntaxError{what: fmt.Sprintf("cannot be read: %.200v", r)}
		}
	}()
	var v any // decoding into a map would copy it and record every key
	if _, err := toml.Decode(string(data), &v); err != nil {
		var perr toml.ParseError
		if errors.As(err, &perr) {
			return nil, &syntaxError{line: perr.Position.Line, what: "is not TOML: " + lowerFirst(perr.Message)}
		}
		return nil, &syntaxError{what: "is not TOML: " + lowerFirst(strings.TrimPrefix(err.Error(), "toml: "))}
	}
	values, ok := v.(map[string]any)
	if !ok {
		return nil, &syntaxError{what: "is not a TOML table"}
	}
	return values, nil
}

func lowerFirst(s string) string {
	if s == "" {
		return s
	}
	return strings.ToLower(s[:1]) + s[1:]
}
