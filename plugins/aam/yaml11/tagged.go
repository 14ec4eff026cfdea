package yaml11

import (
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// The tags of YAML 1.1 whose values are converted. The conversion is the same as in PyYAML and the models of the aam
// program: binary data is a string if the data is UTF-8, a set is a list of its keys, and an ordered map or pairs are a
// list of lists of two values.
const (
	binaryTag = "!!binary"
	setTag    = "!!set"
	omapTag   = "!!omap"
	pairsTag  = "!!pairs"
)

func isTagged(node *yaml.Node, tag string) bool {
	return node.Style&yaml.TaggedStyle != 0 && node.ShortTag() == tag
}

// checkCollection returns an error if the tag of a collection is unknown, or is not valid for this kind of collection.
func checkCollection(node *yaml.Node) error {
	if node.Style&yaml.TaggedStyle == 0 {
		return nil
	}
	tag := node.ShortTag()
	isList := node.Kind == yaml.SequenceNode
	switch tag {
	case "!!seq", omapTag, pairsTag:
		if !isList {
			return &SyntaxError{node.Line, "a mapping does not have the form that its tag " + tag + " requires"}
		}
	case "!!map", setTag:
		if isList {
			return &SyntaxError{node.Line, "a list does not have the form that its tag " + tag + " requires"}
		}
	default:
		return unknownTag(node)
	}
	if tag != omapTag && tag != pairsTag {
		return nil
	}
	for _, item := range node.Content {
		if item = resolveAlias(item); item.Kind != yaml.MappingNode || len(item.Content) != 2 {
			return &SyntaxError{item.Line, "an item of " + tag + " is not a mapping with one key"}
		}
	}
	return nil
}

// composeTagged converts a collection that has a tag.
func composeTagged(to *node, from *yaml.Node) {
	switch {
	case isTagged(from, setTag):
		entries := Value{node: to, root: to}.Entries()
		to.kind, to.items = List, make([]*node, len(entries))
		for i, entry := range entries {
			to.items[i] = entry.Key.node
			if entry.Key.Kind() == Binary {
				to.items[i] = binaryNode(entry.Key.Text(), entry.Key.node.line)
			}
		}
	case isTagged(from, omapTag), isTagged(from, pairsTag):
		for i, item := range to.items {
			to.items[i] = &node{kind: List, items: item.items, line: item.line}
		}
	}
}

// binaryNode returns the node for decoded binary data.
func binaryNode(data string, line int) *node {
	if utf8.ValidString(data) {
		return &node{kind: Text, text: data, line: line}
	}
	return &node{kind: Binary, text: data, line: line}
}

// base64Digits is the alphabet of base64.
const base64Digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

// decodeBinary decodes base64 in the same way as Python: it ignores other ASCII characters, and ends at the first
// complete padding. It returns false if characters are missing.
func decodeBinary(text string) (string, bool) {
	var out strings.Builder
	digits, pads, bits := 0, 0, uint32(0)
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return "", false
		}
		if text[i] == '=' {
			if pads++; digits >= 2 && digits+pads >= 4 {
				return out.String(), true
			}
			continue
		}
		digit := strings.IndexByte(base64Digits, text[i])
		if digit < 0 {
			continue
		}
		pads, bits = 0, bits<<6|uint32(digit)
		if digits > 0 {
			out.WriteByte(byte(bits >> (6 - 2*digits)))
		}
		digits = (digits + 1) % 4
	}
	return out.String(), digits == 0
}
