package frontmatter_test

import (
	"fmt"

	"github.com/bulkhead-mcp/bulkhead/sdk/frontmatter"
)

func ExampleCut() {
	head, body, err := frontmatter.Cut("---\ntitle: Rotate keys\n---\n# Why\n")
	fmt.Printf("%q %q %v\n", head, body, err)
	// Output: "title: Rotate keys\n" "# Why\n" <nil>
}

func ExampleParse() {
	root, err := frontmatter.Parse("version: 1.10\ntags: [a, 'b']\n", frontmatter.Options{Line: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	version := root.Get("version")
	fmt.Printf("line %d: %q is a %s\n", version.Line, version.Text, version.Tag12())
	for _, tag := range root.Get("tags").Children {
		fmt.Println(tag.Text, tag.Style == frontmatter.SingleQuoted)
	}
	// Output:
	// line 2: "1.10" is a !!float
	// a false
	// b true
}

func ExampleNode_CheckKeys() {
	root, err := frontmatter.Parse("name: a\nsize: 1\nname: b\n", frontmatter.Options{})
	if err == nil {
		err = root.CheckKeys()
	}
	fmt.Println(err)
	// Output: line 3: duplicate key "name"
}

func ExampleEncode() {
	text, err := frontmatter.Encode(&frontmatter.Node{Kind: frontmatter.Mapping, Children: []*frontmatter.Node{
		frontmatter.String("commit"), frontmatter.String("0012345"),
		frontmatter.String("created"), {Text: "2026-01-31"},
	}})
	fmt.Print(text, err)
	// Output:
	// commit: '0012345'
	// created: 2026-01-31
	// <nil>
}
