package frontmatter

import (
	"strconv"
	"strings"
	"time"
)

// Tag12 returns the short tag of a node under YAML 1.2: !!map, !!seq, !!null, !!bool, !!int, !!float, !!timestamp, !!merge (for <<), !!str,
// or the tag that the file has. The tag of an alias is that of its target.
//
// Tag12 agrees with go.yaml.in/yaml/v4, which accepts more than the core schema does: 0b11, 0o17, 017 and 1_000 are integers, and 2026-01-31
// is a timestamp. Words such as yes and off are strings. A decimal integer that does not fit in 64 bits is a float. A number that fits
// neither 64 bits nor a finite float is a string, and so is an integer with the prefix 0b, 0o or 0x that does not fit in 64 bits.
func (n *Node) Tag12() string {
	if n == nil {
		return "!!null"
	}
	if n.Tag != "" && n.Tag != "!" { // the tag ! means !!map, !!seq or !!str, depending on the kind of the node
		return n.Tag
	}
	switch {
	case n.Kind == Mapping:
		return "!!map"
	case n.Kind == Sequence:
		return "!!seq"
	case n.Kind == Alias:
		return n.Target.Tag12()
	case n.Style != Plain || n.Tag == "!":
		return "!!str"
	}
	return plainTag12(n.Text)
}

// plainTag12 returns the tag of a plain scalar that has no tag in the file.
func plainTag12(text string) string {
	switch text {
	case "", "~", "null", "Null", "NULL":
		return "!!null"
	case "true", "True", "TRUE", "false", "False", "FALSE":
		return "!!bool"
	case "<<":
		return "!!merge"
	case ".nan", ".NaN", ".NAN", ".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF", "-.inf", "-.Inf", "-.INF", "-0":
		return "!!float"
	}
	switch c := text[0]; {
	case c == '.':
		if _, err := strconv.ParseFloat(text, 64); err == nil {
			return "!!float"
		}
	case c == '+' || c == '-' || '0' <= c && c <= '9':
		return numberTag12(text)
	}
	return "!!str"
}

func numberTag12(text string) string {
	if isTimestamp(text) {
		return "!!timestamp"
	}
	digits := strings.ReplaceAll(text, "_", "")
	if _, err := strconv.ParseInt(digits, 0, 64); err == nil {
		return "!!int"
	}
	if _, err := strconv.ParseUint(strings.TrimPrefix(digits, "+"), 0, 64); err == nil {
		return "!!int"
	}
	if isFloat(digits) {
		return "!!float"
	}
	return "!!str"
}

// isFloat refuses what strconv accepts and YAML does not: hexadecimal floats, and inf and nan without a dot.
func isFloat(text string) bool {
	if strings.Trim(text, "+-.0123456789eE") != "" {
		return false
	}
	_, err := strconv.ParseFloat(text, 64)
	return err == nil
}

var timestampLayouts = []string{
	"2006-1-2T15:4:5.999999999Z07:00",
	"2006-1-2t15:4:5.999999999Z07:00",
	"2006-1-2 15:4:5.999999999",
	"2006-1-2",
}

func isTimestamp(text string) bool {
	if len(text) < 5 || text[4] != '-' || strings.Trim(text[:4], "0123456789") != "" {
		return false
	}
	for _, layout := range timestampLayouts {
		if _, err := time.Parse(layout, text); err == nil {
			return true
		}
	}
	return false
}
