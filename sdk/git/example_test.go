//go:build !wasip1

package git_test

import (
	"fmt"

	"github.com/bulkhead-mcp/bulkhead/sdk/git"
	"github.com/bulkhead-mcp/bulkhead/sdk/internal/imports"
)

func ExampleReadFile() {
	// Inside a plugin, the host reads the repository. Here, a fake host returns a fixed response.
	imports.SetHost(&imports.Host{Call: func([]byte) []byte { return []byte(`{"result":{"found":true,"content":"aGk="}}`) }})
	defer imports.SetHost(nil)
	content, found, err := git.ReadFile("/home/ada/project", "main", "README.md")
	fmt.Println(string(content), found, err)
	// Output: hi true <nil>
}
