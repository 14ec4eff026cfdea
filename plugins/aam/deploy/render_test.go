package deploy

import (
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// TestRuleHeadsHaveAnyDescription parses the heads of rules whose descriptions contain, together, each code point.
func TestRuleHeadsHaveAnyDescription(t *testing.T) {
	var description strings.Builder
	for r := range utf8.MaxRune + 1 {
		if utf8.ValidRune(r) {
			description.WriteString("a")
			description.WriteRune(r)
		}
		if r%0x1000 != 0xfff {
			continue
		}
		head := ruleHead(strconv.Quote(description.String()))
		var got struct{ Description string }
		if err := yaml.Unmarshal([]byte(strings.TrimSuffix(head, "---\n\n")), &got); err != nil || got.Description != description.String() {
			t.Errorf("up to %U: %v", r, err)
		}
		description.Reset()
	}
}
