//go:build !wasip1

package fetch_test

import (
	"context"
	"fmt"

	"github.com/bulkhead-mcp/bulkhead/sdk/fetch"
	"github.com/bulkhead-mcp/bulkhead/sdk/internal/imports"
)

func ExampleGet() {
	// Inside a plugin, the host performs the request. Here, a fake host returns a fixed response.
	imports.SetHost(&imports.Host{Call: func([]byte) []byte {
		return []byte(`{"result":{"status":200,"url":"https://registry.example/v1","headers":{"content-type":["text/plain"]},"body":"aGk="}}`)
	}})
	defer imports.SetHost(nil)
	response, err := fetch.Get(context.Background(), "https://registry.example/v1")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(response.Status, response.Header.Get("Content-Type"), string(response.Body))
	// Output: 200 text/plain hi
}
