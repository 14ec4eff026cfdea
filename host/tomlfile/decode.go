package tomlfile

import (
	"errors"
	"fmt"
	"strings"

	"github.com/BurntSushi/toml"
)

// decode is the decoder's reading of data. A panic of the decoder (which it has for states that it holds
// impossible) is an error like any other: a file must not end the process.
func decode(data []byte) (values map[string]any, serr *syntaxError) {
	defer func() {
		if r := recover(); r != nil {
			values, serr = nil, &syntaxError{what: fmt.Sprintf("cannot be read: %.200v", r)}
		}
	}()
	var v any // decoding into a map would copy it and note every key
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
