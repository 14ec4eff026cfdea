// Derive is a module whose derive functions use the SDK.
package main

import (
	"bytes"

	"github.com/bulkhead-mcp/bulkhead/sdk"
	"github.com/bulkhead-mcp/bulkhead/sdk/derive"
)

type title struct{ Text string }

func (t *title) Fields(c *derive.Codec) { c.String(&t.Text) }

// count is the result of a derive function that panics for empty content.
type count struct{ First, Calls int }

func (n *count) Fields(c *derive.Codec) {
	c.Int(&n.First)
	c.Int(&n.Calls)
}

var calls int

var (
	_ = derive.New(func(content []byte) title {
		line, _, _ := bytes.Cut(content, []byte("\n"))
		return title{Text: string(line)}
	})
	_ = derive.New(func(content []byte) count {
		calls++
		return count{int(content[0]), calls}
	})
)

func init() { sdk.Serve(sdk.New()) }

func main() {}
