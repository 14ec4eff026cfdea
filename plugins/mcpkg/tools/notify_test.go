package tools

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/plugins/mcpkg/item"
	"github.com/bulkhead-mcp/bulkhead/sdk"
	"github.com/bulkhead-mcp/bulkhead/sdk/sdktest"
)

// TestUpdatedNotificationsAreLimited updates more resources than one call may send notifications about, since the host
// accepts only a limited number of notifications per call.
func TestUpdatedNotificationsAreLimited(t *testing.T) {
	items := []item.Item{{Kind: item.Prompt}}
	for i := range maxUpdated + 1 {
		items = append(items, item.Item{Kind: item.Resource, URI: fmt.Sprintf("a:%d", i)})
	}
	p := sdk.New()
	sdk.HandleTool(p, "tell", func(context.Context, struct{}) (*sdk.ToolResult, error) {
		updated(items...)
		return sdk.Text("told"), nil
	})
	manifest := filepath.Join(t.TempDir(), "plugin.toml")
	if err := os.WriteFile(manifest, []byte("[[tools]]\nname = 'tell'\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	host := sdktest.New(t, p, manifest)
	if _, err := host.CallTool("tell", ""); err != nil {
		t.Fatal(err)
	}
	sent := host.Notifications()
	if len(sent) != maxUpdated || string(sent[0].Params) != `{"uri":"a:0"}` || string(sent[maxUpdated-1].Params) != `{"uri":"a:255"}` {
		t.Errorf("%d notifications were sent, the first with %s", len(sent), sent[0].Params)
	}
}
