package main

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestToolArgumentsHaveValuesOfAlternatives(t *testing.T) {
	for property, want := range map[string][]string{
		`{"type":"string","enum":["a","b"]}`:                               {"a", "b"},
		`{"anyOf":[{"type":"string","enum":["a","b"]},{"type":"null"}]}`:   {"a", "b"},
		`{"oneOf":[{"const":"a"},{"const":"b"}]}`:                          {"a", "b"},
		`{"enum":["a",null,1]}`:                                            {"a"}, // x=null stands for the string "null"
		`{"enum":[1,2.50,null]}`:                                           {"1", "2.50", "null"},
		`{"type":"boolean"}`:                                               {"true", "false"},
		`{"anyOf":[{"type":"boolean"},{"type":"null"}]}`:                   {"true", "false"},
		`{"type":["boolean","null"]}`:                                      {"true", "false"},
		`{"anyOf":[{"type":"boolean"},{"type":"string","enum":["auto"]}]}`: {"auto"},
		`{"type":"string","description":"d"}`:                              nil,
		`{}`:                                                               nil,
	} {
		all := toolArguments(json.RawMessage(`{"properties":{"x":` + property + `}}`))
		if len(all) != 1 || cmp.Diff(want, all[0].values) != "" {
			t.Errorf("%s: got %+v, want the values %q", property, all, want)
		}
	}
}
