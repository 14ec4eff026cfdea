package spec

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/sdk/frontmatter"
)

// The functions below interpret YAML as the YAML library of the chant CLI does. That library parses a scalar as the
// type of its key, so a string key accepts any scalar. It ignores most tags.

// entries returns the keys and values of a mapping, with aliases resolved. checkKeys must have accepted the mapping.
func entries(mapping *frontmatter.Node) iter.Seq2[string, *frontmatter.Node] {
	return func(yield func(string, *frontmatter.Node) bool) {
		for key, value := range mapping.Pairs() {
			if !yield(key.Resolve().Text, value.Resolve()) {
				return
			}
		}
	}
}

// checkKeys returns a *frontmatter.Error if a key of a mapping is not a scalar, or if a known key occurs twice.
func checkKeys(mapping *frontmatter.Node, isKnown func(string) bool) error {
	var seen []string
	for key := range mapping.Pairs() {
		name := key.Resolve()
		if name.Kind != frontmatter.Scalar {
			return &frontmatter.Error{Line: key.Line, Reason: "a key of a mapping is not a scalar"}
		}
		if !isKnown(name.Text) {
			continue
		}
		if slices.Contains(seen, name.Text) {
			return &frontmatter.Error{Line: key.Line, Reason: fmt.Sprintf("duplicate key %q", name.Text)}
		}
		seen = append(seen, name.Text)
	}
	return nil
}

const nullTag = "!!null"

// isNull reports whether the value of an optional key counts as absent.
func isNull(value *frontmatter.Node) bool {
	if value.Kind != frontmatter.Scalar || value.Style != frontmatter.Plain {
		return false
	}
	switch value.Tag {
	case "":
		return value.Text == "" || isNullWord(value.Text)
	case nullTag:
		return isNullWord(value.Text)
	}
	return false
}

func isNullWord(text string) bool {
	return text == "~" || text == "null" || text == "Null" || text == "NULL"
}

// checkOptional returns an error if value has the tag !!null but a text that does not mean null.
func checkOptional(value *frontmatter.Node) error {
	if value.Kind == frontmatter.Scalar && value.Style == frontmatter.Plain && value.Tag == nullTag && !isNullWord(value.Text) {
		return errors.New("has the tag !!null, but is not null: write ~ or remove the tag")
	}
	return nil
}

// isEmpty reports whether value is a plain scalar without text. Such a value also counts as an empty list or mapping.
func isEmpty(value *frontmatter.Node) bool {
	return value.Kind == frontmatter.Scalar && value.Style == frontmatter.Plain && value.Text == ""
}

// isTyped reports whether value may have the type of a tag such as !!int. This is the case for a plain scalar, and for
// a literal block with that tag.
func isTyped(value *frontmatter.Node, tag string) bool {
	if value.Kind != frontmatter.Scalar {
		return false
	}
	return value.Style == frontmatter.Plain || value.Style == frontmatter.Literal && value.Tag == tag
}

func parseBool(value *frontmatter.Node) (bool, error) {
	if isTyped(value, "!!bool") {
		switch value.Text {
		case "true", "True", "TRUE":
			return true, nil
		case "false", "False", "FALSE":
			return false, nil
		}
	}
	return false, errors.New("must be true or false")
}

// checkCount returns an error if value is not a non-negative integer of at most the given number of bits. A decimal
// number with a leading zero is a string, and so an error.
func checkCount(value *frontmatter.Node, bits int) error {
	err := fmt.Errorf("must be a non-negative integer of at most %d bits", bits)
	if !isTyped(value, "!!int") {
		return err
	}
	digits := strings.TrimPrefix(value.Text, "+")
	for prefix, base := range map[string]int{"0x": 16, "0o": 8, "0b": 2} {
		if rest, ok := strings.CutPrefix(digits, prefix); ok {
			if _, failed := strconv.ParseUint(rest, base, bits); failed != nil {
				return err
			}
			return nil
		}
	}
	if _, failed := strconv.ParseUint(digits, 10, bits); failed != nil || len(digits) > 1 && digits[0] == '0' {
		return err
	}
	return nil
}

// variant returns the value of an enumeration: the text of a scalar, or the name of its local tag, as in "status:
// !failed".
func variant(value *frontmatter.Node) (string, error) {
	if value.Kind != frontmatter.Scalar {
		return "", errors.New("must be a string")
	}
	name, ok := strings.CutPrefix(value.Tag, "!")
	if !ok || strings.HasPrefix(name, "!") {
		return value.Text, nil
	}
	if value.Style != frontmatter.Plain || value.Text != "" && !isNullWord(value.Text) {
		return "", fmt.Errorf("has a value after the tag %s: remove the tag or the value", value.Tag)
	}
	return name, nil
}
