package spec

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v4"
	"go.yaml.in/yaml/v4/plugin/loaderlimits"
)

// maxDepth bounds the nesting of lists and maps; the format's own keys need two levels.
const maxDepth = 32

// front holds the keys of a file's YAML. Those the format knows are in the shape in which they are
// written: a list is a list of texts, also where the file had a single one.
type front struct {
	known   map[string]*yaml.Node
	unknown []*yaml.Node // keys and values in turn, in the file's order
}

// parseFront reads the YAML, whose first line is line of the file.
func parseFront(text string, line int) (front, error) {
	parsed := front{known: map[string]*yaml.Node{}}
	if len(text) > maxFront {
		return front{}, &Fault{Line: line, Reason: fmt.Sprintf("frontmatter is larger than %d KiB", maxFront>>10)}
	}
	root, err := loadYAML(text, line)
	if root == nil || err != nil {
		return parsed, err
	}
	moveLines(root, line-1)
	if isNull(root) {
		return parsed, nil
	}
	if err := refuseAliases(root); err != nil {
		return front{}, err
	}
	if root.Kind != yaml.MappingNode {
		return front{}, &Fault{Line: root.Line, Reason: "frontmatter is not a set of keys and values"}
	}
	if err := uniqueKeys(root); err != nil {
		return front{}, err
	}
	for i := 0; i < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		kind, known := kindOf(key.Value)
		if !known {
			parsed.unknown = append(parsed.unknown, key, value)
			continue
		}
		shaped, err := shape(kind, value)
		if err != nil {
			return front{}, &Fault{Line: value.Line, Reason: fmt.Sprintf("%s: %s", key.Value, err)}
		}
		if shaped != nil {
			parsed.known[key.Value] = shaped
		}
	}
	return parsed, nil
}

// loadYAML returns the root of a text's only document; nil if it has none.
func loadYAML(text string, line int) (*yaml.Node, error) {
	loader, err := yaml.NewLoader(strings.NewReader(text),
		yaml.WithV4Defaults(), yaml.WithPlugin(loaderlimits.New(loaderlimits.DepthValue(maxDepth))))
	if err != nil {
		return nil, err
	}
	var document, second yaml.Node
	err = loader.Load(&document)
	if errors.Is(err, io.EOF) {
		return nil, nil
	}
	if err == nil {
		if err = loader.Load(&second); errors.Is(err, io.EOF) {
			return document.Content[0], nil
		}
		if err == nil {
			return nil, &Fault{Line: line + second.Line - 1, Reason: "frontmatter holds a second YAML document"}
		}
	}
	fault := &Fault{Line: line, Reason: "invalid YAML: " + err.Error()}
	var load *yaml.LoadError
	if errors.As(err, &load) {
		fault.Reason = "invalid YAML: " + load.Message
		fault.Line += max(0, load.Mark.Line-1)
	}
	return nil, fault
}

// moveLines turns lines of the YAML into lines of the file.
func moveLines(node *yaml.Node, by int) {
	node.Line += by
	for _, child := range node.Content {
		moveLines(child, by)
	}
}

// refuseAliases keeps out what could stand for more than the file holds.
func refuseAliases(node *yaml.Node) error {
	if node.Kind == yaml.AliasNode || node.Anchor != "" {
		return &Fault{Line: node.Line, Reason: "YAML anchors and aliases are not supported"}
	}
	for _, child := range node.Content {
		if err := refuseAliases(child); err != nil {
			return err
		}
	}
	return nil
}

func uniqueKeys(mapping *yaml.Node) error {
	seen := map[string]bool{}
	for i := 0; i < len(mapping.Content); i += 2 {
		key := mapping.Content[i]
		if key.Kind != yaml.ScalarNode {
			return &Fault{Line: key.Line, Reason: "a key is not a plain word"}
		}
		if seen[key.Value] {
			return &Fault{Line: key.Line, Reason: fmt.Sprintf("key %q is there twice", key.Value)}
		}
		seen[key.Value] = true
	}
	return nil
}
