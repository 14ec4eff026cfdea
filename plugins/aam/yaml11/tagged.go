package yaml11

import (
	"strings"
	"unicode/utf8"

	"github.com/bulkhead-mcp/bulkhead/sdk/frontmatter"
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

// checkCollection returns an error if the tag of a collection is unknown, or is not valid for this kind of collection.
func checkCollection(n *frontmatter.Node) error {
	if !isTagged(n) {
		return nil
	}
	tag := n.Tag
	isList := n.Kind == frontmatter.Sequence
	switch tag {
	case "!!seq", omapTag, pairsTag:
		if !isList {
			return &SyntaxError{n.Line, "a mapping does not have the form that its tag " + tag + " requires"}
		}
	case "!!map", setTag:
		if isList {
			return &SyntaxError{n.Line, "a list does not have the form that its tag " + tag + " requires"}
		}
	default:
		return unknownTag(n)
	}
	if tag != omapTag && tag != pairsTag {
		return nil
	}
	for _, item := range n.Children {
		if item = item.Resolve(); item.Kind != frontmatter.Mapping || len(item.Children) != 2 {
			return &SyntaxError{item.Line, "an item of " + tag + " is not a mapping with one key"}
		}
	}
	return nil
}

// converter replaces the values of the tags above in a tree that the checker has accepted. It contains the scalars with
// the tag !!binary that are already converted.
type converter map[*frontmatter.Node]bool

func (c converter) convert(n *frontmatter.Node) {
	for i, child := range n.Children {
		c.convert(child)
		if key := child.Resolve(); n.Kind == frontmatter.Mapping && i%2 == 0 && c[key] {
			// A binary key must not equal any string, so the key gets the kind Binary.
			n.Children[i] = &frontmatter.Node{Tag: binaryTag, Text: key.Text, Line: key.Line}
		}
	}
	switch n.Tag {
	case binaryTag:
		n.Text, _ = decodeBinary(n.Text)
		c[n] = true
		markText(n)
	case setTag:
		entries := Value{node: n, root: n}.Entries()
		n.Kind, n.Tag, n.Children = frontmatter.Sequence, "", make([]*frontmatter.Node, len(entries))
		for i, entry := range entries {
			key := *entry.Key.node
			markText(&key)
			n.Children[i] = &key
		}
	case omapTag, pairsTag:
		for i, item := range n.Children {
			n.Children[i] = &frontmatter.Node{Kind: frontmatter.Sequence, Children: item.Resolve().Children, Line: item.Resolve().Line}
		}
	}
}

// markText makes a node with decoded binary data a string if the data is UTF-8.
func markText(n *frontmatter.Node) {
	if n.Tag == binaryTag && utf8.ValidString(n.Text) {
		n.Tag = "!!str"
	}
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
