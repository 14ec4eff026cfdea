package config

import (
	"reflect"
	"strings"
	"testing"
)

func TestWithoutPathsIsEqualForEqualCeilings(t *testing.T) {
	text := "[ceiling]\nread_only = true\n[[plugins]]\nname = 'a'\n"
	parse := func(file, home, text string) *Ceiling {
		c, problems := ParseCeiling(file, []byte(text))
		if err := problems.Err(); err != nil {
			t.Fatal(err)
		}
		c.Home = home
		c.Plugins[0].RequireSignature = &Signers{At: "ceiling (" + file + ")"}
		return c
	}
	one, same := parse("/one.toml", "/home/one", text), parse("/two.toml", "/home/two", text)
	if reflect.DeepEqual(one, same) || !reflect.DeepEqual(one.WithoutPaths(), same.WithoutPaths()) {
		t.Errorf("got %+v and %+v", one.WithoutPaths(), same.WithoutPaths())
	}
	if one.File != "/one.toml" || one.Plugins[0].File == "" || one.Plugins[0].RequireSignature.At == "" {
		t.Errorf("the ceiling itself was changed: %+v", one)
	}
	if other := parse("/one.toml", "/home/one", strings.Replace(text, "true", "false", 1)); reflect.DeepEqual(one.WithoutPaths(), other.WithoutPaths()) {
		t.Error("a ceiling with other bounds is equal")
	}
}
