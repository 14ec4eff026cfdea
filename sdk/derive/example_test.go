package derive_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/sdk/derive"
	"github.com/bulkhead-mcp/bulkhead/sdk/scan"
)

type note struct {
	Title string
	Tags  []string
}

func (n *note) Fields(c *derive.Codec) {
	c.String(&n.Title)
	c.Strings(&n.Tags)
}

var notes = derive.New(func(content []byte) note {
	var n note
	for line := range strings.Lines(string(content)) {
		line = strings.TrimSpace(line)
		if title, ok := strings.CutPrefix(line, "# "); ok {
			n.Title = title
		}
		if tag, ok := strings.CutPrefix(line, "tag: "); ok {
			n.Tags = append(n.Tags, tag)
		}
	}
	return n
})

func ExampleFunc_Scan() {
	dir, err := os.MkdirTemp("", "notes-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	for name, content := range map[string]string{"tea.md": "# Tea\ntag: hot", "ice.md": "# Ice", "list.txt": "# No note"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			fmt.Println(err)
			return
		}
	}
	for entry, err := range notes.Scan(dir, scan.Options{Match: []string{"*.md"}}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		if entry.Derived {
			fmt.Println(entry.Path, entry.Value.Title, entry.Value.Tags)
		}
	}
	// Output:
	// ice.md Ice []
	// tea.md Tea [hot]
}
